"""Trajectories are streamed on their path, from where the robot is, and stop on it."""

import signal
import threading

import numpy as np
import pytest
from action_goals import execute, follow
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from fake_robot import JOINTS, swing
from recorded import check_limits
from streaming import ARM, here, on_line, put, rows, run

from robot_cell_planner import srv
from robot_cell_planner.errors import (
    InvalidRequestError,
    TrajectoryLimitError,
    TrajectoryStartError,
)
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingOptions, stop_at_waypoints

pytestmark = pytest.mark.alone


def test_a_trajectory_is_streamed_as_it_is(client, robot, validator):
    start = here(robot)
    result = run(client, robot, [0.5, -0.25])
    assert result.validation.valid
    assert result.record.state.revision == 7
    commands = robot.all_taken()
    assert here(robot) == [0.5, -0.25]
    assert all(list(message.name) == list(JOINTS) for _, message in commands)
    assert all(len(message.position) == len(message.velocity) == len(JOINTS) for _, message in commands)
    assert on_line(commands, start, [0.5, -0.25])[-1] == pytest.approx(1.0, abs=1e-12)
    assert result.record.commands >= len(commands) > 10
    assert result.record.reached.nanosec == 500_000_000
    assert result.record.goal_error < 1e-3
    assert len(validator.requests) == 1


def test_nothing_moves_that_is_not_valid(client, robot, validator):
    validator.limit = 0.9
    with pytest.raises(TrajectoryLimitError) as caught:
        run(client, robot, [1.0, 0.0])
    assert caught.value.subjects == ("shoulder",)
    assert not caught.value.partial.validation.valid
    assert caught.value.partial.record.commands == 0
    sent = follow(client, swing(ARM, here(robot), [1.0, 0.0])).wait()
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert "TrajectoryLimitError" in sent.result.error_string
    assert "shoulder" in sent.result.error_string
    assert robot.taken() == []


def test_segments_start_where_the_commands_before_ended(client, robot):
    end = run(client, robot, [0.2, 0.1]) and here(robot)
    put(client, robot, shoulder=end[0] + 0.004)  # it sags a little
    trajectory = swing(ARM, [end[0] + 0.004, end[1]], [0.6, 0.3], duration=1.0, samples=251)
    client.execute(trajectory)
    commands = rows(robot.all_taken())
    assert commands[0] == pytest.approx(end, abs=1e-12)
    assert commands[-1] == pytest.approx([0.6, 0.3], abs=1e-9)


def test_a_motion_that_uses_its_limits_may_begin_beside_the_robot(client, robot, validator):
    """The path from the robot is added to a motion at its limits: the motion is slowed down, with a warning."""
    validator.limits = MotionLimits(ARM, [-3.0] * 2, [3.0] * 2, [2.0] * 2, [4.0] * 2, [40.0] * 2)
    start = here(robot)
    path = np.array([np.add(start, [0.004, 0.0]), np.add(start, [0.1, 0.0])])
    planned = stop_at_waypoints(path, validator.limits, TimingOptions(period=0.01)).trajectory
    result = client.execute(trajectory_to_message(planned))
    assert "times as long" in " ".join(result.validation.warnings)
    assert len(validator.requests) == 2
    commands = robot.all_taken()
    assert rows(commands)[0] == pytest.approx(start, abs=1e-12)
    assert rows(commands)[-1] == pytest.approx(path[1], abs=1e-9)
    check_limits(commands, "shoulder", (2.0, 4.0, 40.0))


def test_a_motion_that_violates_limits_itself_is_not_slowed_down(client, robot, validator):
    validator.limits = MotionLimits(ARM, [-3.0] * 2, [3.0] * 2, [0.1] * 2, [4.0] * 2, [40.0] * 2)
    with pytest.raises(TrajectoryLimitError, match="velocity"):
        client.execute(swing(ARM, np.add(here(robot), 0.004), np.add(here(robot), 0.3), duration=3.0))
    assert robot.taken() == []


def test_a_trajectory_from_elsewhere_is_refused(client, robot):
    robot.taken()
    with pytest.raises(TrajectoryStartError) as caught:
        client.execute(swing(ARM, np.add(here(robot), [0.0, 0.05]), [0.0, 0.0]))
    assert caught.value.subjects == ("elbow",)
    assert caught.value.values[0].value == pytest.approx(0.05, abs=1e-6)
    assert caught.value.values[0].limit == pytest.approx(0.01)
    assert robot.taken() == []


def test_a_robot_that_was_moved_by_hand_starts_where_it_is(client, robot):
    run(client, robot, [0.1, 0.1])
    for step in range(10):  # at once: the node reads measurements seldom while nothing moves
        start = [0.5 + 0.1 * step, -0.5]
        put(client, robot, shoulder=start[0], elbow=start[1])
        client.execute(swing(ARM, start, [0.3, 0.3]))
        on_line(robot.all_taken(), start, [0.3, 0.3])


def test_cancelling_stops_on_the_path(client, robot):
    start, end = here(robot), [1.5, -0.7]
    sent = execute(client, swing(ARM, start, end, duration=8.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.1)
    sent.cancel()
    sent.wait()
    assert sent.status == GoalStatus.STATUS_CANCELED
    assert sent.result.error.name == "CancelledError"
    commands = robot.all_taken()
    fractions = on_line(commands, start, end)
    assert fractions[-1] < 0.99
    steps = np.diff(fractions)
    assert steps[-1] < 0.05 * steps.max()  # it came to rest
    reached = sent.result.record.reached
    assert 0.0 < reached.sec + 1e-9 * reached.nanosec < 8.0
    # The next segment starts there.
    run(client, robot, [0.5, 0.0])


def test_pause_resume_and_speed(client, robot):
    start, end = here(robot), [-0.5, 0.5]
    sent = execute(client, swing(ARM, start, end, duration=2.0), owner="slow", speed_scale=0.5)
    robot.wait_for(lambda command: command["shoulder"] < start[0] - 0.05)
    control, kinds = srv.ControlMotion.Request, srv.ControlMotion
    assert client.call_service(kinds, "execution/control_motion", control(command=control.PAUSE)).owner == "slow"
    still = threading.Event()
    last = []

    def is_at_rest(command):
        last.append(command["shoulder"])
        if len(last) > 50 and last[-1] == last[-50]:
            still.set()
        return still.is_set()

    robot.wait_for(is_at_rest)
    assert not sent.done.is_set()
    client.call_service(kinds, "execution/control_motion", control(command=control.RESUME))
    reply = client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=0.5))
    assert reply.previous_scale == 1.0
    robot.wait_for(lambda command: command["shoulder"] < end[0] + 0.3)
    reply = client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
    assert reply.previous_scale == 0.5
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED
    assert on_line(robot.all_taken(), start, end)[-1] == pytest.approx(1.0)
    stages = [feedback.progress.stage for feedback in sent.feedback]
    assert {"moving", "paused"} <= set(stages)
    with pytest.raises(InvalidRequestError):
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.5))


def test_stop_ends_the_motion_on_its_path(client, robot):
    start, end = here(robot), [1.0, 1.0]
    sent = execute(client, swing(ARM, start, end, duration=8.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.05)
    request = srv.ControlMotion.Request(command=srv.ControlMotion.Request.STOP)
    client.call_service(srv.ControlMotion, "execution/control_motion", request)
    assert sent.wait().status == GoalStatus.STATUS_ABORTED
    assert sent.result.error.name == "StopRequestedError"
    assert on_line(robot.all_taken(), start, end)[-1] < 0.99


def test_a_node_that_is_ended_stops_the_robot_first(client, robot, execution_node):
    start, end = here(robot), np.add(here(robot), [1.0, -1.0])
    sent = execute(client, swing(ARM, start, end, duration=8.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.05)
    execution_node.process.send_signal(signal.SIGINT)
    assert sent.wait().result.error.stage == "shutdown"
    assert execution_node.wait() == 0
    fractions = on_line(robot.all_taken(), start, end)
    assert fractions[-1] < 0.99
    steps = np.diff(fractions)
    assert steps[-1] < 0.05 * steps.max()
