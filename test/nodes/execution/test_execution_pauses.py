"""Pauses of a process while the robot moves fast, with the default tolerances of the nodes: the motion is held on its
path, the robot returns to the path, and the motion continues to its end."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import swing
from loaded_cells import loaded
from rclpy.qos import qos_profile_sensor_data
from running import DEMO
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.msg import JointLimits
from robot_cell_planner.nodes.conversions.basic import duration_from_message, duration_to_message
from robot_cell_planner.srv import ValidateTrajectory

pytestmark = pytest.mark.alone

CELL, STATE = loaded()
ARM = CELL.group().variables
PAN = ARM[0]
HOME = [STATE.configuration[joint] for joint in ARM]
FAR = [HOME[0] - 1.6, *HOME[1:]]
PAUSES = (0.05, 0.12, 0.3, 0.7, 1.5)  # [s]
PATH_TOLERANCE = 0.1  # the default


class Validator:
    """Reports every trajectory as valid, with the limits of the cell."""

    def __init__(self, node, group):
        self._service = node.create_service(
            ValidateTrajectory, "planning/validate_trajectory", self._answer, callback_group=group
        )

    def _answer(self, request, response):
        response.report.valid = True
        for name in request.trajectory.joint_names:
            limits = CELL.variables[name].limits
            rates = {rate: getattr(limits, rate) for rate in ("velocity", "acceleration", "jerk")}
            lower, upper = limits.lower, limits.upper
            response.limits.append(JointLimits(joint=name, has_position_limits=True, lower=lower, upper=upper, **rates))
        return response


class Commands:
    """The latest commanded position of the first joint."""

    def __init__(self, node):
        self.last = np.nan
        self._arrived = threading.Condition()
        self._subscription = node.create_subscription(JointState, "joint_commands", self._take, qos_profile_sensor_data)

    def _take(self, message):
        with self._arrived:
            self.last = message.position[list(message.name).index(PAN)]
            self._arrived.notify_all()

    def wait_until_fast(self, done):
        """Wait until the joint has moved into the fast part of a swing."""
        middle = 0.5 * (HOME[0] + FAR[0])

        def is_fast():
            return done.is_set() or abs(self.last - middle) < 0.25

        with self._arrived:
            self.last = np.nan
            assert self._arrived.wait_for(is_fast, 60.0)


@pytest.fixture(scope="module")
def nodes(start_node, client):
    validator = Validator(client.node, client._group)
    # The pauses are the subject, not the age at which joint_states count as lost, nor the time until the robot is at
    # rest at the goal: a busy machine adds to the pauses.
    execution = {"monitor_scene": False, "joint_state_lost_after": 10.0, "goal_time": 20.0}
    names = {"simulated_robot_node": {"cell_file": DEMO}, "execution_node": execution}
    yield {name: start_node(name, **given).process.pid for name, given in names.items()}
    client.node.destroy_service(validator._service)


@pytest.fixture(scope="module")
def commands(client):
    return Commands(client.node)


def to_and_fro(times, duration=1.6):
    """From home to the far place and back. An even number of times ends at home."""
    trajectory = JointTrajectory(joint_names=list(ARM))
    for index in range(times):
        ends = (HOME, FAR) if index % 2 == 0 else (FAR, HOME)
        part = swing(ARM, *ends, duration=duration, samples=81)
        for point in part.points[1 if index else 0 :]:
            point.time_from_start = duration_to_message(duration_from_message(point.time_from_start) + index * duration)
            trajectory.points.append(point)
    return trajectory


def go_home(client, commands):
    """From wherever the robot is; on a busy computer its first states arrive late."""
    is_there = abs(commands.last - HOME[0]) < 0.01
    trajectory = swing(ARM, HOME, HOME, duration=0.2 if is_there else 2.0, samples=2)
    trajectory.points = trajectory.points[1:]
    for _ in range(30):
        sent = execute(client, trajectory).wait()
        if sent.result.error.name not in ("ServiceUnavailableError", "FeedbackLostError"):
            break
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message


def child_of(pid):
    (child,) = (int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return child


def processes(nodes, which):
    robot = nodes["simulated_robot_node"]
    found = {
        "execution": (nodes["execution_node"],),
        "physics": (child_of(robot),),
        "robot": (robot,),
        "robot and physics": (robot, child_of(robot)),
        "all": (robot, child_of(robot), nodes["execution_node"]),
    }
    return found[which]


@pytest.mark.parametrize("which", ["execution", "physics", "robot", "robot and physics", "all"])
def test_a_fast_motion_survives_pauses(client, nodes, commands, which):
    go_home(client, commands)
    sent = execute(client, to_and_fro(6))
    for seconds in PAUSES:
        commands.wait_until_fast(sent.done)
        assert not sent.done.is_set(), sent.result.error
        stopped = processes(nodes, which)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        threading.Event().wait(seconds)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    sent.wait()
    record = sent.result.record
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, f"{sent.result.error}\n{record}"
    # Errors checked against the tolerance are within it; errors on the way back after a pause are recorded separately.
    assert record.max_tracking_error <= PATH_TOLERANCE
    assert record.pauses >= 1
    assert record.goal_error <= 0.005


def test_a_robot_that_does_not_return_after_a_pause_ends_the_motion(client, nodes, commands):
    """Its physics are suspended for longer than joint states may be missing."""
    go_home(client, commands)
    sent = execute(client, to_and_fro(12))
    commands.wait_until_fast(sent.done)
    (physics,) = processes(nodes, "physics")
    os.kill(physics, signal.SIGSTOP)
    sent.wait()
    os.kill(physics, signal.SIGCONT)
    assert sent.result.error.name == "FeedbackLostError", sent.result.error.message
    assert sent.result.record.max_tracking_error <= PATH_TOLERANCE
