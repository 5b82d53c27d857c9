"""`robot_cell fk` and `robot_cell ik`: poses of frames, and configurations that reach a pose."""

from __future__ import annotations

import click

from ...collision.checker import CollisionChecker
from ...kinematics.forward import forward_kinematics_to_frame
from ...kinematics.ik.options import IkOptions, IkResult
from ...kinematics.ik.solver import inverse_kinematics
from ...kinematics.targets import FrameTarget
from ...model.cell import RobotCell
from ...model.frames import FrameTree
from ...model.state import RobotCellState
from ..options import PoseNumbers
from ..reporting import echo_json
from .cells import with_cell
from .targets import frame_target, moved_frame, pose_entry, pose_explained, pose_text


@with_cell
def fk(
    cell: RobotCell,
    state: RobotCellState,
    frames: tuple[str, ...],
    reference: str,
    check_limits: bool,
    as_json: bool,
) -> int:
    """Print the poses of frames."""
    names = frames or tuple(FrameTree(cell, state))
    poses = {
        name: forward_kinematics_to_frame(cell, state, name, reference, check_limits=check_limits) for name in names
    }
    if as_json:
        echo_json({"reference_frame": reference, "poses": {name: pose_entry(pose) for name, pose in poses.items()}})
    else:
        width = max(map(len, names))
        for name, pose in poses.items():
            click.echo(f"{name:{width}}  {pose_text(pose)}")
    return 0


@with_cell
def ik(
    cell: RobotCell,
    state: RobotCellState,
    pose: PoseNumbers | None,
    reference: str,
    moved: str | None,
    free: str,
    group: str,
    solutions: int,
    colliding: bool,
    as_json: bool,
) -> int:
    """Print the configurations that reach a pose."""
    target = frame_target(cell, state, group, moved, pose, reference, free)
    frame = moved_frame(cell, state, group, target)
    with pose_explained(pose):
        found = _solutions(cell, state, target, group, IkOptions(max_solutions=solutions), colliding=colliding)
    if as_json:
        _echo_json(found, frame)
    else:
        _echo(found, frame)
    return 0


def _solutions(
    cell: RobotCell, state: RobotCellState, target: FrameTarget, group: str, options: IkOptions, *, colliding: bool
) -> IkResult:
    """Return the solutions for a target. colliding: also those in collision."""
    if colliding:
        return inverse_kinematics(cell, state, target, group, options)
    checker = CollisionChecker(cell, state, cell.group(group).variables)
    return inverse_kinematics(
        cell,
        state,
        target,
        group,
        options,
        lambda q: not checker.in_collision(q),
        lambda q: tuple(f"{pair.first} - {pair.second}" for pair in checker.report(q).pairs),
    )


def _echo_json(found: IkResult, frame: str) -> None:
    echo_json(
        {
            "frame": frame,
            "joints": list(found.variables),
            "solutions": found.solutions.tolist(),
            "solver": found.solver,
            "complete": found.complete,
        }
    )


def _echo(found: IkResult, frame: str) -> None:
    click.echo("  ".join(found.variables))
    for row in found.solutions.tolist():
        click.echo("  ".join(f"{value:{len(name)}.4f}" for name, value in zip(found.variables, row, strict=True)))
    others = "all" if found.complete else "there may be others"
    click.echo(f"solutions that bring {frame} to the pose: {len(found)} ({others}); solver {found.solver}")
