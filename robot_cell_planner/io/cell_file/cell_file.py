"""Cells and states in files. The format of cell files is described in docs/cell_file.md."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from ...errors import FileError
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.start_limits import states_beyond_limits
from ...model.state import RobotCellState
from ..common.resources import (
    NO_ROOTS,
    ResourceRoots,
    enclosing_folder,
    read_text,
    resolve_below,
    resolve_new,
    write_text,
)
from ..common.serialisation import dump_yaml, from_document, to_json_document, to_yaml_document
from .reader import read_cell
from .writer import cell_entries

log = logging.getLogger(__name__)

READ_CELL, WRITE_CELL, READ_STATE, WRITE_STATE = "read cell", "write cell", "read state", "write state"


@public
def load_cell(
    file: str | Path, roots: ResourceRoots = NO_ROOTS, *, confined: bool = False
) -> tuple[RobotCell, RobotCellState]:
    """The cell in a file, and the state that the file puts it in.

    What the file names may lie in the package or folder that holds it, in installed packages and below the roots.

    confined: `file` comes from outside: it is a URI, or a path relative to a root, and must lie below the roots too.
    States that put a joint beyond its limits are logged as warnings.

    Raises:
        FileError, ResourceError, GeometryError, ModelError, LimitExceededError: a file is missing or malformed.
        DuplicateNameError, UnknownNameError, StateError, FrameCycleError: its parts do not fit together.
    """
    path = existing_file(file, roots, confined)
    if not confined:
        roots = roots.with_folder(enclosing_folder(path))
    cell, state = read_cell(read_text(path, READ_CELL, roots.text_bytes), str(path.parent), roots, str(path))
    for warning in states_beyond_limits(cell, state):
        log.warning("%s: %s", path, warning)
    return cell, state


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
    """Writes a cell, and a state if one is given, as a cell file, and returns its text; "" writes nothing.

    Its ending decides the form: .yaml, .yml or .json. What the same roots can read is written as a reference.

    confined: `file` comes from outside: its folder must lie below the roots.

    Raises:
        FileError: it cannot be written, or exists and `overwrite` is false.
        ResourceError: no such folder, or outside of the roots.
        NotSupportedError: a robot, or a tool with joints, that was not read from a description.
    """
    path = _new(file, roots, confined)
    entries = cell_entries(cell, state, path.parent if path else Path.cwd(), roots)
    text = _json(entries) if _is_json(path) else dump_yaml(entries)
    if path:
        write_text(path, text, WRITE_CELL, overwrite)
    return text


@public
def load_state(file: str | Path, roots: ResourceRoots = NO_ROOTS, *, confined: bool = False) -> RobotCellState:
    """The state in a file of `save_state`; whether it fits a cell is for `RobotCell.check_state`.

    Raises:
        FileError, ResourceError, LimitExceededError: missing, outside of the roots, or malformed.
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
    """Writes a state, to the last bit, and returns the text; "" writes nothing. Ending and `confined` as `save_cell`.

    Raises:
        FileError: it cannot be written, or exists and `overwrite` is false.
        ResourceError: no such folder, or outside of the roots.
    """
    path = _new(file, roots, confined)
    text = to_json_document(state).decode() if _is_json(path) else to_yaml_document(state)
    if path:
        write_text(path, text, WRITE_STATE, overwrite)
    return text


def existing_file(file: str | Path, roots: ResourceRoots, confined: bool) -> Path:
    """Path of a file to read.

    Raises:
        ResourceError: it is confined to the roots, and outside of them or missing.
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
