"""Motions of controllers end if the clock of their trajectories is set."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.errors import StoppedError
from robot_cell_planner.nodes.common.clock_monitor import ClockMonitor
from robot_cell_planner.nodes.motion import controller_motion
from robot_cell_planner.nodes.motion.controller_motion import GRACE, ControllerMotion, ControllerOptions, Share
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.motion import Phase
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

SECOND = 10**9
BEGIN = 1000 * SECOND  # simulated time [ns]
DURATION, GOAL_TIME = 60.0, 1.0  # [s]
JOINTS = ("elbow",)


class Goal:
    """A goal of a controller that never replies."""

    accepted, ended, refused, error = True, False, False, None

    def __init__(self):
        self.sent_at, self.cancelled = 0.0, False

    def cancel(self):
        self.cancelled = True


class Case:
    """A motion of one controller, on simulated time and a steady clock that a test sets."""

    def __init__(self, monkeypatch):
        self.now, self.steady, self.goals = BEGIN, 100.0, []
        monkeypatch.setattr(controller_motion, "time", SimpleNamespace(monotonic=lambda: self.steady))
        feedback, one = JointFeedback(10.0), np.ones(1)
        feedback.start_poll(self.steady)
        feedback.update(JOINTS, [0.0], [], [], self.now, self.steady)
        times = np.array([0.0, DURATION])
        trajectory = Trajectory(JOINTS, times, np.array([[0.0], [1.0]]), np.zeros((2, 1)), np.zeros((2, 1)))
        goal = MotionGoal("owner", JOINTS, trajectory, Tolerances(1.0, one, one, one, one, GOAL_TIME))
        controller = SimpleNamespace(name="arm", state=None, is_ready=True, send=self._send)
        self.motion = ControllerMotion(
            [Share(controller, JOINTS)],
            lambda: self.now,
            ControllerOptions(0.2, SamplerOptions(), 5.0),
            lambda: None,
            goal,
            feedback,
            global_scale=1.0,
            timeouts=FeedbackTimeouts(600.0, 600.0, 600.0),
            on_done=lambda: None,
        )
        self.motion.send()

    def _send(self, goal, on_change):
        self.goals.append(Goal())
        return self.goals[-1]

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
