"""Declarations of `robot_cell fk` and `robot_cell ik`."""

from __future__ import annotations

import click

from .deferred import deferred
from .options import (
    POSE_HELP,
    RUNNING_HELP,
    PoseNumbers,
    cell_options,
    check_target,
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
@click.argument("frames", nargs=-1, metavar="[FRAME]...")
@reference_option("the poses are")
@click.option("--check-limits", is_flag=True, help="Fail if a joint value is beyond its position limits.")
@deferred
def fk(**options: object) -> None:
    """Print the poses of FRAMEs: links, tools, tool centre points, bodies and named frames; without FRAME, of all.

    A line has the position [m] and the quaternion x, y, z, w.
    """


@click.command(epilog=RUNNING_HELP)
@json_option
@cell_options
@click.option("--pose", type=pose_value, metavar="POSE", help=f"Target: {POSE_HELP} With --in alone, that frame.")
@reference_option()
@frame_option
@free_option
@group_option
@click.option(
    "--solutions", type=click.IntRange(0), default=0, show_default=True, help="Max number of solutions; 0 for all."
)
@click.option("--colliding", is_flag=True, help="Include solutions in collision.")
@deferred
def ik(pose: PoseNumbers | None, reference: str, moved: str | None, free: str, **others: object) -> None:
    """Print the configurations [rad or m] that reach a pose, the nearest to the start state first.

    The exit status is 1 if there is none; the error says why.
    """
    if not check_target(pose is not None, reference, moved, free):
        raise click.UsageError("no target: give --pose, or a frame by --in")
