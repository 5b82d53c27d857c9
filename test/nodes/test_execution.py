"""The execution node through its real interfaces, against a robot that is where it was commanded to be."""


import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand
from fake_robot import JOINTS, FakeRobot, FakeValidator
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import srv
from robot_cell_planner.action import ExecuteTrajectory
from robot_cell_planner.errors import (
    FeedbackLostError,
    InvalidRequestError,
    MotionBusyError,
    StoppedError,
    TrackingError,
    TrajectoryLimitError,
    TrajectoryStartError,
    UnknownNameError,
)
from robot_cell_planner.msg import ExecutionOptions

ARM = JOINTS[:2]
RATE = 250.0


@pytest.fixture(scope="module")
def robot(client):
    return FakeRobot(client.node)


@pytest.fixture(scope="module")
def validator(client):
    return FakeValidator(client.node, client._group)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, robot, validator):
    return start_node(
        "execution_node",
        joints=f"[{', '.join(JOINTS)}]",
        command_fields="[position, velocity]",
        gripper_joint="finger",
        gripper_upper=0.04,
        joint_state_timeout=0.5,
    )


@pytest.fixture(autouse=True)
def at_rest(robot, validator):
    robot.heal()
    robot.taken()
    validator.limit = 10.0
    validator.requests.clear()


def swing(start, end, duration=0.5, samples=26):
    """A trajectory along a polynomial of degree 5, at rest at both ends."""
    start, end = np.asarray(start), np.asarray(end)
    trajectory = JointTrajectory(joint_names=list(ARM))
    for time in np.linspace(0.0, duration, samples):
        u = time / duration
        blend, rate, bend = (
            10 * u**3 - 15 * u**4 + 6 * u**5,
            (30 * u**2 - 60 * u**3 + 30 * u**4) / duration,
            (60 * u - 180 * u**2 + 120 * u**3) / duration**2,
        )
        point = JointTrajectoryPoint(time_from_start=Duration(sec=int(time), nanosec=int(round(time % 1.0 * 1e9))))
        point.positions = (start + blend * (end - start)).tolist()
        point.velocities = (rate * (end - start)).tolist()
        point.accelerations = (bend * (end - start)).tolist()
        trajectory.points.append(point)
    return trajectory


def here(robot):
    return [robot.positions[name] for name in ARM]


def run(client, robot, end, **keywords):
    return client.execute(swing(here(robot), end), **keywords)


def rows(commands):
    return np.array([[command[name] for name in ARM] for command, _ in commands])


def test_a_trajectory_is_streamed_as_it_is(client, robot, validator):
    result = run(client, robot, [0.5, -0.25])
    assert result.validation.valid
    assert result.record.state.revision == 7
    assert [robot.positions[name] for name in ARM] == [0.5, -0.25]
    commands = robot.taken()
    assert all(list(message.name) == list(JOINTS) for _, message in commands)
    assert all(len(message.position) == len(message.velocity) == len(JOINTS) for _, message in commands)
    # All commands lie on the straight line, in order.
    along = rows(commands)
    np.testing.assert_allclose(along[:, 1], -0.5 * along[:, 0], atol=1e-9)
    assert (np.diff(along[:, 0]) >= -1e-12).all()
    assert result.record.commands >= 0.5 * RATE * 0.5
    assert result.record.reached.nanosec == 500_000_000
    assert result.record.goal_error < 1e-3
    assert len(validator.requests) == 1
