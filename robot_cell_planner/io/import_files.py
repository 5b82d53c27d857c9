"""Import of files in all supported formats: cell files, URDF and xacro, SDFormat, MoveIt scenes."""

from __future__ import annotations

import os
from pathlib import Path

from frozendict import frozendict

from ..errors import FileError, InvalidRequestError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.value import check_name
from .cell_file.cell_file import existing_file
from .cell_file.reader import read_parts
from .common.defects import Defects
from .common.file_kinds import remedy_of_extension
from .common.resources import NO_ROOTS, ResourceRoots, read_text
from .common.xml_reader import XmlReader
from .mesh.body_sizes import doubtful_sizes
from .robot_description.loading import read_sources, robot_from_sources, sources_roots
from .robot_description.urdf_names import robot_name
from .scene_import.imported import Imported, with_prefix, with_remarks
from .scene_import.scene_files import SCENES, SDF, read_scene

STAGE = "import"
FOLDER = "Give a file; `robot_cell import FOLDER` converts a MoveIt configuration package."
EXTENSION = "Give the file the extension of its format."
CELLS, ROBOTS = (".yaml", ".yml", ".json"), (".urdf", ".xacro")


@public
def import_file(
    file: str | Path,
    roots: ResourceRoots = NO_ROOTS,
    *,
    prefix: str = "",
    confined: bool = False,
    strict: bool = False,
) -> Imported:
    """Import a file as parts of a cell, with a prefix prepended to all names. The extension selects the format.

    A robot that is read from a URDF has the name of the description and no planning groups.

    Sizes of bodies that are probably in mm are among the warnings.

    strict: Refuse defects that do not prevent the use of the models. Otherwise those of robots and tools are in
        `sources.warnings`, and those of other files in `left_out`.
    confined: Treat `file` as untrusted: it must be a URI, or a path relative to a root, and located below the roots.

    Raises:
        InvalidRequestError: No name can begin with the prefix.
        FileError: The extension is not supported, or the file is missing or malformed.
        RobotCellError: As the readers of the formats.
    """
    check_prefix(prefix)
    path = existing_file(file, roots, confined)
    if not confined:
        roots = roots.with_file(path)
    if path.suffix in ROBOTS:
        return _robot(path, roots, prefix, strict)
    found = with_prefix(_read(path, roots, strict), prefix, roots)
    return with_remarks(found, doubtful_sizes(found.cell.bodies.values()))


def check_prefix(prefix: str) -> None:
    """Check a prefix of names; "" for none.

    Raises:
        InvalidRequestError: No name can begin with it.
    """
    try:
        if prefix:
            check_name(prefix, "prefix")
    except ValueError as error:
        raise InvalidRequestError(str(error), stage=STAGE, subjects=(prefix,)) from error


def _read(path: Path, roots: ResourceRoots, strict: bool) -> Imported:
    folder, source = str(path.parent), str(path)
    if path.suffix in CELLS:
        return read_parts(read_text(path, STAGE, roots.text_bytes), folder, roots, source, strict=strict)
    if path.suffix in (*SDF, *SCENES):
        return read_scene(path, roots, STAGE, strict=strict)
    if os.path.isdir(path):  # also of names that are too long
        raise FileError(f"{path} is a folder", stage=STAGE, subjects=(source,), remedy=FOLDER)
    suffixes = ", ".join((*CELLS, *ROBOTS, *SDF, *SCENES))
    text = f"{path} ends in {path.suffix or 'nothing'}, expected one of {suffixes}"
    raise FileError(text, stage=STAGE, subjects=(source,), remedy=remedy_of_extension(source) or EXTENSION)


def _robot(path: Path, roots: ResourceRoots, prefix: str, strict: bool) -> Imported:
    sources = read_sources(str(path), roots=roots, strict=strict)
    xml = XmlReader(str(path), STAGE, Defects(strict))
    name = prefix + robot_name(xml, xml.parse(sources.urdf))
    robot = robot_from_sources(name, sources, prefix, sources_roots(sources, roots), strict=strict)
    cell = RobotCell(name=name, robots=frozendict({name: robot}))
    return Imported(cell, cell.default_state())
