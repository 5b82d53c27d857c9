"""Path constraints of MoveIt as constraints of a path.

What cannot be represented exactly is replaced by a stricter constraint, so that a path also satisfies MoveIt's.
"""

from __future__ import annotations

import math

from moveit_msgs.msg import Constraints, JointConstraint, MoveItErrorCodes, OrientationConstraint, PositionConstraint

from robot_cell_planner.msg import PathConstraint, Target

from ...errors import NotSupportedError, UnknownNameError
from ...model.angles import FREE_ANGLE
from ...model.name_suggestions import unknown_name
from ...model.pose import Pose
from ...planning.problem.constraints import FRAME_TOLERANCE, MAX_CONSTRAINTS
from ...scene.scene import Scene
from ..conversions.basic import check_count, configuration_to_message, pose_to_message, vector_to_message
from .error_codes import refused_as
from .goals import interval_of, orientation_of, refuse_visibility
from .helper_frames import HelperFrames, point_of
from .joint_intervals import at_nearest_turn, contains_all, excess
from .regions import regions_of
from .robot_states import joint_aliases

HALF = math.sqrt(0.5)
# Rotations that turn the z axis to an axis of the link.
TURNS = (Pose(quaternion=(0.0, HALF, 0.0, HALF)), Pose(quaternion=(-HALF, 0.0, 0.0, HALF)), Pose())
# A rotation whose axis leaves its direction by an angle has a rotation vector of at most pi / 2 times that angle
# across the axis, with any rotation about it.
OF_ROTATION_VECTOR = 2.0 / math.pi
# Rotations by more than a quarter turn may have intrinsic angles about x and z of up to half a turn.
OF_ANGLES = math.pi / 2.0
Y = 1  # index of the axis of the second intrinsic angle
LOCKED = 0.02  # [rad or m] half width of an interval in which a joint counts as locked


def path_constraints(
    scene: Scene, message: Constraints, frames: HelperFrames, field: str = "path_constraints"
) -> list[PathConstraint]:
    """Return the constraints along a path. scene: with the state that the motion starts in.

    Raises:
        RefusedError: A constraint cannot be served, or is malformed.
    """
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        refuse_visibility(message, field)
        kinds = ("joint_constraints", "position_constraints", "orientation_constraints")
        check_count(sum(len(getattr(message, kind)) for kind in kinds), MAX_CONSTRAINTS, field, "constraints")
        found = [
            _position(entry, frames, f"{field}.position_constraints[{index}]")
            for index, entry in enumerate(message.position_constraints)
        ]
        for index, rotation in enumerate(message.orientation_constraints):
            found += _orientation(rotation, frames, f"{field}.orientation_constraints[{index}]")
        for index, joint in enumerate(message.joint_constraints):
            found += _joint(scene, joint, f"{field}.joint_constraints[{index}]")
    return found


def _position(message: PositionConstraint, frames: HelperFrames, field: str) -> PathConstraint:
    """Return the constraint that a point stays in a box inside of the region."""
    regions = regions_of(message, field)
    if len(regions) != 1:
        text = f"{field} has {len(regions)} primitives, expected one: a path stays in one solid"
        raise NotSupportedError(text, subjects=(field,))
    half_sizes = regions[0].inscribed_box
    tolerance = min(FRAME_TOLERANCE, max(min(half_sizes), 1e-6))
    return PathConstraint(
        type=PathConstraint.POSITION_IN_BOX,
        mode=Target.FRAME,
        frame=frames.at(message.link_name, point_of(message.target_point_offset)),
        reference_frame=message.header.frame_id,
        stamp=message.header.stamp,
        pose=pose_to_message(regions[0].pose),
        extent=vector_to_message([max(half - tolerance, 0.0) for half in half_sizes]),
        tolerance=tolerance,
    )


def _orientation(message: OrientationConstraint, frames: HelperFrames, field: str) -> list[PathConstraint]:
    """Return the constraint of an orientation: all of it, or the direction of the axis about which it is free."""
    rotation, tolerances = orientation_of(message, field)
    free = [axis for axis in range(3) if tolerances[axis] >= FREE_ANGLE]
    if len(free) == 3:
        return []
    if len(free) == 2:
        text = f"{field} bounds the rotation about one axis only; bound it about two or three"
        raise NotSupportedError(text, subjects=(field,))
    result = PathConstraint(mode=Target.FRAME, reference_frame=message.header.frame_id, stamp=message.header.stamp)
    by_vector = message.parameterization == OrientationConstraint.ROTATION_VECTOR
    result.tolerance = min(tolerances) if by_vector else min(*tolerances, OF_ANGLES)
    if not free:
        result.type, result.frame = PathConstraint.ORIENTATION, frames.at(message.link_name)
        result.pose = pose_to_message(rotation)
        return [result]
    turn = TURNS[free[0]]
    if by_vector:
        result.tolerance *= OF_ROTATION_VECTOR
    elif free == [Y]:
        text = (
            f"{field} has XYZ_EULER_ANGLES and a free y axis, which bound no direction where the second angle is near"
        )
        raise NotSupportedError(f"{text} 90 degrees; set parameterization to ROTATION_VECTOR", subjects=(field,))
    result.type, result.frame = PathConstraint.AXIS_IN_CONE, frames.at(message.link_name, turn)
    result.axis = vector_to_message((rotation @ turn).matrix[:3, 2])
    return [result]


def _joint(scene: Scene, message: JointConstraint, field: str) -> list[PathConstraint]:
    """Return the constraint that a joint stays where it starts, for a small interval; none for one that contains the
    limits of the joint, or a turn if it has none."""
    lower, upper = interval = interval_of(message, field)
    name = joint_aliases(scene.cell).get(message.joint_name)
    if name is None or name not in scene.cell.variables:
        text = unknown_name(f"{field}: joint {message.joint_name!r}", message.joint_name, scene.cell.variables)
        raise UnknownNameError(text, subjects=(message.joint_name,))
    variable = scene.cell.variables[name]
    start = at_nearest_turn(variable, scene.state.configuration[name], interval)
    if contains_all(variable, interval):
        return []
    if upper - lower > 2.0 * LOCKED:
        text = f"{field}: joint {name} is to stay within {lower:g} to {upper:g}; expected an interval up to"
        text = f"{text} {2.0 * LOCKED:g} wide, which locks the joint, or one that contains its limits"
        raise NotSupportedError(text, subjects=(name,))
    if excess(variable, start, interval) > 0.0:
        text = f"{field}: joint {name} starts at {start:g}, not within {lower:g} to {upper:g}"
        with refused_as(MoveItErrorCodes.START_STATE_VIOLATES_PATH_CONSTRAINTS):
            raise NotSupportedError(text, subjects=(name,))
    coefficients = configuration_to_message({name: 1.0})
    tolerance = max(min(start - lower, upper - start), 1e-9)
    return [PathConstraint(type=PathConstraint.JOINT_COMBINATION, coefficients=coefficients, tolerance=tolerance)]
