"""Goals of motions from keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from frozendict import frozendict

from ..errors import InvalidRequestError
from ..kinematics.targets import FrameTarget, TargetMode, tolerances_of_free
from ..model.cell import RobotCell
from ..model.pose import IDENTITY, Pose
from ..model.value import WORLD
from ..planning.cartesian.path.options import CartesianOptions
from ..planning.cartesian.path.waypoints import FrameWaypoints
from ..planning.problem.constraints import PathConstraint
from ..planning.problem.request import Goals, PlanningOptions
from ..trajectory.timing import TimingOptions

STAGE = "request"
Names: TypeAlias = str | Sequence[str]
JointValues: TypeAlias = Mapping[str, float] | Sequence[float]
Place: TypeAlias = str | Pose  # a frame, or a pose in the world
OPTIONS = "named_state, joints, tool_at, workpiece_at, flange_at, frame_at, goals"
NO_FRAMES: Mapping[str, Place] = frozendict()


class LineArguments(TypedDict, total=False):
    """Keyword arguments of `OfflineCell.line`."""

    tool_at: Place
    workpiece_at: Place
    flange_at: Place
    frame_at: Mapping[str, Place]
    pose: Pose
    group: str
    free_axes: str
    options: CartesianOptions | None
    timing: TimingOptions


class MotionArguments(TypedDict, total=False):
    """Keyword arguments of `OfflineCell.move`."""

    named_state: Names
    joints: JointValues | None
    tool_at: Place
    workpiece_at: Place
    flange_at: Place
    frame_at: Mapping[str, Place]
    pose: Pose
    goals: Goals | None
    group: str
    constraints: Sequence[PathConstraint]
    options: PlanningOptions | None
    timing: TimingOptions


def goals_of(
    cell: RobotCell,
    group: str,
    pose: Pose,
    named_state: Names,
    joints: JointValues | None,
    frames: Mapping[TargetMode, Place],
    goals: Goals | None,
    frame_at: Mapping[str, Place] = NO_FRAMES,
) -> Goals:
    """Return the alternative goals of a motion.

    Args:
        cell: Cell with the group.
        group: Planning group; "" for the main group.
        pose: Pose in the frame of `frames` that is not "".
        named_state: Named states of the group.
        joints: Values by variable, or in the order of the group [rad or m].
        frames: Frame in which each part of the robot has to reach the pose, or a pose in the world; "" for none.
        goals: Further goals.
        frame_at: The same for other frames that the group moves, by their names.

    Raises:
        InvalidRequestError: No goal or more than one kind of goal is given, or the number of values is wrong.
    """
    requested = [(mode, "", place) for mode, place in frames.items() if place != ""]
    requested += [(TargetMode.FRAME, name, place) for name, place in frame_at.items()]
    states = (named_state,) if isinstance(named_state, str) and named_state else tuple(named_state)
    kinds = len(requested) + bool(states) + (joints is not None) + (goals is not None)
    if kinds != 1:
        raise InvalidRequestError(f"{kinds} kinds of goals are given, expected one of {OPTIONS}", stage=STAGE)
    if goals is not None:
        return goals
    if joints is not None:
        return Goals(joint_goals=(_joint_goal(cell, group, joints),))
    if states:
        return Goals(named_states=states)
    mode, moved, place = requested.pop()
    frame, pose = (place, pose) if isinstance(place, str) else (WORLD, _only(place, pose))
    return Goals(targets=(FrameTarget(mode=mode, pose=pose, frame=moved, reference_frame=frame),))


def _only(place: Pose, pose: Pose) -> Pose:
    """Return a pose in the world, beside which no other may be given."""
    if pose != IDENTITY:
        text = "`pose` is given beside a pose in the world; give it alone, or the name of its frame"
        raise InvalidRequestError(text, stage=STAGE, subjects=("pose",))
    return place


def line_waypoints(
    cell: RobotCell,
    group: str,
    pose: Pose,
    frames: Mapping[TargetMode, Place],
    free_axes: str,
    frame_at: Mapping[str, Place] = NO_FRAMES,
) -> FrameWaypoints:
    """Return the only waypoint of a line; arguments as for `goals_of`. free_axes: Letters of the axes about which the
    rotation is free.

    Raises:
        InvalidRequestError: Not exactly one frame is given.
        InvalidValueError: `free_axes` has other letters.
    """
    (target,) = goals_of(cell, group, pose, "", None, frames, None, frame_at).targets
    assert isinstance(target, FrameTarget)
    return FrameWaypoints(
        (target.pose,),
        mode=target.mode,
        frame=target.frame,
        reference_frame=target.reference_frame,
        tolerance_angles=tolerances_of_free(free_axes),
    )


def _joint_goal(cell: RobotCell, group: str, joints: JointValues) -> Mapping[str, float]:
    if isinstance(joints, Mapping):
        return joints
    variables = cell.group(group).variables
    values = list(joints)
    if len(values) != len(variables):
        text = f"{len(values)} joint values are given, group {cell.group(group).name} has {len(variables)}"
        raise InvalidRequestError(f"{text}: {', '.join(variables)}", stage=STAGE, subjects=variables)
    return dict(zip(variables, values, strict=True))
