"""Goal constraints of MoveIt as goals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Vector3
from moveit_msgs.msg import Constraints, JointConstraint, MoveItErrorCodes, OrientationConstraint, PositionConstraint

from robot_cell_planner.msg import GoalRegion, GoalSpec, Target

from ...errors import InvalidRequestError, NotSupportedError, UnknownNameError, Value
from ...model.angles import FREE_ANGLE
from ...model.geometry import Box, Sphere
from ...model.name_suggestions import unknown_name
from ...model.pose import Pose
from ...model.value import MAX_JOINT_VALUE
from ...scene.scene import Scene
from ..conversions.basic import (
    check_count,
    configuration_to_message,
    pose_from_message,
    pose_to_message,
    vector_to_message,
)
from .error_codes import refused_as
from .helper_frames import HelperFrames, point_of
from .joint_intervals import Interval, excess, variables_of
from .regions import Region, regions_of
from .robot_states import dependent_joints, joint_aliases

MAX_GOALS = 100
NEAR = 0.02  # [m] half size of a box up to which its centre represents it


def goals_to_spec(
    scene: Scene, group: str, messages: Sequence[Constraints], frames: HelperFrames, field: str = "goal_constraints"
) -> GoalSpec:
    """Return the goals of a request, each of which is enough. scene: with the state that the motion starts in.

    Raises:
        RefusedError: A goal cannot be served, or is malformed; its value is the one of MoveItErrorCodes.
    """
    spec = GoalSpec()
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        check_count(len(messages), MAX_GOALS, field, "goals")
        if not messages:
            raise InvalidRequestError(f"{field} is empty", subjects=(field,))
        for index, message in enumerate(messages):
            _add_goal(spec, scene, group, message, frames, f"{field}[{index}]")
    return spec


def _add_goal(spec: GoalSpec, scene: Scene, group: str, message: Constraints, frames: HelperFrames, field: str) -> None:
    positions, orientations = message.position_constraints, message.orientation_constraints
    refuse_visibility(message, field)
    if message.joint_constraints:
        if positions or orientations:
            text = f"{field} has joint_constraints and those of a link; use one of them, or separate goals"
            raise NotSupportedError(text, subjects=(field,))
        values = joint_goal(scene, group, message.joint_constraints, f"{field}.joint_constraints")
        spec.joint_goals.append(configuration_to_message(values))
        return
    if not positions and not orientations:
        raise InvalidRequestError(f"{field} has no constraint", subjects=(field,))
    if len(positions) > 1 or len(orientations) > 1:
        text = f"{field} constrains several links or points; a goal may have one position and one orientation"
        raise NotSupportedError(text, subjects=(field,))
    if positions and orientations and positions[0].link_name != orientations[0].link_name:
        links = (positions[0].link_name, orientations[0].link_name)
        text = f"{field} constrains the position of {links[0]} and the orientation of {links[1]}, expected one link"
        raise NotSupportedError(text, subjects=(field, *links))
    _add_link_goal(spec, next(iter(positions), None), next(iter(orientations), None), frames, field)


def refuse_visibility(message: Constraints, field: str) -> None:
    """Refuse constraints on what a sensor sees.

    Raises:
        NotSupportedError: There are some.
    """
    if message.visibility_constraints:
        text = f"{field}.visibility_constraints are not supported: what a sensor sees is not computed"
        raise NotSupportedError(text, subjects=(f"{field}.visibility_constraints",))


def interval_of(message: JointConstraint, field: str) -> tuple[float, float]:
    """Return the bounds of a joint constraint [rad or m].

    Raises:
        InvalidRequestError: A number is not finite, or a tolerance negative.
    """
    numbers = (message.position, message.tolerance_above, message.tolerance_below)
    if not all(abs(number) <= MAX_JOINT_VALUE for number in numbers) or min(numbers[1:]) < 0.0:
        text = f"{field}: joint {message.joint_name} has position and tolerances {list(numbers)}"
        raise InvalidRequestError(f"{text}, expected finite numbers, tolerances from 0", subjects=(field,))
    return message.position - message.tolerance_below, message.position + message.tolerance_above


def joint_goal(scene: Scene, group: str, messages: Sequence[JointConstraint], field: str) -> dict[str, float]:
    """Return the joint values of a goal: the positions, or the nearest values within the joint limits that the
    tolerances allow. Joints outside the group must be within their tolerances already; those that follow others are
    ignored.

    Raises:
        UnknownNameError: The cell does not have a joint.
        InvalidRequestError: A malformed number, a joint twice, or a joint outside the group that is elsewhere.
    """
    planned, aliases = scene.cell.group(group).variables, joint_aliases(scene.cell)
    dependent = dependent_joints(scene.cell)
    values: dict[str, float] = {}
    for index, message in enumerate(messages):
        place = f"{field}[{index}]"
        lower, upper = interval_of(message, place)
        name = aliases.get(message.joint_name)
        if name is None and message.joint_name in dependent:
            continue
        if name is None:
            text = unknown_name(f"{place}: joint {message.joint_name!r}", message.joint_name, aliases)
            raise UnknownNameError(text, subjects=(message.joint_name,))
        if name in values:
            raise InvalidRequestError(f"{field} lists joint {name} twice", subjects=(field, name))
        if name not in planned:
            _require_within(scene, name, (lower, upper), place)
            continue
        limits = scene.cell.variables[name].limits
        nearest = min(max(message.position, limits.lower), limits.upper)
        values[name] = nearest if lower <= nearest <= upper else message.position
    if not values:
        joints = ", ".join(planned)
        raise InvalidRequestError(f"{field} has no joint of the group ({joints})", subjects=(field,))
    return values


def _require_within(scene: Scene, name: str, interval: Interval, field: str) -> None:
    """Check that a joint that the group does not move is where a goal wants it."""
    tool, _, own = name.rpartition("/")
    in_tool = tool in scene.state.tools and name not in scene.state.configuration
    value = scene.state.tools[tool].configuration[own] if in_tool else scene.state.configuration[name]
    if excess(variables_of(scene.cell)[name], value, interval) > 0.0:
        text = f"{field}: joint {name} is not part of the group, and not within {interval[0]:g} to {interval[1]:g}"
        raise InvalidRequestError(text, subjects=(name,), values=(Value(name, value),))


def _add_link_goal(
    spec: GoalSpec,
    position: PositionConstraint | None,
    orientation: OrientationConstraint | None,
    frames: HelperFrames,
    field: str,
) -> None:
    """Add a goal of a link: a target for each solid of the position's region."""
    if position is None:
        assert orientation is not None
        spec.regions.append(_orientation_only(orientation, frames, field))
        return
    place = f"{field}.position_constraints[0]"
    frame = frames.at(position.link_name, point_of(position.target_point_offset))
    for region in regions_of(position, place):
        if orientation is None:
            _add_position(spec, position, region, frame)
        else:
            _add_pose(spec, position, orientation, region, frame, field)


def _target(message: PositionConstraint | OrientationConstraint, frame: str, pose: Pose) -> Target:
    target = Target(mode=Target.FRAME, frame=frame, pose=pose_to_message(pose))
    target.reference_frame, target.stamp = message.header.frame_id, message.header.stamp
    return target


def _orientation_only(message: OrientationConstraint, frames: HelperFrames, field: str) -> GoalRegion:
    """Return the region of all positions with an orientation."""
    rotation, tolerances = orientation_of(message, f"{field}.orientation_constraints[0]")
    center = _target(message, frames.at(message.link_name), rotation)
    center.axis_tolerances = vector_to_message(tolerances)
    free = Vector3(x=math.inf, y=math.inf, z=math.inf)
    return GoalRegion(center=center, position_extent=free)


def orientation_of(message: OrientationConstraint, field: str) -> tuple[Pose, tuple[float, float, float]]:
    """Return the orientation and its tolerances about the axes [rad], FREE_ANGLE where it is free.

    Raises:
        InvalidRequestError: A malformed quaternion, or a tolerance that is not a positive number.
    """
    pose = pose_from_message(PoseMessage(orientation=message.orientation), field)
    names = ("x", "y", "z")
    tolerances = tuple(float(getattr(message, f"absolute_{axis}_axis_tolerance")) for axis in names)
    for axis, tolerance in zip(names, tolerances, strict=True):
        if not tolerance > 0.0:
            text = f"{field}.absolute_{axis}_axis_tolerance is {tolerance:g}, expected a number above 0"
            raise InvalidRequestError(text, subjects=(field,))
    x, y, z = (min(tolerance, FREE_ANGLE) for tolerance in tolerances)
    return pose, (x, y, z)


def _add_position(spec: GoalSpec, message: PositionConstraint, region: Region, frame: str) -> None:
    """Add the goal that a point is in a region, in any orientation."""
    target = _target(message, frame, region.pose)
    target.orientation_tolerance = FREE_ANGLE
    if isinstance(region.geometry, Box) and max(region.inscribed_box) > NEAR:
        target.position_tolerance = min(region.inscribed_radius, NEAR)
        extent = vector_to_message([max(half - target.position_tolerance, 0.0) for half in region.inscribed_box])
        spec.regions.append(GoalRegion(center=target, position_extent=extent))
        return
    target.position_tolerance = region.inscribed_radius
    spec.targets.append(target)


def _add_pose(
    spec: GoalSpec,
    position: PositionConstraint,
    orientation: OrientationConstraint,
    region: Region,
    frame: str,
    field: str,
) -> None:
    """Add the goal that a point is in a region, in an orientation."""
    rotation, tolerances = orientation_of(orientation, f"{field}.orientation_constraints[0]")
    if orientation.header.frame_id != position.header.frame_id:
        frame_ids = (position.header.frame_id, orientation.header.frame_id)
        text = f"{field} has its position in frame {frame_ids[0]!r} and its orientation in {frame_ids[1]!r}"
        raise NotSupportedError(f"{text}, expected one frame", subjects=(field, *frame_ids))
    target = _target(position, frame, Pose(region.pose.position, rotation.quaternion))
    target.axis_tolerances = vector_to_message(tolerances)
    target.position_tolerance = region.inscribed_radius
    turned = region.pose.quaternion != rotation.quaternion
    if turned or isinstance(region.geometry, Sphere) or max(region.inscribed_box) <= NEAR:
        spec.targets.append(target)
        return
    target.position_tolerance = min(region.inscribed_radius, NEAR)
    extent = vector_to_message([max(half - target.position_tolerance, 0.0) for half in region.inscribed_box])
    spec.regions.append(GoalRegion(center=target, position_extent=extent))
