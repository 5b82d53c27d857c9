"""Faults while the robot moves, through the real scene, planning and execution nodes: each ends the motion by a stop on
its path, within the limits of the joints, and with a named reason."""

import math
import signal
import threading

import numpy as np
import pytest
from action_goals import execute, follow
from action_msgs.msg import GoalStatus
from case_files import case_of, check_reproduced
from control_msgs.action import FollowJointTrajectory
from fake_robot import PERIOD, EmergencyStop, swing
from motion_faults import (
    ARM,
    CELL,
    ELSEWHERE,
    EXECUTION,
    FAR,
    FINGER,
    HOME,
    LIMITS,
    PAN,
    begin,
    check_error,
    check_stop,
    execute_at_rest,
    scale_client,
    start_at,
    to_and_fro,
    wait_for,
    was_torn,
)
from rclpy.duration import Duration
from recorded import TORN, check_limits, positions, stamps
from rosgraph_msgs.msg import Clock
from running import DEMO, wait_until_answered
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from robot_cell_planner import srv
from robot_cell_planner.cases import open_case
from robot_cell_planner.errors import StaleStateError
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.common.other_publishers import NOT_YET_NAMED
from robot_cell_planner.trajectory.tracking import Check

pytestmark = pytest.mark.alone

TOLERANCE = 0.5  # [rad] along the path


def with_efforts(goal):
    """A goal whose last point has an effort of the first joint beyond its limit."""
    for point in goal.points:
        point.effort = [0.0] * len(ARM)
    goal.points[-1].effort[0] = 1.01 * CELL.variables[PAN].limits.effort
    return goal


def test_the_case_of_a_trajectory_that_starts_elsewhere(start_mismatch):
    _, file = start_mismatch
    with open_case(file) as case:
        assert case.request.checks == (Check.START,)
        assert case.request.actual[0] == pytest.approx(HOME, abs=1e-9)
        assert case.request.desired[0] == pytest.approx(ELSEWHERE, abs=1e-9)
        assert [case.state.configuration[joint] for joint in ARM] == pytest.approx(HOME, abs=1e-9)
    check_reproduced(file, "TrajectoryStartError", PAN)


def test_the_case_of_a_joint_that_does_not_follow(client, robot, case_folder, start_mismatch):
    start_at(client, robot)
    robot.stuck = {PAN}
    sent = execute(client, to_and_fro(), path_tolerance=TOLERANCE).wait()
    error = check_error(sent, "TrackingError", "path tolerance", PAN)
    assert error.values[0].unit == "rad", "as the planning node has reported it"
    file = case_of(case_folder, error)
    with open_case(file) as case:
        motion = case.request
        assert [case.state.configuration[joint] for joint in ARM] == pytest.approx(HOME, abs=1e-9)
        away = np.abs(motion.desired - motion.actual).max(axis=1)
        checked = np.array([check is Check.PATH for check in motion.checks])
        first = int(np.flatnonzero(checked & (away > TOLERANCE))[0])
        assert motion.tolerances.path == pytest.approx(TOLERANCE)
        assert away[first] == pytest.approx(error.values[0].value)
        assert not checked[first + 1 :].any()  # the stop is recorded, but not checked
    check_reproduced(file, "TrackingError", "path tolerance violated", PAN)


def test_joint_states_that_stop(client, robot):
    sent = begin(client, robot)
    robot.silent = True
    error = check_error(sent.wait(), "FeedbackLostError", "no joint_states received for")
    assert error.values[0].value > error.values[0].limit == 2.0
    check_stop(robot)


def test_joint_states_that_repeat_the_same_message(client, robot):
    """As from a driver that has hung: messages go on, with the stamp and the positions of the last one."""
    sent = begin(client, robot)
    robot.frozen = True
    error = check_error(sent.wait(), "FeedbackLostError", "no joint_states received for")
    assert error.values[0].value > error.values[0].limit == 2.0
    check_stop(robot)
    assert execute_at_rest(client).result.error.name == "FeedbackLostError"
    request = srv.WaitForState.Request(min_joint_stamp=client.node.get_clock().now().to_msg())
    request.timeout.nanosec = 100_000_000
    with pytest.raises(StaleStateError, match=r"older than requested|were not measured"):
        client.call_service(srv.WaitForState, "scene/wait_for_state", request)
    robot.frozen = False
    start_at(client, robot)


@pytest.mark.parametrize("value, words", [(math.nan, ("nan", "elbow_joint")), (0.5, ("jumped", "elbow_joint"))])
def test_joint_states_that_cannot_be(client, robot, value, words):
    sent = begin(client, robot, path_tolerance=100.0)
    robot.measured["elbow_joint"] = value
    check_error(sent.wait(), "FeedbackLostError", *words)
    check_stop(robot)


def test_a_gripper_of_which_only_invalid_positions_arrive(client, robot):
    """It may open meanwhile, and collide with what the path passes by. One that nobody publishes any more stands."""
    sent = begin(client, robot)
    robot.measured[FINGER] = math.nan
    check_error(sent.wait(), "FeedbackLostError", FINGER, "nan")
    check_stop(robot)
    refused = execute(client, swing(ARM, list(robot.positions.values())[: len(ARM)], FAR, duration=3.0, samples=31))
    check_error(refused.wait(), "FeedbackLostError", FINGER, "nan")
    assert robot.taken() == []
    robot.hidden.add(FINGER)
    del robot.measured[FINGER]
    assert execute_at_rest(client, list(robot.positions.values())[: len(ARM)]).result.error.name == "FeedbackLostError"
    robot.hidden.clear()
    start_at(client, robot)


@pytest.mark.parametrize("seconds, direction", [(3600.0, "ahead"), (-3600.0, "back")])
def test_a_clock_that_jumps(client, robot, seconds, direction):
    sent = begin(client, robot)
    robot.clock_error = seconds
    error = check_error(sent.wait(), "FeedbackLostError", "clock", direction)
    assert error.values[0].value == pytest.approx(3600.0, abs=10.0)
    robot.clock_error = 0.0
    check_stop(robot)


class SimulatedTime:
    """Publishes /clock: the time of the computer, wrong by error [s]."""

    def __init__(self, node):
        self.error = 0.0
        self._node = node
        self._publisher = node.create_publisher(Clock, "/clock", 1)
        self._timer = node.create_timer(0.005, self._publish)

    def _publish(self):
        now = self._node.get_clock().now() + Duration(seconds=self.error)
        self._publisher.publish(Clock(clock=now.to_msg()))

    def end(self):
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)


@pytest.fixture
def simulated_time(client, world, start_node):
    """An execution node that runs on the time of /clock, in place of the other."""
    simulated = SimulatedTime(client.node)
    world.nodes["execution_node"].stop()
    node = start_node("execution_node", use_sim_time=True, **EXECUTION)
    wait_until_answered(scale_client(client), srv.SetSpeedScale.Request(scale=1.0))
    yield simulated
    node.stop()
    simulated.end()


def test_simulated_time_that_jumps(client, robot, simulated_time):
    for seconds, direction in ((3600.0, "ahead"), (0.0, "back")):
        sent = begin(client, robot)
        simulated_time.error = seconds
        error = check_error(sent.wait(), "StoppedError", "clock", "/clock", f"set {direction}")
        assert error.values[0].value == pytest.approx(3600.0, abs=10.0)
        check_stop(robot, torn=was_torn(sent))


def test_simulated_time_that_jumps_ends_goals_that_wait_for_their_start(client, robot, simulated_time):
    start_at(client, robot)
    goal = to_and_fro(1)
    goal.header.stamp = (client.node.get_clock().now() + Duration(seconds=600.0)).to_msg()
    sent = execute(client, goal)
    for _ in range(100):  # it may still be validated when time jumps first
        simulated_time.error -= 5.0
        robot.run_for(50)
        if sent.done.is_set():
            break
    check_error(sent, "StoppedError", "clock", "/clock", "set back")
    robot.wait_for_last_command()


def test_simulated_time_that_jumps_with_the_robot(client, robot, simulated_time):
    """As when a simulation is reset: the stamps of joint_states jump, too; whichever is detected first is reported."""
    sent = begin(client, robot)
    simulated_time.error = robot.clock_error = -3600.0
    assert sent.wait().result.error.name in ("StoppedError", "FeedbackLostError")
    check_error(sent, sent.result.error.name, "clock", "set back")
    check_stop(robot, torn=was_torn(sent))


@pytest.mark.parametrize("cycles", [100, 700])  # of the robot: half a second, and longer than the clock may be off
def test_a_gap_in_the_stream(client, robot, world, cycles):
    """A node that is suspended while the robot moves continues from where the robot was, not from where it would be."""
    start_at(client, robot)
    sent = execute(client, to_and_fro(2))
    wait_for(robot, sent, lambda command: command[PAN] < -1.7)
    process = world.nodes["execution_node"].process
    process.send_signal(signal.SIGSTOP)
    robot.run_for(cycles)
    process.send_signal(signal.SIGCONT)
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    assert sent.result.record.longest_interval > 0.9 * cycles * PERIOD
    robot.wait_for_rest(ARM)
    commands = robot.taken()
    gaps = np.flatnonzero(np.diff(stamps(commands)) > TORN)
    p, v = check_limits(commands, PAN, LIMITS)
    assert len(gaps) >= 1
    assert np.array_equal(p[gaps + 1], p[gaps])
    assert not v[gaps + 1].any()
    steps = np.delete(np.abs(np.diff(p)), gaps)
    assert steps.max() <= LIMITS[0] * TORN
    assert p[-1] == pytest.approx(HOME[0])


def test_cancel(client, robot):
    sent = begin(client, robot)
    sent.cancel()
    assert sent.wait().status == GoalStatus.STATUS_CANCELED
    assert sent.result.error.name == "CancelledError"
    p = check_stop(robot)
    # The next motion begins where the commands ended.
    here = [p[-1], *HOME[1:]]
    assert execute(client, swing(ARM, here, HOME, duration=3.0)).wait().status == GoalStatus.STATUS_SUCCEEDED
    assert positions(robot.all_taken(), [PAN])[0, 0] == p[-1]


def test_a_mode_without_motion_ends_it_at_once_and_blocks_it(client, robot, mode):
    sent = begin(client, robot)
    mode.value = "manual"
    check_error(sent.wait(), "StoppedError", "robot mode", "manual", "automatic")
    check_stop(robot, ended_early=False)
    robot.forget_commands()
    blocked = execute(client, to_and_fro(1)).wait()
    check_error(blocked, "StoppedError", "robot mode", "manual")
    assert robot.taken() == []


@pytest.fixture
def button(client):
    button = EmergencyStop(client.node)
    yield button
    button.end()


def test_an_emergency_stop_ends_it_at_once_and_blocks_it(client, robot, button):
    sent = begin(client, robot)
    button.press()
    check_error(sent.wait(), "StoppedError", "emergency stop")
    check_stop(robot, ended_early=False)
    check_error(execute(client, to_and_fro(1)).wait(), "StoppedError", "emergency stop")
    button.release()
    start_at(client, robot)


def test_an_emergency_stop_that_is_released_at_once_ends_goals_that_have_not_begun(client, robot):
    """They would move the robot after the release, without a new command."""
    start_at(client, robot)
    button = client.node.create_publisher(Bool, "emergency_stop", reliable(10))
    while not button.get_subscription_count():
        robot.run_for(1)
    trajectory = to_and_fro(1)
    trajectory.header.stamp = (client.node.get_clock().now() + Duration(seconds=3.0)).to_msg()
    sent = execute(client, trajectory)
    for pressed in (True, False):
        button.publish(Bool(data=pressed))
    check_error(sent.wait(), "StoppedError", "emergency stop")
    assert robot.taken() == []
    client.node.destroy_publisher(button)
    start_at(client, robot)


def test_a_second_publisher_of_commands(client, robot):
    sent = begin(client, robot)
    publisher = client.node.create_publisher(JointState, "joint_commands", 1)
    try:
        error = check_error(sent.wait(), "ExecutionError", "command topic", "/joint_commands")
        # The middleware may report a publisher before it has discovered the name of its node.
        while list(error.subjects) == ["/joint_commands", NOT_YET_NAMED]:
            error = check_error(execute(client, to_and_fro()).wait(), "ExecutionError", "command topic")
    finally:
        client.node.destroy_publisher(publisher)
    assert list(error.subjects) == ["/joint_commands", "/test_client"]
    assert error.remedy.startswith("Stop the other publisher")
    check_stop(robot)


def test_a_newer_goal_takes_over_without_a_jump(client, robot):
    first = begin(client, robot, follow)
    # To home, from wherever it is, in 4 s.
    goal = swing(ARM, HOME, HOME, duration=4.0, samples=2)
    goal.points = goal.points[1:]
    second = follow(client, goal).wait()
    assert second.status == GoalStatus.STATUS_SUCCEEDED, second.result.error_string
    assert first.wait().status == GoalStatus.STATUS_ABORTED
    assert first.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert "newer goal" in first.result.error_string
    # On its way into the new direction it may go a little further than the first goal would have.
    p = check_stop(robot, lowest=FAR[0] - 0.5)
    assert p[-1] == pytest.approx(HOME[0])


def test_a_newer_goal_replaces_a_paused_one(client, robot):
    """At the position of rest; the paused motion is not resumed later."""
    first = begin(client, robot, follow)
    control = srv.ControlMotion.Request
    client.call_service(srv.ControlMotion, "execution/control_motion", control(command=control.PAUSE))
    goal = swing(ARM, HOME, HOME, duration=4.0, samples=2)
    goal.points = goal.points[1:]
    second = follow(client, goal).wait()
    assert second.status == GoalStatus.STATUS_SUCCEEDED, second.result.error_string
    assert first.wait().status == GoalStatus.STATUS_ABORTED
    assert "newer goal" in first.result.error_string
    p = check_stop(robot)
    assert p[-1] == pytest.approx(HOME[0])


def test_a_newer_goal_that_is_not_valid_changes_nothing(client, robot):
    first = begin(client, robot, follow)
    goal = swing(ARM, HOME, [HOME[0], 3.0, *HOME[2:]], duration=4.0, samples=2)
    goal.points = goal.points[1:]
    second = follow(client, goal).wait()
    assert second.status == GoalStatus.STATUS_ABORTED
    assert ARM[1] in second.result.error_string
    assert not first.done.is_set()
    first.cancel()
    assert first.wait().status == GoalStatus.STATUS_CANCELED
    check_stop(robot)


def test_a_goal_without_some_of_the_joints_is_refused_if_that_is_not_allowed(client, robot):
    start_at(client, robot)
    goal = swing(ARM[:3], HOME[:3], FAR[:3])
    sent = follow(client, goal).wait()
    assert sent.result.error_code == FollowJointTrajectory.Result.INVALID_JOINTS
    assert all(joint in sent.result.error_string for joint in ARM[3:])
    assert robot.taken() == []


def test_efforts_go_along_linearly(client, robot):
    start_at(client, robot)
    goal = swing(ARM, HOME, FAR, duration=3.0, samples=4)
    for point, effort in zip(goal.points, (0.0, 3.0, 6.0, 9.0), strict=True):
        point.effort = [effort] * len(ARM)
    assert follow(client, goal).wait().status == GoalStatus.STATUS_SUCCEEDED
    robot.wait_for_rest(ARM)
    efforts = np.array([message.effort for _, message in robot.taken()])
    assert efforts.min() >= 0.0
    assert efforts[-1] == pytest.approx(9.0)
    assert (np.diff(efforts, axis=0) >= 0.0).all()
    assert len(np.unique(efforts[:, 0])) > 10


def test_an_effort_beyond_the_limit_of_its_joint_is_refused(client, robot):
    start_at(client, robot)
    sent = follow(client, with_efforts(swing(ARM, HOME, FAR, duration=3.0, samples=4))).wait()
    assert sent.status == GoalStatus.STATUS_ABORTED
    assert f"effort of {PAN}" in sent.result.error_string
    assert robot.taken() == []


def test_a_newer_goal_with_an_effort_beyond_the_limit_changes_nothing(client, robot):
    first = begin(client, robot, follow)
    goal = swing(ARM, HOME, HOME, duration=4.0, samples=2)
    goal.points = goal.points[1:]
    second = follow(client, with_efforts(goal)).wait()
    assert second.status == GoalStatus.STATUS_ABORTED
    assert f"effort of {PAN}" in second.result.error_string
    assert not first.done.is_set()
    first.cancel()
    assert first.wait().status == GoalStatus.STATUS_CANCELED
    check_stop(robot)


def test_a_killed_planning_node(client, robot, world):
    sent = begin(client, robot)
    world.nodes["planning_node"].kill()
    check_error(
        sent.wait(), "ServiceUnavailableError", "monitoring", "the planning node does not reply", "planning/look_ahead"
    )
    check_stop(robot)


def test_a_killed_execution_node(client, robot, world):
    begin(client, robot)
    world.nodes["execution_node"].kill()
    # All commands have arrived when the robot has published twice a hundred times.
    robot.run_for(100)
    robot.taken()
    robot.run_for(100)
    assert robot.taken() == []
    world.heal()
    wait_until_answered(scale_client(client), srv.SetSpeedScale.Request(scale=1.0))
    start_at(client, robot)
    sent = execute(client, swing(ARM, HOME, [-1.4, *HOME[1:]], duration=1.0)).wait()
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message


def test_a_killed_robot(client, robot, start_node):
    """The simulated robot takes the place of the one of this process."""
    start_at(client, robot)
    robot.silent = True
    node = start_node("simulated_robot_node", cell_file=DEMO, rate=200.0)
    received = threading.Event()
    subscription = client.node.create_subscription(JointState, "joint_states", lambda _: received.set(), 10)
    assert received.wait(60.0)
    client.node.destroy_subscription(subscription)
    # The execution node may discover the new robot later than this process does.
    # Its arm sags a little, so that its position at rest is less exact than that of the robot of this process.
    assert any(execute_at_rest(client, goal_tolerance=1e-3).status == GoalStatus.STATUS_SUCCEEDED for _ in range(200))
    robot.taken()
    sent = execute(client, to_and_fro())
    wait_for(robot, sent, lambda command: command[PAN] < -1.7)
    node.kill()
    check_error(sent.wait(), "FeedbackLostError", "no joint_states received for")
    check_stop(robot)


def test_a_killed_scene_node(client, robot, world):
    sent = begin(client, robot)
    world.nodes["scene_node"].kill()
    words = "monitoring", "the scene node does not reply", "scene/wait_for_state"
    check_error(sent.wait(), "ServiceUnavailableError", *words)
    check_stop(robot)
    refused = execute(client, swing(ARM, list(robot.positions.values())[: len(ARM)], FAR, duration=3.0, samples=31))
    check_error(refused.wait(), "ServiceUnavailableError", *words)
    assert robot.taken() == []
