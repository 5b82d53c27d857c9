"""Motions of a robot whose driver publishes positions within one turn: no command steps by a turn."""

import math

import numpy as np
import pytest
from action_goals import execute, follow
from action_msgs.msg import GoalStatus
from fake_robot import EmergencyStop, FakeValidator, swing
from wrapping_robot import JOINTS, PARAMETERS, TURN, WrappingRobot, restart_driver, turn

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def robot(client):
    return WrappingRobot(client.node, JOINTS)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, client, robot):
    validator = FakeValidator(client.node, client._group)
    yield start_node("execution_node", angle_wraparound="[spin]", path_tolerance=2.0, **PARAMETERS)
    assert validator.requests


def move(client, robot, angle, send):
    for _ in range(100):  # until the node receives joint states
        sent = turn(client, robot, angle, send)
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            return
    raise AssertionError(sent.result)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("send", [execute, follow])
def test_motions_go_on_across_the_wrap_and_begin_where_the_commands_ended(client, robot, send, sign):
    robot.forget_commands()
    begin = robot.positions["spin"]
    for _ in range(5):
        move(client, robot, sign * 1.5, send)
    robot.wait_for_rest(JOINTS)
    assert robot.positions["spin"] == pytest.approx(begin + sign * 7.5, abs=1e-6)
    commands = np.array([[command[joint] for joint in JOINTS] for command, _ in robot.taken()])
    # At 3 rad/s, the fastest of the motion, and with pauses of a busy machine.
    assert np.abs(np.diff(commands[:, 0], prepend=begin)).max() < 1.0
    assert (sign * np.diff(commands[:, 0]) > -1e-9).all()


def to_the_wrap(client, robot, before=0.0):
    """Bring the robot to where its driver publishes pi, or to a position before it [rad]; returns the position of the
    wrap."""
    wrap = math.pi + TURN * round((robot.positions["spin"] - math.pi) / TURN)
    while abs(left := wrap - before - robot.positions["spin"]) > 1e-9:
        move(client, robot, math.copysign(min(abs(left), 1.5), left), execute)
    return wrap


def largest_step(robot, begin):
    commands = np.array([begin, *(command["spin"] for command, _ in robot.all_taken() if "spin" in command)])
    return np.abs(np.diff(commands)).max()


@pytest.mark.parametrize("stop", ["cancel", "emergency stop"])
def test_a_motion_that_is_stopped_at_the_wrap_is_followed_by_others_in_both_directions(client, robot, stop):
    """The robot is published on either side of the wrap, also while it stops."""
    wrap = to_the_wrap(client, robot, 0.2)
    robot.forget_commands()
    begin = robot.positions["spin"]
    goal = turn_slowly(client, robot)
    robot.wait_for(lambda command: command.get("spin", begin) > wrap - 1e-3)
    if stop == "cancel":
        goal.cancel()
    else:
        button = EmergencyStop(client.node)
        button.press()
    assert goal.wait().status != GoalStatus.STATUS_SUCCEEDED
    if stop != "cancel":
        button.release()
        robot.wait_for_last_command()
        robot.put(spin=wrap + 1e-4)  # where its brakes have brought it to rest
    for angle in (0.2, -0.4, 0.4):
        move(client, robot, angle, execute)
    if stop != "cancel":
        button.end()
    assert largest_step(robot, begin) < 1.0


def turn_slowly(client, robot):
    start = np.array([robot.published, robot.positions["bend"]])
    return execute(client, swing(JOINTS, start, start + np.array([0.4, 0.1]), duration=20.0))


def test_motions_are_refused_while_a_joint_is_published_beyond_one_turn_and_until_it_rests_within_one(client, robot):
    restart_driver(client, robot)
    while abs(robot.positions["spin"]) > 1.0:
        move(client, robot, -math.copysign(1.0, robot.positions["spin"]), execute)
    robot.forget_commands()
    begin = robot.positions["spin"]
    refuse_beyond(client, robot)
    robot.turns = 0
    move(client, robot, 0.1, execute)
    assert largest_step(robot, begin) < 1.0


def test_a_joint_that_was_published_beyond_one_turn_is_not_moved_if_its_last_command_is_turns_away(client, robot):
    """Whether the driver still counts them, or was restarted, is not known."""
    restart_driver(client, robot)
    while robot.positions["spin"] < math.pi + 0.1:
        move(client, robot, 1.0, execute)
    robot.forget_commands()
    refuse_beyond(client, robot)
    robot.turns = 0
    for _ in range(200):  # until it counts again
        if "from its last command" in (sent := turn(client, robot, 0.1)).result.error.message:
            break
    else:
        raise AssertionError(sent.result)
    assert "Restart its driver" in sent.result.error.remedy
    assert not robot.all_taken()
    assert largest_step(robot, restart_driver(client, robot)) < 1.0


def refuse_beyond(client, robot):
    """Let a joint be published beyond one turn, and a motion be refused."""
    robot.turns = 2
    robot.run_for(50)
    refused = turn(client, robot, 0.1)
    assert "beyond one turn" in refused.result.error.message
    assert "as soon as" in refused.result.error.remedy
    assert not robot.all_taken()
