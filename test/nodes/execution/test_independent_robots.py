"""Two robots that clients move at the same time: neither motion disturbs the other, and an event that ends one does not
affect the other, unless it applies to all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from action_goals import execute, follow
from action_msgs.msg import GoalStatus
from fake_robot import EmergencyStop, FakeRobot, FakeValidator, swing
from independent_robots import bring_to_zero, start_execution, wait_for_actions
from running import PRELUDE

from robot_cell_planner.errors import (
    FeedbackLostError,
    MotionBusyError,
    NotSupportedError,
    StoppedError,
    StopRequestedError,
    UnknownNameError,
)

pytestmark = pytest.mark.alone

SUPPORT = Path(__file__).parents[2] / "support"
SIDES = ("left", "right")
JOINTS = {side: (f"{side}/shoulder", f"{side}/elbow") for side in SIDES}
BOTH = JOINTS["left"] + JOINTS["right"]
FAR = np.array([1.0, -0.6])
LONG = 60.0  # [s] of a motion that does not end by itself during a test
LONG_WAY = 9.0 * FAR  # of such a motion, which gets going sooner than on a short way; the validator permits 10 rad
PERIOD = 0.02  # [s] of joint states: this process has more to do than publish them
RIGHT = (
    "import rclpy; rclpy.init(); from fake_robot import FakeRobot; node = rclpy.create_node('right_robot'); "
    f"robot = FakeRobot(node, {JOINTS['right']}, period={PERIOD}); rclpy.spin(node)"
)


@pytest.fixture(scope="module")
def robot(client):
    """Both robots, on the same topics."""
    return FakeRobot(client.node, BOTH, period=PERIOD)


@pytest.fixture(scope="module")
def validator(client):
    return FakeValidator(client.node, client._group)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, robot, validator):
    return start_execution(start_node, *SIDES)


@pytest.fixture(autouse=True)
def at_rest(client, robot):
    wait_for_actions(client)
    robot.heal()
    bring_to_zero(client, robot, BOTH)


def start(client, robot, side, send=execute, **options):
    """A long motion of one robot, from zero along a long way, that has begun."""
    sent = send(client, swing(JOINTS[side], np.zeros(2), LONG_WAY, duration=LONG, samples=61), **options)
    goes_on(robot, side, sent, 1e-4)
    return sent


def goes_on(robot, side, sent, by=1e-3):
    """Wait until a robot has been commanded further along its path; its goal must not end before."""
    joint = JOINTS[side][0]
    until = robot.positions[joint] + by
    while robot.positions[joint] < until:
        assert not sent.done.is_set(), sent.result
        robot.run_for(1)


def cancel(robot, side, sent):
    sent.cancel()
    assert sent.wait().status == GoalStatus.STATUS_CANCELED
    check_path(robot, side)


def check_path(robot, side):
    """All commands of a robot lie on the long way from zero, in order and without a jump."""
    commands = [command for command, _ in list(robot.commands) if not command.keys().isdisjoint(JOINTS[side])]
    rows = np.array([[command[joint] for joint in JOINTS[side]] for command in commands])
    fractions = rows @ LONG_WAY / (LONG_WAY @ LONG_WAY)
    np.testing.assert_allclose(rows, fractions[:, None] * LONG_WAY, atol=1e-9)
    assert (np.diff(fractions) >= -1e-12).all()
    assert 0.0 < fractions[-1] < 1.0


def check_ended(sent, error, word):
    assert sent.wait().status == GoalStatus.STATUS_ABORTED
    found = sent.result.error
    assert found.name == error.__name__, (found.name, found.message)
    assert word in f"{found.stage} {found.message}"


def test_a_motion_of_one_robot_runs_and_ends_while_the_other_moves(client, robot):
    left = start(client, robot, "left", owner="first")
    right = execute(client, swing(JOINTS["right"], np.zeros(2), FAR), owner="second").wait()
    assert right.status == GoalStatus.STATUS_SUCCEEDED, right.result.error.message
    goes_on(robot, "left", left)
    # A goal that needs a robot that moves is refused; it names the robot and the client, and changes nothing.
    for joints in (BOTH, JOINTS["left"]):
        goal = swing(joints, np.zeros(len(joints)), np.ones(len(joints)))
        refused = execute(client, goal, owner="third").wait()
        assert refused.result.error.code == MotionBusyError.code
        assert "client 'first' is executing a motion of robot left" in refused.result.error.message
        assert set(refused.result.error.subjects) == {"first", "left"}
    goes_on(robot, "left", left)
    cancel(robot, "left", left)


def test_a_robot_that_is_switched_off_does_not_keep_the_other_one_from_moving(client, robot):
    """It gets no commands, until it is on again and moves."""
    robot.hidden = set(JOINTS["right"])
    robot.run_for(round(2.0 / PERIOD))  # longer than joint_state_timeout
    left = execute(client, swing(JOINTS["left"], np.zeros(2), FAR)).wait()
    assert left.status == GoalStatus.STATUS_SUCCEEDED, left.result.error.message
    assert {tuple(command) for command, _ in robot.all_taken()} == {JOINTS["left"]}
    robot.hidden = set()
    robot.run_for(2)
    right = execute(client, swing(JOINTS["right"], np.zeros(2), FAR)).wait()
    assert right.status == GoalStatus.STATUS_SUCCEEDED, right.result.error.message
    assert {frozenset(command) for command, _ in robot.all_taken()} == {frozenset(BOTH)}


def test_pause_resume_and_stop_apply_to_all(client, robot):
    sent = {side: start(client, robot, side, owner=side) for side in SIDES}
    assert client.pause_motion() == "left, right"
    robot.wait_for_rest(BOTH)
    assert not any(goal.done.is_set() for goal in sent.values())
    client.resume_motion()
    for side, goal in sent.items():
        goes_on(robot, side, goal)
    client.stop_motion()
    for side, goal in sent.items():
        check_ended(goal, StopRequestedError, "control motion")
        check_path(robot, side)


def test_pause_resume_and_stop_apply_to_the_robots_that_are_named(client, robot):
    sent = {side: start(client, robot, side, owner=side) for side in SIDES}
    assert client.pause_motion(["right/"]) == "right"
    robot.wait_for_rest(JOINTS["right"])
    goes_on(robot, "left", sent["left"])
    client.resume_motion(["right"])  # the last slash may be left out
    goes_on(robot, "right", sent["right"])
    assert client.stop_motion(["left"]) == "left"
    check_ended(sent["left"], StopRequestedError, "control motion")
    check_path(robot, "left")
    goes_on(robot, "right", sent["right"])
    with pytest.raises(NotSupportedError, match="no motion of left/ is running"):
        client.pause_motion(["left"])
    with pytest.raises(UnknownNameError, match="robots names middle/; independent_robots of this node: left/, right/"):
        client.stop_motion(["right", "middle"])
    goes_on(robot, "right", sent["right"])
    cancel(robot, "right", sent["right"])


def test_a_motion_of_both_robots_pauses_as_a_whole(client, robot):
    sent = execute(client, swing(BOTH, np.zeros(4), np.tile(LONG_WAY, 2), duration=LONG, samples=61), owner="both")
    goes_on(robot, "left", sent, 1e-4)
    assert client.pause_motion(["left"]) == "both"
    robot.wait_for_rest(BOTH)
    client.resume_motion(["right"])
    goes_on(robot, "left", sent)
    for side in SIDES:
        check_path(robot, side)
    sent.cancel()
    assert sent.wait().status == GoalStatus.STATUS_CANCELED


def test_the_speed_scale_of_one_robot(client, robot):
    """At scale 0 a robot is at rest, in a running motion and in the next ones, until its scale is raised."""
    sent = {side: start(client, robot, side, owner=side) for side in SIDES}
    try:
        assert client.set_speed_scale(0.0, ["right"]) == 1.0
        robot.wait_for_rest(JOINTS["right"])
        goes_on(robot, "left", sent["left"])
        assert client.set_speed_scale(0.5) == 0.0  # the smallest before; both now
        goes_on(robot, "right", sent["right"])
        assert client.set_speed_scale(1.0, ["left"]) == 0.5
        with pytest.raises(UnknownNameError, match="middle/"):
            client.set_speed_scale(0.1, ["middle"])
        assert client.set_speed_scale(1.0, ["right"]) == 0.5
    finally:
        client.set_speed_scale(1.0)
    for side, goal in sent.items():
        goes_on(robot, side, goal)
        cancel(robot, side, goal)


@pytest.fixture
def button(client):
    button = EmergencyStop(client.node)
    yield button
    button.end()


def test_an_emergency_stop_ends_both(client, robot, button):
    sent = {side: start(client, robot, side, owner=side) for side in SIDES}
    button.press()
    for goal in sent.values():
        check_ended(goal, StoppedError, "emergency stop")
    button.release()
    bring_to_zero(client, robot, BOTH)


def test_goals_of_follow_joint_trajectory_replace_those_of_the_same_robot(client, robot):
    left, right = (start(client, robot, side, follow) for side in SIDES)
    both = follow(client, swing(BOTH, np.zeros(4), np.ones(4))).wait()
    assert both.status == GoalStatus.STATUS_ABORTED
    assert "MotionBusyError" in both.result.error_string
    newer = follow(client, swing(JOINTS["left"], np.zeros(2), LONG_WAY, duration=LONG, samples=61))
    assert left.wait().status == GoalStatus.STATUS_ABORTED
    assert "replaced by a newer goal" in left.result.error_string
    goes_on(robot, "right", right)
    cancel(robot, "right", right)
    assert not newer.done.is_set()
    newer.cancel()
    assert newer.wait().status == GoalStatus.STATUS_CANCELED


def check_only_right_ends(robot, left, right):
    check_ended(right, FeedbackLostError, "joint_states")
    goes_on(robot, "left", left)
    robot.wait_for(lambda command: command.keys().isdisjoint(JOINTS["right"]))  # it would jump when it is back
    cancel(robot, "left", left)
    check_path(robot, "right")


def test_joint_states_of_one_robot_that_stop_end_its_motion_alone(client, robot):
    left, right = (start(client, robot, side, owner=side) for side in SIDES)
    robot.hidden.update(JOINTS["right"])
    check_only_right_ends(robot, left, right)


def test_a_killed_robot_ends_its_motion_alone(client, robot, domain):
    """Another process takes the place of the right robot of this one."""
    robot.hidden.update(JOINTS["right"])
    path = f"{SUPPORT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, "-c", PRELUDE + RIGHT], env=environment)
    try:
        for _ in range(100):  # until the node receives its joint states
            sent = execute(client, swing(JOINTS["right"], np.zeros(2), np.zeros(2)), owner="right").wait()
            if sent.status == GoalStatus.STATUS_SUCCEEDED:
                break
        else:
            raise AssertionError(sent.result.error.message)
        robot.forget_commands()
        left, right = (start(client, robot, side, owner=side) for side in SIDES)
        process.send_signal(signal.SIGKILL)
        check_only_right_ends(robot, left, right)
    finally:
        process.kill()
        process.wait()
