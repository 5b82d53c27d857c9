"""Declaration of `robot_cell plan`."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from ..planning.problem.planner_info import AUTOMATIC
from .deferred import deferred
from .inputs import InputPath
from .numbers import FiniteRange
from .options import (
    POSE_HELP,
    RUNNING_HELP,
    JointValue,
    PoseNumbers,
    cell_options,
    check_target,
    frame_option,
    free_option,
    group_option,
    joint_value,
    joint_values,
    pose_value,
    reference_option,
    seed,
)
from .outputs import check_outputs
from .reporting import json_option

UNITS = {"m": 1.0, "mm": 1e-3}  # of positions in files [m]


@click.command(epilog=RUNNING_HELP)
@json_option
@cell_options
@click.option("--to", "named_states", multiple=True, metavar="STATE", help="Named state of the group as goal.")
@click.option(
    "--joint",
    "joints",
    type=joint_value,
    metavar="JOINT=VALUE",
    multiple=True,
    callback=joint_values,
    help="Goal value of a joint [rad or m]; repeatable.",
)
@click.option("--pose", type=pose_value, metavar="POSE", help=f"Goal: {POSE_HELP} With --in alone, that frame.")
@click.option(
    "--poses",
    type=InputPath("read poses"),
    metavar="FILE",
    help="CSV or JSON file of poses, to follow one after the other in straight lines, with a rest at each corner.",
)
@click.option("--unit", type=click.Choice(list(UNITS)), help="Unit of the positions of --poses (default: m).")
@reference_option()
@frame_option
@free_option
@group_option
@click.option("--line", is_flag=True, help="Move in a straight line to the pose.")
@click.option(
    "--speed",
    type=FiniteRange(0.01, 1.0),
    default=1.0,
    show_default=True,
    help="Fraction of the fastest motion's speed: of the velocity limits, with accelerations and jerks in proportion.",
)
@click.option("--planner", default=AUTOMATIC, show_default=True, help="Planner of joint-space motions.")
@click.option("--seed", type=seed, default=0, show_default=True, help="Seed; equal requests give equal plans.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the plan to this JSON file.")
@click.option("--view", type=click.Path(path_type=Path), help="Write a page that shows the motion to this HTML file.")
@click.option("--case", type=click.Path(path_type=Path), help="Write request and answer to this file for `reproduce`.")
@deferred
def plan(
    named_states: tuple[str, ...],
    joints: tuple[JointValue, ...],
    pose: PoseNumbers | None,
    reference: str,
    moved: str | None,
    free: str,
    line: bool,
    poses: Path | None,
    unit: str | None,
    output: Path | None,
    view: Path | None,
    case: Path | None,
    **others: object,
) -> None:
    """Plan a motion to a named state, joint values or a pose, or through the poses of a file, and print what was proven
    about it.

    Joints that are not given keep their values. With several goals, the motion reaches one of them. The exit status is
    1 if there is no plan; the error says why.
    """
    check_outputs({"--output": output, "--view": view, "--case": case}, [] if poses is None else [poses])
    has_target = check_target(pose is not None or poses is not None, reference, moved, free)
    has_others = bool(named_states or joints)
    if poses is None and unit is not None:
        raise click.UsageError("--unit is for the file of --poses, which is missing")
    if poses is not None and (pose is not None or has_others or line):
        raise click.UsageError("--poses excludes --line and other goals: its poses are followed in straight lines")
    if line and (has_others or not has_target):
        raise click.UsageError("--line needs a pose, and no other goal")
    source = click.get_current_context().get_parameter_source("planner")
    if (line or poses is not None) and source is not ParameterSource.DEFAULT:
        raise click.UsageError("--planner is for motions of joints; a line has no search")
    if not has_target and not has_others:
        raise click.UsageError("no goal: give --to, --joint, --pose or --poses, or a frame by --in")
