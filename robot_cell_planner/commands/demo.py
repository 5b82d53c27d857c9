"""Declaration of `robot_cell demo`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .options import seed
from .reporting import json_option

SCRIPTS = {"demo": "pick_and_place", "ur10": "pick_and_place", "two_arms": "hand_over"}  # of each cell


@click.command()
@json_option
@click.option("--cell", type=click.Choice(list(SCRIPTS)), default="demo", show_default=True,
              help="Arm and bin, the same with a UR10, or two arms that hand over a bar.")  # fmt: skip
@click.option(
    "--seed", type=seed, default=1, show_default=True, help="Seed of the planning; the same gives the same plans."
)
@click.option("--nodes/--simulation", default=None,
              help="Nodes of ROS 2 and a client, or the library alone (default: nodes if ROS 2 is there).")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=None,
              help="Folder of the replay, and with nodes of the record (default: demo_record, or the first of "
                   "demo_record_2, demo_record_3, ... that is free).")  # fmt: skip
@deferred
def demo(**options: object) -> None:
    """Run a demonstration: plan a task motion by motion, execute it in a physics simulation, and judge the result.

    A line for each motion says what was planned. The exit status is 0 if the workpiece is where it belongs and nothing
    touched that may not. The replay plays in any browser. --json prints the verdict alone on the standard output.
    """
