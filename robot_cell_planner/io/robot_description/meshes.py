"""Meshes of a URDF: their files, and what is done about those that cannot be used."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...errors import FileError, GeometryError, LimitExceededError, ResourceError, RobotCellError, UnknownNameError
from ...model.geometry import Mesh, MeshUse
from ...model.name_suggestions import listed, unknown_name
from ..common.resources import ResourceRoots
from ..common.xml_reader import Element, XmlReader
from ..mesh.content import content_digest
from ..mesh.loading import check_collision_geometry, check_visual_mesh, is_flat, mesh_reference

UNCHECKED = "is not checked with its mesh"
MESH_ERRORS = (ResourceError, GeometryError, FileError, LimitExceededError)


class MeshReader:
    """Reads the <mesh> elements of a URDF.

    Every mesh is checked when its description is read, so that errors are found there. A visual mesh that cannot be
    used is a defect, and is left out; a collision mesh that cannot be used is an error. A collision mesh without volume
    has no hull; its triangles are used instead. One of the use `unchecked` is not read and has a warning.

    Args:
        xml: Reader of the document.
        folder: Base folder of relative URIs.
        roots: Folders that may be read.
        use: Collision representation.
        uses: Collision representation of those that differ, by URI.
        files: Paths by URI that are known; those that are resolved are added.
    """

    def __init__(
        self,
        xml: XmlReader,
        folder: str,
        roots: ResourceRoots,
        use: MeshUse,
        uses: Mapping[str, MeshUse],
        files: dict[str, str],
    ) -> None:
        self._xml = xml
        self._folder = folder
        self._roots = roots
        self._use = use
        self._uses = uses
        self._files = files
        self._collisions: set[str] = set()
        self._not_shown: list[tuple[str, RobotCellError]] = []

    def read(self, element: Element, visual: bool) -> Mesh | None:
        """Return the mesh of a <mesh> element; None for a visual mesh that cannot be used, or one that is unchecked.

        Raises:
            FileError: The element is malformed.
            ResourceError, GeometryError, LimitExceededError: A collision mesh cannot be used.
        """
        uri = self._xml.attribute(element, "filename")
        x, y, z = self._xml.numbers(element, "scale", 3, (1.0, 1.0, 1.0))
        if not visual:
            self._collisions.add(uri)
            if self._uses.get(uri) is MeshUse.UNCHECKED:
                self._xml.defects.remark(self._left_out(element, uri))
                return None
        try:
            return self._mesh(uri, (x, y, z), element, visual)
        except MESH_ERRORS as error:
            placed = _placed(error, f"{self._xml.source}:{element.sourceline}: ")
            if not visual:
                raise placed.changed(placed.message, remedy=f"{error.remedy} {_without(uri)}") from error
            if self._xml.defects.strict:
                raise placed from error
            self._not_shown.append((uri, placed))
            self._files[uri] = ""
            return None

    def note_defects(self) -> None:
        """Note the visual meshes that cannot be used, as one defect, and meshes in `uses` that no collision element
        has; call it when all are read."""
        if self._not_shown:
            error, count = self._not_shown[0][1], len(self._not_shown)
            names = listed([uri for uri, _ in self._not_shown[1:]])
            also = f"the mesh is not shown, and {count - 1} more visual meshes cannot be used: {names}"
            self._xml.defects.note(error, also if count > 1 else "the mesh is not shown")
        for uri in sorted(set(self._uses) - self._collisions):
            text = f"{self._xml.source}: {unknown_name(f'mesh {uri!r} of `mesh_uses`', uri, self._collisions)}"
            error = UnknownNameError(text, stage="read urdf", subjects=(uri,))
            self._xml.defects.note(error, "the entry has no effect")

    def _left_out(self, element: Element, uri: str) -> str:
        link = next((str(parent.get("name")) for parent in element.iterancestors("link")), "")
        return f"{self._xml.source}:{element.sourceline}: link {link} {UNCHECKED} {uri}: `unchecked`"

    def _mesh(self, uri: str, scale: tuple[float, float, float], element: Element, visual: bool) -> Mesh | None:
        known = self._files.get(uri)
        if visual and known == "":
            return None
        use = MeshUse.EXACT if visual else self._uses.get(uri, self._use)
        if known:
            mesh = Mesh(uri, known, content_digest(Path(known), self._roots.mesh_bytes), scale, use)
        else:
            mesh = mesh_reference(uri, self._folder, self._roots, scale, use)
        if visual:
            if not known:
                check_visual_mesh(mesh)
        elif mesh.use is not MeshUse.EXACT and is_flat(mesh):
            text = f"{self._xml.source}:{element.sourceline}: {uri} is flat and has no convex hull"
            self._xml.defects.note(GeometryError(text, stage="convex hull", subjects=(uri,)), "its triangles are used")
            mesh = msgspec.structs.replace(mesh, use=MeshUse.EXACT)
        else:
            check_collision_geometry(mesh)
        self._files[uri] = mesh.path
        return mesh


def _without(uri: str) -> str:
    """Return how to use a description without one of its collision meshes."""
    return (
        f"To leave this mesh out of all checks, add {{{uri!r}: unchecked}} to `mesh_uses` in the cell file, or draft"
        f" with `robot_cell new --unchecked {shlex.quote(uri)}`."
    )


def _placed(error: RobotCellError, location: str) -> RobotCellError:
    """Return the same error with the position in the file prepended to its message."""
    return error.with_message(location + error.message)
