"""References of messages to frames of TF, and conversion of their poses to the world."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from geometry_msgs.msg import Point, Vector3

from robot_cell_planner import action, msg

from ...errors import InvalidRequestError
from ...model.pose import Pose, rotate
from ...model.value import WORLD, positive
from ...scene.changes import Change
from ...scene.model_changes import Add, AddFrame, Replace
from .basic import (
    pose_from_message,
    pose_to_message,
    position_from_message,
    quaternion_from_message,
    time_from_message,
)

PLACED = (msg.SceneChange.MOVE, msg.SceneChange.ATTACH, msg.SceneChange.SET_BASE_POSE)


@dataclass(frozen=True)
class FrameReference:
    """A field of a message that refers to a frame.

    stamp: time of the transform [ns], 0 for the latest. rewrite(world_T_frame): converts the poses in that frame to the
    world; raises InvalidRequestError if they are malformed.
    """

    field: str
    frame: str
    stamp: int
    rewrite: Callable[[Pose], None]


def references_of_goals(message: msg.GoalSpec, field: str) -> Iterator[FrameReference]:
    yield from references_of_targets(message.targets, f"{field}.targets")
    yield from references_of_targets([region.center for region in message.regions], f"{field}.regions")
    for index, goal in enumerate(message.simultaneous_goals):
        for number, part in enumerate(goal.parts):
            yield from references_of_targets(part.target, f"{field}.simultaneous_goals[{index}].parts[{number}].target")


def references_of_targets(messages: Sequence[msg.Target], field: str) -> Iterator[FrameReference]:
    for index, message in enumerate(messages):
        yield _of_target(message, f"{field}[{index}]", ())


def references_of_waypoints(messages: Sequence[msg.CartesianWaypoint]) -> Iterator[FrameReference]:
    for index, message in enumerate(messages):
        via = (message.via,) if message.motion == msg.CartesianWaypoint.ARC else ()
        yield _of_target(message.target, f"waypoints[{index}].target", via)


def references_of_constraints(messages: Sequence[msg.PathConstraint], field: str) -> Iterator[FrameReference]:
    for index, message in enumerate(messages):
        if message.type != msg.PathConstraint.JOINT_COMBINATION:
            place = f"{field}[{index}]"
            rewrite = partial(_rewrite_constraint, message, place)
            stamp = time_from_message(message.stamp)
            yield FrameReference(f"{place}.reference_frame", message.reference_frame, stamp, rewrite)


def references_of_changes(messages: Sequence[msg.SceneChange], field: str) -> Iterator[FrameReference]:
    for index, message in enumerate(messages):
        if message.operation in PLACED and message.relative_to:
            place = f"{field}[{index}]"
            rewrite = partial(_rewrite_change, message, place)
            yield FrameReference(f"{place}.relative_to", message.relative_to, time_from_message(message.stamp), rewrite)


def references_of_motion(message: msg.MotionRequest) -> Iterator[FrameReference]:
    yield from references_of_goals(message.goal, "goal")
    yield from references_of_constraints(message.constraints, "constraints")


def references_of_steps(message: action.PlanMultistep.Goal) -> Iterator[FrameReference]:
    for index, step in enumerate(message.steps):
        yield from references_of_changes(step.changes, f"steps[{index}].changes")
        yield from references_of_goals(step.goal, f"steps[{index}].goal")
        yield from references_of_constraints(step.constraints, f"steps[{index}].constraints")


def frames_added(changes: Iterable[Change]) -> set[str]:
    """Return the frames that changes add to a cell."""
    names = set[str]()
    for change in changes:
        if isinstance(change, Add | Replace):
            cell = change.models
            names.update(cell.mechanism_frames, cell.tools, cell.bodies, cell.frames)
        elif isinstance(change, AddFrame):
            names.add(change.name)
    return names


def _of_target(message: msg.Target, field: str, points: Iterable[Point]) -> FrameReference:
    rewrite = partial(_rewrite_target, message, field, tuple(points))
    stamp = time_from_message(message.stamp)
    return FrameReference(f"{field}.reference_frame", message.reference_frame, stamp, rewrite)


def _rewrite_target(message: msg.Target, field: str, points: Iterable[Point], world_T_frame: Pose) -> None:
    frame = _in_units(world_T_frame, message.native_scale, field)
    if message.type == msg.Target.POSE:
        message.pose = pose_to_message(frame @ pose_from_message(message.pose, f"{field}.pose"))
    else:
        _transform(frame, message.pose.position)
        _transform(Pose(quaternion=frame.quaternion), message.axis)
    for point in points:
        _transform(frame, point)
    message.reference_frame = WORLD


def _rewrite_constraint(message: msg.PathConstraint, field: str, world_T_frame: Pose) -> None:
    if message.type != msg.PathConstraint.AXIS_IN_CONE:
        message.pose = pose_to_message(world_T_frame @ pose_from_message(message.pose, f"{field}.pose"))
    _transform(Pose(quaternion=world_T_frame.quaternion), message.axis)
    message.reference_frame = WORLD


def _rewrite_change(message: msg.SceneChange, field: str, world_T_frame: Pose) -> None:
    frame = _in_units(world_T_frame, message.native_scale, field)
    if any(map(math.isnan, position_from_message(message.pose.position))):
        text = f"{field}.pose: position contains NaN, which is not supported in {message.relative_to}, a frame of TF"
        raise InvalidRequestError(text, subjects=(field, message.relative_to))
    if all(map(math.isnan, quaternion_from_message(message.pose))):
        _transform(frame, message.pose.position)
    else:
        message.pose = pose_to_message(frame @ pose_from_message(message.pose, f"{field}.pose"))
    message.relative_to = WORLD


def _in_units(pose: Pose, scale: float, field: str) -> Pose:
    """Return a pose with its position in units of a scale [m]."""
    try:
        positive(scale, f"{field}.native_scale")
    except ValueError as error:
        raise InvalidRequestError(str(error), subjects=(field, "native_scale")) from error
    x, y, z = pose.position
    return Pose((x / scale, y / scale, z / scale), pose.quaternion)


def _transform(frame: Pose, vector: Point | Vector3) -> None:
    x, y, z = rotate(frame.quaternion, position_from_message(vector))
    px, py, pz = frame.position
    vector.x, vector.y, vector.z = px + x, py + y, pz + z
