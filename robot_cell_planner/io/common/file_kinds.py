"""Files of another kind than the expected one: descriptions of robots, cell files and meshes."""

from __future__ import annotations

import re
from pathlib import PurePath

from ...errors import FileError

XML = re.compile(rb"(\xef\xbb\xbf)?\s*<[?!A-Za-z]")
CELL = re.compile(r"""^[\s{]*["']?format["']?\s*:\s*["']?robot_cell/""", re.MULTILINE)
HEAD = 4096  # [characters]
MESHES = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply")
SRDF = ".srdf"
DESCRIPTION_REMEDY = (
    "`robot_cell new FILE` drafts a cell of a URDF, xacro or SDF file. A cell file names such a file as `urdf` of a "
    "robot, and an SRDF file as `srdf`."
)
CELL_REMEDY = (
    "`load_cell` and the commands of `robot_cell` read a cell file; give the description that it names as `urdf`."
)
MESH_REMEDY = (
    "A mesh is the shape of a body: a cell file names it in `collisions` of the body as `{type: mesh, uri: FILE}`, "
    "and `OfflineCell.add_mesh` adds it in a script."
)


def refuse_description(text: str | bytes, source: str, expected: str, stage: str) -> None:
    """Refuse a description of a robot, or a mesh, where another file is expected.

    expected: What is expected, as the end of a sentence: "a cell file in YAML".

    Raises:
        FileError: The text is XML, or `source` has the extension of a mesh.
    """
    _refuse_mesh(source, expected, stage)
    if _is_xml(text[:HEAD]):
        raise other_kind(source, "XML", expected, stage, DESCRIPTION_REMEDY)


def refuse_cell_file(text: str, source: str, expected: str, stage: str) -> None:
    """Refuse a cell file, or a mesh, where a description is expected.

    Raises:
        FileError: The text is not XML, and has the format of a cell file or the extension of a mesh.
    """
    head = text[:HEAD]
    if _is_xml(head):
        return
    _refuse_mesh(source, expected, stage)
    if CELL.search(head):
        raise other_kind(source, "a cell file", expected, stage, CELL_REMEDY)


def remedy_of_extension(source: str) -> str:
    """Return what a mesh or an SRDF file is used for, by its extension; "" for other files."""
    suffix = PurePath(source).suffix.lower()
    return MESH_REMEDY if suffix in MESHES else DESCRIPTION_REMEDY if suffix == SRDF else ""


def _refuse_mesh(source: str, expected: str, stage: str) -> None:
    if PurePath(source).suffix.lower() in MESHES:
        raise other_kind(source, "a mesh", expected, stage, MESH_REMEDY)


def _is_xml(head: str | bytes) -> bool:
    return XML.match(head.encode(errors="replace") if isinstance(head, str) else head) is not None


def other_kind(source: str, found: str, expected: str, stage: str, remedy: str) -> FileError:
    """Return the error about a file of another kind. found, expected: Kinds, as "a mesh"."""
    return FileError(f"{source} is {found}, expected {expected}", stage=stage, subjects=(source,), remedy=remedy)
