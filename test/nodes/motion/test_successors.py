"""A channel that waits to replace another one begins, or fails: whatever happens to the other one, it never waits for
ever."""

import threading
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from rclpy.time import Time

from robot_cell_planner.errors import CancelledError, StoppedError, StopRequestedError, TrajectoryLimitError
from robot_cell_planner.nodes.motion.channels import REPLACED
from robot_cell_planner.nodes.motion.command_stream import CommandStream
from robot_cell_planner.nodes.motion.held_positions import HeldPositions
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.motion import Phase
from robot_cell_planner.nodes.motion.motion_clock import SteadyClock
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.streamed_motion import StreamDrive
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

RATE = 500.0
PERIOD = 0.01  # [s] between the times of commands
TIMEOUT = 60.0
TIMEOUTS = FeedbackTimeouts(60.0, 60.0, 60.0)
REASON = StoppedError("the emergency stop is pressed", stage="emergency stop")
LINE = Trajectory(("joint",), np.array([0.0, 2.0, 4.0]), np.array([[0.0], [0.5], [1.0]]))
# The line leaves these limits before the other motion begins.
NARROW = MotionLimits(("joint",), *(np.array([value]) for value in (-9.0, 0.1, 2.0, 5.0, 50.0)))
BEGINS = 2.0  # [s] when the other motion begins


class Publisher:
    """Publishes nothing. Each command lets time pass, unless `stopped` is set.

    broken: raised instead of publishing. forbidden: why no command may be sent.
    """

    topic_names = ("joint_commands",)
    has_subscribers = True

    def __init__(self):
        self.time, self.stopped, self.broken, self.forbidden = 0.0, False, None, None

    def publish(self, values):
        if self.broken is not None:
            raise self.broken
        self.time += 0.0 if self.stopped else PERIOD


class Pair:
    """A motion, and another one that is scheduled to replace it."""

    def __init__(self, limits=None):
        self.publisher = Publisher()
        now = Time(nanoseconds=0)
        node = MagicMock()
        node.get_clock.return_value = SimpleNamespace(now=lambda: now)
        self.stream = CommandStream(
            node,
            self.publisher,
            rate=RATE,
            clock=SteadyClock(node, lambda: self.publisher.time),
            forbidden=lambda _: (int(self.publisher.forbidden is not None), self.publisher.forbidden),
        )
        self.feedback = JointFeedback(10.0)
        self.drive = StreamDrive(
            node, self.stream, SamplerOptions(), HeldPositions(node, self.stream, self.feedback, 0.01)
        )
        self.changed = {"first": threading.Event(), "second": threading.Event()}
        self.publisher.stopped = True
        self.first = self.drive.start(None, *self._arguments("first", limits), **self._keywords("first"))
        self.measure()
        assert self.reaches(lambda: self.first.channel.sampler is not None)
        self.second = self.drive.make(*self._arguments("second", None), **self._keywords("second"))
        assert self.drive.replace(self.first, self.drive.predicted(self.first, BEGINS), self.second)
        self.done = []

    def _arguments(self, name, limits):
        one, endless = np.ones(1), np.array([np.inf])
        tolerances = Tolerances(1.0, 10.0 * one, endless, 10.0 * one, endless, 60.0)
        goal = MotionGoal(name, ("joint",), LINE, tolerances, limits=limits)
        return self.changed[name].set, goal, self.feedback

    def _keywords(self, name):
        return {"global_scale": 1.0, "timeouts": TIMEOUTS, "on_done": lambda: self.done.append(name)}

    def measure(self):
        now = time.monotonic()
        self.feedback.start_poll(now)
        self.feedback.update(["joint"], [0.0], [], [], time.time_ns(), now)

    def reaches(self, condition):
        """Return whether a condition becomes true."""
        return any(condition() or threading.Event().wait(0.01) for _ in range(round(100 * TIMEOUT)))

    def check_second_failed(self, error, stage):
        """The node is informed at once, and the motion that never began ends with the next poll."""
        assert self.changed["second"].wait(TIMEOUT)
        self.second.poll()
        assert self.second.phase is Phase.DONE
        assert self.done.count("second") == 1
        assert isinstance(self.second.error, error)
        assert self.second.error.stage == stage
        assert self.first.channel.successor is None
        assert not self.first.channel.replaced
        assert self.second.channel not in self.stream._channels


@pytest.fixture
def pair(request):
    made = Pair(getattr(request, "param", None))
    yield made
    made.publisher.stopped = False
    made.stream.close()


def test_the_other_motion_begins_when_it_is_due(pair):
    pair.publisher.stopped = False
    assert pair.changed["first"].wait(TIMEOUT)
    assert pair.first.channel.replaced
    pair.first.poll()
    assert pair.first.error.stage == REPLACED
    assert pair.reaches(lambda: pair.second.channel.sampler is not None)
    assert pair.stream._channels == [pair.second.channel]


@pytest.mark.parametrize("pair", [NARROW], indirect=True)
def test_a_command_that_would_violate_a_limit_ends_both(pair):
    pair.publisher.stopped = False
    pair.check_second_failed(StopRequestedError, REPLACED)
    assert "limit" in str(pair.second.error)
    assert pair.publisher.time < BEGINS
    assert pair.changed["first"].wait(TIMEOUT)
    pair.first.poll()
    assert isinstance(pair.first.error, TrajectoryLimitError)


def test_a_motion_that_is_dropped_ends_both(pair):
    pair.first.abort(REASON)
    pair.check_second_failed(StopRequestedError, REPLACED)


def test_a_motion_that_is_stopped_ends_both(pair):
    pair.first.stop(REASON)
    pair.check_second_failed(StopRequestedError, REPLACED)


def test_an_exception_of_the_middleware_ends_both(pair):
    pair.publisher.broken = RuntimeError("no transport")
    assert pair.changed["second"].wait(TIMEOUT)
    for motion in (pair.first, pair.second):
        motion.poll()
        assert motion.phase is Phase.DONE
        assert "no transport" in str(motion.error)


def test_an_emergency_stop_ends_both(pair):
    pair.publisher.forbidden = REASON
    assert pair.changed["second"].wait(TIMEOUT)
    for motion in (pair.first, pair.second):
        motion.poll()
        assert motion.phase is Phase.DONE
        assert motion.error is REASON


@pytest.mark.parametrize("ends", ["stop", "abort"])
def test_a_motion_that_is_cancelled_before_it_begins_ends_at_once(pair, ends):
    """The other one continues, and is not replaced by the ended one."""
    error = CancelledError("the client cancels")
    getattr(pair.second, ends)(error)
    assert pair.second.phase is Phase.DONE
    assert pair.second.error is error
    assert pair.done == ["second"]
    pair.publisher.stopped = False
    assert pair.reaches(lambda: pair.publisher.time > BEGINS + 0.1)
    assert pair.stream._channels == [pair.first.channel]
    assert pair.first.error is None
    assert not pair.first.channel.replaced


def test_a_motion_that_was_never_scheduled_can_be_stopped(pair):
    never = pair.drive.make(*pair._arguments("second", None), **pair._keywords("never"))
    never.stop(CancelledError("the client cancels"))
    assert never.phase is Phase.DONE
    assert pair.done == ["never"]
