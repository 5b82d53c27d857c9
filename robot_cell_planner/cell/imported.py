"""What is read from the files of other programs: a part of a cell, its state, and what was left out."""

from __future__ import annotations

import msgspec

from .cell import RobotCell
from .state import RobotCellState


class Imported(msgspec.Struct, frozen=True):
    """A cell and the state it stands in; left_out: parts of the file that mean nothing in a cell, one line each."""

    cell: RobotCell
    state: RobotCellState
    left_out: tuple[str, ...] = ()
