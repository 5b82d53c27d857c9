"""Declarations of `robot_cell verify` and `robot_cell view`."""

from __future__ import annotations

from pathlib import Path
from zipfile import is_zipfile

import click

from .deferred import deferred
from .options import PLAN, RUNNING_HELP, JointValue, cell_options
from .outputs import check_outputs
from .reporting import json_option


@click.command(epilog=RUNNING_HELP)
@json_option
@cell_options
@click.argument("plan_file", type=PLAN)
@deferred
def verify(**options: object) -> None:
    """Verify PLAN_FILE with the collision engine alone, without the planner's certificates.

    The digests of cell and start state, limits, collisions and the figures of the plan are checked. The exit status is
    1 if one of them does not hold.
    """


@click.command(epilog=RUNNING_HELP)
@json_option
@cell_options
@click.argument("plan_files", type=PLAN, nargs=-1)
@click.option("--output", type=click.Path(path_type=Path), default=Path("view.html"), show_default=True)
@deferred
def view(
    cell_file: Path,
    folders: tuple[str, ...],
    start: str,
    start_values: tuple[JointValue, ...],
    plan_files: tuple[Path, ...],
    output: Path,
    **others: object,
) -> None:
    """Write a page that shows the cell, or the motion of a plan file, in any browser and without a network.

    Of several plan files, the first is played, and the curves and tool paths of all are drawn over each other. A case
    file can be given in place of CELL_FILE: its request is answered again and shown.
    """
    check_outputs({"--output": output}, [cell_file, *plan_files])
    if is_zipfile(cell_file):
        if plan_files:
            raise click.UsageError("a case file is shown alone, without plan files")
        if folders or start or start_values:
            text = "--root, --from and --from-joint are for a cell file; a case file has its own cell and state"
            raise click.UsageError(text)
