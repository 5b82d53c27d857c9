"""Reading and writing of cells and states. The file format is described in docs/cell_file.md."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from ...errors import FileError
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.cell_warnings import cell_warnings
from ...model.start_limits import states_beyond_limits
from ...model.state import RobotCellState
from ..common.resources import (
    NO_ROOTS,
    ResourceRoots,
    read_text,
    resolve_below,
    resolve_new,
    write_text,
)
from ..common.sections import ConfigurationFile
from ..common.serialisation import dump_yaml, from_document, to_json_document, to_yaml_document
from ..mesh.body_sizes import doubtful_sizes
from ..scene_import.imported import Imported
from .angles import doubtful_angles
from .reader import log_left_out, read_parts
from .writer import cell_entries

log = logging.getLogger(__name__)

READ_CELL, WRITE_CELL, READ_STATE, WRITE_STATE = "read cell", "write cell", "read state", "write state"


@public
def load_cell(
    file: str | Path, roots: ResourceRoots = NO_ROOTS, *, confined: bool = False
) -> tuple[RobotCell, RobotCellState]:
    """Load a cell and its state from a file.

    Files referenced by the cell file may be located in the package or folder that contains it, in installed packages
    and below the roots. Defects of descriptions, what the cell lacks (`cell_warnings`), states beyond joint limits,
    sizes that are probably in mm, and angles that are probably in degrees are logged as warnings, and so is what a cell
    may need of included files.

    Args:
        file: Path or URI of the cell file.
        roots: Additional folders that may be read.
        confined: Treat `file` as untrusted: it must be a URI, or a path relative to a root, and located below the
            roots.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: A file is missing or malformed.
        DuplicateNameError, UnknownNameError, StateError, FrameCycleError: The parts of the file are inconsistent.
    """
    found = read_cell_file(file, roots, confined=confined)
    log_left_out(found)
    sizes = doubtful_sizes(found.cell.bodies.values())
    for warning in (*cell_warnings(found.cell), *sizes, *states_beyond_limits(found.cell, found.state)):
        log.warning("%s: %s", existing_file(file, roots, confined), warning)
    return found.cell, found.state


def read_cell_file(file: str | Path, roots: ResourceRoots = NO_ROOTS, *, confined: bool = False) -> Imported:
    """As `load_cell`, with what is left out of included files. Only angles are logged.

    Raises:
        RobotCellError: As `load_cell`.
    """
    path = existing_file(file, roots, confined)
    if not confined:
        roots = roots.with_file(path)
    return read_parts(read_text(path, READ_CELL, roots.text_bytes), str(path.parent), roots, str(path))


def cell_file_doubts(file: str | Path, roots: ResourceRoots = NO_ROOTS) -> tuple[str, ...]:
    """Return what in a cell file is probably not meant as written: angles in degrees. `load_cell` logs it.

    Raises:
        FileError, LimitExceededError: The file is missing or malformed.
    """
    path = existing_file(file, roots, False)
    return doubtful_angles(ConfigurationFile(read_text(path, READ_CELL, roots.text_bytes), str(path), READ_CELL))


@public
def save_cell(
    file: str | Path,
    cell: RobotCell,
    state: RobotCellState | None = None,
    roots: ResourceRoots = NO_ROOTS,
    *,
    overwrite: bool = True,
    confined: bool = False,
) -> str:
    """Write a cell, and a state if given, as a cell file, and return its text. If `file` is "", nothing is written.

    The extension selects the format: .yaml, .yml or .json. Descriptions that can be read with the same roots are
    written as references.

    Args:
        file: Path or URI of the cell file.
        cell: Cell to write.
        state: State to write, or None.
        roots: Folders that a reader of the file may read.
        overwrite: Allow replacing an existing file.
        confined: Treat `file` as untrusted: its folder must be below the roots.

    Raises:
        FileError: The file cannot be written, or exists and `overwrite` is False.
        ResourceError: The folder does not exist, or is outside the roots.
        NotSupportedError: A robot, or a tool with joints, was not read from a description.
    """
    path = _new(file, roots, confined)
    entries = cell_entries(cell, state, path.parent if path else Path.cwd(), roots)
    text = _json(entries) if _is_json(path) else dump_yaml(entries)
    if path:
        write_text(path, text, WRITE_CELL, overwrite)
    return text


@public
def load_state(file: str | Path, roots: ResourceRoots = NO_ROOTS, *, confined: bool = False) -> RobotCellState:
    """Load a state from a file written by `save_state`. Use `RobotCell.check_state` to check that it matches a cell.

    Raises:
        FileError, ResourceError, LimitExceededError: The file is missing, outside the roots, or malformed.
    """
    path = existing_file(file, roots, confined)
    return from_document(read_text(path, READ_STATE, roots.text_bytes), RobotCellState, str(path))


@public
def save_state(
    file: str | Path,
    state: RobotCellState,
    roots: ResourceRoots = NO_ROOTS,
    *,
    overwrite: bool = True,
    confined: bool = False,
) -> str:
    """Write a state exactly, and return the text. If `file` is "", nothing is written.

    Extension and `confined` as for `save_cell`.

    Raises:
        FileError: The file cannot be written, or exists and `overwrite` is False.
        ResourceError: The folder does not exist, or is outside the roots.
    """
    path = _new(file, roots, confined)
    text = to_json_document(state).decode() if _is_json(path) else to_yaml_document(state)
    if path:
        write_text(path, text, WRITE_STATE, overwrite)
    return text


def existing_file(file: str | Path, roots: ResourceRoots, confined: bool) -> Path:
    """Return the path of a file to read.

    Raises:
        ResourceError: The file is confined to the roots, and outside them or missing.
    """
    return resolve_below(str(file), roots) if confined else Path(file).absolute()


def _new(file: str | Path, roots: ResourceRoots, confined: bool) -> Path | None:
    if not str(file):
        return None
    path = resolve_new(str(file), roots) if confined else Path(file).absolute()
    if path.suffix not in (".yaml", ".yml", ".json"):
        text = f"{path} ends in {path.suffix or 'nothing'}, expected .yaml, .yml or .json"
        raise FileError(text, stage=WRITE_CELL, subjects=(str(path),))
    return path


def _is_json(path: Path | None) -> bool:
    return path is not None and path.suffix == ".json"


def _json(entries: dict[str, object]) -> str:
    return msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n"
