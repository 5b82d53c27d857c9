"""The execution node through its real interfaces, against a robot that is where it was commanded to be."""

import math
import signal
import threading

import numpy as np
import pytest
from action_goals import EXECUTE, Sent, action_client, execute, follow
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory, GripperCommand
from control_msgs.msg import JointTolerance
from fake_robot import JOINTS, FakePlanner, FakeRobot, FakeValidator, swing
from recorded import TORN, check_limits, stamps
from running import RunningNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory

from robot_cell_planner import srv
from robot_cell_planner.action import ExecuteTrajectory, Move
from robot_cell_planner.errors import (
    ExecutionError,
    FeedbackLostError,
    InvalidRequestError,
    MotionBusyError,
    NotConnectedError,
    StoppedError,
    TrackingError,
    TrajectoryLimitError,
    TrajectoryStartError,
    UnknownNameError,
)
from robot_cell_planner.msg import ExecutionOptions, ExecutionStatus
from robot_cell_planner.msg import TimingOptions as TimingMessage
from robot_cell_planner.nodes.common.node import LATCHED
from robot_cell_planner.nodes.conversions.basic import configuration_to_message, duration_to_message
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.timing import TimingOptions, stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory

pytestmark = pytest.mark.alone

ARM = JOINTS[:2]


@pytest.fixture(scope="module")
def robot(client):
    return FakeRobot(client.node)


@pytest.fixture(scope="module")
def validator(client):
    return FakeValidator(client.node, client._group)


@pytest.fixture(scope="module")
def planner(client, robot):
    return FakePlanner(client.node, robot, client._group)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, robot, validator, planner):
    return start_node(
        "execution_node",
        joints=f"[{', '.join(JOINTS)}]",
        command_fields="[position, velocity]",
        gripper_joint="finger",
        gripper_upper=0.04,
        # Wide enough for a robot whose process a busy machine holds up.
        joint_state_timeout=1.5,
        path_tolerance=5.0,
        # A motion ends when the robot has come to its very end, so that its last command was heard, too.
        goal_tolerance=1e-9,
        goal_time=20.0,
        gripper_goal_tolerance=1e-9,
    )


@pytest.fixture(autouse=True)
def at_rest(client, robot, validator):
    action_client(client, ExecuteTrajectory, EXECUTE)
    robot.heal()
    validator.limit, validator.limits = 10.0, None
    run(client, robot, here(robot), duration=0.02)
    robot.forget_commands()
    validator.requests.clear()


GRIPPER = "gripper_controller/gripper_cmd"


def grip(client, position, effort=0.0):
    goal = GripperCommand.Goal()
    goal.command.position, goal.command.max_effort = position, effort
    return Sent(client, GripperCommand, GRIPPER, goal)


def on_line(commands, start, end):
    """Whether all commands lie between two configurations, in order; returns them as shares of the way."""
    way = np.asarray(end) - np.asarray(start)
    shares = (rows(commands) - start) @ way / (way @ way)
    np.testing.assert_allclose(rows(commands), np.asarray(start) + shares[:, None] * way, atol=1e-9)
    assert (np.diff(shares) >= -1e-12).all()
    return shares


def here(robot):
    return [robot.positions[name] for name in ARM]


def eventually(error, action, attempts=100):
    """Repeat what a message, that is still on its way to the node, lets fail."""
    for _ in range(attempts - 1):
        try:
            return action()
        except error:
            continue
    return action()


def put(client, robot, **positions):
    """Move the robot by hand; round trips let late commands arrive before, and the node hear of it."""
    while True:
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
        robot.put(**positions)
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
        if all(robot.positions[name] == value for name, value in positions.items()):
            break
    robot.taken()


def run(client, robot, end, duration=0.5, **keywords):
    """Move, from wherever the robot is, once the node has heard of that."""
    return eventually(
        (TrajectoryStartError, FeedbackLostError),
        lambda: client.execute(swing(ARM, here(robot), end, duration), **keywords),
    )


def rows(commands):
    return np.array([[command[name] for name in ARM] for command, _ in commands])


def test_a_trajectory_is_streamed_as_it_is(client, robot, validator):
    start = here(robot)
    result = run(client, robot, [0.5, -0.25])
    assert result.validation.valid
    assert result.record.state.revision == 7
    assert here(robot) == [0.5, -0.25]
    commands = robot.taken()
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
    commands = rows(robot.taken())
    assert commands[0] == pytest.approx(end, abs=1e-12)
    assert commands[-1] == pytest.approx([0.6, 0.3], abs=1e-9)


def test_a_motion_that_uses_its_limits_may_begin_beside_the_robot(client, robot, validator):
    """The way from the robot is added to a motion with nothing to spare: it is slowed down, and says so."""
    validator.limits = MotionLimits(ARM, [-3.0] * 2, [3.0] * 2, [2.0] * 2, [4.0] * 2, [40.0] * 2)
    start = here(robot)
    path = np.array([np.add(start, [0.004, 0.0]), np.add(start, [0.1, 0.0])])
    planned = stop_at_waypoints(path, validator.limits, TimingOptions(period=0.01)).trajectory
    result = client.execute(trajectory_to_message(planned))
    assert "times as long" in " ".join(result.validation.warnings)
    assert len(validator.requests) == 2
    commands = robot.taken()
    assert rows(commands)[0] == pytest.approx(start, abs=1e-12)
    assert rows(commands)[-1] == pytest.approx(path[1], abs=1e-9)
    check_limits(commands, "shoulder", (2.0, 4.0, 40.0))


def test_a_motion_that_breaks_limits_itself_is_not_slowed_down(client, robot, validator):
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
    put(client, robot, shoulder=0.5, elbow=-0.5)
    run(client, robot, [0.3, 0.3])
    on_line(robot.taken(), [0.5, -0.5], [0.3, 0.3])


def test_cancelling_stops_on_the_path(client, robot):
    start, end = here(robot), [1.5, -0.7]
    sent = execute(client, swing(ARM, start, end, duration=3.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.3)
    sent.cancel()
    sent.wait()
    assert sent.status == GoalStatus.STATUS_CANCELED
    assert sent.result.error.name == "CancelledError"
    commands = robot.taken()
    shares = on_line(commands, start, end)
    assert shares[-1] < 0.99
    steps = np.diff(shares)
    assert steps[-1] < 0.05 * steps.max()  # it came to rest
    reached = sent.result.record.reached
    assert 0.0 < reached.sec + 1e-9 * reached.nanosec < 3.0
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

    def stands(command):
        last.append(command["shoulder"])
        if len(last) > 50 and last[-1] == last[-50]:
            still.set()
        return still.is_set()

    robot.wait_for(stands)
    assert not sent.done.is_set()
    client.call_service(kinds, "execution/control_motion", control(command=control.RESUME))
    reply = client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=0.5))
    assert reply.previous_scale == 1.0
    robot.wait_for(lambda command: command["shoulder"] < end[0] + 0.3)
    reply = client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
    assert reply.previous_scale == 0.5
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED
    assert on_line(robot.taken(), start, end)[-1] == pytest.approx(1.0)
    stages = [feedback.progress.stage for feedback in sent.feedback]
    assert {"moving", "paused"} <= set(stages)
    with pytest.raises(InvalidRequestError):
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.5))


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 9e-4, -5e-324, math.nan, math.inf])
def test_speeds_that_are_none_are_refused_while_it_moves_and_while_it_stands(client, robot, scale):
    def refuse():
        for _ in range(2):
            with pytest.raises(InvalidRequestError, match="speed scale"):
                client.call_service(
                    srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=scale)
                )

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


def test_stop_ends_the_motion_on_its_path(client, robot):
    start, end = here(robot), [1.0, 1.0]
    sent = execute(client, swing(ARM, start, end, duration=3.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.2)
    request = srv.ControlMotion.Request(command=srv.ControlMotion.Request.STOP)
    client.call_service(srv.ControlMotion, "execution/control_motion", request)
    assert sent.wait().status == GoalStatus.STATUS_ABORTED
    assert sent.result.error.name == "StoppedError"
    assert on_line(robot.taken(), start, end)[-1] < 0.99


def test_a_second_client_is_told_who_has_the_motion(client, robot):
    start = here(robot)
    sent = execute(client, swing(ARM, start, [0.3, 0.3], duration=2.0), owner="the first")
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
    shares = on_line(robot.taken(), start, end)
    assert 0.0 < shares[-1] < 0.99


def test_the_goal_tolerance_must_hold_in_time(client, robot):
    run(client, robot, [0.5, 0.5])
    robot.lowest["elbow"] = 0.46
    tolerance = Duration(nanosec=200_000_000)
    with pytest.raises(TrackingError) as caught:
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
    assert on_line(robot.taken(), start, end)[-1] < 0.99
    with pytest.raises(FeedbackLostError):
        client.execute(swing(ARM, here(robot), end))


@pytest.mark.parametrize("value, word", [(math.nan, "nan"), (5.0, "jumped")])
def test_feedback_that_cannot_be_stops_the_motion(client, robot, value, word):
    start, end = here(robot), [1.5, 1.0]
    sent = execute(client, swing(ARM, start, end, duration=4.0), path_tolerance=100.0)
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.1)
    robot.measured["elbow"] = value
    sent.wait()
    robot.heal()
    assert sent.result.error.name == "FeedbackLostError"
    assert word in sent.result.error.message
    assert sent.result.error.subjects == ["elbow"]
    assert on_line(robot.taken(), start, end)[-1] < 0.99


def test_the_emergency_stop_ends_motion_at_once_and_blocks_it(client, robot):
    publisher = client.node.create_publisher(Bool, "emergency_stop", 1)
    start, end = here(robot), [0.0, -1.0]
    sent = execute(client, swing(ARM, start, end, duration=3.0))
    robot.wait_for(lambda command: command["elbow"] < start[1] - 0.3)
    publisher.publish(Bool(data=True))
    assert sent.wait().status == GoalStatus.STATUS_ABORTED
    assert sent.result.error.name == "StoppedError"
    assert sent.result.error.stage == "emergency stop"
    robot.run_for(40)  # whatever was on its way has come
    robot.taken()
    with pytest.raises(StoppedError):
        client.execute(swing(ARM, here(robot), end))
    assert robot.taken() == []
    publisher.publish(Bool(data=False))
    eventually(StoppedError, lambda: client.execute(swing(ARM, here(robot), end)))
    client.node.destroy_publisher(publisher)


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
        assert here(robot) == pytest.approx([0.2, -0.2])
        on_line(robot.taken(), start, [0.2, -0.2])
        assert sent.result.plan.record.state.revision == 3
        assert sent.result.validation.valid
        assert sent.result.record.commands > 0
        assert planner.requests[0].timing.method == TimingMessage.SMOOTH
        # What is validated is no older than what was planned in.
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
        assert planner.planning.wait(30.0)
        with pytest.raises(MotionBusyError) as caught:
            client.execute(swing(ARM, here(robot), [0.0, 0.0]))
        assert caught.value.subjects == ("planning client",)
        sent.cancel()
        assert sent.wait().status == GoalStatus.STATUS_CANCELED
        assert planner.cancelled.wait(30.0)
        planner.slow = False
        assert robot.taken() == []


def test_the_status_says_what_happens(client, robot):
    latest, seen = {}, threading.Event()

    def take(message):
        latest[message.state] = message
        if {ExecutionStatus.IDLE, ExecutionStatus.MOVING} <= set(latest) and message.state == ExecutionStatus.IDLE:
            seen.set()

    subscription = client.node.create_subscription(ExecutionStatus, "execution/status", take, LATCHED)
    run(client, robot, [0.1, 0.2], options=ExecutionOptions(owner="somebody"))
    assert seen.wait(30.0)
    client.node.destroy_subscription(subscription)
    assert latest[ExecutionStatus.MOVING].owner == "somebody"
    assert latest[ExecutionStatus.IDLE].owner == ""
    assert latest[ExecutionStatus.IDLE].joint_state_age < 1.5


def test_a_second_publisher_of_commands_forbids_motion(client, robot):
    publisher = client.node.create_publisher(JointState, "joint_commands", 1)

    def is_seen():
        with pytest.raises(ExecutionError) as caught:
            client.execute(swing(ARM, np.add(here(robot), 0.1), [0.0, 0.0]))
        assert caught.value.subjects == ("/joint_commands", "/test_client")

    eventually(AssertionError, is_seen)
    robot.taken()
    client.node.destroy_publisher(publisher)
    eventually(ExecutionError, lambda: run(client, robot, [0.0, 0.0]))


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


def _check_busy(client, robot):
    with pytest.raises(MotionBusyError):
        client.execute(swing(ARM, here(robot), here(robot), duration=0.02))


class TestFollowJointTrajectory:
    """What users of joint_trajectory_controller rely on."""

    def test_success(self, client, robot):
        sent = follow(client, swing(ARM, here(robot), [0.4, 0.2])).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        assert sent.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL
        assert here(robot) == pytest.approx([0.4, 0.2])
        message = sent.feedback[-1]
        assert list(message.joint_names) == list(ARM)
        np.testing.assert_allclose(
            np.subtract(message.desired.positions, message.actual.positions), message.error.positions, atol=1e-12
        )

    def test_a_single_later_point_is_reached_from_the_present_state(self, client, robot):
        start, end = here(robot), [0.1, 0.0]
        trajectory = JointTrajectory(joint_names=list(ARM))
        point = JointTrajectoryPoint(positions=end, velocities=[0.0, 0.0], time_from_start=Duration(sec=1))
        trajectory.points = [point]
        sent = follow(client, trajectory).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        shares = on_line(robot.taken(), start, end)
        assert shares[0] == pytest.approx(0.0, abs=1e-3)
        assert shares[-1] == pytest.approx(1.0)
        assert {getattr(message, "index", 0) for message in sent.feedback} <= {0}  # Jazzy has no such field

    def test_joints_may_come_in_any_order_and_be_a_part(self, client, robot):
        start = here(robot)
        trajectory = swing(ARM, start, [0.3, 0.3])
        trajectory.joint_names = ["elbow"]
        for point in trajectory.points:
            point.positions, point.velocities, point.accelerations = (
                point.positions[1:],
                point.velocities[1:],
                point.accelerations[1:],
            )
        assert follow(client, trajectory).wait().status == GoalStatus.STATUS_SUCCEEDED
        assert here(robot) == pytest.approx([start[0], 0.3])

    def test_cancel_leaves_it_on_the_path(self, client, robot):
        start, end = here(robot), [1.0, 0.0]
        sent = follow(client, swing(ARM, start, end, duration=3.0))
        robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.2)
        sent.cancel()
        assert sent.wait().status == GoalStatus.STATUS_CANCELED
        assert on_line(robot.taken(), start, end)[-1] < 0.99

    def test_path_tolerance(self, client, robot):
        robot.stuck.add("shoulder")
        tolerances = [JointTolerance(name="shoulder", position=0.02)]
        goal = swing(ARM, here(robot), np.add(here(robot), 0.5), duration=2.0)
        sent = follow(client, goal, path_tolerance=tolerances).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
        assert "shoulder" in sent.result.error_string

    def test_goal_tolerance(self, client, robot):
        robot.lowest["elbow"] = here(robot)[1] - 0.03
        goal = swing(ARM, here(robot), np.subtract(here(robot), 0.05))
        sent = follow(client, goal, goal_time_tolerance=Duration(nanosec=100_000_000)).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED
        assert "elbow" in sent.result.error_string

    def test_no_limit(self, client, robot):
        """A tolerance of -1 takes the default away."""
        robot.lowest["elbow"] = here(robot)[1] - 0.01
        goal = swing(ARM, here(robot), np.subtract(here(robot), 0.05))
        sent = follow(client, goal, goal_tolerance=[JointTolerance(name="elbow", position=-1.0)]).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL

    @pytest.mark.parametrize(
        "tolerance, word",
        [
            (JointTolerance(name="wrist", position=0.1), "wrist"),
            (JointTolerance(name="elbow", position=-2.0), "-2"),
            (JointTolerance(name="elbow", acceleration=1.0), "acceleration"),
        ],
    )
    def test_malformed_tolerances(self, client, robot, tolerance, word):
        sent = follow(client, swing(ARM, here(robot), [0.0, 0.0]), path_tolerance=[tolerance]).wait()
        assert sent.status == GoalStatus.STATUS_ABORTED
        assert word in sent.result.error_string

    def test_a_trajectory_that_does_not_end_at_rest(self, client, robot):
        goal = swing(ARM, here(robot), [0.5, 0.5])
        goal.points = goal.points[:14]
        sent = follow(client, goal).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
        assert "at rest" in sent.result.error_string

    def test_stamps(self, client, robot):
        goal = swing(ARM, here(robot), [0.2, 0.2])
        goal.header.stamp = Time(sec=1000)
        sent = follow(client, goal).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP
        begin = client.node.get_clock().now().nanoseconds + 500_000_000
        goal.header.stamp = Time(sec=begin // 10**9, nanosec=begin % 10**9)
        robot.taken()
        sent = follow(client, goal).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result
        first = robot.taken()[0][1].header.stamp
        assert first.sec * 10**9 + first.nanosec >= begin

    def test_a_newer_goal_takes_the_place_of_one_that_waits_for_its_time(self, client, robot):
        later = swing(ARM, here(robot), [1.0, 1.0])
        begin = client.node.get_clock().now().nanoseconds + 600 * 10**9
        later.header.stamp = Time(sec=begin // 10**9, nanosec=begin % 10**9)
        first = follow(client, later)
        eventually(AssertionError, lambda: _check_busy(client, robot))
        second = follow(client, swing(ARM, here(robot), [0.1, 0.1])).wait()
        assert second.status == GoalStatus.STATUS_SUCCEEDED, second.result.error_string
        assert first.wait().status == GoalStatus.STATUS_ABORTED
        assert "newer goal" in first.result.error_string
        assert here(robot) == pytest.approx([0.1, 0.1])

    def test_points_in_the_past_are_left_out(self, client, robot):
        start, end = here(robot), np.add(here(robot), [0.0, 0.2])
        goal = swing(ARM, np.add(start, 1.0), end, duration=4.0, samples=3)
        begin = client.node.get_clock().now().nanoseconds - 2_500_000_000
        goal.header.stamp = Time(sec=begin // 10**9, nanosec=begin % 10**9)
        sent = follow(client, goal).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error_string
        on_line(robot.taken(), start, end)

    def test_joints_of_several_degrees_of_freedom(self, client, robot):
        goal = swing(ARM, here(robot), [0.0, 0.0])
        sent = follow(client, goal, multi_dof_trajectory=MultiDOFJointTrajectory(joint_names=["base"])).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
        assert "multi-DOF joints" in sent.result.error_string

    @pytest.mark.parametrize("kinds", [1, 2, 3], ids=["linear", "cubic", "quintic"])
    def test_the_degree_follows_from_the_fields(self, client, robot, kinds):
        """Each command is on the curve, with the velocity that the curve has there."""
        run(client, robot, [0.0, 0.0])
        robot.run_for(40)
        robot.taken()
        rows = [[(0.0, 0.0), (0.3, 0.2), (0.5, -0.1)], [(0.0, 0.0), (0.4, -0.1), (0.0, 0.0)], [(0.0, 0.0)] * 3]
        goal = JointTrajectory(joint_names=list(ARM))
        for index, time in enumerate((0.0, 0.8, 1.6)):
            point = JointTrajectoryPoint(time_from_start=duration_to_message(time))
            for kind, row in zip(("positions", "velocities", "accelerations"), rows[:kinds], strict=False):
                setattr(point, kind, list(row[index]))
            goal.points.append(point)
        sent = follow(client, goal).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result
        robot.run_for(40)
        curve = Trajectory(ARM, [0.0, 0.8, 1.6], *(np.array(row) for row in rows[:kinds]))
        times = np.linspace(0.0, 1.6, 160_001)
        known, speeds = curve.at(times), curve.at(times, 1)
        commands = robot.taken()
        torn = np.cumsum(np.diff(stamps(commands), prepend=stamps(commands[:1])) > TORN) > 0
        for (command, message), late in zip(commands, torn.tolist(), strict=True):
            position = np.array([command[name] for name in ARM])
            nearest = int(np.argmin(np.abs(known - position).max(axis=1)))
            np.testing.assert_allclose(known[nearest], position, atol=2e-4)
            if 50 < nearest < 79_900 or 80_100 < nearest < 159_900:
                velocity, wanted = np.array(message.velocity[:2]), speeds[nearest]
                if late:  # by a machine that stood still: it goes on along the curve, from rest
                    share = float(velocity @ wanted) / float(wanted @ wanted)
                    assert -1e-3 <= share <= 1.0 + 1e-3
                    wanted = share * wanted
                np.testing.assert_allclose(velocity, wanted, atol=2e-3)

    def test_velocity_tolerance(self, client, robot):
        """The robot of this test does not tell velocities: a tolerance of one does not count then."""
        tolerances = [JointTolerance(name="shoulder", velocity=1e-6)]
        sent = follow(client, swing(ARM, here(robot), [0.3, 0.0]), path_tolerance=tolerances).wait()
        assert sent.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL


class TestGripper:
    """The gripper's action, as users of ros2_control's gripper controllers know it."""

    def test_it_goes_there(self, client, robot):
        sent = grip(client, 0.04).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        assert sent.result.reached_goal
        assert not sent.result.stalled
        assert robot.positions["finger"] == pytest.approx(0.04)
        commands = robot.taken()
        assert all(list(message.name) == list(JOINTS) for _, message in commands)
        fingers = np.array([command["finger"] for command, _ in commands])
        assert (np.diff(fingers) >= 0.0).all()
        assert (np.diff(rows(commands), axis=0) == 0.0).all()

    def test_what_it_holds_stalls_it(self, client, robot):
        grip(client, 0.04).wait()
        robot.lowest["finger"] = 0.025
        sent = grip(client, 0.0).wait()
        assert sent.status == GoalStatus.STATUS_SUCCEEDED
        assert sent.result.stalled
        assert not sent.result.reached_goal
        assert sent.result.position == pytest.approx(0.025)
        # The arm moves, and the fingers go on pushing.
        robot.taken()
        run(client, robot, [0.0, 0.3])
        assert {command["finger"] for command, _ in robot.taken()} == {0.0}
        # They open again from where they were commanded to, without a jump.
        grip(client, 0.04).wait()
        fingers = np.array([command["finger"] for command, _ in robot.taken()])
        assert fingers[0] == pytest.approx(0.0, abs=1e-3)
        assert np.diff(fingers).max() < 0.01

    def test_a_robot_that_begins_late_has_not_stalled(self, client, robot):
        grip(client, 0.0).wait()
        robot.measured["finger"] = 0.0
        sent = grip(client, 0.04)
        robot.wait_for(lambda command: command["finger"] >= 0.04)
        robot.run_for(100)  # 0.5 s, longer than stall_timeout
        del robot.measured["finger"]
        assert sent.wait().result.reached_goal
        assert not sent.result.stalled

    def test_what_never_moves_stalls(self, client, robot):
        grip(client, 0.0).wait()
        robot.stuck.add("finger")
        sent = grip(client, 0.04).wait()
        assert sent.result.stalled
        assert sent.result.position == pytest.approx(0.0)

    def test_a_newer_goal_takes_its_place(self, client, robot):
        grip(client, 0.04).wait()
        first = grip(client, 0.0)
        robot.wait_for(lambda command: command["finger"] < 0.03)
        second = grip(client, 0.04)
        assert first.wait().status == GoalStatus.STATUS_ABORTED
        assert second.wait().status == GoalStatus.STATUS_SUCCEEDED
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
        eventually(AssertionError, lambda: self.check_told(robot, statuses, word))
        client.node.destroy_subscription(subscription)

    @staticmethod
    def check_told(robot, statuses, word):
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
        on_line(robot.taken(), start, [0.5, 0.0])


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


def test_a_node_that_is_told_to_end_stops_the_robot_first(client, robot, execution_node):
    start, end = here(robot), np.add(here(robot), [1.0, -1.0])
    sent = execute(client, swing(ARM, start, end, duration=4.0))
    robot.wait_for(lambda command: command["shoulder"] > start[0] + 0.2)
    execution_node.process.send_signal(signal.SIGINT)
    assert sent.wait().result.error.stage == "shutdown"
    assert execution_node.wait() == 0
    shares = on_line(robot.taken(), start, end)
    assert shares[-1] < 0.99
    steps = np.diff(shares)
    assert steps[-1] < 0.05 * steps.max()
