"""Declaration of `robot_cell reach`."""

from __future__ import annotations

import click

from .deferred import deferred
from .numbers import FiniteRange
from .options import (
    POSE_HELP,
    RUNNING_HELP,
    cell_options,
    frame_option,
    free_option,
    group_option,
    pose_value,
    reference_option,
)
from .reporting import json_option


@click.command(epilog=RUNNING_HELP)
@json_option
@cell_options
@click.option("--pose", type=pose_value, metavar="POSE", required=True, help=f"Middle of the grid: {POSE_HELP}")
@reference_option("the grid is")
@click.option(
    "--size",
    metavar="X Y Z",
    type=FiniteRange(0.0),
    nargs=3,
    default=(1.0, 1.0, 0.0),
    show_default=True,
    help="Size of the grid [m].",
)
@click.option("--step", type=FiniteRange(0.0, min_open=True), default=0.1, show_default=True,
              help="Distance of neighbouring positions [m].")  # fmt: skip
@frame_option
@free_option
@group_option
@deferred
def reach(**options: object) -> None:
    """Print which positions of a grid the robot reaches with the orientation of a pose, free of collisions.

    A layer is printed as seen from above, with x to the right and y up: # is reached, x collides in every
    configuration that was found, - is beyond joint limits, . is out of reach, and ? means that a search found no
    configuration, which does not prove that there is none.
    """
