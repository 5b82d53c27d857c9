"""Loading of robots and tools from URDF or xacro, SRDF and joint limits files."""

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
    """Read the texts of a model. Files with the extension .xacro are expanded.

    folder: Base folder of relative URIs.

    Raises:
        FileError, ResourceError, LimitExceededError: A file is missing, outside the roots, malformed or too large.
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
    """Return the text; a file given by name must not be empty."""
    if not text.strip():
        raise FileError(f"{path} is empty", stage=stage, subjects=(str(path),))
    return text


def _limits(path: Path, roots: ResourceRoots) -> str:
    return _not_empty(read_text(path, "read limits", roots.text_bytes), path, "read limits")


def _absolute(uri: str, folder: str | Path) -> str:
    return uri if not uri or "://" in uri else str(Path(folder, uri).absolute())


def sources_roots(sources: ModelSources, roots: ResourceRoots) -> ResourceRoots:
    """Return the roots for files referenced by the texts, after `read_sources` resolved them within `roots`."""
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
    """Load a robot from files, each given as a path or URI. The package or folder that contains the URDF may be read.

    Args:
        name: Name of the robot in the cell.
        urdf: URDF or xacro file.
        srdf: SRDF file; "" for none.
        limits: Joint limits file in MoveIt's format; "" for none.
        xacro_arguments: Arguments of the xacro expansion.
        prefix: Prefix of all names of links, joints and groups.
        roots: Additional folders that may be read.
        mesh_use: Collision representation of meshes.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the files.
    """
    opened = _opened((urdf, srdf, limits), roots)
    sources = read_sources(str(urdf), str(srdf), str(limits), xacro_arguments, Path.cwd(), opened)
    return robot_from_sources(name, sources, prefix, sources_roots(sources, opened), mesh_use)


def _opened(files: tuple[str | Path, ...], roots: ResourceRoots) -> ResourceRoots:
    """Add the folders of files given as paths, which the caller is trusted to read."""
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
    """Create a robot from texts. Relative URIs are resolved from `sources.folder` and must lead to files below the
    roots.

    Missing velocity, acceleration and jerk limits are set to the defaults of `limits.with_default_limits`.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the texts.
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
    """Return the collision representation of all meshes of a mechanism that was read from a description."""
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
    """Load a tool from files, each given as a path or URI. The package or folder that contains the URDF may be read.

    Args:
        name: Name of the tool in the cell.
        urdf: URDF or xacro file.
        tcp: Pose of the tool centre point in `tcp_link`.
        tcp_link: Link of the tool centre point; "" for the root link.
        limits: Joint limits file in MoveIt's format; "" for none.
        xacro_arguments: Arguments of the xacro expansion.
        roots: Additional folders that may be read.
        mesh_use: Collision representation of meshes.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the files.
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
    """Create a tool from texts; its links keep the names of its description.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the texts.
    """
    mechanism = _mechanism(name, sources, "", roots, mesh_use)
    try:
        return Tool(name, mechanism, tcp, tcp_link, sources)
    except ValueError as error:
        raise ModelError(f"tool {name!r}: {error}", subjects=(name,)) from error
