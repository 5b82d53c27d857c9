"""`robot_cell plan`, `verify` and `view`: motions as files and as pages."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import click

from ..cases import open_case, reproduce, save_case
from ..errors import FileError, RobotCellError
from ..io.common.resources import NO_ROOTS, read_text
from ..kinematics.targets import FrameTarget
from ..model.cell import RobotCell
from ..model.pose import IDENTITY, Pose
from ..model.state import RobotCellState
from ..model.value import WORLD
from ..planning.cartesian.path.waypoints import FrameWaypoints
from ..planning.cartesian.planner import CartesianRequest, plan_cartesian
from ..planning.joint_space.planner import plan_motion
from ..planning.path.plan_check import verify_plan
from ..planning.problem.plan import Plan, percent
from ..planning.problem.plan_file import plan_from_json, plan_to_json
from ..planning.problem.request import Goals, MotionRequest, PlanningOptions
from ..system.private_files import write_private_text
from ..viewer.page import write_html
from ..viewer.plans import plan_details, plan_recording
from ..viewer.recording import Moment, Recording
from .case_pages import write_case_page
from .options import POSE_HELP, JointValue, cell_options, frame_option, group_option, joint_value, mode_of, pose_value
from .progress import Elapsed, Stages
from .reporting import FAILED, echo_json, error_entry, reporting
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
    help="Goal value of a joint; repeatable.",
)
@click.option("--pose", type=pose_value, metavar="POSE", help=f"Goal: {POSE_HELP} With --in alone, the frame itself.")
@click.option("--in", "reference", default=WORLD, show_default=True, help="Frame that the pose is expressed in.")
@frame_option
@group_option
@click.option("--line", is_flag=True, help="Move in a straight line to the pose.")
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
    group: str,
    line: bool,
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
    if pose is None and reference != WORLD:
        pose = IDENTITY
    mode = mode_of(cell, state, group, moved) if pose is not None else None
    if line:
        if pose is None or mode is None or named_states or joints:
            raise click.UsageError("--line needs a pose, and no other goal")
        waypoints = FrameWaypoints((pose,), mode=mode, reference_frame=reference)
        request: CartesianRequest | MotionRequest = CartesianRequest(waypoints, group)
    else:
        if pose is None and not named_states and not joints:
            raise click.UsageError("no goal: give --to, --joint or --pose")
        targets = (
            () if pose is None or mode is None else (FrameTarget(mode=mode, pose=pose, reference_frame=reference),)
        )
        goals = Goals((dict(joints),) if joints else (), named_states, targets)
        options = PlanningOptions(planner=planner, seed=seed)
        request = MotionRequest(goals, group, options=options)
    found = _planned(cell, state, request, case)
    if output is not None:
        _write(output, plan_to_json(found).decode())
    if view is not None:
        title = f"{cell.name}: plan"
        write_html(view, cell, plan_recording(state, found), title, **plan_details(cell, state, found))
    if as_json:
        echo_json(_entry(found))
    else:
        _echo(found)
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


@click.command(epilog=HELP)
@reporting
@cell_options
@click.argument("plan_file", type=click.Path(path_type=Path))
def verify(cell: RobotCell, state: RobotCellState, plan_file: Path, as_json: bool) -> int:
    """Verify PLAN_FILE with the collision engine alone, without the planner's certificates.

    The digests of cell and start state, limits, collisions and the figures of the plan are checked. The exit status is
    1 if one of them does not hold.
    """
    with Elapsed("verifying"):
        verdict = verify_plan(cell, state, read_plan(plan_file))
    if as_json:
        echo_json({"valid": verdict.valid, "violations": [error_entry(error) for error in verdict.violations]})
    else:
        for error in verdict.violations:
            click.echo(f"{click.style('violation', fg='red')} {error}")
        record = verdict.record
        click.echo(f"{'valid' if verdict.valid else 'NOT VALID'}: {record.states_checked} states checked")
    return 0 if verdict.valid else FAILED


def _showing_cases(command: Callable[..., int]) -> Callable[..., int]:
    """Show a case file that is given in place of a cell file."""

    @functools.wraps(command)
    def shown(cell_file: Path, **others: Any) -> int:
        if not is_zipfile(cell_file):
            return command(cell_file=cell_file, **others)
        if others["plan_files"]:
            raise click.UsageError("a case file is shown alone, without plan files")
        with open_case(cell_file) as case:
            path = write_case_page(others["output"], case, reproduce(case).result)
        _echo_page(path, others["as_json"])
        return 0

    return shown


@click.command(epilog=HELP)
@reporting
@_showing_cases
@cell_options
@click.argument("plan_files", type=click.Path(path_type=Path), nargs=-1)
@click.option("--output", type=click.Path(path_type=Path), default=Path("view.html"), show_default=True)
def view(cell: RobotCell, state: RobotCellState, plan_files: tuple[Path, ...], output: Path, as_json: bool) -> int:
    """Write a page that shows the cell, or the motion of a plan file, in any browser and without a network.

    Of several plan files, the first is played, and the curves and tool paths of all are drawn over each other. A case
    file can be given in place of CELL_FILE: its request is answered again and shown.
    """
    with Elapsed("writing the page"):
        if not plan_files:
            path = write_html(output, cell, Recording((Moment(0.0, state),)), cell.name)
        else:
            plans = {str(file): read_plan(file) for file in plan_files}
            first = plans[str(plan_files[0])]
            details = plan_details(cell, state, first)
            details["trajectories"] = {
                name: plan.trajectory for name, plan in plans.items() if plan.trajectory is not None
            }
            path = write_html(output, cell, plan_recording(state, first), cell.name, **details)
    _echo_page(path, as_json)
    return 0


def _echo_page(path: Path, as_json: bool) -> None:
    if as_json:
        echo_json({"page": str(path)})
    else:
        click.echo(f"wrote {path}")


def read_plan(path: Path) -> Plan:
    """Return the plan of a file.

    Raises:
        FileError, InvalidRequestError: It cannot be read, or is no plan.
    """
    return plan_from_json(read_text(path, "read plan", NO_ROOTS.text_bytes), str(path))


def _write(path: Path, text: str) -> None:
    try:
        write_private_text(path, text)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", stage="write plan", subjects=(str(path),)) from error


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


def _echo(found: Plan) -> None:
    click.echo(f"planner   {found.planner}, seed {found.seed}, {found.states_checked} states checked")
    click.echo(f"path      {len(found.path)} waypoints, {found.path_length:.3f} rad or m")
    click.echo(f"duration  {found.duration:.2f} s")
    click.echo(f"certified {percent(found.certified_fraction)} % of the path is proven free of collisions")
    if found.clearance is not None:
        near = found.clearance.closest
        click.echo(f"clearance {1e3 * near.distance:.1f} mm between {near.first} and {near.second}")
    click.echo("times     " + ", ".join(f"{stage.stage} {1e3 * stage.seconds:.1f} ms" for stage in found.times))
    for text in found.warnings:
        click.echo(f"{click.style('warning', fg='yellow')}   {text}")
