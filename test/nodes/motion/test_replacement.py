"""A goal that replaces a running motion and moves further robots begins where all of them are, at their velocities."""

import asyncio
import threading
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from rclpy.time import Time

from robot_cell_planner.errors import NotSupportedError, StopRequestedError, TrajectoryStartError
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.motion.command_stream import CommandStream
from robot_cell_planner.nodes.motion.held_positions import HeldPositions
from robot_cell_planner.nodes.motion.independent_robots import IndependentRobots
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.motion import Phase
from robot_cell_planner.nodes.motion.motion_clock import SteadyClock
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.runner import MotionRunner
from robot_cell_planner.nodes.motion.runner_options import RunnerOptions
from robot_cell_planner.nodes.motion.speed_scales import SpeedScales
from robot_cell_planner.nodes.motion.streamed_motion import StreamDrive
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.srv import ValidateTrajectory
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

TIMEOUT = 60.0
TIMEOUTS = FeedbackTimeouts(TIMEOUT, TIMEOUT, TIMEOUT)
TOLERANCE = 0.01  # [rad], start tolerance of the node
LEFT, RIGHT = "left/joint", "right/joint"
NOW = 1.0  # [s] when the goal arrives, in the middle of the running motion


def goal(*joints, efforts=None):
    one, endless = np.ones(len(joints)), np.full(len(joints), np.inf)
    tolerances = Tolerances(1.0, 10.0 * one, endless, 10.0 * one, endless, TIMEOUT)
    times = np.array([0.0, 2.0, 4.0])
    return MotionGoal(
        "client", joints, Trajectory(joints, times, np.outer([0.0, 0.5, 1.0], one)), tolerances, efforts=efforts
    )


class Cell:
    """A left robot under way, and a right robot at rest; `planning.during` is called during a validation."""

    def __init__(self):
        now = Time(nanoseconds=0)
        self.node = MagicMock()
        self.node.get_clock.return_value = SimpleNamespace(now=lambda: now)
        self.time, self.sent = 0.0, 0
        output = SimpleNamespace(topic_names=("joint_commands",), has_subscribers=True, publish=self.publish)
        self.stream = CommandStream(self.node, output, rate=500.0, clock=SteadyClock(self.node, lambda: self.time))
        self.feedback = JointFeedback(10.0)
        held = HeldPositions(self.node, self.stream, self.feedback, TOLERANCE)
        self.drive = StreamDrive(self.node, self.stream, SamplerOptions(), held)
        self.scales = SpeedScales(IndependentRobots(("left/", "right/")))
        self.during, self.validations = lambda: None, 0
        planning = SimpleNamespace(validate=self.validate)
        options = RunnerOptions(TOLERANCE, TIMEOUTS)
        monitor, change = MagicMock(), MagicMock()
        self.runner = MotionRunner(
            self.node, self.drive, self.feedback, MagicMock(), planning, options, monitor, self.scales, change, change
        )
        self.measure(0.0)
        self.running = self.drive.start(None, lambda: None, goal(LEFT), self.feedback, **self.keywords())
        assert self.reaches(lambda: self.running.channel.sampler is not None)
        self.advance(NOW)

    def publish(self, values):
        self.sent += 1

    def advance(self, until):
        """Let time pass in steps that are no gap of the stream."""
        for moment in np.arange(self.time, until, 0.05) + 0.05:
            self.time, sent = min(float(moment), until), self.sent
            assert self.reaches(lambda sent=sent: self.sent > sent + 1)

    def keywords(self):
        return {"global_scale": 1.0, "timeouts": TIMEOUTS, "on_done": lambda: None}

    def measure(self, right):
        now = time.monotonic()
        self.feedback.start_poll(now)
        self.feedback.update([LEFT, RIGHT], [0.0, right], [], [], time.time_ns(), now)

    async def validate(self, *_):
        self.validations += 1
        self.during()
        return ValidateTrajectory.Response()

    def reaches(self, condition):
        """Return whether a condition becomes true."""
        return any(condition() or threading.Event().wait(0.01) for _ in range(round(100 * TIMEOUT)))

    def replacement(self, efforts=None):
        """Prepare the goal of both robots."""
        both = goal(LEFT, RIGHT, efforts=efforts)
        return asyncio.run(self.runner.replacement(self.running, both, NOW, MagicMock(error=None), StateRef()))


@pytest.fixture
def cell():
    made = Cell()
    yield made
    made.stream.close()


def test_a_speed_scale_that_changes_during_the_validation_counts(cell):
    """Only the other robot is slowed down, which leaves the running motion as it is."""
    cell.during = lambda: cell.scales.set(["right/"], 0.5)
    before = cell.running.channel.sampler.sample(1.2)
    found = cell.replacement()
    assert cell.validations == 2
    channel = found.motion.channel
    assert channel.scale == 0.5
    assert channel.begins == pytest.approx(1.2)
    first = channel.trajectory.at([channel.trajectory.times[0]], 1)[0] * channel.scale
    assert first == pytest.approx([before.velocities[0], 0.0])


@pytest.mark.parametrize("efforts", [None, np.zeros((3, 2)), np.ones((3, 2))])
def test_efforts_that_are_not_commanded_have_a_warning(cell, efforts):
    warnings = cell.replacement(efforts).reply.report.warnings
    assert len(warnings) == (efforts is not None and efforts.any())
    assert all("efforts of the trajectory are not commanded" in warning for warning in warnings)


def test_a_goal_of_a_robot_whose_speed_scale_is_0_is_refused_by_name(cell):
    cell.scales.set(["right/"], 0.0)
    with pytest.raises(NotSupportedError, match="the speed scale of a robot of the goal is 0"):
        cell.replacement()
    assert cell.running.phase is Phase.MOVING


def test_a_robot_that_is_moved_away_before_it_begins_ends_the_goal_only(cell):
    """It must not return to where it was, in one step."""
    motion = cell.replacement().motion
    cell.measure(0.9 * TOLERANCE)
    motion.poll()
    assert motion.error is None
    cell.measure(0.3)
    motion.poll()
    assert motion.phase is Phase.DONE
    assert isinstance(motion.error, TrajectoryStartError)
    assert motion.error.subjects == (RIGHT,)
    cell.advance(1.5)
    assert cell.running.error is None
    assert not cell.running.channel.replaced


@pytest.mark.parametrize("change", ["set_global_scale", "pause"])
def test_a_speed_that_changes_before_it_begins_ends_the_goal_only(cell, change):
    """The running motion, which keeps its speed, must not change it in one step."""
    motion = cell.replacement().motion
    getattr(motion, change)(*([0.5] if change == "set_global_scale" else []))
    motion.poll()
    assert motion.phase is Phase.DONE
    assert isinstance(motion.error, StopRequestedError)
    assert "speed" in str(motion.error)
    cell.advance(1.3)
    assert not cell.running.channel.replaced
    assert cell.running.last.velocities[0] == pytest.approx(cell.running.goal.trajectory.at([1.3], 1)[0, 0])


def test_the_speed_that_it_has_already_does_not_end_it(cell):
    motion = cell.replacement().motion
    motion.set_global_scale(1.0)
    motion.resume()
    cell.advance(1.3)
    motion.poll()
    assert motion.error is None
    assert cell.running.channel.replaced
