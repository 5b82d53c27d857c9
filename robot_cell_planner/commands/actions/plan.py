"""`robot_cell plan`: motions to named states, joint values and poses."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import click

from ...cases import save_case
from ...errors import FileError, RobotCellError
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.units import unit_of_joints
from ...model.value import WORLD
from ...planning.cartesian.path.options import CartesianOptions
from ...planning.cartesian.path.waypoints import FrameWaypoints, common_fields
from ...planning.cartesian.planner import CartesianRequest, plan_cartesian
from ...planning.joint_space.planner import plan_motion
from ...planning.problem.plan import Plan, percent
from ...planning.problem.plan_file import plan_to_json
from ...planning.problem.request import Goals, MotionRequest, PlanningOptions
from ...system.private_files import make_output_folder, write_private_text
from ...trajectory.timing import TimingOptions
from ...viewer.page import write_html
from ...viewer.plans import plan_details, plan_recording
from ..options import JointValue, PoseNumbers
from ..plan import UNITS
from ..progress import Elapsed, Stages
from ..reporting import echo_json
from .cells import units_explained, warnings_are_in_answer, with_cell, with_held_warnings
from .pose_files import read_poses
from .targets import frame_target, moved_frame, pose_explained


@with_held_warnings
@with_cell
def plan(
    cell: RobotCell,
    state: RobotCellState,
    named_states: tuple[str, ...],
    joints: tuple[JointValue, ...],
    pose: PoseNumbers | None,
    reference: str,
    moved: str | None,
    free: str,
    group: str,
    line: bool,
    poses: Path | None,
    unit: str | None,
    speed: float,
    planner: str,
    seed: int,
    output: Path | None,
    view: Path | None,
    case: Path | None,
    as_json: bool,
) -> int:
    """Plan a motion, write it to files, and print what was proven about it."""
    target, given = None, () if poses is None else read_poses(poses)
    if pose is not None or given or reference != WORLD:
        target = frame_target(cell, state, group, moved, pose, reference, free, UNITS[unit or "m"])
    frame = "" if target is None else moved_frame(cell, state, group, target)
    # The same motion in 1 / speed times its time.
    timing = TimingOptions(velocity_scale=speed, acceleration_scale=speed**2, jerk_scale=speed**3)
    request: CartesianRequest | MotionRequest
    if (line or given) and target is not None:
        waypoints = FrameWaypoints(given or (target.pose,), **common_fields(target))
        request = CartesianRequest(waypoints, group, options=CartesianOptions(seed=seed), timing=timing)
    else:
        goals = Goals((dict(joints),) if joints else (), named_states, () if target is None else (target,))
        options = PlanningOptions(planner=planner, seed=seed)
        request = MotionRequest(goals, group, options=options, timing=timing)
    with units_explained("--joint", joints), pose_explained(pose, given, unit or "m"):
        found = _planned(cell, state, request, case)
    warnings_are_in_answer(found.warnings)
    if output is not None:
        _write(output, plan_to_json(found).decode())
    if view is not None:
        title = f"{cell.name}: plan"
        with Elapsed("writing the page"):
            write_html(view, cell, plan_recording(state, found), title, **plan_details(cell, state, found))
    others = [*(["the joint values"] if joints else []), *(f"named state {name}" for name in named_states)]
    way = f"through {len(given)} poses" if given else "to the pose"
    other = others[found.goal] if frame and 0 <= found.goal < len(others) else ""  # goals are numbered in this order
    if as_json:
        echo_json(_entry(found) | ({"frame": frame} if frame and not other else {}))
    else:
        _echo(found, cell, f"the robot to {other}" if other else f"{frame} {way}" if frame else "")
    return 0


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


def _echo(found: Plan, cell: RobotCell, moved: str) -> None:
    """Print a plan. moved: What it moves where; "" for joint goals alone."""
    if moved:
        click.echo(f"moves     {moved}")
    if found.path_length:
        _echo_motion(found, cell)
    else:
        click.echo("already at the goal: nothing moves")
    for text in found.warnings:
        click.echo(f"{click.style('warning', fg='yellow')}   {text}")


def _echo_motion(found: Plan, cell: RobotCell) -> None:
    click.echo(f"planner   {found.planner}, seed {found.seed}, {found.states_checked} states checked")
    unit = unit_of_joints(cell.variables, found.variables)
    click.echo(f"path      {len(found.path)} waypoints, {found.path_length:.3f} {unit}")
    click.echo(f"duration  {found.duration:.2f} s")
    if math.isnan(found.certified_fraction):
        click.echo("certified nothing: no certificates, or no checked pair of objects moves")
    else:
        click.echo(f"certified {percent(found.certified_fraction)} % of the path is proven free of collisions")
    if found.clearance is not None:
        near = found.clearance.closest
        click.echo(f"clearance {1e3 * near.distance:.1f} mm between {near.first} and {near.second}")
    click.echo("times     " + ", ".join(f"{stage.stage} {1e3 * stage.seconds:.1f} ms" for stage in found.times))
