"""The execution node as the client of controllers that run already: it only hands trajectories over."""

import threading

import numpy as np
import pytest
from action_goals import EXECUTE, Sent
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from fake_robot import FakeRobot, FakeValidator, swing
from trajectory_controller import DEACTIVATED, PERIOD, REPLACED, TrajectoryController

from robot_cell_planner import srv
from robot_cell_planner.action import ExecuteTrajectory
from robot_cell_planner.errors import (
    ExecutionError,
    NotSupportedError,
    ServiceUnavailableError,
    StopRequestedError,
    TrackingError,
    UnknownNameError,
)
from robot_cell_planner.msg import ExecutionOptions, ExecutionStatus
from robot_cell_planner.nodes.common.node import LATCHED
from robot_cell_planner.nodes.conversions.basic import duration_from_message, error_from_message
from robot_cell_planner.trajectory.limits import MotionLimits

pytestmark = pytest.mark.alone

ARM, RAIL = ("shoulder", "elbow"), ("rail",)
JOINTS = (*ARM, *RAIL)
KINDS = srv.ControlMotion.Request
RATES = {"velocity": 3.0, "acceleration": 8.0, "jerk": 80.0}
LIMITS = MotionLimits(
    JOINTS, lower=np.full(3, -9.0), upper=np.full(3, 9.0), **{name: np.full(3, rate) for name, rate in RATES.items()}
)


@pytest.fixture(scope="module")
def robot(client):
    return FakeRobot(client.node, JOINTS)


@pytest.fixture(scope="module")
def arm(client, robot):
    return TrajectoryController(client.node, client._group, "arm_controller", ARM, robot)


@pytest.fixture(scope="module")
def rail(client, robot):
    return TrajectoryController(client.node, client._group, "rail_controller", RAIL, robot)


@pytest.fixture(scope="module")
def start_execution(start_node, arm, rail):
    actions = [f"{controller.name}/follow_joint_trajectory" for controller in (arm, rail)]
    options = {"mode": "controller", "controller_actions": actions, "joint_state_timeout": 1.5}
    return lambda: start_node("execution_node", **options)


@pytest.fixture(scope="module", autouse=True)
def execution_node(client, start_execution):
    validator = FakeValidator(client.node, client._group)
    yield start_execution()
    assert len(validator.requests) > 0


class States:
    """The states that the node has reported."""

    def __init__(self, client):
        self._received, self._arrived = [], threading.Condition()
        client.node.create_subscription(ExecutionStatus, "execution/status", self._take, LATCHED)

    def _take(self, message):
        with self._arrived:
            self._received.append(message)
            self._arrived.notify_all()

    def wait_for(self, condition):
        with self._arrived:
            self._received.clear()
            assert self._arrived.wait_for(lambda: any(map(condition, self._received)), 120.0)


@pytest.fixture(scope="module")
def states(client):
    return States(client)


@pytest.fixture(autouse=True)
def ready(robot, arm, rail):
    robot.heal()
    arm.forget()
    rail.forget()


def here(robot, joints=ARM):
    return np.array([robot.positions[name] for name in joints])


def sent(client, robot, change, duration=4.0, joints=ARM, path_tolerance=5.0):
    """path_tolerance: wide enough for a controller whose process a busy machine holds up."""
    start = here(robot, joints)
    goal = ExecuteTrajectory.Goal(options=ExecutionOptions(speed_scale=1.0, path_tolerance=path_tolerance))
    goal.trajectory = swing(joints, start, start + change, duration)
    return Sent(client, ExecuteTrajectory, EXECUTE, goal), start, start + change


def control(client, command):
    client.call_service(srv.ControlMotion, "execution/control_motion", KINDS(command=command))


def error_of(goal):
    assert goal.done.wait(120.0)
    return error_from_message(goal.result.error)


def check_on_path(commands, start, end):
    """All commands are on the straight line from start to end, without a step."""
    positions = np.array([command[0] for _, command in commands])
    fractions = (positions - start) / (end - start)
    np.testing.assert_allclose(fractions[:, :1], fractions[:, 1:], atol=1e-5)
    assert (np.diff(fractions[:, 0]) >= -1e-4).all()
    times = np.array([time for time, _ in commands])
    expected = np.array([command[1] for _, command in commands])
    steps = np.abs(np.diff(positions, axis=0)) - 1e-4
    dt = np.diff(times)[:, None]
    # A command is no further from the one before it than the speeds of both allow. It may have been faster between the
    # two where a busy machine left cycles out.
    between = np.where(dt > 3.0 * PERIOD, 0.5 * RATES["acceleration"] * dt, 0.0)
    assert (steps <= (1.2 * np.maximum(np.abs(expected[1:]), np.abs(expected[:-1])) + between) * dt).all()


def test_the_trajectory_is_handed_over_slowed_down(client, robot, arm):
    options = ExecutionOptions(speed_scale=0.5, path_tolerance=0.3)
    result = client.execute(swing(ARM, here(robot), [0.15, 0.3], duration=0.5), options)
    assert result.record.commands == 0
    np.testing.assert_allclose(here(robot), [0.15, 0.3], atol=1e-9)
    (goal,) = arm.goals
    assert list(goal.trajectory.joint_names) == list(ARM)
    times = [duration_from_message(point.time_from_start) for point in goal.trajectory.points]
    # The start is sampled at whole nanoseconds: its velocity is not always exactly zero.
    moves = [max(np.abs(point.velocities)) > 1e-6 for point in goal.trajectory.points].index(True)
    assert times[-1] - times[moves - 1] == pytest.approx(1.0)
    assert {tolerance.position for tolerance in goal.path_tolerance} == {0.3}
    assert robot.taken() == []
    assert client.node.count_publishers("joint_commands") == 0


def test_the_error_of_the_controller_is_reported(client, robot, arm):
    robot.stuck = {"elbow"}
    with pytest.raises(TrackingError, match="arm_controller aborted the goal: Aborted due to path tolerance") as caught:
        client.execute(
            swing(ARM, here(robot), here(robot) + 0.8), ExecutionOptions(path_tolerance=0.3, speed_scale=1.0)
        )
    assert caught.value.stage == "path tolerance"


def test_pause_and_resume_keep_to_the_path(client, robot, arm, states):
    goal, start, end = sent(client, robot, np.array([1.0, -0.6]))
    assert arm.moving.wait(120.0)
    control(client, KINDS.PAUSE)
    states.wait_for(lambda status: status.state == ExecutionStatus.PAUSED)
    while arm.active_goal is not None:
        robot.run_for(1)
    paused = here(robot)
    assert (np.abs(paused - start) > 0.02).all()
    assert (np.abs(paused - end) > 0.02).all()
    robot.run_for(40)
    np.testing.assert_array_equal(here(robot), paused)
    control(client, KINDS.RESUME)
    assert error_of(goal) is None
    np.testing.assert_allclose(here(robot), end, atol=1e-9)
    assert len(arm.goals) == 3
    check_on_path(arm.commands, start, end)


def test_the_speed_scale_counts_while_it_moves(client, robot, arm):
    goal, start, end = sent(client, robot, np.array([-0.8, 0.5]))
    assert arm.moving.wait(120.0)
    for scale in (0.4, 1.0):
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=scale))
        robot.run_for(20)
    assert error_of(goal) is None
    assert len(arm.goals) == 3
    check_on_path(arm.commands, start, end)


def test_a_stop_comes_to_rest_on_the_path(client, robot, arm):
    goal, start, end = sent(client, robot, np.array([0.9, 0.5]))
    assert arm.moving.wait(120.0)
    control(client, KINDS.STOP)
    assert isinstance(error_of(goal), StopRequestedError)
    assert not arm.cancelled
    assert arm.active_goal is None
    check_on_path(arm.commands, start, end)
    assert not arm.commands[-1][1][1].any()
    assert (np.abs(here(robot) - end) > 0.02).all()


def test_a_cancelled_goal_comes_to_rest_on_the_path(client, robot, arm):
    goal, start, end = sent(client, robot, np.array([-0.9, -0.5]))
    assert arm.moving.wait(120.0)
    goal.cancel()
    assert goal.done.wait(120.0)
    assert goal.status == GoalStatus.STATUS_CANCELED
    assert not arm.cancelled
    check_on_path(arm.commands, start, end)


def test_a_motion_begins_when_the_speed_scale_is_raised(client, robot, arm, states):
    client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=0.0))
    goal, start, end = sent(client, robot, np.array([0.4, 0.2]), duration=0.5)
    states.wait_for(lambda status: status.state == ExecutionStatus.PAUSED)
    assert not arm.goals
    client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
    assert error_of(goal) is None
    check_on_path(arm.commands, start, end)


def test_a_controller_that_is_deactivated_ends_the_motion_and_takes_the_next_when_it_is_back(client, robot, arm):
    goal, _, _ = sent(client, robot, np.array([0.5, 0.5]))
    assert arm.moving.wait(120.0)
    client._executor.create_task(arm.deactivate)
    error = error_of(goal)
    assert isinstance(error, ExecutionError)
    assert error.message == f"arm_controller aborted the goal: {DEACTIVATED}"
    robot.run_for(150)  # until its last state is old
    with pytest.raises(
        ExecutionError, match=r"arm_controller rejected the trajectory: .*(inactive controller|not active)"
    ):
        client.execute(swing(ARM, here(robot), here(robot) - 0.1))
    arm.active = True
    robot.run_for(10)
    client.execute(swing(ARM, here(robot), here(robot) + 0.1, duration=1.0))


def test_a_controller_that_is_restarted_ends_the_motion_without_a_jump(client, robot, arm):
    """Its name stays in the graph, so that nothing but its published state shows that it has forgotten the goal."""
    goal, start, end = sent(client, robot, np.array([1.5, 1.5]), duration=6.0, path_tolerance=0.1)
    assert arm.moving.wait(120.0)
    client._executor.create_task(arm.restart)
    error = error_of(goal)
    assert isinstance(error, ExecutionError)
    assert error.stage == "controller"
    assert "arm_controller does not execute the trajectory" in error.message
    robot.run_for(50)
    check_on_path(arm.commands, start, end)
    assert len(arm.goals) == 1
    client.execute(swing(ARM, here(robot), here(robot) + 0.1, duration=1.0))


def test_a_controller_that_does_not_send_its_result_ends_the_motion(client, robot, arm):
    """The robot has reached the end, and no result says so."""
    goal, _, _ = sent(client, robot, np.array([-0.5, -0.5]), duration=1.0)
    assert arm.moving.wait(120.0)
    client._executor.create_task(arm.restart)
    error = error_of(goal)
    assert isinstance(error, ServiceUnavailableError)
    assert "has not reported the end" in error.message


def test_a_goal_of_another_client_ends_the_motion(client, robot, arm):
    goal, _, _ = sent(client, robot, np.array([-0.5, -0.5]))
    assert arm.moving.wait(120.0)
    client._executor.create_task(
        lambda: arm.active_goal.end("aborted", -1, REPLACED)  # as the controller does with the previous goal
    )
    assert REPLACED in error_of(goal).message


def test_controllers_share_a_motion(client, robot, arm, rail):
    goal, _, end = sent(client, robot, np.array([0.5, 0.3, 0.7]), duration=1.0, joints=JOINTS)
    assert error_of(goal) is None
    np.testing.assert_allclose(here(robot, JOINTS), end, atol=1e-9)
    (first,), (second,) = arm.goals, rail.goals
    assert first.trajectory.header.stamp == second.trajectory.header.stamp
    assert list(second.trajectory.joint_names) == list(RAIL)


def test_if_one_controller_fails_the_others_stop_on_the_path(client, robot, arm, rail):
    robot.stuck = {"rail"}
    goal, start, end = sent(client, robot, np.array([-0.5, -0.3, -0.9]), joints=JOINTS, path_tolerance=0.3)
    error = error_of(goal)
    assert isinstance(error, TrackingError)
    assert "rail_controller" in error.subjects
    assert not arm.cancelled
    check_on_path(arm.commands, start[:2], end[:2])
    assert (np.abs(here(robot) - end[:2]) > 0.02).all()


def test_other_joints_of_a_controller_stay_where_they_are(client, robot, arm):
    before = here(robot)
    client.execute(swing(("elbow",), [before[1]], [before[1] + 0.2]))
    (goal,) = arm.goals
    assert list(goal.trajectory.joint_names) == ["elbow", "shoulder"]
    assert {point.positions[1] for point in goal.trajectory.points} == {before[0]}


def test_a_joint_of_no_controller_is_refused(client, robot):
    robot.joints, robot.positions["finger"] = (*JOINTS, "finger"), 0.0
    for _ in range(200):  # until the node has received the joint: its messages and goals arrive in any order
        robot.run_for(10)
        with pytest.raises((ExecutionError, UnknownNameError)) as caught:
            client.execute(swing(("finger",), [0.0], [0.1]))
        if not isinstance(caught.value, UnknownNameError):
            break
    assert "no controller moves finger: arm_controller moves shoulder, elbow" in str(caught.value)
    robot.joints = JOINTS


def test_the_tracking_error_is_the_controllers(client, robot, arm):
    arm.offset = {"elbow": 0.04}
    start = here(robot)
    options = ExecutionOptions(speed_scale=1.0, goal_tolerance=0.1)
    result = client.execute(swing(ARM, start, start - [0.02, 0.0], duration=2.0), options)
    assert result.record.max_tracking_error == pytest.approx(0.04)
    assert result.record.max_tracking_error_joint == "elbow"


def test_a_controller_with_a_speed_of_its_own_is_not_paused_but_stopped(client, robot, arm):
    arm.factor = 0.5
    goal, _, _ = sent(client, robot, np.array([0.5, 0.5]))
    assert arm.moving.wait(120.0)
    with pytest.raises(NotSupportedError, match="arm_controller scales the speed of the trajectory"):
        control(client, KINDS.PAUSE)
    control(client, KINDS.STOP)
    assert isinstance(error_of(goal), StopRequestedError)
    assert arm.cancelled


def test_a_motion_that_a_killed_node_left_is_cancelled_by_the_next_and_those_of_others_are_not(
    client, robot, arm, rail, execution_node, start_execution
):
    foreign = FollowJointTrajectory.Goal()
    foreign.trajectory = swing(RAIL, here(robot, RAIL), here(robot, RAIL) + 1.0, 30.0)
    sent_by_other = Sent(client, FollowJointTrajectory, "rail_controller/follow_joint_trajectory", foreign)
    _, _, end = sent(client, robot, np.array([3.0, 3.0]), duration=30.0)
    assert arm.moving.wait(120.0)
    execution_node.kill()
    robot.run_for(100)
    assert arm.active_goal is not None  # the controller continues
    node = start_execution()
    while arm.active_goal is not None:
        robot.run_for(1)
    assert arm.cancelled
    assert (np.abs(here(robot) - end) > 0.02).all()
    assert rail.active_goal is not None
    assert not rail.cancelled
    sent_by_other.cancel()
    goal, _, end = sent(client, robot, np.array([0.1, 0.1]), duration=1.0)
    assert error_of(goal) is None
    np.testing.assert_allclose(here(robot), end, atol=1e-9)
    node.stop()
    assert "a goal that this node left when it was killed" in node.output
