"""Detection of files that changed since a cell was read from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...errors import RobotCellError
from ...model.bodies import RigidBody, Tool
from ...model.cell import RobotCell
from ...model.geometry import Mesh
from ...model.mechanism import Link
from ...model.robot import Robot
from ...model.sources import ModelSources
from ..common.resources import NO_ROOTS, ResourceRoots, read_text, resolve
from ..mesh.content import content_digest
from ..robot_description.loading import sources_roots

STAGE = "check for changed files"


def changed_files(cell: RobotCell, roots: ResourceRoots = NO_ROOTS) -> tuple[str, ...]:
    """Return the sorted paths and URIs of meshes that changed or were removed, and of descriptions that changed.

    The cell retains the content that it was read from. A changed description does not affect it; a changed mesh that
    was not loaded before cannot be loaded any more. Changes of xacro and SDF files are not detected.
    """
    found = {mesh.path for mesh in _meshes(cell) if not _is_same_mesh(mesh, roots)}
    for item in _described(cell):
        found.update(_changed_descriptions(item.sources, roots))
    return tuple(sorted(found))


def _described(cell: RobotCell) -> list[Robot | Tool]:
    return [*cell.robots.values(), *cell.tools.values()]


def _meshes(cell: RobotCell) -> Iterator[Mesh]:
    models: list[Link | RigidBody] = [link for t in _described(cell) for link in t.mechanism.links.values()]
    for model in (*models, *cell.bodies.values()):
        for shape in (*model.visuals, *model.collisions):
            if isinstance(shape.geometry, Mesh):
                yield shape.geometry


def _is_same_mesh(mesh: Mesh, roots: ResourceRoots) -> bool:
    try:
        return content_digest(Path(mesh.path), roots.mesh_bytes) == mesh.digest
    except RobotCellError:
        return False


def _changed_descriptions(sources: ModelSources, roots: ResourceRoots) -> Iterator[str]:
    if not sources.urdf_uri:
        return
    roots = sources_roots(sources, roots)
    pairs = (
        (sources.urdf_uri, sources.urdf),
        (sources.srdf_uri, sources.srdf),
        (sources.limits_uri, sources.limits),
    )
    for uri, text in pairs:
        if uri and not uri.endswith((".xacro", ".sdf")) and _is_another_text(uri, text, sources.folder, roots):
            yield uri


def _is_another_text(uri: str, text: str, folder: str, roots: ResourceRoots) -> bool:
    try:
        return read_text(resolve(uri, folder, roots), STAGE, roots.text_bytes) != text
    except RobotCellError:
        return False  # the text was passed directly, and its file is somewhere else
