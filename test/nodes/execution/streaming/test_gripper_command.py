"""The gripper's action, which behaves like that of ros2_control's gripper controllers."""

import math

import numpy as np
import pytest
from action_goals import Sent, execute
from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand
from fake_robot import JOINTS, swing
from streaming import ARM, eventually, here, on_line, rows, run

from robot_cell_planner.errors import (
    InvalidRequestError,
    StoppedError,
)
from robot_cell_planner.msg import ExecutionStatus
from robot_cell_planner.nodes.common.node import LATCHED

pytestmark = pytest.mark.alone


GRIPPER = "gripper_controller/gripper_cmd"


def grip(client, position, effort=0.0):
    goal = GripperCommand.Goal()
    goal.command.position, goal.command.max_effort = position, effort
    return Sent(client, GripperCommand, GRIPPER, goal)


class TestGripper:
    """The gripper's action, which behaves like that of ros2_control's gripper controllers."""

    def test_it_reaches_its_goal(self, client, robot):
        sent = grip(client, 0.04).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        assert sent.result.reached_goal
        assert not sent.result.stalled
        robot.wait_for_last_command()
        assert robot.positions["finger"] == pytest.approx(0.04)
        commands = robot.all_taken()
        assert all(list(message.name) == list(JOINTS) for _, message in commands)
        fingers = np.array([command["finger"] for command, _ in commands])
        assert (np.diff(fingers) >= 0.0).all()
        assert (np.diff(rows(commands), axis=0) == 0.0).all()

    def test_a_held_object_stalls_it(self, client, robot):
        grip(client, 0.04).wait()
        robot.lowest["finger"] = 0.025
        sent = grip(client, 0.0).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        assert sent.result.stalled
        assert not sent.result.reached_goal
        assert sent.result.position == pytest.approx(0.025)
        # The arm moves, and the fingers go on pushing.
        robot.forget_commands()
        run(client, robot, [0.0, 0.3])
        assert {command["finger"] for command, _ in robot.all_taken()} == {0.0}
        # They open again from where they were commanded to, without a jump.
        grip(client, 0.04).wait()
        fingers = np.array([command["finger"] for command, _ in robot.all_taken()])
        assert fingers[0] == pytest.approx(0.0, abs=1e-3)
        assert np.diff(fingers).max() < 0.01

    def test_a_robot_that_begins_late_has_not_stalled(self, client, robot):
        grip(client, 0.0).wait()
        robot.measured["finger"] = 0.0
        sent = grip(client, 0.04)
        robot.wait_for(lambda command: command["finger"] >= 0.04)
        robot.run_for_time(1.2)  # longer than stall_timeout, shorter than gripper_start_timeout
        del robot.measured["finger"]
        assert sent.wait().result.reached_goal
        assert not sent.result.stalled

    def test_a_gripper_that_never_moves_stalls(self, client, robot):
        grip(client, 0.0).wait()
        robot.stuck.add("finger")
        sent = grip(client, 0.04).wait()
        assert sent.result.stalled
        assert sent.result.position == pytest.approx(0.0)

    def test_a_newer_goal_takes_its_place(self, client, robot):
        for _ in range(10):  # until the second one arrives in time, on a busy computer
            grip(client, 0.04).wait()
            robot.forget_commands()
            first = grip(client, 0.0)
            robot.wait_for(lambda command: command["finger"] < 0.03)
            second = grip(client, 0.04)
            if first.wait().status == GoalStatus.STATUS_ABORTED:
                break
            second.wait()
        assert first.status == GoalStatus.STATUS_ABORTED
        assert second.wait().status == GoalStatus.STATUS_SUCCEEDED
        robot.wait_for_last_command()
        assert robot.positions["finger"] == pytest.approx(0.04)

    @pytest.mark.parametrize("position, effort", [(0.05, 0.0), (-0.01, 0.0), (math.nan, 0.0), (0.0, -1.0)])
    def test_malformed_goals(self, client, robot, position, effort):
        robot.taken()
        assert grip(client, position, effort).wait().status == GoalStatus.STATUS_ABORTED
        assert robot.taken() == []

    @pytest.mark.parametrize(
        "position, effort, word",
        [(99.0, 0.0, "99"), (math.nan, 0.0, "nan"), (0.01, math.inf, "max_effort"), (0.01, -1e308, "max_effort")],
    )
    def test_a_refusal_reaches_the_client(self, client, robot, position, effort, word):
        robot.taken()
        with pytest.raises(InvalidRequestError, match=word):
            client.move_gripper(position, effort)
        assert robot.taken() == []
        assert client.move_gripper(0.02).reached_goal
        # The result of ros2_control's action has no field for a reason: the status has it.
        statuses = []
        subscription = client.node.create_subscription(ExecutionStatus, "execution/status", statuses.append, LATCHED)
        assert grip(client, position, effort).wait().status == GoalStatus.STATUS_ABORTED
        eventually(AssertionError, lambda: self.check_reported(robot, statuses, word))
        client.node.destroy_subscription(subscription)

    @staticmethod
    def check_reported(robot, statuses, word):
        robot.run_for(1)
        assert any(status.error.name == "InvalidRequestError" and word in status.error.message for status in statuses)

    def test_it_moves_beside_the_arm(self, client, robot):
        grip(client, 0.04).wait()
        start = here(robot)
        sent = execute(client, swing(ARM, start, [0.5, 0.0], duration=1.5))
        robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.05)
        robot.taken()
        assert grip(client, 0.0).wait().status == GoalStatus.STATUS_SUCCEEDED
        assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED
        on_line(robot.all_taken(), start, [0.5, 0.0])

    @pytest.mark.parametrize("moves", [True, False], ids=["while the arm moves", "at rest"])
    def test_it_presses_on_what_it_holds_after_an_emergency_stop(self, client, robot, button, moves):
        held(client, robot)
        if moves:
            stopped_in_motion(client, robot, button)
        else:
            stopped_at_rest(client, robot, button)
        released(client, robot, button)
        eventually(StoppedError, lambda: run(client, robot, [0.0, 0.3]))
        assert {command["finger"] for command, _ in robot.all_taken()} == {0.0}


def held(client, robot):
    """Let the gripper hold an object, on which it presses."""
    grip(client, 0.04).wait()
    robot.lowest["finger"] = 0.025
    assert grip(client, 0.0).wait().result.stalled


def stopped_in_motion(client, robot, button):
    start = here(robot)
    sent = execute(client, swing(ARM, start, [1.0, 0.0], duration=30.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.01)
    button.press()
    assert sent.wait().result.error.stage == "emergency stop"


def stopped_at_rest(client, robot, button):
    button.press()

    def refused():
        with pytest.raises(StoppedError):
            run(client, robot, [0.0, 0.3])

    eventually(AssertionError, refused)


def released(client, robot, button):
    robot.forget_commands()
    button.release()
