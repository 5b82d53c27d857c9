"""Declaration of `robot_cell execute`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .numbers import FiniteRange
from .options import PLAN, RUNNING_HELP, JointValue, cell_options, is_running
from .outputs import check_outputs
from .reporting import json_option


@click.command(epilog=RUNNING_HELP)
@json_option
@cell_options
@click.argument("plan_files", type=PLAN, nargs=-1, required=True)
@click.option("--speed", type=FiniteRange(0.001, 1.0), default=1.0, show_default=True,
              help="Fraction of the planned speed; below 1 on the running nodes only.")  # fmt: skip
@click.option("--view", type=click.Path(path_type=Path), help="Write a replay of the simulation to this HTML file.")
@deferred
def execute(
    cell_file: Path,
    folders: tuple[str, ...],
    start: str,
    start_values: tuple[JointValue, ...],
    plan_files: tuple[Path, ...],
    speed: float,
    view: Path | None,
    **others: object,
) -> None:
    """Execute PLAN_FILES one after the other: in the simulation of CELL_FILE, or with @running by the running nodes.

    The simulation verifies each plan before it moves. It has gravity, drives and contacts; the exit status is 1 if
    something touches that may not, a joint misses its goal, or a carried body slips. The execution node validates each
    plan in the present scene, and monitors it; Ctrl-C brings the robot to rest on its path.
    """
    check_outputs({"--view": view}, [cell_file, *plan_files])
    if is_running(cell_file) and (view is not None or start or start_values or folders):
        text = "--view, --from, --from-joint and --root are for a cell file; the nodes have a scene of their own"
        raise click.UsageError(text)
    if not is_running(cell_file) and speed < 1.0:
        raise click.UsageError(
            "--speed is for the running nodes; for the simulation, plan a slower motion with `plan --speed`"
        )
