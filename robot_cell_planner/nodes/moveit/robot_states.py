"""Conversions of moveit_msgs/RobotState."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Transform
from moveit_msgs.msg import MoveItErrorCodes, RobotState
from sensor_msgs.msg import JointState

from robot_cell_planner.msg import Configuration

from ...errors import InvalidRequestError, NotSupportedError, UnknownNameError
from ...model.cell import RobotCell
from ...model.mechanism import Joint, JointKind, Mechanism
from ...model.name_suggestions import unknown_name
from ...model.placement import motion, plane_axes
from ...model.pose import Pose
from ...model.state import RobotCellState
from ...model.value import WORLD
from ...scene.scene import Scene
from ..conversions.basic import check_count, configuration_from_message, pose_from_message, transform_to_message
from .error_codes import refused_as
from .joint_intervals import at_nearest_turn

MAX_JOINTS = 10_000
PLANE_TOLERANCE = 1e-6
ROUNDING = 1e-9  # [rad or m] of values that were a transform in between
COMPOUND = (JointKind.PLANAR, JointKind.FLOATING)


def joint_aliases(cell: RobotCell) -> dict[str, str]:
    """Return the names that clients may use for joints, with the name in the cell: that itself and, where it is
    unambiguous, the name of a tool's joint without its tool."""
    aliases = {name: name for name in cell.variables}
    short: dict[str, list[str]] = {}
    for tool in cell.tools.values():
        for variable in tool.mechanism.variables:
            full = f"{tool.name}/{variable.name}"
            aliases[full] = full
            short.setdefault(variable.name, []).append(full)
    for name, candidates in short.items():
        if len(candidates) == 1:
            aliases.setdefault(name, candidates[0])
    return aliases


def joint_values(cell: RobotCell, message: JointState, field: str) -> dict[str, float]:
    """Return the joint values of a message by the names of the cell. Values of mimic and fixed joints, which follow
    from others, are ignored.

    Raises:
        InvalidRequestError: Lists of different lengths, a joint twice, or a value that is not finite.
        UnknownNameError: The cell does not have a joint.
    """
    check_count(len(message.name), MAX_JOINTS, f"{field}.name", "joints")
    positions = Configuration(joint_names=message.name, positions=message.position)
    given = configuration_from_message(positions, field)
    aliases, dependent = joint_aliases(cell), dependent_joints(cell)
    values: dict[str, float] = {}
    for name, value in given.items():
        if name in aliases:
            values[aliases[name]] = value
        elif name not in dependent:
            raise UnknownNameError(unknown_name(f"{field}: joint {name!r}", name, aliases), subjects=(name,))
    return values


def dependent_joints(cell: RobotCell) -> set[str]:
    """Return the fixed and mimic joints, which have no variable of their own."""
    mechanisms = [*(robot.mechanism for robot in cell.robots.values()), *(t.mechanism for t in cell.tools.values())]
    return {joint.name for mechanism in mechanisms for joint in mechanism.joints.values() if not joint.variables}


def compound_joints(cell: RobotCell) -> dict[str, tuple[Mechanism, Joint]]:
    """Return the planar and floating joints of the robots with their mechanisms, by name."""
    return {
        joint.name: (robot.mechanism, joint)
        for robot in cell.robots.values()
        for joint in robot.mechanism.joints.values()
        if joint.kind in COMPOUND
    }


def multi_dof_values(
    cell: RobotCell, names: Sequence[str], transforms: Sequence[Transform], field: str
) -> dict[str, float]:
    """Return the variables of planar and floating joints.

    Raises:
        InvalidRequestError: Lists of different lengths, or malformed transforms.
        UnknownNameError: The cell does not have a planar or floating joint of that name.
        NotSupportedError: A planar joint is moved out of its plane.
    """
    if len(names) != len(transforms):
        text = f"{field} has {len(names)} joint names and {len(transforms)} transforms"
        raise InvalidRequestError(text, subjects=(field,))
    joints, values = compound_joints(cell), dict[str, float]()
    for name, transform in zip(names, transforms, strict=True):
        if name not in joints:
            text = unknown_name(f"{field}: planar or floating joint {name!r}", name, joints)
            raise UnknownNameError(text, subjects=(name,))
        pose = pose_from_message(pose_of_transform(transform), f"{field}[{name}]")
        values.update(_coordinates(*joints[name], pose))
    return values


def pose_of_transform(transform: Transform) -> PoseMessage:
    """Return a transform as a pose."""
    message = PoseMessage(orientation=transform.rotation)
    shift = transform.translation
    message.position.x, message.position.y, message.position.z = shift.x, shift.y, shift.z
    return message


def _coordinates(mechanism: Mechanism, joint: Joint, pose: Pose) -> dict[str, float]:
    """Return the variables of a planar or floating joint for a pose of its child in its frame.

    Raises:
        NotSupportedError: A planar joint would leave its plane.
    """
    rotation = pose.matrix[:3, :3]
    if joint.kind is JointKind.FLOATING:
        roll, pitch, yaw = (float(angle) for angle in pin.rpy.matrixToRpy(rotation))
        return dict(zip(joint.variables, (*pose.position, yaw, pitch, roll), strict=True))
    first, second = plane_axes(joint.axis)
    numbers = (
        float(np.dot(pose.position, first)),
        float(np.dot(pose.position, second)),
        float(np.dot(pin.log3(rotation), joint.axis)),
    )
    values = dict(zip(joint.variables, numbers, strict=True))
    if not np.allclose(motion(mechanism, joint, values).matrix, pose.matrix, atol=PLANE_TOLERANCE):
        text = f"joint {joint.name} is planar, and its transform leaves the plane normal to {list(joint.axis)}"
        raise NotSupportedError(text, subjects=(joint.name,))
    return values


def given_values(cell: RobotCell, message: RobotState, field: str) -> dict[str, float]:
    """Return all joint values of a state by the names of the cell; empty: those of the scene."""
    with refused_as(MoveItErrorCodes.INVALID_ROBOT_STATE):
        multi = message.multi_dof_joint_state
        return {
            **joint_values(cell, message.joint_state, f"{field}.joint_state"),
            **multi_dof_values(cell, multi.joint_names, multi.transforms, f"{field}.multi_dof_joint_state"),
        }


def at_present_turns(scene: Scene, values: Mapping[str, float]) -> dict[str, float]:
    """Return joint values with the angles [rad] of planar and floating joints at the turn nearest to those of a scene,
    since transforms are the same after each turn. What differs by rounding only is the scene's value."""
    compound = {name for _, joint in compound_joints(scene.cell).values() for name in joint.variables}
    found = dict(values)
    for name in compound & found.keys():
        present = scene.state.configuration[name]
        near = at_nearest_turn(scene.cell.variables[name], found[name], (present, present))
        found[name] = present if abs(near - present) <= ROUNDING else near
    return found


def joints_to_message(cell: RobotCell, state: RobotCellState) -> RobotState:
    """Return the joint values of the robots. Joints of tools are left out: MoveIt's robot model does not have them."""
    message = RobotState()
    message.joint_state.header.frame_id = WORLD
    message.multi_dof_joint_state.header.frame_id = WORLD
    compound = compound_joints(cell)
    for name, variable in cell.variables.items():
        if variable.joint not in compound:
            message.joint_state.name.append(name)
            message.joint_state.position.append(float(state.configuration[name]))
    for name, (mechanism, joint) in compound.items():
        pose = motion(mechanism, joint, state.configuration)
        message.multi_dof_joint_state.joint_names.append(name)
        message.multi_dof_joint_state.transforms.append(transform_to_message(pose))
    return message


def with_values(scene: Scene, values: Mapping[str, float]) -> RobotCellState:
    """Return the state of a scene with other values of the robots' joints."""
    robots = {name: value for name, value in values.items() if name in scene.cell.variables}
    return scene.state.with_configuration(robots)
