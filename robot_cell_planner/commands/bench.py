"""Declaration of `robot_cell bench`."""

from __future__ import annotations

import click

from .deferred import deferred
from .options import RUNNING_HELP, cell_options, group_option, seed
from .reporting import json_option


@click.command(epilog=RUNNING_HELP)
@json_option
@cell_options
@group_option
@click.option("--motions", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Motions to plan.")
@click.option(
    "--seed", type=seed, default=0, show_default=True, help="Seed of the random configurations and of the planner."
)
@deferred
def bench(**options: object) -> None:
    """Measure kinematics, collision checks and planning between random configurations of CELL_FILE.

    Times are those of calls of the library in one process, with kernels and sphere models made before. The load of the
    computer is printed, because other programs make the times longer. `make bench` in the repository compares with
    other libraries.
    """
