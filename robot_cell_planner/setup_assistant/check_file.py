"""Check of a cell file: of its cell, and of how the file is written."""

from __future__ import annotations

from pathlib import Path

from ..io.cell_file.angles import IN_DEGREES
from ..io.cell_file.cell_file import cell_file_doubts, read_cell_file
from ..io.cell_file.simulation_section import load_simulated_robot
from ..io.common.resources import NO_ROOTS, ResourceRoots
from .check import check_cell
from .check_parameters import parameter_findings
from .check_simulation import simulation_findings
from .finding import UNITS, WARNING, Finding, in_order

PARAMETERS = "parameters.yaml"  # of the nodes of a cell
LEFT_OUT = "Mend the included file, or describe the part in the cell file."


def check_cell_file(
    file: str | Path, roots: ResourceRoots = NO_ROOTS, parameters: str | Path = ""
) -> tuple[Finding, ...]:
    """Check a cell file: its cell as `check_cell` does, angles in it that are probably in degrees, what the cell may
    need of included files and does not have, what a simulation refuses of its section `simulation`, and the ranges of
    grippers in a file of node parameters.

    Args:
        file: Cell file.
        roots: Folders of its files.
        parameters: File of node parameters; "": `parameters.yaml` beside the cell file, if there is one.

    Raises:
        RobotCellError: As `load_cell`.
    """
    remedy = f"Write angles in rad, or `{IN_DEGREES}` in degrees."
    read = read_cell_file(file, roots)
    given = Path(parameters) if parameters else Path(file).parent / PARAMETERS
    return in_order(
        [
            *check_cell(read.cell, read.state),
            *(Finding(WARNING, UNITS, text, remedy) for text in cell_file_doubts(file, roots)),
            *(Finding(WARNING, "description", text, LEFT_OUT) for text in read.warnings),
            *simulation_findings(read.cell, read.state, load_simulated_robot(file, roots)),
            *(parameter_findings(read.cell, given) if parameters or given.is_file() else ()),
        ]
    )
