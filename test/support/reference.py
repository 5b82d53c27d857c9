"""Slow, obvious references for tests: world poses by walking up the frames, and small cells."""

from __future__ import annotations

import numpy as np
from frozendict import frozendict

from robot_cell_planner.model.bodies import NamedFrame, RigidBody, Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.frames import FrameTree
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import RobotCellState
from robot_cell_planner.model.value import WORLD


def axis_rotation(axis, angle):
    """Rodrigues' formula."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def joint_motion(joint, value):
    motion = np.eye(4)
    if joint.kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS):
        motion[:3, :3] = axis_rotation(joint.axis, value)
    elif joint.kind is JointKind.PRISMATIC:
        motion[:3, 3] = np.array(joint.axis) * value
    return motion


def parent_matrix(cell: RobotCell, state: RobotCellState, frame: str) -> np.ndarray:
    """parent_T_frame."""
    for robot in cell.robots.values():
        if frame == robot.mechanism.root:
            return state.base_poses[robot.name].matrix
        if frame in robot.mechanism.links:
            return _below_joint(robot.mechanism, frame, state.configuration)
    for name, tool in cell.tools.items():
        if frame == name:
            return state.tools[name].pose.matrix
        if frame == tool.frame_of(tool.mechanism.root):
            return np.eye(4)
        if frame == tool.tcp_frame:
            return tool.tcp.matrix
        if frame.startswith(f"{name}/"):
            return _below_joint(tool.mechanism, frame[len(name) + 1 :], state.tools[name].configuration)
    if frame in state.bodies:
        return state.bodies[frame].pose.matrix
    return cell.frames[frame].pose.matrix


def _below_joint(mechanism: Mechanism, link: str, values) -> np.ndarray:
    joint = mechanism.parent_joints[link]
    value = 0.0
    if joint.kind is not JointKind.FIXED:
        source, multiplier, offset = mechanism.mimic_source(joint.name)
        value = multiplier * values[source] + offset
    return joint.origin.matrix @ joint_motion(joint, value)


def reference_world_pose(cell: RobotCell, state: RobotCellState, frame: str) -> Pose:
    tree = FrameTree(cell, state)
    matrix = np.eye(4)
    while frame != WORLD:
        matrix = parent_matrix(cell, state, frame) @ matrix
        frame = tree.parent(frame)
    return Pose.from_matrix(matrix)


def box(size: float = 0.1) -> Shape:
    return Shape(Box((size, size, size)))


def small_robot(name: str = "arm", prefix: str = "") -> Robot:
    """Three links, a revolute, a prismatic and a mimicking joint."""
    links = [Link(f"{prefix}{n}", collisions=(box(),)) for n in ("base", "upper", "slide", "tip", "echo")]
    turn = Joint(
        f"{prefix}turn",
        JointKind.REVOLUTE,
        f"{prefix}base",
        f"{prefix}upper",
        Pose.from_rpy((0.0, 0.1, 0.4), (0.1, 0.2, 0.3)),
        (0.0, 0.6, 0.8),
        JointLimits(-2.0, 2.0, 1.0),
    )
    slide = Joint(
        f"{prefix}push",
        JointKind.PRISMATIC,
        f"{prefix}upper",
        f"{prefix}slide",
        Pose((0.3, 0.0, 0.0)),
        (1.0, 0.0, 0.0),
        JointLimits(0.0, 0.5, 0.2),
    )
    end = Joint(f"{prefix}end", JointKind.FIXED, f"{prefix}slide", f"{prefix}tip", Pose((0.0, 0.0, 0.2)))
    echo = Joint(
        f"{prefix}echo_joint",
        JointKind.REVOLUTE,
        f"{prefix}base",
        f"{prefix}echo",
        Pose((0.0, -0.3, 0.1)),
        (0.0, 0.0, 1.0),
        JointLimits(-4.0, 4.0, 1.0),
        Mimic(f"{prefix}turn", -2.0, 0.5),
    )
    mechanism = Mechanism(
        name,
        frozendict({link.name: link for link in links}),
        frozendict({joint.name: joint for joint in (turn, slide, end, echo)}),
    )
    group = PlanningGroup(f"{prefix}hand", (f"{prefix}turn", f"{prefix}push"), (), f"{prefix}base", f"{prefix}tip")
    return Robot(name, mechanism, frozendict({group.name: group}), prefix=prefix)


def small_tool(name: str = "gripper") -> Tool:
    palm, finger = Link("palm", collisions=(box(0.05),)), Link("finger", collisions=(box(0.02),))
    joint = Joint(
        "close",
        JointKind.PRISMATIC,
        "palm",
        "finger",
        Pose((0.0, 0.02, 0.05)),
        (0.0, 1.0, 0.0),
        JointLimits(0.0, 0.04, 0.1),
    )
    mechanism = Mechanism(name, frozendict({"palm": palm, "finger": finger}), frozendict({"close": joint}))
    return Tool(name, mechanism, Pose.from_rpy((0.0, 0.0, 0.12), (0.0, 0.0, 0.5)))


def small_cell() -> tuple[RobotCell, RobotCellState]:
    """A robot with a gripper, a spare tool, three bodies and two frames."""
    bodies = [RigidBody(name, (box(),)) for name in ("table", "part", "crate")]
    frames = [NamedFrame("place", "crate", Pose((0.0, 0.0, 0.3))), NamedFrame("camera", "upper", Pose((0.1, 0.0, 0.0)))]
    cell = RobotCell(
        "small",
        robots=frozendict({"arm": small_robot()}),
        tools=frozendict({"gripper": small_tool(), "spare": small_tool("spare")}),
        bodies=frozendict({body.name: body for body in bodies}),
        frames=frozendict({frame.name: frame for frame in frames}),
    )
    state = cell.default_state()
    state = state.with_configuration({"turn": 0.7, "push": 0.2})
    return cell, state
