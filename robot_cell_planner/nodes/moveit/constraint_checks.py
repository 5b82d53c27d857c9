"""Whether a state satisfies constraints of MoveIt."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from moveit_msgs.msg import (
    ConstraintEvalResult,
    Constraints,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
)

from ...errors import UnknownNameError
from ...kinematics.transforms import WorldTransforms
from ...model.geometry import Box, Cone, Cylinder, Sphere
from ...model.name_suggestions import unknown_name
from ...model.value import WORLD
from ...scene.scene import Scene
from ..conversions.basic import check_count
from .error_codes import refused_as
from .goals import interval_of, orientation_of, refuse_visibility
from .helper_frames import point_of
from .joint_intervals import excess
from .regions import Region, regions_of
from .robot_states import joint_aliases

MAX_CHECKED = 1_000


def constraint_results(scene: Scene, message: Constraints) -> list[ConstraintEvalResult]:
    """Return whether each constraint holds in the state of a scene: of joints, positions, orientations, in this order.

    distance: how far a joint, point [rad or m] or rotation [rad] is beyond its tolerance; 0 if the constraint holds.

    Raises:
        RefusedError: A constraint is malformed, or names a joint, link or frame that does not exist.
    """
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        refuse_visibility(message, "constraints")
        kinds = ("joint_constraints", "position_constraints", "orientation_constraints")
        check_count(sum(len(getattr(message, kind)) for kind in kinds), MAX_CHECKED, "constraints", "entries")
        transforms = WorldTransforms(scene.cell, scene.state)
        beyond = [_joint_excess(scene, message, index) for index in range(len(message.joint_constraints))]
        for index, position in enumerate(message.position_constraints):
            beyond.append(_position_excess(transforms, position, f"constraints.position_constraints[{index}]"))
        for index, rotation in enumerate(message.orientation_constraints):
            beyond.append(_rotation_excess(transforms, rotation, f"constraints.orientation_constraints[{index}]"))
    return [ConstraintEvalResult(result=value <= 0.0, distance=max(value, 0.0)) for value in beyond]


def _joint_excess(scene: Scene, message: Constraints, index: int) -> float:
    entry = message.joint_constraints[index]
    interval = interval_of(entry, f"constraints.joint_constraints[{index}]")
    name = joint_aliases(scene.cell).get(entry.joint_name, "")
    if name not in scene.state.configuration:
        text = unknown_name(f"joint {entry.joint_name!r}", entry.joint_name, scene.state.configuration)
        raise UnknownNameError(text, subjects=(entry.joint_name,))
    return excess(scene.cell.variables[name], scene.state.configuration[name], interval)


def _position_excess(transforms: WorldTransforms, message: PositionConstraint, field: str) -> float:
    """Return the distance of a point from the nearest solid of a region [m]; negative inside."""
    point = transforms.pose(message.link_name) @ point_of(message.target_point_offset)
    frame = transforms.pose(message.header.frame_id or WORLD)
    return min(
        _distance(region, ((frame @ region.pose).inverse() @ point).position) for region in regions_of(message, field)
    )


def _distance(region: Region, point: tuple[float, float, float]) -> float:
    """Return the distance of a point, in the region's pose, from its solid; negative inside."""
    solid, (x, y, z) = region.geometry, point
    if isinstance(solid, Sphere):
        return math.hypot(x, y, z) - solid.radius
    if isinstance(solid, Box):
        return _outside([abs(value) - size / 2.0 for value, size in zip(point, solid.size, strict=True)])
    radial = math.hypot(x, y)
    if isinstance(solid, Cylinder):
        return _outside([radial - solid.radius, abs(z) - solid.length / 2.0])
    assert isinstance(solid, Cone)
    # The origin of the region's pose is the centre of the inscribed sphere.
    above_base = z + region.inscribed_radius
    slant = math.hypot(solid.radius, solid.length)
    to_side = (solid.length * radial + solid.radius * (above_base - solid.length)) / slant
    return max(to_side, -above_base)


def _outside(beyond: list[float]) -> float:
    """Return the distance from a box or cylinder by its excess along independent directions."""
    return math.hypot(*(max(value, 0.0) for value in beyond)) or max(beyond)


def _rotation_excess(transforms: WorldTransforms, message: OrientationConstraint, field: str) -> float:
    """Return by how much a rotation exceeds its tolerances [rad], the largest of the three axes."""
    requested, tolerances = orientation_of(message, field)
    frame = transforms.pose(message.header.frame_id or WORLD)
    error = ((frame @ requested).inverse() @ transforms.pose(message.link_name)).matrix[:3, :3]
    if message.parameterization == OrientationConstraint.ROTATION_VECTOR:
        angles = pin.log3(error)
    else:  # intrinsic x, y, z: the rotation is Rx Ry Rz
        pitch = math.asin(max(-1.0, min(1.0, float(error[0, 2]))))
        roll = math.atan2(-error[1, 2], error[2, 2])
        angles = np.array((roll, pitch, math.atan2(-error[0, 1], error[0, 0])))
    return float(max(abs(angle) - limit for angle, limit in zip(angles, tolerances, strict=True)))
