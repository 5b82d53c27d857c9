"""Motions of controllers end if the clock of their trajectories is set, or a controller forgets its trajectory."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.errors import ExecutionError, FeedbackLostError, ServiceUnavailableError, StoppedError
from robot_cell_planner.nodes.common.clock_monitor import ClockMonitor
from robot_cell_planner.nodes.motion import controller_motion
from robot_cell_planner.nodes.motion.controller_client import ControllerState
from robot_cell_planner.nodes.motion.controller_motion import ASTRAY, GRACE, ControllerMotion, ControllerOptions, Share
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.motion import Phase
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.nodes.motion.wraparound import Wraparound
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

SECOND = 10**9
BEGIN = 1000 * SECOND  # simulated time [ns]
DURATION, GOAL_TIME = 60.0, 1.0  # [s]
JOINTS = ("elbow",)
TOLERANCE = 0.1


class Goal:
    """A goal of a controller that never replies."""

    accepted, ended, refused, error = True, False, False, None

    def __init__(self):
        self.sent_at, self.cancelled = 0.0, False

    def cancel(self):
        self.cancelled = True


class Case:
    """A motion of one controller, on simulated time and a steady clock that a test sets."""

    def __init__(self, monkeypatch, silence=600.0):
        self.now, self.steady, self.goals = BEGIN, 100.0, []
        monkeypatch.setattr(controller_motion, "time", SimpleNamespace(monotonic=lambda: self.steady))
        self.feedback, one = JointFeedback(10.0), np.full(1, TOLERANCE)
        self.feedback.start_poll(self.steady)
        self.measure(0.0)
        times = np.array([0.0, DURATION])
        trajectory = Trajectory(JOINTS, times, np.array([[0.0], [1.0]]), np.zeros((2, 1)), np.zeros((2, 1)))
        goal = MotionGoal("owner", JOINTS, trajectory, Tolerances(1.0, one, one, one, one, GOAL_TIME))
        self.controller = SimpleNamespace(name="arm", state=None, is_ready=True, send=self._send)
        self.motion = ControllerMotion(
            [Share(self.controller, JOINTS)],
            lambda: self.now,
            ControllerOptions(0.2, SamplerOptions(), 5.0),
            lambda: None,
            goal,
            self.feedback,
            global_scale=1.0,
            timeouts=FeedbackTimeouts(silence, 600.0, 600.0),
            on_done=lambda: None,
        )
        self.motion.send()

    def _send(self, goal, on_change):
        self.goals.append(Goal())
        return self.goals[-1]

    def measure(self, position):
        self.feedback.update(JOINTS, [position], [], [], self.now, self.steady)

    def publish(self, position, speed_scaling=1.0):
        """The controller publishes the position that it commands; None: that of the trajectory."""
        desired = self.motion.last.positions if position is None else np.array([position])
        row = np.zeros(1)
        self.controller.state = ControllerState(JOINTS, desired, row, desired, row, self.now, speed_scaling)

    def pass_time(self, seconds, jump=0.0):
        """Let time pass on both clocks; jump: of the simulated one [s]."""
        self.steady += seconds
        self.now += round((seconds + jump) * SECOND)


@pytest.mark.parametrize("jump", [-900.0, -20.0, 20.0, 900.0])
def test_goals_are_cancelled_if_the_clock_was_set_and_the_motion_ends_soon(monkeypatch, jump):
    """A trajectory with other times would begin where the robot is not."""
    case, clock = Case(monkeypatch), ClockMonitor()
    clock.check(case.now, case.steady)
    case.pass_time(30.0)
    assert clock.check(case.now, case.steady) is None
    case.pass_time(0.02, jump)
    case.motion.stop(clock.check(case.now, case.steady))
    assert [goal.cancelled for goal in case.goals] == [True]
    assert case.motion.phase is Phase.STOPPING
    case.pass_time(GOAL_TIME + GRACE + 0.1)
    case.motion.poll()
    assert case.motion.phase is Phase.DONE
    assert "was set" in str(case.motion.error)


def test_a_stop_for_another_reason_ends_on_the_path(monkeypatch):
    case = Case(monkeypatch)
    case.pass_time(30.0)
    case.motion.stop(StoppedError("as requested", stage="test"))
    assert [goal.cancelled for goal in case.goals] == [False, False]


def test_a_motion_ends_on_its_path_if_the_stamps_of_joint_states_lag(monkeypatch):
    case, lag = Case(monkeypatch), 0.0
    case.motion._timeouts = FeedbackTimeouts(0.25, 2.0, 60.0)
    while case.motion.error is None and lag < 10.0:
        assert lag < 2.4  # some of it counts no more
        case.pass_time(0.04)
        lag += 0.02  # the stamps advance at half of the rate of this node's clock
        case.feedback.start_poll(case.steady)
        case.feedback.update(JOINTS, [0.0], [], [], case.now - round(lag * SECOND), case.steady, case.now)
        case.motion.poll()
    assert isinstance(case.motion.error, FeedbackLostError)
    assert "the stamps of joint_states lag by 2.0" in case.motion.error.message
    assert case.motion.phase is Phase.STOPPING


def test_a_motion_without_joint_states_is_not_held_but_ends_on_its_path(monkeypatch):
    """Also before `lost_after`, unlike a motion that is streamed."""
    case = Case(monkeypatch, silence=1.0)
    phases = []
    for _ in range(60):  # only time in which the node listens counts
        case.pass_time(0.02)
        case.feedback.start_poll(case.steady)
        case.motion.poll()
        phases.append(case.motion.phase)
    moving = phases.count(Phase.MOVING)
    assert moving == pytest.approx(50, abs=1)
    assert phases == [Phase.MOVING] * moving + [Phase.STOPPING] * (60 - moving)
    assert isinstance(case.motion.error, FeedbackLostError)
    assert [goal.cancelled for goal in case.goals] == [False, False]  # replaced by a stop on the path
    case.measure(0.1)
    case.pass_time(GOAL_TIME + GRACE + 5.0)
    case.motion.poll()
    assert case.motion.phase is Phase.DONE


def begun(monkeypatch, **published):
    """A motion whose controller commands what it should."""
    case = Case(monkeypatch)
    for _ in range(20):
        case.pass_time(1.0)
        case.publish(None, **published)
        case.motion.poll()
    assert case.motion.phase is Phase.MOVING
    return case, float(case.motion.last.positions[0])


def test_a_controller_that_was_restarted_ends_the_motion(monkeypatch):
    """It holds the position where it found the robot, and does not know of a goal."""
    case, held = begun(monkeypatch)
    while case.motion.last.positions[0] < held + TOLERANCE:
        assert case.motion.error is None
        case.pass_time(0.5 * ASTRAY)
        case.publish(held)
        case.motion.poll()
    for _ in range(10):
        case.pass_time(0.5 * ASTRAY)
        case.publish(held)
        case.motion.poll()
    assert isinstance(case.motion.error, ExecutionError)
    assert case.motion.phase is Phase.DONE
    assert "arm does not execute the trajectory" in str(case.motion.error)
    assert "elbow at" in str(case.motion.error)
    assert [goal.cancelled for goal in case.goals] == [True]


@pytest.mark.parametrize("act", ["stop", "pause", "slow"])
def test_a_controller_that_was_restarted_is_not_sent_a_trajectory_from_elsewhere(monkeypatch, act):
    """The trajectory of a stop on the path would begin with a jump to that path."""
    case, held = begun(monkeypatch)
    case.pass_time(30.0)
    case.publish(held)
    if act == "stop":
        case.motion.stop(StoppedError("as requested", stage="test"))
    elif act == "pause":
        case.motion.pause()
    else:
        case.motion.set_global_scale(0.5)
    assert [goal.cancelled for goal in case.goals] == [True]
    case.motion.poll()
    assert case.motion.phase is Phase.DONE
    assert isinstance(case.motion.error, StoppedError if act == "stop" else ExecutionError)


@pytest.mark.parametrize("turns", [-1, 1, 2])
def test_a_continuous_joint_that_is_commanded_by_whole_turns_away_is_on_its_path(monkeypatch, turns):
    case = Case(monkeypatch)
    for _ in range(59):
        case.pass_time(1.0)
        case.publish(float(case.motion.last.positions[0]) + turns * 2.0 * np.pi)
        case.motion.poll()
        assert case.motion.error is None


@pytest.mark.parametrize("wrapping", [JOINTS, ()])
def test_a_controller_may_publish_measurements_within_one_turn_of_joints_that_wrap(monkeypatch, wrapping):
    case = Case(monkeypatch)
    case.feedback.wraparound = Wraparound(wrapping)
    case.pass_time(1.0)
    case.publish(None)
    state = case.controller.state
    case.controller.state = replace(state, feedback=state.feedback - 2.0 * np.pi)
    assert float(case.motion.tracking().error[0]) == pytest.approx(0.0 if wrapping else 2.0 * np.pi)


def test_a_robot_that_its_own_speed_scaling_stops_is_not_astray(monkeypatch):
    case, held = begun(monkeypatch)
    for _ in range(60):
        case.pass_time(1.0)
        case.publish(held, speed_scaling=0.0)
        case.motion.poll()
    assert case.motion.error is None


def test_a_result_that_never_arrives_ends_the_motion(monkeypatch):
    """Without published states, nothing else shows that a controller has forgotten its goal."""
    case = Case(monkeypatch)
    case.pass_time(DURATION)
    case.measure(1.0)
    case.pass_time(GOAL_TIME + GRACE - 0.5)
    case.measure(1.0)
    case.motion.poll()
    assert case.motion.error is None
    case.pass_time(1.0)
    case.measure(1.0)
    case.motion.poll()
    error = case.motion.error
    assert isinstance(error, ServiceUnavailableError)
    assert "arm has not reported the end" in str(error)
    assert [goal.cancelled for goal in case.goals] == [True]
    case.pass_time(GOAL_TIME + GRACE + 0.1)
    case.motion.poll()
    assert case.motion.phase is Phase.DONE


def test_a_controller_that_moves_for_longer_is_waited_for(monkeypatch):
    """Its robot scales the speed, and it publishes no state."""
    case = Case(monkeypatch)
    for step in range(200):
        case.pass_time(1.0)
        case.measure(0.005 * step)
        case.motion.poll()
        assert case.motion.error is None
