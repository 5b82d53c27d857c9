"""The start of a streamed motion, and the end of a paused one for a newer goal, in time that the test advances."""

import asyncio
import math
import time
from contextlib import ExitStack
from types import MappingProxyType, SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from robot_cell_planner.errors import (
    CancelledError,
    MotionBusyError,
    StopRequestedError,
    TrajectoryInCollisionError,
    TrajectoryLimitError,
)
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.exclusive_access import ExclusiveAccess
from robot_cell_planner.nodes.execution import follow_joint_trajectory
from robot_cell_planner.nodes.execution.follow_joint_trajectory import FollowJointTrajectoryServer
from robot_cell_planner.nodes.motion import preparation, runner
from robot_cell_planner.nodes.motion.channels import REPLACED
from robot_cell_planner.nodes.motion.held_positions import HeldPositions
from robot_cell_planner.nodes.motion.independent_robots import IndependentRobots
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.motion import Phase
from robot_cell_planner.nodes.motion.motion_clock import SteadyClock
from robot_cell_planner.nodes.motion.outcome import Replacement
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.runner import MotionRunner
from robot_cell_planner.nodes.motion.runner_options import RunnerOptions
from robot_cell_planner.nodes.motion.speed_scales import SpeedScales
from robot_cell_planner.nodes.motion.streamed_motion import StreamDrive
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.srv import ValidateTrajectory
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.sampler import SamplerOptions
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

SECOND, PERIOD = 1_000_000_000, 0.004
TOLERANCE = 0.01  # of the start
TIMEOUTS = FeedbackTimeouts(60.0, 60.0, 60.0)
LIMITS = MotionLimits(("joint",), *(np.array([value]) for value in (-9.0, 9.0, 2.0, 5.0, 50.0)))


class Stream:
    """Plays the channels that were started for as long as a test requests."""

    held = frozenset()
    forgotten = MappingProxyType({})

    def __init__(self):
        self.time, self.channels, self.commanded, self.holds = 0.0, [], {}, False
        self.clock = SteadyClock(None, lambda: self.time)

    def now(self):
        return self.time

    def start(self, channel, *others):
        self.channels.append(channel)

    def play(self, seconds):
        for _ in range(round(seconds / PERIOD)):
            for channel in self.channels:
                channel.play(self.time, round(self.time * SECOND), 0.1)
                if channel.has_come_to_its_end(self.time) and not channel.ended:
                    channel.ended_at = time.monotonic()
                self.commanded.update(zip(channel.joints, channel.last.positions.tolist(), strict=True))
            self.time += PERIOD

    def set_scale(self, channel, scale):
        if not channel.stopping:
            channel.sampler.set_scale(scale, self.time)

    def stop(self, channel):
        self.set_scale(channel, 0.0)
        channel.stopping = True

    def drop(self, channel):
        self.channels.remove(channel)

    def commanded_at(self, channel, stamp):
        return channel.at(stamp)


class Robot:
    """A robot of one joint that follows its commands, and its runner. reply: the error of the validation, or None."""

    def __init__(self, monkeypatch, reply=None, passive=()):
        self.stream, self.feedback = Stream(), JointFeedback(10.0)
        self.validated, self._reply, self._stamp = [], reply, 0
        held = HeldPositions(MagicMock(), self.stream, self.feedback, TOLERANCE, passive)
        self.drive = StreamDrive(MagicMock(), self.stream, SamplerOptions(), held)
        permission = SimpleNamespace(check=lambda: None, check_until_known=lambda: None)
        planning = SimpleNamespace(validate=self._validate)
        options = RunnerOptions(TOLERANCE, TIMEOUTS, ("joint",), passive)
        self.runner = MotionRunner(
            MagicMock(),
            self.drive,
            self.feedback,
            permission,
            planning,
            options,
            None,
            SpeedScales(IndependentRobots()),
            lambda: None,
            lambda: None,
        )
        for module in (preparation, runner):
            monkeypatch.setattr(module, "pause", self._pause)
        self.measure(0.0)

    def measure(self, position):
        self._stamp += 1
        now = time.monotonic()
        self.feedback.start_poll(now)
        stamp = max(round(self.stream.time * SECOND), self._stamp)
        self.feedback.update(["joint"], [position], [], [], stamp, now)

    def run(self, seconds, motion):
        """Let time pass; the robot is where it is commanded to be."""
        self.stream.play(seconds)
        self.measure(self.stream.commanded["joint"])
        motion.poll()

    async def _pause(self, node, seconds, token):
        token.check()
        self.stream.play(seconds)
        self.measure(self.stream.commanded["joint"])

    async def _validate(self, state, trajectory, start_tolerance, token):
        self.validated.append(trajectory.points[0].positions[0])
        if callable(self._reply):
            self._reply()
        elif self._reply is not None:
            raise self._reply
        return ValidateTrajectory.Response()

    def start(self, start=0.0, limits=LIMITS):
        keywords = {"global_scale": 1.0, "timeouts": TIMEOUTS, "on_done": lambda: None}
        return self.drive.start(None, lambda: None, goal(start, start + 1.0, limits), self.feedback, **keywords)

    def replace(self, running):
        """Return the replacement of a motion that the FollowJointTrajectory server would run."""
        server = object.__new__(FollowJointTrajectoryServer)
        server._runner = self.runner
        newer = goal(None, -0.5)
        found = server._replacement(running, newer, self.stream.now(), CancellationToken(), StateRef())
        return asyncio.run(found)


def goal(start, end, limits=None):
    """A motion from start to end; from where the robot is without a start."""
    one, endless = np.ones(1), np.array([math.inf])
    tolerances = Tolerances(TOLERANCE, 0.1 * one, endless, 0.005 * one, endless, 5.0)
    times, positions = ([2.0], [[end]]) if start is None else ([0.0, 2.0], [[start], [end]])
    trajectory = Trajectory(("joint",), np.array(times), np.array(positions))
    return MotionGoal("owner", ("joint",), trajectory, tolerances, limits=limits)


def test_a_first_command_away_from_the_measured_robot_is_not_sent(monkeypatch):
    robot = Robot(monkeypatch)
    robot.measure(0.5)
    motion = robot.start(start=0.0)
    robot.stream.play(PERIOD)
    assert isinstance(motion.channel.violation, TrajectoryLimitError)
    assert robot.stream.commanded == {"joint": 0.5}
    assert not motion.channel.last.velocities.any()


@pytest.mark.parametrize("away, passive", [(0.9 * TOLERANCE, ()), (0.5, ("joint",))])
def test_a_motion_begins_at_the_last_command_if_the_robot_may_be_away_from_it(monkeypatch, away, passive):
    robot = Robot(monkeypatch, passive=passive)
    robot.measure(away)
    motion = robot.start(start=0.0)
    robot.stream.play(PERIOD)
    assert motion.channel.violation is None
    assert robot.stream.commanded == {"joint": 0.0}


def paused(robot, seconds=1.0):
    """A motion that was paused, a time [s] ago."""
    motion = robot.start()
    robot.run(0.8, motion)
    motion.pause()
    robot.run(seconds, motion)
    assert motion.phase is Phase.PAUSED
    return motion


@pytest.mark.parametrize("seconds", [0.0, 0.1, 1.0])
def test_a_newer_goal_ends_a_paused_motion_where_it_comes_to_rest(monkeypatch, seconds):
    robot = Robot(monkeypatch)
    motion = paused(robot, seconds)
    assert robot.replace(motion) is None
    assert isinstance(motion.error, StopRequestedError)
    assert motion.error.stage == REPLACED
    place = robot.stream.commanded["joint"]
    assert robot.validated == [pytest.approx(place)]
    robot.run(0.1, motion)
    robot.run(0.1, motion)
    assert motion.phase is Phase.DONE
    assert robot.stream.channels == []
    assert 0.0 < robot.stream.commanded["joint"] == pytest.approx(place)


def test_a_held_motion_is_ended_as_well(monkeypatch):
    robot = Robot(monkeypatch)
    motion = robot.start()
    robot.run(0.8, motion)
    motion._hold()
    assert robot.replace(motion) is None
    assert motion.error.stage == REPLACED


def test_a_newer_goal_that_is_not_valid_leaves_a_paused_motion_as_it_is(monkeypatch):
    robot = Robot(monkeypatch, TrajectoryInCollisionError("the trajectory is in collision"))
    motion = paused(robot)
    with pytest.raises(TrajectoryInCollisionError):
        robot.replace(motion)
    assert motion.error is None
    motion.resume()
    robot.run(3.0, motion)
    assert robot.stream.commanded["joint"] == 1.0


def test_a_motion_that_resumes_meanwhile_is_replaced_while_it_moves(monkeypatch):
    def resume():
        motion.resume()
        robot.run(0.5, motion)
        robot._reply = None

    robot = Robot(monkeypatch, resume)
    motion = paused(robot)
    robot.stream.replace = lambda old, new, time_scaling: True
    found = robot.replace(motion)
    assert found.running is motion
    assert motion.error is None
    assert found.motion.goal.trajectory.positions[0, 0] > robot.validated[0] + 0.01


@pytest.mark.parametrize("replaced", [False, True])
def test_the_client_of_a_motion_that_is_not_replaced_after_all_keeps_control(replaced):
    """Otherwise no client could resume or stop it, if it was paused just before it was to be replaced."""
    running = SimpleNamespace(
        goal=goal(0.0, 1.0), phase=Phase.PAUSED, channel=SimpleNamespace(replaced=replaced, waits=False), error=None
    )
    found = Replacement(running, None, None, 0, None)
    server = object.__new__(FollowJointTrajectoryServer)
    server._robots, server._newest, server._access = IndependentRobots(), [], ExclusiveAccess("moves", lambda: None)

    async def replacement(*arguments):
        return found

    async def follow(*arguments):
        assert len(server._access.claims) == 1
        assert first not in server._access.claims
        return "outcome"

    server._runner = SimpleNamespace(
        now=lambda: 0.0, streamed=lambda owner: [running], replacement=replacement, follow=follow
    )
    with server._access.acquired_by("owner", CancellationToken()) as first:
        newer = server._replace(goal(None, 0.5), 0.0, CancellationToken(), None, None)
        assert asyncio.run(newer) == "outcome"
        assert server._access.claims == (() if replaced else (first,))


def test_a_goal_whose_robot_another_client_has_taken_meanwhile_is_refused(monkeypatch):
    """A goal that waits for its time does not wait for the end of whatever moves the robot then."""
    server = object.__new__(FollowJointTrajectoryServer)
    server._robots, server._newest, server._access = IndependentRobots(), [], ExclusiveAccess("moves", lambda: None)
    server._runner = SimpleNamespace(now=lambda: 0.0, rate=1.0, streamed=lambda owner: [])
    server._node = None
    first, other = ExitStack(), ExitStack()

    async def pause(*arguments):
        first.close()
        other.enter_context(server._access.acquired_by("another client", CancellationToken()))

    monkeypatch.setattr(follow_joint_trajectory, "pause", pause)
    first.enter_context(server._access.acquired_by("owner", CancellationToken()))
    with other:
        assert asyncio.run(server._replace(goal(None, 0.5), 60.0, CancellationToken(), None, None)) is None
        with pytest.raises(MotionBusyError, match="another client"):
            server._access.check_free(server._robots.all)


@pytest.mark.parametrize(
    "reason", [StopRequestedError("stopped through execution/control_motion"), CancelledError("the client cancels")]
)
def test_a_stop_of_the_running_motion_also_ends_the_goal_that_would_replace_it(reason):
    """The robot must not move again after a stop. If the client of the running motion cancels that, the goal begins."""
    running = SimpleNamespace(goal=goal(0.0, 1.0), phase=Phase.STOPPING, channel=SimpleNamespace(waits=False))
    server = object.__new__(FollowJointTrajectoryServer)
    server._robots, server._newest, server._access = IndependentRobots(), [], ExclusiveAccess("moves", lambda: None)
    server._node, first = None, ExitStack()

    async def replacement(*arguments):
        """The validation, during which the running motion is stopped."""
        claim.token.set(reason)
        first.close()

    server._runner = SimpleNamespace(now=lambda: 0.0, streamed=lambda owner: [running], replacement=replacement)
    claim = first.enter_context(server._access.acquired_by("owner", CancellationToken()))
    newer = server._replace(goal(None, 0.5), 0.0, CancellationToken(), None, None)
    if isinstance(reason, CancelledError):
        assert asyncio.run(newer) is None
    else:
        with pytest.raises(StopRequestedError, match="control_motion"):
            asyncio.run(newer)


def test_a_goal_that_arrives_after_a_stop_begins():
    """The motion that was stopped is still coming to rest then."""
    running = SimpleNamespace(goal=goal(0.0, 1.0), phase=Phase.STOPPING, channel=SimpleNamespace(waits=False))
    server = object.__new__(FollowJointTrajectoryServer)
    server._robots, server._newest, server._access = IndependentRobots(), [], ExclusiveAccess("moves", lambda: None)
    server._node, first, token = None, ExitStack(), CancellationToken()

    async def replacement(*arguments):
        first.close()

    server._runner = SimpleNamespace(now=lambda: 0.0, streamed=lambda owner: [running], replacement=replacement)
    first.enter_context(server._access.acquired_by("owner", token))
    token.set(StopRequestedError("stopped through execution/control_motion"))
    assert asyncio.run(server._replace(goal(None, 0.5), 0.0, CancellationToken(), None, None)) is None


def test_a_goal_that_waits_for_its_time_takes_the_robot_once_that_is_free(monkeypatch):
    """It is then known as its client, and stops with all others."""
    server = object.__new__(FollowJointTrajectoryServer)
    server._robots, server._newest, server._access = IndependentRobots(), [], ExclusiveAccess("moves", lambda: None)
    server._node, first, waits = None, ExitStack(), []

    async def pause(node, seconds, token):
        waits.append(seconds)
        if len(waits) == 3:
            first.close()

    monkeypatch.setattr(follow_joint_trajectory, "pause", pause)
    server._runner = SimpleNamespace(now=lambda: 0.0, rate=1.0, streamed=lambda owner: [])
    first.enter_context(server._access.acquired_by("owner", CancellationToken()))
    assert asyncio.run(server._replace(goal(None, 0.5), 3600.0, CancellationToken(), None, None)) is None
    assert len(waits) == 3
    assert max(waits) < 1.0
