"""Check of a cell file: of its cell, and of how the file is written."""

from __future__ import annotations

from pathlib import Path

from ..io.cell_file.angles import IN_DEGREES
from ..io.cell_file.cell_file import cell_file_doubts, load_cell
from ..io.common.resources import NO_ROOTS, ResourceRoots
from .check import check_cell, in_order
from .finding import WARNING, Finding


def check_cell_file(file: str | Path, roots: ResourceRoots = NO_ROOTS) -> tuple[Finding, ...]:
    """Check a cell file: its cell as `check_cell` does, and angles in it that are probably in degrees.

    Raises:
        RobotCellError: As `load_cell`.
    """
    remedy = f"Write angles in rad, or `{IN_DEGREES}` in degrees."
    found = check_cell(*load_cell(file, roots))
    return in_order([*found, *(Finding(WARNING, "frames", text, remedy) for text in cell_file_doubts(file, roots))])
