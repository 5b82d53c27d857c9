"""Loading of robots and tools from URDF or xacro, SRDF and joint limits files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from frozendict import frozendict

from ...errors import DuplicateNameError, FileError, ModelError, UnknownNameError
from ...model.arguments import public
from ...model.bodies import TCP, Tool
from ...model.geometry import Mesh, MeshUse
from ...model.mechanism import Mechanism
from ...model.name_suggestions import unknown_name
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...model.sources import ModelSources
from ..common.defects import Defects
from ..common.resources import NO_ROOTS, ResourceRoots, read_text, resolve, roots_for
from ..sdformat.robot import sdf_to_urdf
from .limits import read_limits, with_default_limits
from .srdf import SemanticDescription, read_srdf
from .urdf import read_urdf
from .xacro_files import expansion
from .xacro_macros import require_content

SDF, XACRO = ".sdf", ".xacro"


def read_sources(
    urdf: str,
    srdf: str = "",
    limits: str = "",
    xacro_arguments: Mapping[str, str] = frozendict(),
    folder: str | Path = "",
    roots: ResourceRoots = NO_ROOTS,
    *,
    strict: bool = False,
) -> ModelSources:
    """Read the texts of a model. Files with the extension .xacro are expanded, those with .sdf converted.

    folder: Base folder of relative URIs.
    strict: Refuse files that are not UTF-8 text, and arguments that no xacro file has; otherwise these are warnings.

    Raises:
        FileError, ResourceError, LimitExceededError: A file is missing, outside the roots, malformed or too large.
        UnknownNameError: An argument does not exist, and `strict` is True.
    """
    path = resolve(urdf, folder, roots)
    defects, names = Defects(strict), set[str]()

    def description(file: Path, stage: str) -> str:
        if file.suffix == XACRO:
            text, found = expansion(file, xacro_arguments, roots_for(file, roots))
            names.update(found)
            require_content(text, file, stage, roots.text_bytes)
            return text
        text = _not_empty(read_text(file, stage, roots.text_bytes, defects), file, stage)
        if file.suffix == SDF:
            return sdf_to_urdf(text, str(file.parent), roots_for(file, roots), str(file), defects)
        return text

    texts = description(path, "read urdf"), description(resolve(srdf, folder, roots), "read srdf") if srdf else ""
    for name in sorted(set(xacro_arguments) - names):
        text = f"{path}: {unknown_name(f'xacro argument {name!r}', name, names)}"
        defects.note(UnknownNameError(text, stage="expand xacro", subjects=(name,)), "the argument has no effect")
    return ModelSources(
        urdf=texts[0],
        srdf=texts[1],
        limits=_limits(resolve(limits, folder, roots), roots) if limits else "",
        folder=str(path.parent),
        urdf_uri=_absolute(urdf, folder),
        srdf_uri=_absolute(srdf, folder),
        limits_uri=_absolute(limits, folder),
        xacro_arguments=frozendict(xacro_arguments),
        warnings=defects.texts,
    )


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
    *,
    strict: bool = False,
    mesh_uses: Mapping[str, MeshUse] = frozendict(),
) -> Robot:
    """Load a robot from files, each given as a path or URI. The package or folder that contains the URDF may be read.

    Args:
        name: Name of the robot in the cell.
        urdf: URDF or xacro file, or SDF file of one model.
        srdf: SRDF file; "" for none.
        limits: Joint limits file in MoveIt's format; "" for none.
        xacro_arguments: Arguments of the xacro expansion.
        prefix: Prefix of all names of links, joints and groups.
        roots: Additional folders that may be read.
        mesh_use: Collision representation of meshes.
        strict: Refuse defects that do not prevent the use of the model; otherwise they are in `sources.warnings`.
        mesh_uses: Collision representation of single meshes, by their URI; unchecked ones are left out.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the files.
    """
    opened = _opened((urdf, srdf, limits), roots)
    sources = read_sources(str(urdf), str(srdf), str(limits), xacro_arguments, Path.cwd(), opened, strict=strict)
    sources = msgspec.structs.replace(sources, mesh_uses=frozendict(mesh_uses))
    return robot_from_sources(name, sources, prefix, sources_roots(sources, opened), mesh_use, strict=strict)


def _opened(files: tuple[str | Path, ...], roots: ResourceRoots) -> ResourceRoots:
    """Add the folders of files given as paths, which the caller is trusted to read."""
    for file in files:
        if str(file) and "://" not in str(file):
            roots = roots.with_file(file)
    return roots


def robot_from_sources(
    name: str,
    sources: ModelSources,
    prefix: str = "",
    roots: ResourceRoots = NO_ROOTS,
    mesh_use: MeshUse = MeshUse.HULL,
    *,
    strict: bool = False,
) -> Robot:
    """Create a robot from texts. Relative URIs are resolved from `sources.folder` and must lead to files below the
    roots; those in `sources.files` are known.

    Missing velocity, acceleration and jerk limits are set to the defaults of `limits.with_default_limits`. The sources
    of the robot name the files of its meshes and the defects that were found; `strict`: These are errors.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the texts.
    """
    defects, files = Defects(strict), dict(sources.files)
    mechanism = _mechanism(name, sources, prefix, roots, mesh_use, defects, files)
    semantic = SemanticDescription()
    if sources.srdf:
        source = _source(sources.srdf_uri) or f"SRDF of {name}"
        semantic = read_srdf(sources.srdf, mechanism, source, prefix, defects)
    try:
        return Robot(
            name=name,
            mechanism=mechanism,
            groups=semantic.groups,
            named_states=semantic.named_states,
            disabled_pairs=semantic.disabled_pairs,
            prefix=prefix,
            sources=_completed(sources, defects, files),
        )
    except ValueError as error:
        raise ModelError(f"robot {name!r}: {error}", subjects=(name,)) from error


def mesh_use_of(mechanism: Mechanism, sources: ModelSources) -> MeshUse:
    """Return the collision representation of the meshes of a mechanism that was read from a description, except those
    in `mesh_uses` of its sources.

    Flat meshes are always represented by their triangles, whatever the others are.
    """
    geometries = [shape.geometry for link in mechanism.links.values() for shape in link.collisions]
    uses = {mesh.use for mesh in geometries if isinstance(mesh, Mesh) and mesh.uri not in sources.mesh_uses}
    return next((use for use in (MeshUse.HULL, MeshUse.DECOMPOSITION, MeshUse.EXACT) if use in uses), MeshUse.HULL)


def _completed(sources: ModelSources, defects: Defects, files: dict[str, str]) -> ModelSources:
    """Return the sources with the files and defects that were found while the model was built."""
    warnings = tuple(dict.fromkeys((*sources.warnings, *defects.texts)))
    return msgspec.structs.replace(sources, files=frozendict(files), warnings=warnings)


def _source(uri: str) -> str:
    """Return the name of a text in messages: the lines of an expansion are not those of the file."""
    return f"{uri} (expanded)" if uri.endswith(XACRO) else uri


def _mechanism(
    name: str,
    sources: ModelSources,
    prefix: str,
    roots: ResourceRoots,
    mesh_use: MeshUse,
    defects: Defects,
    files: dict[str, str],
) -> Mechanism:
    source = _source(sources.urdf_uri) or f"URDF of {name}"
    mechanism = read_urdf(
        sources.urdf, sources.folder, roots, source, prefix, mesh_use, defects, files, sources.mesh_uses
    )
    of_limits = sources.limits_uri or f"limits of {name}"
    return with_default_limits(read_limits(sources.limits, mechanism, of_limits, prefix, defects, source))


def _with_renamed_link(mechanism: Mechanism, old: str, new: str) -> Mechanism:
    """Return a mechanism with another name of a link.

    Raises:
        DuplicateNameError: Another link has that name.
    """
    if new in mechanism.links:
        raise DuplicateNameError(f"links {old!r} and {new!r} of {mechanism.name} would have the same name")
    names = {old: new}
    links = {names.get(name, name): link for name, link in mechanism.links.items()}
    links[new] = msgspec.structs.replace(links[new], name=new)
    joints = {
        name: msgspec.structs.replace(
            joint, parent=names.get(joint.parent, joint.parent), child=names.get(joint.child, joint.child)
        )
        for name, joint in mechanism.joints.items()
    }
    return msgspec.structs.replace(mechanism, links=frozendict(links), joints=frozendict(joints))


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
    *,
    strict: bool = False,
) -> Tool:
    """Load a tool from files, each given as a path or URI. The package or folder that contains the URDF may be read.

    Args:
        name: Name of the tool in the cell.
        urdf: URDF or xacro file, or SDF file of one model.
        tcp: Pose of the tool centre point in `tcp_link`.
        tcp_link: Link of the tool centre point; "" for the root link.
        limits: Joint limits file in MoveIt's format; "" for none.
        xacro_arguments: Arguments of the xacro expansion.
        roots: Additional folders that may be read.
        mesh_use: Collision representation of meshes.
        strict: Refuse defects that do not prevent the use of the model; otherwise they are in `sources.warnings`.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the files.
    """
    opened = _opened((urdf, limits), roots)
    sources = read_sources(str(urdf), "", str(limits), xacro_arguments, Path.cwd(), opened, strict=strict)
    return tool_from_sources(name, sources, tcp, tcp_link, sources_roots(sources, opened), mesh_use, strict=strict)


def tool_from_sources(
    name: str,
    sources: ModelSources,
    tcp: Pose = IDENTITY,
    tcp_link: str = "",
    roots: ResourceRoots = NO_ROOTS,
    mesh_use: MeshUse = MeshUse.HULL,
    *,
    strict: bool = False,
) -> Tool:
    """Create a tool from texts; its links keep the names of its description, except for one named "tcp", which would be
    the frame of the tool centre point: it is renamed to "<name of the description>_tcp", also as `tcp_link`. Files,
    defects and `strict` as for `robot_from_sources`.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: As the readers of the texts.
    """
    defects, files = Defects(strict), dict(sources.files)
    mechanism = _mechanism(name, sources, "", roots, mesh_use, defects, files)
    try:
        if TCP in mechanism.links:
            other = f"{mechanism.name}_{TCP}"
            mechanism = _with_renamed_link(mechanism, TCP, other)
            tcp_link = other if tcp_link == TCP else tcp_link
        return Tool(name, mechanism, tcp, tcp_link, _completed(sources, defects, files))
    except ValueError as error:
        raise ModelError(f"tool {name!r}: {error}", subjects=(name,)) from error
