"""Checks of requests to the execution node, and the action that plans before it moves."""

import math

import numpy as np
import pytest
from action_goals import Sent, execute, follow
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from fake_robot import swing
from running import RunningNode
from streaming import ARM, here, on_line, rows

from robot_cell_planner import srv
from robot_cell_planner.action import Move
from robot_cell_planner.errors import (
    InvalidRequestError,
    MotionBusyError,
    NotConnectedError,
    UnknownNameError,
)
from robot_cell_planner.msg import ExecutionOptions
from robot_cell_planner.msg import TimingOptions as TimingMessage
from robot_cell_planner.nodes.conversions.basic import configuration_to_message

pytestmark = pytest.mark.alone


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 9e-4, -5e-324, math.nan, math.inf])
def test_invalid_speeds_are_refused_in_motion_and_at_rest(client, robot, scale):
    def refuse():
        for _ in range(2):
            with pytest.raises(InvalidRequestError, match="speed scale") as refused:
                client.call_service(
                    srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=scale)
                )
            assert refused.value.values[0].limit == (0.001 if scale < 0.001 else 1.0)

    refuse()
    start, end = here(robot), [0.3, -0.3]
    sent = execute(client, swing(ARM, start, end, duration=1.0), speed_scale=1e-3)
    robot.wait_for(lambda command: command["shoulder"] != start[0])
    refuse()
    control = srv.ControlMotion.Request
    for command in (control.PAUSE, control.RESUME, control.STOP):
        client.call_service(srv.ControlMotion, "execution/control_motion", control(command=command))
    assert sent.wait().result.error.stage == "control motion"


FOREVER = Duration(sec=2**31 - 1)


@pytest.mark.parametrize(
    "options, stamp, word",
    [
        ({"speed_scale": 5e-324}, 0, "speed_scale"),
        ({"goal_time_tolerance": FOREVER}, 0, "goal_time_tolerance"),
        ({}, 2**31 - 1, "header.stamp"),
    ],
)
def test_options_that_would_last_for_ever_are_refused(client, robot, options, stamp, word):
    trajectory = swing(ARM, here(robot), here(robot))
    trajectory.header.stamp.sec = stamp
    sent = execute(client, trajectory, **options).wait()
    assert sent.result.error.name == "InvalidRequestError"
    assert sent.result.error.subjects == [word if word == "header.stamp" else f"options.{word}"]
    if not options.get("speed_scale"):
        sent = follow(client, trajectory, **options).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
        assert sent.result.error_string.startswith("InvalidRequestError")
    late = robot.taken()  # commands of the motion before may still have been on their way
    assert not late or np.ptp(rows(late), axis=0).max() < 1e-6


def nan_point(trajectory):
    trajectory.points[3].positions[1] = math.nan


def unordered(trajectory):
    trajectory.points[4].time_from_start = trajectory.points[3].time_from_start


def short_row(trajectory):
    trajectory.points[2].velocities = [0.0]


def no_points(trajectory):
    trajectory.points = []


def wrong_joint(trajectory):
    trajectory.joint_names = ["shoulder", "elbwo"]


def same_joint(trajectory):
    trajectory.joint_names = ["shoulder", "shoulder"]


@pytest.mark.parametrize(
    "spoil, error, words",
    [
        (nan_point, InvalidRequestError, "elbow at point 3"),
        (unordered, InvalidRequestError, "sample 4"),
        (short_row, InvalidRequestError, "point 2"),
        (no_points, InvalidRequestError, "no points"),
        (wrong_joint, UnknownNameError, "elbwo"),
        (same_joint, InvalidRequestError, "twice"),
    ],
)
def test_malformed_goals_get_their_named_error(client, robot, spoil, error, words):
    trajectory = swing(ARM, here(robot), [0.0, 0.0])
    spoil(trajectory)
    with pytest.raises(error) as caught:
        client.execute(trajectory)
    assert words in str(caught.value)
    assert ("timing.method" in caught.value.remedy) == (spoil is no_points), "a plan without timing has no trajectory"
    sent = follow(client, trajectory).wait()
    assert sent.status == GoalStatus.STATUS_ABORTED
    results = FollowJointTrajectory.Result
    assert sent.result.error_code == (results.INVALID_JOINTS if error is UnknownNameError else results.INVALID_GOAL)
    assert words in sent.result.error_string
    assert robot.taken() == []


@pytest.mark.parametrize(
    "options, field",
    [
        ({"speed_scale": 0.0}, "speed_scale"),
        ({"speed_scale": math.nan}, "speed_scale"),
        ({"path_tolerance": -1.0}, "path_tolerance"),
        ({"goal_tolerance": math.inf}, "goal_tolerance"),
    ],
)
def test_malformed_options_get_their_named_error(client, robot, options, field):
    with pytest.raises(InvalidRequestError) as caught:
        client.execute(swing(ARM, here(robot), [0.0, 0.0]), ExecutionOptions(**options))
    assert field in str(caught.value)


class TestMove:
    """Planning, validating and moving in one action."""

    def goal(self, end, **options):
        goal = Move.Goal(options=ExecutionOptions(**options))
        goal.request.goal.joint_goals = [configuration_to_message(dict(zip(ARM, end, strict=True)))]
        return goal

    def test_it_is_planned_validated_and_carried_out(self, client, robot, validator, planner):
        planner.requests.clear()
        start = here(robot)
        sent = Sent(client, Move, "execution/move", self.goal([0.2, -0.2])).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        robot.wait_for_last_command()
        assert here(robot) == pytest.approx([0.2, -0.2])
        on_line(robot.all_taken(), start, [0.2, -0.2])
        assert sent.result.plan.record.state.revision == 3
        assert sent.result.validation.valid
        assert sent.result.record.commands > 0
        assert planner.requests[0].timing.method == TimingMessage.SMOOTH
        # The scene of the validation is no older than the scene of the plan.
        assert validator.requests[0].state.min_revision == 3
        stages = [(feedback.planning.stage, feedback.execution.stage) for feedback in sent.feedback]
        assert stages[0] == ("search", "")
        assert ("", "moving") in stages

    def test_no_plan_no_motion(self, client, robot, planner):
        planner.error = NotConnectedError("nothing was found")
        sent = Sent(client, Move, "execution/move", self.goal([0.0, 0.0])).wait()
        planner.error = None
        assert sent.status == GoalStatus.STATUS_ABORTED
        assert sent.result.error.name == "NotConnectedError"
        assert robot.taken() == []

    def test_cancel_while_planning(self, client, robot, planner):
        planner.slow = True
        planner.planning.clear()
        sent = Sent(client, Move, "execution/move", self.goal([0.0, 0.0], owner="planning client"))
        assert planner.planning.wait(120.0)
        with pytest.raises(MotionBusyError) as caught:
            client.execute(swing(ARM, here(robot), [0.0, 0.0]))
        assert caught.value.subjects == ("planning client",)
        sent.cancel()
        assert sent.wait().status == GoalStatus.STATUS_CANCELED
        assert planner.cancelled.wait(120.0)
        planner.slow = False
        assert robot.taken() == []


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"command_rate": 100.0}, ("command_rate", "250 to 1000")),
        ({"command_fields": "[torque]"}, ("command_fields", "torque")),
        ({"gripper_joint": "finger", "gripper_upper": -1.0}, ("gripper_lower", "gripper_upper")),
        ({"gripper_joint": "finger", "gripper_velocity": 1e-6}, ("gripper", "too long")),
    ],
)
def test_bad_parameters_end_the_start_in_one_line(domain, parameters, words):
    node = RunningNode("execution_node", domain, namespace="other", **parameters)
    assert node.wait() == 1
    assert len(node.lines) == 1
    assert all(word in node.output for word in words)
