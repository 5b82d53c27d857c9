"""`robot_cell plan`: motions to named states, joint values and poses."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import click

from ..cases import save_case
from ..errors import FileError, RobotCellError
from ..kinematics.targets import FrameTarget
from ..model.cell import RobotCell
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..planning.cartesian.path.waypoints import FrameWaypoints, common_fields
from ..planning.cartesian.planner import CartesianRequest, plan_cartesian
from ..planning.joint_space.planner import plan_motion
from ..planning.problem.plan import Plan, percent
from ..planning.problem.plan_file import plan_to_json
from ..planning.problem.request import Goals, MotionRequest, PlanningOptions
from ..system.private_files import make_output_folder, write_private_text
from ..trajectory.timing import TimingOptions
from ..viewer.page import write_html
from ..viewer.plans import plan_details, plan_recording
from .numbers import FiniteRange
from .options import (
    POSE_HELP,
    JointValue,
    cell_options,
    frame_option,
    free_option,
    group_option,
    joint_value,
    joint_values,
    moved_frame,
    pose_explained,
    pose_target,
    pose_value,
    reference_option,
    units_explained,
)
from .outputs import check_outputs
from .progress import Stages
from .reporting import echo_json, reporting
from .running import HELP


@click.command(epilog=HELP)
@reporting
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
@reference_option
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
@click.option("--planner", default=PlanningOptions.planner, show_default=True, help="Planner of joint-space motions.")
@click.option("--seed", default=0, show_default=True, help="Seed; equal requests give equal plans.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the plan to this JSON file.")
@click.option("--view", type=click.Path(path_type=Path), help="Write a page that shows the motion to this HTML file.")
@click.option("--case", type=click.Path(path_type=Path), help="Write request and answer to this file for `reproduce`.")
def plan(
    cell: RobotCell,
    state: RobotCellState,
    named_states: tuple[str, ...],
    joints: tuple[JointValue, ...],
    pose: Pose | None,
    reference: str,
    moved: str | None,
    free: str,
    group: str,
    line: bool,
    speed: float,
    planner: str,
    seed: int,
    output: Path | None,
    view: Path | None,
    case: Path | None,
    as_json: bool,
) -> int:
    """Plan a motion to a named state, joint values or a pose, and print what was proven about it.

    Joints that are not given keep their values. With several goals, the motion reaches one of them. The exit status is
    1 if there is no plan; the error says why.
    """
    check_outputs({"--output": output, "--view": view, "--case": case})
    target = pose_target(cell, state, group, moved, pose, reference, free)
    frame = "" if target is None else moved_frame(cell, state, group, target)
    # The same motion in 1 / speed times its time.
    timing = TimingOptions(velocity_scale=speed, acceleration_scale=speed**2, jerk_scale=speed**3)
    request: CartesianRequest | MotionRequest
    if line:
        request = _line_request(target, has_other_goals=bool(named_states or joints), group=group, timing=timing)
    else:
        if target is None and not named_states and not joints:
            raise click.UsageError("no goal: give --to, --joint or --pose, or a frame by --in")
        goals = Goals((dict(joints),) if joints else (), named_states, () if target is None else (target,))
        options = PlanningOptions(planner=planner, seed=seed)
        request = MotionRequest(goals, group, options=options, timing=timing)
    with units_explained("--joint", joints), pose_explained(pose):
        found = _planned(cell, state, request, case)
    if output is not None:
        _write(output, plan_to_json(found).decode())
    if view is not None:
        title = f"{cell.name}: plan"
        write_html(view, cell, plan_recording(state, found), title, **plan_details(cell, state, found))
    others = [*(["the joint values"] if joints else []), *(f"named state {name}" for name in named_states)]
    other = others[found.goal] if frame and 0 <= found.goal < len(others) else ""  # goals are numbered in this order
    if as_json:
        echo_json(_entry(found) | ({"frame": frame} if frame and not other else {}))
    else:
        _echo(found, f"the robot to {other}" if other else f"{frame} to the pose" if frame else "")
    return 0


def _line_request(
    target: FrameTarget | None, *, has_other_goals: bool, group: str, timing: TimingOptions
) -> CartesianRequest:
    """Return the request of a straight line to a target.

    Raises:
        click.UsageError: There is no target, or another goal.
    """
    if target is None or has_other_goals:
        raise click.UsageError("--line needs a pose, and no other goal")
    waypoints = FrameWaypoints((target.pose,), **common_fields(target))
    return CartesianRequest(waypoints, group, timing=timing)


def _planned(
    cell: RobotCell, state: RobotCellState, request: MotionRequest | CartesianRequest, case: Path | None
) -> Plan:
    """Plan a motion. case: file for request and answer."""
    try:
        with Stages() as stages:
            if isinstance(request, MotionRequest):
                found = plan_motion(cell, state, request, on_progress=stages)
            else:
                found = plan_cartesian(cell, state, request, on_progress=stages)
    except RobotCellError as error:
        if case is not None:
            save_case(case, cell, state, request, error)
        raise
    if case is not None:
        save_case(case, cell, state, request, found)
    return found


def _write(path: Path, text: str) -> None:
    try:
        make_output_folder(path)
        write_private_text(path, text)
    except OSError as error:
        raise FileError.of(path, error, "write plan") from error


def _entry(found: Plan) -> dict[str, object]:
    closest = None
    if found.clearance is not None:
        pair = found.clearance.closest
        closest = {"first": pair.first, "second": pair.second, "distance": pair.distance}
    return {
        "group": found.group,
        "joints": list(found.variables),
        "path": found.path.tolist(),
        "planner": found.planner,
        "seed": found.seed,
        "states_checked": found.states_checked,
        "path_length": found.path_length,
        "duration": found.duration,
        "certified_fraction": None if math.isnan(found.certified_fraction) else found.certified_fraction,
        "clearance": closest,
        "times": [asdict(stage) for stage in found.times],
        "warnings": list(found.warnings),
    }


def _echo(found: Plan, moved: str) -> None:
    """Print a plan. moved: What it moves where; "" for joint goals alone."""
    if moved:
        click.echo(f"moves     {moved}")
    if found.path_length:
        _echo_motion(found)
    else:
        click.echo("already at the goal: nothing moves")
    for text in found.warnings:
        click.echo(f"{click.style('warning', fg='yellow')}   {text}")


def _echo_motion(found: Plan) -> None:
    click.echo(f"planner   {found.planner}, seed {found.seed}, {found.states_checked} states checked")
    click.echo(f"path      {len(found.path)} waypoints, {found.path_length:.3f} rad or m")
    click.echo(f"duration  {found.duration:.2f} s")
    if math.isnan(found.certified_fraction):
        click.echo("certified nothing: no certificates, or no checked pair of objects moves")
    else:
        click.echo(f"certified {percent(found.certified_fraction)} % of the path is proven free of collisions")
    if found.clearance is not None:
        near = found.clearance.closest
        click.echo(f"clearance {1e3 * near.distance:.1f} mm between {near.first} and {near.second}")
    click.echo("times     " + ", ".join(f"{stage.stage} {1e3 * stage.seconds:.1f} ms" for stage in found.times))
