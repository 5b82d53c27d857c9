"""Robots and tools from their files: URDF or xacro, SRDF, limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from frozendict import frozendict

from ...errors import FileError, ModelError
from ...model.arguments import public
from ...model.bodies import Tool
from ...model.geometry import Mesh, MeshUse
from ...model.mechanism import Mechanism
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...model.sources import ModelSources
from ..common.resources import NO_ROOTS, ResourceRoots, enclosing_folder, read_text, resolve, roots_for
from .limits import read_limits, with_default_limits
from .srdf import SemanticDescription, read_srdf
from .urdf import read_urdf
from .xacro_files import expand_xacro


def read_sources(
    urdf: str,
    srdf: str = "",
    limits: str = "",
    xacro_arguments: Mapping[str, str] = frozendict(),
    folder: str | Path = "",
    roots: ResourceRoots = NO_ROOTS,
) -> ModelSources:
    """The texts of a model. Files that end in .xacro are expanded. folder: where relative URIs start.

    Raises:
        FileError, ResourceError, LimitExceededError: a file is missing, outside of the roots, malformed or too large.
    """
    path = resolve(urdf, folder, roots)
    return ModelSources(
        urdf=_description(path, xacro_arguments, roots, "read urdf"),
        srdf=_description(resolve(srdf, folder, roots), xacro_arguments, roots, "read srdf") if srdf else "",
        limits=_limits(resolve(limits, folder, roots), roots) if limits else "",
        folder=str(path.parent),
        urdf_uri=_absolute(urdf, folder),
        srdf_uri=_absolute(srdf, folder),
        limits_uri=_absolute(limits, folder),
        xacro_arguments=frozendict(xacro_arguments),
    )


def _description(path: Path, arguments: Mapping[str, str], roots: ResourceRoots, stage: str) -> str:
    if path.suffix == ".xacro":
        return expand_xacro(path, arguments, roots_for(path, roots))
    return _not_empty(read_text(path, stage, roots.text_bytes), path, stage)


def _not_empty(text: str, path: Path, stage: str) -> str:
    """The text of a file that was named, and so is not meant to say nothing."""
    if not text.strip():
        raise FileError(f"{path} is empty", stage=stage, subjects=(str(path),))
    return text


def _limits(path: Path, roots: ResourceRoots) -> str:
    return _not_empty(read_text(path, "read limits", roots.text_bytes), path, "read limits")


def _absolute(uri: str, folder: str | Path) -> str:
    return uri if not uri or "://" in uri else str(Path(folder, uri).absolute())


def sources_roots(sources: ModelSources, roots: ResourceRoots) -> ResourceRoots:
    """The roots for what the texts name, once `read_sources` has found them inside `roots`."""
    return roots_for(Path(sources.folder, "urdf"), roots)


@public
def load_robot(
    name: str,
    urdf: str | Path,
    srdf: str | Path = "",
    limits: str | Path = "",
    xacro_arguments: Mapping[str, str] = frozendict(),
    prefix: str = "",
    roots: ResourceRoots = NO_ROOTS,
    mesh_use: MeshUse = MeshUse.HULL,
) -> Robot:
    """A robot from files, each given as a path or a URI. The package or folder that holds the URDF may be read.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: as the readers of the files say.
    """
    opened = _opened((urdf, srdf, limits), roots)
    sources = read_sources(str(urdf), str(srdf), str(limits), xacro_arguments, Path.cwd(), opened)
    return robot_from_sources(name, sources, prefix, sources_roots(sources, opened), mesh_use)


def _opened(files: tuple[str | Path, ...], roots: ResourceRoots) -> ResourceRoots:
    """Whoever calls with a path means to have it read."""
    for file in files:
        if str(file) and "://" not in str(file):
            roots = roots.with_folder(enclosing_folder(file))
    return roots


def robot_from_sources(
    name: str,
    sources: ModelSources,
    prefix: str = "",
    roots: ResourceRoots = NO_ROOTS,
    mesh_use: MeshUse = MeshUse.HULL,
) -> Robot:
    """A robot from texts. Relative URIs start in `sources.folder`, and must lead to below the roots.

    Velocity, acceleration and jerk limits that neither file gives have the defaults of `limits.with_default_limits`.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: as the readers of the texts say.
    """
    mechanism = _mechanism(name, sources, prefix, roots, mesh_use)
    semantic = SemanticDescription()
    if sources.srdf:
        semantic = read_srdf(sources.srdf, mechanism, sources.srdf_uri or f"SRDF of {name}", prefix)
    try:
        return Robot(
            name=name,
            mechanism=mechanism,
            groups=semantic.groups,
            named_states=semantic.named_states,
            disabled_pairs=semantic.disabled_pairs,
            prefix=prefix,
            sources=sources,
        )
    except ValueError as error:
        raise ModelError(f"robot {name!r}: {error}", subjects=(name,)) from error


def mesh_use_of(mechanism: Mechanism) -> MeshUse:
    """How the collision meshes of a mechanism that was read from a description are checked: all of them alike."""
    geometries = [shape.geometry for link in mechanism.links.values() for shape in link.collisions]
    return next((geometry.use for geometry in geometries if isinstance(geometry, Mesh)), MeshUse.HULL)


def _mechanism(name: str, sources: ModelSources, prefix: str, roots: ResourceRoots, mesh_use: MeshUse) -> Mechanism:
    source = sources.urdf_uri or f"URDF of {name}"
    mechanism = read_urdf(sources.urdf, sources.folder, roots, source, prefix, mesh_use)
    if sources.limits:
        mechanism = read_limits(sources.limits, mechanism, sources.limits_uri or f"limits of {name}", prefix)
    return with_default_limits(mechanism)


@public
def load_tool(
    name: str,
    urdf: str | Path,
    tcp: Pose = IDENTITY,
    tcp_link: str = "",
    limits: str | Path = "",
    xacro_arguments: Mapping[str, str] = frozendict(),
    roots: ResourceRoots = NO_ROOTS,
    mesh_use: MeshUse = MeshUse.HULL,
) -> Tool:
    """A tool from files, each given as a path or a URI. The package or folder that holds the URDF may be read.

    tcp: pose of the tool centre point in `tcp_link` ("" for the root link).

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: as the readers of the files say.
    """
    opened = _opened((urdf, limits), roots)
    sources = read_sources(str(urdf), "", str(limits), xacro_arguments, Path.cwd(), opened)
    return tool_from_sources(name, sources, tcp, tcp_link, sources_roots(sources, opened), mesh_use)


def tool_from_sources(
    name: str,
    sources: ModelSources,
    tcp: Pose = IDENTITY,
    tcp_link: str = "",
    roots: ResourceRoots = NO_ROOTS,
    mesh_use: MeshUse = MeshUse.HULL,
) -> Tool:
    """A tool from texts; its links keep the names of its own description.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: as the readers of the texts say.
    """
    mechanism = _mechanism(name, sources, "", roots, mesh_use)
    try:
        return Tool(name, mechanism, tcp, tcp_link, sources)
    except ValueError as error:
        raise ModelError(f"tool {name!r}: {error}", subjects=(name,)) from error
