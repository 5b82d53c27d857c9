"""Motions on simulated time: their durations are simulated ones, they stand while it stands, and stops end them also
then."""

import numpy as np
import pytest
from action_goals import execute, follow
from action_msgs.msg import GoalStatus
from fake_robot import JOINTS, EmergencyStop, FakeValidator, swing
from recorded import positions
from simulated_time import SECOND, SimulatedRobot, SimulatedTime, check_path

from robot_cell_planner import srv
from robot_cell_planner.nodes.conversions.basic import time_from_message
from robot_cell_planner.nodes.motion.clock_follower import MAX_AHEAD

pytestmark = pytest.mark.alone  # a process that is held up for max_command_gap holds its motions

ARM = JOINTS[:2]
DURATION = 3.0  # [s] of motions
START, END = np.zeros(2), np.array([1.0, -0.5])
LOST_AFTER = 1.0  # [s] of joint states
CYCLES = 500  # of the robot in which time stands: longer than LOST_AFTER


@pytest.fixture(scope="module")
def simulated(client):
    return SimulatedTime(client.node)


@pytest.fixture(scope="module")
def robot(client, simulated):
    return SimulatedRobot(client.node, simulated, JOINTS)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, client, robot):
    validator = FakeValidator(client.node, client._group)
    yield start_node(
        "execution_node",
        use_sim_time=True,
        joints=f"[{', '.join(JOINTS)}]",
        command_fields="[position, velocity]",
        # Wide enough for a robot and a stream that a busy machine holds up.
        joint_state_timeout=LOST_AFTER,
        joint_state_lost_after=LOST_AFTER,
        max_command_gap=2.0,
        path_tolerance=5.0,
        goal_tolerance=1e-9,
        goal_time=60.0,
    )
    client.node.destroy_service(validator._service)


@pytest.fixture(autouse=True)
def at_start(client, robot, simulated):
    simulated.begin()
    simulated.run(1.0)
    robot.heal()
    for _ in range(200):
        robot.put(**dict(zip(ARM, START.tolist(), strict=True)))
        sent = execute(client, swing(ARM, START, START, duration=0.1, samples=3)).wait()
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            robot.forget_commands()
            robot.arrivals.clear()
            return
    raise AssertionError(sent.result.error.message)


def begin(client, robot, send=execute):
    """A motion that is under way."""
    sent = send(client, swing(ARM, START, END, DURATION))
    robot.wait_for(lambda command: command[ARM[0]] > 0.4)
    return sent


def stop_time(simulated, robot, silent):
    """Let time stand until the last command has arrived. silent: nothing is published meanwhile."""
    simulated.run(0.0)
    robot.silent = silent
    robot.wait_for_last_command()


def check_success(sent):
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result
    assert sent.wait().result.record.pauses == 0


@pytest.mark.parametrize("rate", [0.3, 1.0, 2.0, 5.0])
def test_durations_are_simulated_ones(client, robot, simulated, rate):
    simulated.run(rate)
    sent = execute(client, swing(ARM, START, END, DURATION)).wait()
    check_success(sent)
    check_path(robot.all_taken(), ARM, START, END, DURATION)
    ahead = [stamp - published for stamp, published in robot.arrivals]
    assert max(ahead) <= MAX_AHEAD * SECOND


def test_a_rate_that_changes_changes_no_command(client, robot, simulated):
    sent = begin(client, robot)
    for rate, place in ((4.0, 0.6), (0.3, 0.7), (2.0, 0.9)):
        simulated.run(rate)
        robot.wait_for(lambda command, place=place: command[ARM[0]] > place)
    check_success(sent.wait())
    check_path(robot.all_taken(), ARM, START, END, DURATION)


@pytest.mark.parametrize("silent", [False, True])
def test_motions_stand_while_time_stands_and_go_on_without_a_jump(client, robot, simulated, silent):
    """Also if neither time nor joint states are published meanwhile, for longer than these may be missing."""
    sent = begin(client, robot)
    stop_time(simulated, robot, silent)
    count = len(robot.commands)
    robot.run_for(CYCLES)
    assert len(robot.commands) == count
    assert not sent.done.is_set()
    simulated.run(1.0)
    robot.silent = False
    check_success(sent.wait())
    check_path(robot.all_taken(), ARM, START, END, DURATION)


@pytest.mark.parametrize("silent", [False, True])
def test_a_motion_that_is_cancelled_while_time_stands_ends(client, robot, simulated, silent):
    sent = begin(client, robot)
    stop_time(simulated, robot, silent)
    count = len(robot.commands)
    sent.cancel()
    assert sent.wait().status == GoalStatus.STATUS_CANCELED
    robot.wait_for_last_command()
    assert len(robot.commands) == count
    simulated.run(1.0)
    robot.silent = False
    robot.run_for(50)
    assert len(robot.commands) == count


def test_a_motion_that_is_stopped_while_time_stands_ends(client, robot, simulated):
    sent = begin(client, robot)
    stop_time(simulated, robot, silent=True)
    request = srv.ControlMotion.Request(command=srv.ControlMotion.Request.STOP)
    client.call_service(srv.ControlMotion, "execution/control_motion", request)
    assert sent.wait().result.error.name == "StopRequestedError"


@pytest.mark.parametrize("stands", [False, True])
def test_an_emergency_stop_ends_it_at_once(client, robot, simulated, stands):
    button = EmergencyStop(client.node)
    sent = begin(client, robot)
    if stands:
        stop_time(simulated, robot, silent=True)
    button.press()
    error = sent.wait().result.error
    assert (error.name, error.stage) == ("StoppedError", "emergency stop")
    simulated.run(1.0)
    robot.silent = False
    count = len(robot.all_taken())
    robot.run_for(50)
    assert robot.all_taken() == []
    assert count > 0
    button.end()


def test_joint_states_that_stop_while_time_goes_on(client, robot):
    sent = begin(client, robot)
    robot.keeps_time = robot.silent = True
    error = sent.wait().result.error
    assert error.name == "FeedbackLostError"
    assert error.values[0].value > LOST_AFTER


def test_time_that_nobody_publishes_any_longer(client, robot, simulated):
    sent = begin(client, robot)
    simulated.end()
    error = sent.wait().result.error
    assert (error.name, error.stage) == ("StoppedError", "clock")
    assert "no publisher" in error.message


def test_a_newer_goal_takes_over_at_a_simulated_time(client, robot, simulated):
    simulated.run(3.0)
    first = follow(client, swing(ARM, START, END, DURATION))
    robot.wait_for(lambda command: command[ARM[0]] > 0.2)
    second = follow(client, swing(ARM, END, START, DURATION)).wait()
    assert first.wait().status == GoalStatus.STATUS_ABORTED
    assert second.status == GoalStatus.STATUS_SUCCEEDED, second.result
    commands = robot.all_taken()
    stamps = np.array([time_from_message(message.header.stamp) for _, message in commands]) / SECOND
    speeds = np.diff(positions(commands, ARM), axis=0) / np.maximum(np.diff(stamps), 1e-9)[:, None]
    assert np.abs(speeds).max() < 2.0 * 1.875 / DURATION  # of both trajectories: no jump
