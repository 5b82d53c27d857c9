"""Malformed requests are refused with a named error and a message; none is silently repaired or crashes the process."""

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from kinematic_cells import arm, demo

from robot_cell_planner.errors import (
    InvalidRequestError,
    ModelError,
    NotSupportedError,
    OutOfReachError,
    RobotCellError,
    TargetModeMismatchError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.kinematics.forward import (
    all_link_poses,
    chain_to,
    forward_batch,
    forward_kinematics,
    forward_kinematics_to_frame,
)
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics, iter_inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from robot_cell_planner.kinematics.velocity import solve_velocity, velocities_for_twist, velocity_bounds
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup
from robot_cell_planner.model.state import BodyState

NAN, INF = float("nan"), float("inf")
FUNCTIONS_OF_A_STATE = {
    "forward": forward_kinematics,
    "frame": lambda cell, state: forward_kinematics_to_frame(cell, state, "gripper/tcp"),
    "all links": all_link_poses,
    "inverse": lambda cell, state: inverse_kinematics(cell, state, FrameTarget(pose=REACHABLE)),
    "differential": jacobians,
    "batch": lambda cell, state: forward_batch(cell, state, "tool0", cell.group().variables[:1], np.zeros((1, 1))),
}
REACHABLE = Pose((0.5, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0))

MALFORMED_VALUES = {
    "position NaN": lambda: Pose((NAN, 0.0, 0.0)),
    "position infinite": lambda: Pose((0.0, INF, 0.0)),
    "quaternion NaN": lambda: Pose((0.0, 0.0, 0.0), (NAN, 0.0, 0.0, 1.0)),
    "quaternion zero": lambda: Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    "quaternion of length two": lambda: Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0)),
    "quaternion off by a hundredth": lambda: Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.01)),
    "position of two numbers": lambda: Pose((0.0, 0.0)),
    "no pose": lambda: FrameTarget(pose=None),
    "matrix for a pose": lambda: FrameTarget(pose=np.eye(4)),
    "mode as a string": lambda: FrameTarget(pose=REACHABLE, mode="tool"),
    "mode FRAME without a frame": lambda: FrameTarget(pose=REACHABLE, mode=TargetMode.FRAME),
    "mode ROBOT with a frame": lambda: FrameTarget(pose=REACHABLE, frame="tool0"),
    "tolerance zero": lambda: FrameTarget(pose=REACHABLE, tolerance_position=0.0),
    "tolerance negative": lambda: FrameTarget(pose=REACHABLE, tolerance_angle=-1e-3),
    "tolerance NaN": lambda: FrameTarget(pose=REACHABLE, tolerance_angle=NAN),
    "tolerance infinite": lambda: FrameTarget(pose=REACHABLE, tolerance_position=INF),
    "scale zero": lambda: FrameTarget(pose=REACHABLE, native_scale=0.0),
    "scale negative": lambda: PointAxisTarget(point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), native_scale=-1.0),
    "axis zero": lambda: PointAxisTarget(point=(0.5, 0.0, 0.5), axis=(0.0, 0.0, 0.0)),
    "axis NaN": lambda: PointAxisTarget(point=(0.5, 0.0, 0.5), axis=(0.0, NAN, 0.0)),
    "axis of two numbers": lambda: PointAxisTarget(point=(0.5, 0.0, 0.5), axis=(0.0, 1.0)),
    "point infinite": lambda: PointAxisTarget(point=(INF, 0.0, 0.5), axis=(0.0, 0.0, 1.0)),
    "max_solutions negative": lambda: IkOptions(max_solutions=-1),
    "max_solutions a fraction": lambda: IkOptions(max_solutions=1.5),
    "seed negative": lambda: IkOptions(seed=-1),
    "seed too large": lambda: IkOptions(seed=2**64),
    "restarts without end": lambda: IkOptions(max_restarts=10**9),
    "sweep of nothing": lambda: IkOptions(sweep=0),
    "timeout zero": lambda: IkOptions(timeout=0.0),
    "timeout NaN": lambda: IkOptions(timeout=NAN),
    "order as a string": lambda: IkOptions(order="nearest to seed"),
    "configuration NaN": lambda: demo()[1].with_configuration({"elbow_joint": NAN}),
}


@pytest.mark.parametrize("case", MALFORMED_VALUES)
def test_malformed_values_cannot_be_created(case):
    with pytest.raises(ValueError) as caught:
        MALFORMED_VALUES[case]()
    assert len(str(caught.value)) > 10


def target(**fields):
    return FrameTarget(pose=REACHABLE, **fields)


def solve(cell, state, *arguments, **options):
    return inverse_kinematics(cell, state, *arguments, **options)


def grouped(cell, group):
    """The cell with one group of its robot replaced or added."""
    robot = cell.robot
    robot = msgspec.structs.replace(robot, groups=frozendict({**robot.groups, group.name: group}))
    return msgspec.structs.replace(cell, robots=frozendict({robot.name: robot}))


def batch(frame="tool0", variables=None, rows=None):
    def call(cell, state):
        names = cell.group().variables if variables is None else variables
        return forward_batch(cell, state, frame, names, np.zeros((1, 6)) if rows is None else rows)

    return call


BAD_REQUESTS = {
    "no target": (lambda c, s: solve(c, s, None), InvalidRequestError),
    "a pose for a target": (lambda c, s: solve(c, s, REACHABLE), InvalidRequestError),
    "unknown group": (lambda c, s: solve(c, s, target(), "manipulater"), UnknownNameError),
    "unknown joint of the group": (lambda c, s: solve(c, s, target(), variables=("elbow",)), UnknownNameError),
    "joint named twice": (
        lambda c, s: solve(c, s, target(), variables=("elbow_joint", "elbow_joint")),
        InvalidRequestError,
    ),
    "joint of a tool": (lambda c, s: solve(c, s, target(), variables=("gripper/finger_joint",)), UnknownNameError),
    "unknown reference frame": (lambda c, s: solve(c, s, target(reference_frame="tabel")), UnknownNameError),
    "unknown frame": (lambda c, s: solve(c, s, target(mode=TargetMode.FRAME, frame="tcp")), UnknownNameError),
    "unknown body": (lambda c, s: solve(c, s, target(mode=TargetMode.WORKPIECE, frame="x")), UnknownNameError),
    "frame that the arm does not move": (
        lambda c, s: solve(c, s, target(mode=TargetMode.FRAME, frame="table")),
        InvalidRequestError,
    ),
    "frame before the joints": (
        lambda c, s: solve(c, s, target(mode=TargetMode.FRAME, frame="base_link")),
        InvalidRequestError,
    ),
    "joints beyond the frame": (
        lambda c, s: solve(
            c, s, target(mode=TargetMode.FRAME, frame="forearm_link"), variables=("wrist_1_joint", "wrist_2_joint")
        ),
        InvalidRequestError,
    ),
    "no workpiece": (lambda c, s: solve(c, s, target(mode=TargetMode.WORKPIECE)), TargetModeMismatchError),
    "no tool": (
        lambda c, s: solve(
            c,
            s.with_tool("gripper", msgspec.structs.replace(s.tools["gripper"], attached_to="")),
            target(mode=TargetMode.TOOL),
        ),
        TargetModeMismatchError,
    ),
    "body on another thing": (
        lambda c, s: solve(
            c, s.with_body("bin", BodyState(attached_to="table")), target(mode=TargetMode.WORKPIECE, frame="bin")
        ),
        TargetModeMismatchError,
    ),
    "empty group": (
        lambda c, s: solve(grouped(c, PlanningGroup("none", (), tip_link="tool0")), s, target(), "none"),
        InvalidRequestError,
    ),
    "group without a tip": (
        lambda c, s: solve(grouped(c, PlanningGroup("loose", ("elbow_joint",))), s, target(), "loose"),
        ModelError,
    ),
    "cell without a robot": (lambda c, s: solve(RobotCell(), RobotCell().default_state(), target()), NotSupportedError),
    "state without joints": (
        lambda c, s: solve(c, msgspec.structs.replace(s, configuration=frozendict()), target()),
        InvalidRequestError,
    ),
    "too far away": (lambda c, s: solve(c, s, FrameTarget(pose=Pose((1e3, 0.0, 0.0)))), OutOfReachError),
    "far too far away": (lambda c, s: solve(c, s, FrameTarget(pose=Pose((1e300, 0.0, 0.0)))), RobotCellError),
    "iterator, unknown group": (lambda c, s: iter_inverse_kinematics(c, s, target(), "x"), UnknownNameError),
    "batch to an unknown frame": (batch("tool_9"), UnknownNameError),
    "batch of unknown joints": (batch(variables=("a", "b", "c", "d", "e", "f")), UnknownNameError),
    "batch of five columns": (batch(rows=np.zeros((3, 5))), InvalidRequestError),
    "batch in one dimension": (batch(rows=np.zeros(6)), InvalidRequestError),
    "batch with NaN": (batch(rows=np.full((2, 6), NAN)), InvalidRequestError),
    "batch of words": (batch(rows=[["a"] * 6]), InvalidRequestError),
    "frame that is not there": (lambda c, s: forward_kinematics_to_frame(c, s, ""), UnknownNameError),
    "chain of unknown joints": (lambda c, s: chain_to(c, s, "tool0", ("joint_7",)), UnknownNameError),
    "Jacobian of an unknown frame": (lambda c, s: jacobians(c, s, frame="hand"), UnknownNameError),
    "Jacobian of an infinite point": (lambda c, s: jacobians(c, s, point=(INF, 0.0, 0.0)), InvalidRequestError),
    "Jacobian of a point of two numbers": (lambda c, s: jacobians(c, s, point=(0.0, 0.0)), InvalidRequestError),
    "Jacobian with too few velocities": (lambda c, s: jacobians(c, s, velocities=np.zeros(5)), InvalidRequestError),
    "Jacobian with velocities for others": (
        lambda c, s: jacobians(c, s, configurations=np.zeros((3, 6)), velocities=np.zeros((2, 6))),
        InvalidRequestError,
    ),
    "twist of five numbers": (
        lambda c, s: solve_velocity(np.eye(6), np.zeros(5), velocity_bounds(np.zeros((2, 6)), np.ones(6))),
        InvalidRequestError,
    ),
    "twist NaN": (
        lambda c, s: solve_velocity(np.eye(6), np.full(6, NAN), velocity_bounds(np.zeros((2, 6)), np.ones(6))),
        InvalidRequestError,
    ),
    "time step below zero": (lambda c, s: velocities_for_twist(c, s, np.zeros(6), time_step=-1.0), InvalidRequestError),
    "damping NaN": (lambda c, s: velocities_for_twist(c, s, np.zeros(6), damping=NAN), InvalidRequestError),
    "too few preferred velocities": (
        lambda c, s: velocities_for_twist(c, s, np.zeros(6), preferred=np.zeros(5)),
        InvalidRequestError,
    ),
    "gravity NaN": (lambda c, s: Dynamics(c, s, (0.0, 0.0, NAN)), InvalidRequestError),
    "too few accelerations": (lambda c, s: Dynamics(c, s).inverse(a=np.zeros(6)), InvalidRequestError),
    "velocities NaN": (lambda c, s: Dynamics(c, s).inverse(v=np.full(7, NAN)), InvalidRequestError),
    "rows that do not fit": (
        lambda c, s: Dynamics(c, s).inverse(np.zeros((2, 7)), np.zeros((3, 7))),
        InvalidRequestError,
    ),
    "wrench at an unknown frame": (
        lambda c, s: Dynamics(c, s).inverse(wrenches={"nowhere": np.zeros(6)}),
        UnknownNameError,
    ),
    "wrench of three numbers": (
        lambda c, s: Dynamics(c, s).inverse(wrenches={"tool0": np.zeros(3)}),
        InvalidRequestError,
    ),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_bad_requests_are_refused_with_a_named_error(case):
    call, kind = BAD_REQUESTS[case]
    cell, state = demo()
    with pytest.raises(kind) as caught:
        call(cell, state)
    assert caught.value.code > 0
    assert len(caught.value.message) > 10
    assert caught.value.stage


def test_the_number_of_bad_requests():
    assert len(MALFORMED_VALUES) + len(BAD_REQUESTS) >= 50


def test_a_bad_request_does_not_affect_the_next_one():
    cell = arm("ur5")
    state = cell.default_state()
    good = FrameTarget(pose=Pose((0.4, 0.1, 0.3), (1.0, 0.0, 0.0, 0.0)))
    before = inverse_kinematics(cell, state, good).solutions
    for bad in (FrameTarget(pose=Pose((9.0, 0.0, 0.0))), None):
        with pytest.raises(RobotCellError):
            inverse_kinematics(cell, state, bad)
    np.testing.assert_array_equal(inverse_kinematics(cell, state, good).solutions, before)


@pytest.mark.parametrize("name", FUNCTIONS_OF_A_STATE)
def test_a_misspelt_joint_of_a_state_is_refused_with_similar_names(name):
    """Its value would be ignored: the joint that is meant keeps the one that it had."""
    cell, state = demo()
    misspelt = state.with_configuration({"sholder_pan_joint": 1.0})
    with pytest.raises(UnknownNameError, match="'sholder_pan_joint' does not exist; nearest: shoulder_pan_joint"):
        FUNCTIONS_OF_A_STATE[name](cell, misspelt)
