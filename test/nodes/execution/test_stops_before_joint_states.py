"""Goals that wait for the first joint states end with the emergency stop, and do not begin after its release."""

import threading

import pytest
from action_goals import Sent, execute, follow
from action_msgs.msg import GoalStatus
from fake_robot import EmergencyStop, swing

from robot_cell_planner.action import MoveGripper
from robot_cell_planner.errors import StoppedError
from robot_cell_planner.msg import ExecutionStatus
from robot_cell_planner.nodes.common.node import reliable

TRAJECTORY = swing(("shoulder",), (0.0,), (0.1,), duration=1.0, samples=11)


def grip(client):
    return Sent(client, MoveGripper, "execution/move_gripper", MoveGripper.Goal(position=0.01))


KINDS = pytest.mark.parametrize(
    "send",
    [lambda client: execute(client, TRAJECTORY), lambda client: follow(client, TRAJECTORY), grip],
    ids=["execute", "follow", "grip"],
)


@pytest.fixture(scope="module")
def blocked(client, start_node):
    """Waits until the node reports that it is blocked, or is not. It waits for its robot for ten minutes."""
    changed, seen = threading.Condition(), []

    def take(message):
        with changed:
            seen.append(message.state == ExecutionStatus.BLOCKED)
            changed.notify()

    subscription = client.node.create_subscription(ExecutionStatus, "execution/status", take, reliable(1, latched=True))
    start_node("execution_node", gripper_joint="finger", gripper_upper=0.04, server_timeout=600.0)

    def wait(expected):
        with changed:
            assert changed.wait_for(lambda: seen and seen[-1] == expected, 60.0)

    yield wait
    client.node.destroy_subscription(subscription)


@pytest.fixture
def button(client, blocked):
    button = EmergencyStop(client.node)
    button.release()
    blocked(False)
    yield button
    button.release()
    blocked(False)  # while the button is published still
    button.end()


def check_stopped(sent):
    sent.wait()
    assert sent.status == GoalStatus.STATUS_ABORTED
    if hasattr(sent.result, "error"):
        assert sent.result.error.code == StoppedError.code
        assert sent.result.error.stage == "emergency stop"
    else:
        assert "the emergency stop is pressed" in sent.result.error_string


@KINDS
def test_a_goal_that_waits_ends_at_once(client, button, blocked, send):
    sent = send(client)
    button.press()
    blocked(True)
    check_stopped(sent)


@KINDS
def test_a_goal_that_arrives_while_it_is_pressed_ends_at_once(client, button, blocked, send):
    button.press()
    blocked(True)
    check_stopped(send(client))
