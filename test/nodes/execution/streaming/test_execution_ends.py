"""Reasons that end or forbid a motion are reported: other clients, tolerances, feedback, the emergency stop."""

import math
import threading
from itertools import pairwise

import numpy as np
import pytest
from action_goals import execute, follow
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from fake_robot import swing
from rclpy.time import Time
from sensor_msgs.msg import JointState
from streaming import ARM, eventually, here, on_line, run

from robot_cell_planner.errors import (
    ExecutionError,
    FeedbackLostError,
    GoalToleranceError,
    MotionBusyError,
    StoppedError,
    TrackingError,
)
from robot_cell_planner.msg import ExecutionOptions, ExecutionStatus
from robot_cell_planner.nodes.common.node import LATCHED

pytestmark = pytest.mark.alone


def test_a_second_client_is_informed_which_client_moves_the_robot(client, robot):
    start = here(robot)
    sent = execute(client, swing(ARM, start, [0.3, 0.3], duration=5.0), owner="the first")
    robot.wait_for(lambda command: command["shoulder"] != start[0])
    with pytest.raises(MotionBusyError) as caught:
        client.execute(swing(ARM, start, [0.0, 0.0]), ExecutionOptions(owner="the second"))
    assert caught.value.subjects == ("the first",)
    other = follow(client, swing(ARM, start, [0.0, 0.0])).wait()
    assert "the first" in other.result.error_string
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED


def test_a_joint_that_does_not_follow_is_named(client, robot):
    start, end = here(robot), [1.0, 1.0]
    robot.stuck.add("elbow")
    with pytest.raises(TrackingError) as caught:
        client.execute(swing(ARM, start, end, duration=2.0), ExecutionOptions(path_tolerance=0.05))
    assert caught.value.subjects == ("elbow",)
    assert caught.value.stage == "path tolerance"
    assert caught.value.values[0].limit == pytest.approx(0.05)
    assert caught.value.partial.record.max_tracking_error_joint == "elbow"
    fractions = on_line(robot.all_taken(), start, end)
    assert 0.0 < fractions[-1] < 0.99


def test_the_goal_tolerance_must_hold_in_time(client, robot):
    run(client, robot, [0.5, 0.5])
    robot.lowest["elbow"] = 0.46
    tolerance = Duration(nanosec=200_000_000)
    with pytest.raises(GoalToleranceError) as caught:
        run(client, robot, [0.5, 0.4], options=ExecutionOptions(goal_time_tolerance=tolerance))
    assert caught.value.stage == "goal tolerance"
    assert caught.value.subjects == ("elbow",)
    assert caught.value.values[0].value == pytest.approx(0.06, abs=1e-3)


def test_lost_feedback_stops_the_motion(client, robot):
    start, end = here(robot), [1.5, 1.0]
    sent = execute(client, swing(ARM, start, end, duration=8.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.1)
    robot.silent = True
    sent.wait()
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert sent.result.error.name == "FeedbackLostError"
    assert sent.result.error.values[0].limit == pytest.approx(2.0)  # joint_state_lost_after
    assert on_line(robot.all_taken(), start, end)[-1] < 0.99
    with pytest.raises(FeedbackLostError):
        client.execute(swing(ARM, here(robot), end))


@pytest.mark.parametrize("value, word", [(math.nan, "nan"), (5.0, "jumped")])
def test_invalid_feedback_stops_the_motion(client, robot, value, word):
    start, end = here(robot), [1.5, 1.0]
    sent = execute(client, swing(ARM, start, end, duration=8.0), path_tolerance=100.0)
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.1)
    robot.measured["elbow"] = value
    sent.wait()
    robot.heal()
    assert sent.result.error.name == "FeedbackLostError"
    assert word in sent.result.error.message
    assert sent.result.error.subjects == ["elbow"]
    assert on_line(robot.all_taken(), start, end)[-1] < 0.99


def test_the_emergency_stop_ends_motion_at_once_and_blocks_it(client, robot, button):
    start, end = here(robot), [0.0, -1.0]
    sent = execute(client, swing(ARM, start, end, duration=8.0))
    robot.wait_for(lambda command: command["elbow"] < start[1] - 0.1)
    button.press()
    assert sent.wait().status == GoalStatus.STATUS_ABORTED
    assert sent.result.error.name == "StoppedError"
    assert sent.result.error.stage == "emergency stop"
    robot.forget_commands()
    with pytest.raises(StoppedError):
        client.execute(swing(ARM, here(robot), end))
    assert robot.taken() == []
    button.release()
    eventually(StoppedError, lambda: client.execute(swing(ARM, here(robot), end)))


def test_the_status_reports_state_and_owner(client, robot):
    latest, ended = {}, threading.Event()

    def take(message):
        latest[message.state] = message
        if {ExecutionStatus.IDLE, ExecutionStatus.MOVING} <= set(latest) and message.state == ExecutionStatus.IDLE:
            ended.set()

    subscription = client.node.create_subscription(ExecutionStatus, "execution/status", take, LATCHED)
    run(client, robot, [0.1, 0.2], options=ExecutionOptions(owner="somebody"))
    assert ended.wait(120.0)
    client.node.destroy_subscription(subscription)
    assert latest[ExecutionStatus.MOVING].owner == "somebody"
    assert latest[ExecutionStatus.IDLE].owner == ""
    assert latest[ExecutionStatus.IDLE].joint_state_age < 1.5


def test_the_age_in_the_status_grows_with_time_while_nothing_moves(client, robot):
    """Pauses of a busy computer do not count, but in some second there is none."""
    ages, reached = [], threading.Event()

    def take(message):
        ages.append((Time.from_msg(message.header.stamp).nanoseconds * 1e-9, message.joint_state_age))
        steps = [np.subtract(new, last) for last, new in pairwise(ages)]
        if any(passed > 0.5 and grown > 0.95 * passed for passed, grown in steps):
            reached.set()

    robot.wait_for_last_command()
    robot.silent = True
    subscription = client.node.create_subscription(ExecutionStatus, "execution/status", take, LATCHED)
    try:
        assert reached.wait(60.0), ages
    finally:
        client.node.destroy_subscription(subscription)
        robot.silent = False


def test_a_second_publisher_of_commands_forbids_motion(client, robot):
    publisher = client.node.create_publisher(JointState, "joint_commands", 1)

    def is_refused():
        with pytest.raises(ExecutionError) as caught:
            client.execute(swing(ARM, np.add(here(robot), 0.1), [0.0, 0.0]))
        assert caught.value.subjects == ("/joint_commands", "/test_client")

    eventually(AssertionError, is_refused)
    robot.taken()
    client.node.destroy_publisher(publisher)
    eventually(ExecutionError, lambda: run(client, robot, [0.0, 0.0]))
