"""Motions of the simulated robot at other rates than real time, near the velocity limit of a joint, and in a pause."""

import threading

import numpy as np
import pytest
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import FakeValidator, swing
from loaded_cells import loaded
from running import DEMO
from sensor_msgs.msg import JointState
from simulated_time import check_path

from robot_cell_planner import srv
from robot_cell_planner.nodes.common.node import reliable

CELL, STATE = loaded()
ARM = CELL.group().variables
HOME = np.array([STATE.configuration[joint] for joint in ARM])
FAR = np.array([HOME[0] - 1.6, *HOME[1:]])
PEAK = 15.0 / 8.0  # of the velocity of `swing`, in multiples of its mean
DURATION = PEAK * 1.6 / (0.95 * CELL.variables[ARM[0]].limits.velocity)
KINDS = srv.ControlSimulation.Request


class Commands:
    """The commands that arrive."""

    def __init__(self, node):
        self.all, self._changed = [], threading.Condition()
        self._subscription = node.create_subscription(JointState, "joint_commands", self._take, reliable(10_000))

    def _take(self, message):
        with self._changed:
            self.all.append((dict(zip(message.name, message.position, strict=True)), message))
            self._changed.notify_all()

    def wait_for(self, condition):
        """Wait until the commands fulfil a condition."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.all and condition(self.all[-1][0]), 120.0)


@pytest.fixture(scope="module")
def commands(client):
    return Commands(client.node)


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client, commands):
    validator = FakeValidator(client.node, client._group)
    start_node("simulated_robot_node", cell_file=DEMO, publish_clock=True)
    # Wide enough for a simulation and a stream that a busy machine holds up, for which each second counts more.
    tolerances = {"path_tolerance": 5.0, "joint_state_timeout": 2.0, "max_command_gap": 5.0, "goal_time": 60.0}
    start_node("execution_node", use_sim_time=True, command_fields="[position, velocity]", **tolerances)
    yield
    client.node.destroy_service(validator._service)


def control(client, command, **fields):
    return client.call_service(
        srv.ControlSimulation, "simulation/control", KINDS(command=command, **fields), timeout=60.0
    )


def send(client, commands, start, end):
    """Move, once the nodes have found each other."""
    for _ in range(30):
        commands.all.clear()
        sent = execute(client, swing(ARM, start, end, DURATION, samples=81))
        if not sent.done.wait(0.5) or sent.result.error.name not in ("ServiceUnavailableError", "FeedbackLostError"):
            return sent
    raise AssertionError(sent.result.error)


def check(sent, commands, start, end):
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED, sent.result
    commands.wait_for(lambda command: [command[joint] for joint in ARM] == end.tolist())
    check_path(commands.all, ARM, start, end, DURATION)
    assert sent.result.record.goal_error <= 0.005


@pytest.mark.parametrize("factor", [0.3, 2.0, 5.0])
def test_durations_are_simulated_ones(client, commands, factor):
    control(client, KINDS.SET_TIME_FACTOR, time_factor=factor)
    for start, end in ((HOME, FAR), (FAR, HOME)):
        check(send(client, commands, start, end), commands, start, end)


def test_a_motion_stands_in_a_pause_and_goes_on_from_there(client, commands):
    control(client, KINDS.SET_TIME_FACTOR, time_factor=1.0)
    sent = send(client, commands, HOME, FAR)
    commands.wait_for(lambda command: command[ARM[0]] < HOME[0] - 0.4)
    assert control(client, KINDS.PAUSE).paused
    assert not sent.done.wait(3.0)  # longer than joint states may be missing
    control(client, KINDS.CONTINUE)
    check(sent, commands, HOME, FAR)
    assert sent.result.record.pauses == 0
