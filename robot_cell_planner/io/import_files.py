"""Import of files in all supported formats: cell files, URDF and xacro, SDFormat, MoveIt scenes."""

from __future__ import annotations

from pathlib import Path

from frozendict import frozendict

from ..errors import FileError, InvalidRequestError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.value import check_name
from .cell_file.cell_file import existing_file
from .cell_file.reader import read_parts
from .common.defects import Defects
from .common.resources import NO_ROOTS, ResourceRoots, read_text
from .common.xml_reader import XmlReader
from .robot_description.loading import read_sources, robot_from_sources, sources_roots
from .scene_import.imported import Imported, with_prefix
from .scene_import.scene_files import SCENES, SDF, read_scene

STAGE = "import"
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
    return with_prefix(_read(path, roots, strict), prefix, roots)


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
    suffixes = ", ".join((*CELLS, *ROBOTS, *SDF, *SCENES))
    raise FileError(f"{path} ends in {path.suffix or 'nothing'}, expected one of {suffixes}", stage=STAGE)


def _robot(path: Path, roots: ResourceRoots, prefix: str, strict: bool) -> Imported:
    sources = read_sources(str(path), roots=roots, strict=strict)
    xml = XmlReader(str(path), STAGE, Defects(strict))
    name = prefix + xml.attribute(xml.parse(sources.urdf), "name")
    robot = robot_from_sources(name, sources, prefix, sources_roots(sources, roots), strict=strict)
    cell = RobotCell(name=name, robots=frozendict({name: robot}))
    return Imported(cell, cell.default_state())
