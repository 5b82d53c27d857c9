"""Goals are prepared from the position of the robot, shortly before they start; the conditions at that time count."""

import asyncio
import math
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from robot_cell_planner.errors import FeedbackLostError, StoppedError, TrajectoryInCollisionError, TrajectoryStartError
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.conversions.basic import time_from_message
from robot_cell_planner.nodes.conversions.point_blocks import PointBlocks
from robot_cell_planner.nodes.motion import preparation
from robot_cell_planner.nodes.motion.clock_pauses import STANDING
from robot_cell_planner.nodes.motion.joint_feedback import STOOD, JointFeedback
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.preparation import AHEAD, LONG, Preparation
from robot_cell_planner.nodes.motion.runner_options import RunnerOptions
from robot_cell_planner.nodes.motion.trajectory_goals import MotionGoal
from robot_cell_planner.srv import ValidateTrajectory
from robot_cell_planner.trajectory.tracking import Tolerances
from robot_cell_planner.trajectory.trajectory import Trajectory

SECOND = 1_000_000_000
NOW = 1000 * SECOND  # the time at which goals arrive [ns]
OWN = 0.01  # start tolerance of the node
INVALID = TrajectoryInCollisionError("the trajectory is in collision")


class Cell:
    """A robot of one joint, the clock of its node, and the replies of the planning node.

    replies: what happens at each validation, the last one at all further ones. joints: those of the cell.
    """

    def __init__(self, monkeypatch, *replies, sends_efforts=False):
        self.now, self.validated = NOW, []
        self.joints, self.on_monitors = ["joint"], lambda: None
        self._replies = list(replies)
        self.feedback, self._stamp = JointFeedback(10.0), 0
        self.measure(0.0)
        self.node = MagicMock()
        self.node.get_clock().now = lambda: SimpleNamespace(nanoseconds=self.now)
        self.permission = SimpleNamespace(check=lambda: None)
        self.drive = drive = SimpleNamespace(commanded={}, check=lambda: None, others_are_unsettled=False, rate=1.0)
        faults = SimpleNamespace(starting_at=lambda goal, positions: goal.starting_at(positions))
        options = RunnerOptions(OWN, FeedbackTimeouts(60.0, 60.0, 60.0), sends_efforts=sends_efforts)
        planning = SimpleNamespace(validate=self._validate)
        self.preparation = Preparation(
            self.node, drive, self.feedback, self.permission, planning, options, faults, lambda: None, self._monitors
        )
        monkeypatch.setattr(preparation, "pause", self._pause)
        monkeypatch.setattr(preparation, "time", SimpleNamespace(monotonic=self._steady))

    def measure(self, position):
        """Measure the robot at rest, where it has stood for long."""
        self._measure(position)
        self.feedback._anchors["joint"] = position, -math.inf

    def measure_moving(self, position):
        """Measure the robot where it has just arrived."""
        self.feedback._anchors["joint"] = math.inf, -math.inf
        self._measure(position)

    def _measure(self, position):
        self._stamp += 1
        self.feedback.start_poll(self._steady())
        self.feedback.update(["joint"], [position], [], [], self._stamp, self._steady())

    def _steady(self):
        return 1e-9 * self.now

    async def _pause(self, node, seconds, token):
        token.check()
        self.now += math.ceil(self.drive.rate * seconds * SECOND)

    async def _monitors(self, state, reply, token):
        """The nodes that monitor a motion reply, after a function is called."""
        self.on_monitors()

    async def _validate(self, state, trajectory, start_tolerance, token):
        self.points = trajectory.points
        self.validated.append((self.now, trajectory.points[0].positions[0], start_tolerance))
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            raise reply
        reply()
        return ValidateTrajectory.Response(joints=self.joints)

    def prepared(self, start_tolerance=OWN, after=0.0, count=3, efforts=None):
        """Prepare a goal that starts after a time [s], 0 for at once; returns its first position. count: points."""
        one = np.ones(1)
        tolerances = Tolerances(start_tolerance, one, one, one, one, 1.0)
        trajectory = Trajectory(("joint",), np.linspace(0.0, 2.0, count), np.linspace([0.0], [1.0], count))
        begin = NOW + round(after * SECOND) if after else 0
        goal = MotionGoal("owner", ("joint",), trajectory, tolerances, efforts=efforts, begin=begin)
        self.goal, self.reply = asyncio.run(self.preparation.prepared(goal, CancellationToken(), StateRef()))
        return float(self.goal.trajectory.positions[0, 0])


def nothing():
    """The trajectory is valid."""


def test_a_robot_that_moves_while_the_monitors_are_awaited_does_not_begin(monkeypatch):
    cell = Cell(monkeypatch, nothing)
    cell.on_monitors = lambda: cell.measure(0.9)
    with pytest.raises(TrajectoryStartError, match="moved away"):
        cell.prepared()


def test_a_goal_with_a_time_of_its_start_is_not_late_by_the_replies_of_the_monitors(monkeypatch):
    """As the scene node, which reads a file meanwhile: other robots start at this time."""
    cell = Cell(monkeypatch, nothing)

    def takes_long():
        cell.now += SECOND // 5

    cell.on_monitors = takes_long
    cell.prepared(after=10.0)
    assert cell.now == pytest.approx(NOW + 10 * SECOND, abs=10)


def test_a_goal_is_refused_while_another_joint_has_only_invalid_positions(monkeypatch):
    """Its collisions were checked with where the finger was before."""
    cell = Cell(monkeypatch, nothing)
    cell.joints = ["joint", "gripper/finger"]
    for stamp, position in enumerate((0.0, math.nan), start=10):
        cell.feedback.update(["finger"], [position], [], [], stamp, cell._steady())
    with pytest.raises(FeedbackLostError, match="finger is nan"):
        cell.prepared()
    cell.joints = ["joint"]
    assert cell.prepared() == 0.0


class Lagging:
    """A robot whose stamps lag by as much as a test says, on the clock of the node that receives them [s]."""

    def __init__(self, monkeypatch, cell):
        self.cell, self.lag = cell, 0.0
        cell.preparation._options = RunnerOptions(OWN, FeedbackTimeouts(0.25, 2.0, 60.0))
        monkeypatch.setattr(preparation, "pause", self._pause)
        self.change_to(0.0)

    async def _pause(self, node, seconds, token):
        self.receive()

    def receive(self):
        self.cell.now += SECOND // 25
        self.cell.feedback.start_poll(self.cell._steady())
        stamp = self.cell.now - round(self.lag * SECOND)
        self.cell.feedback.update(["joint"], [0.0], [], [], stamp, self.cell._steady(), self.cell.now)

    def change_to(self, lag):
        """Messages arrive while the lag changes."""
        for value in np.linspace(self.lag, lag, 100):
            self.lag = float(value)
            self.receive()


def test_a_goal_is_refused_before_its_first_command_while_the_stamps_of_joint_states_lag(monkeypatch):
    cell = Cell(monkeypatch, nothing)
    robot = Lagging(monkeypatch, cell)
    robot.change_to(2.5)
    with pytest.raises(FeedbackLostError) as refused:
        cell.prepared()
    assert "the stamps of joint_states lag by 2." in refused.value.message
    assert "use_sim_time" in refused.value.remedy
    assert not cell.validated
    robot.change_to(0.1)
    cell.prepared()


@pytest.mark.parametrize("during", ["validation", "monitors"])
def test_a_goal_is_refused_if_the_stamps_lag_since_it_was_checked(monkeypatch, during):
    cell = Cell(monkeypatch, lambda: during == "validation" and robot.change_to(3.0))
    robot = Lagging(monkeypatch, cell)
    cell.on_monitors = lambda: during == "monitors" and robot.change_to(3.0)
    with pytest.raises(FeedbackLostError, match="the stamps of joint_states lag by"):
        cell.prepared()


def test_a_goal_waits_for_a_robot_that_catches_up_also_after_a_pause_of_the_node(monkeypatch):
    cell = Cell(monkeypatch, nothing)
    robot = Lagging(monkeypatch, cell)
    robot.change_to(1.5)
    cell.feedback.start_poll(cell._steady() - 1.0)  # an earlier read, so that the next one follows a pause
    cell.feedback.start_poll(cell._steady())
    assert cell.feedback.lag(["joint"]) == 0.0

    async def catch_up(node, seconds, token):
        robot.lag = max(robot.lag - 0.05, 0.0)
        robot.receive()

    monkeypatch.setattr(preparation, "pause", catch_up)
    cell.prepared()
    assert robot.lag < 0.5  # some of it counts no more


@pytest.mark.parametrize("times", [1, 2, 40])
def test_a_plan_starts_from_joint_states_as_new_as_those_that_are_published_now(monkeypatch, times):
    """Whether or not somebody has published another joint, long ago."""
    cell = Cell(monkeypatch, nothing)
    for number in range(times):
        cell.feedback.update(["somebody/joint"], [0.0], [], [], 1 + number, 0.0)
    for _ in range(times):
        cell.measure(0.0)
    for stamp in range(2 + times, 5 + times):
        cell.measure(0.0)
        assert time_from_message(cell.preparation.up_to_date(StateRef()).min_joint_stamp) == stamp


def test_the_start_tolerance_of_a_goal_does_not_apply_to_the_start_that_was_adapted(monkeypatch):
    """The robot is moved by hand while the goal is validated; its first command would be a step."""
    cell = Cell(monkeypatch, lambda: cell.measure(0.9))
    cell.measure(0.02)
    with pytest.raises(TrajectoryStartError, match="moved away") as caught:
        cell.prepared(start_tolerance=1.0)
    assert caught.value.values[0].limit == OWN
    assert caught.value.values[0].value == pytest.approx(0.88)
    assert cell.validated == [(NOW, pytest.approx(0.02), OWN)]


def test_a_goal_has_the_positions_of_other_joints_from_before_its_validation(monkeypatch):
    """A gripper that moves meanwhile may have been validated where it was."""
    cell = Cell(monkeypatch, lambda: cell.feedback.update(["grip"], [0.5], [], [], 3, 0.0))
    cell.feedback.update(["grip"], [0.1], [], [], 2, 0.0)
    cell.prepared()
    assert cell.feedback.positions()["grip"] == 0.5
    assert cell.goal.measured == {"joint": 0.0, "grip": 0.1}


@pytest.mark.parametrize(
    ("efforts", "sends_efforts", "warned"),
    [(np.ones((3, 1)), False, True), (np.ones((3, 1)), True, False), (np.zeros((3, 1)), False, False)],
)
def test_efforts_that_are_not_commanded_have_a_warning(monkeypatch, efforts, sends_efforts, warned):
    cell = Cell(monkeypatch, nothing, sends_efforts=sends_efforts)
    cell.prepared(efforts=efforts)
    assert any("efforts of the trajectory are not commanded" in text for text in cell.reply.report.warnings) is warned
    assert cell.node.get_logger().warning.called is warned


def test_a_goal_may_begin_away_from_the_robot_by_its_own_tolerance(monkeypatch):
    cell = Cell(monkeypatch, nothing)
    cell.measure(0.5)
    assert cell.prepared(start_tolerance=1.0) == pytest.approx(0.5)
    with pytest.raises(TrajectoryStartError):
        cell.prepared(start_tolerance=0.1)


@pytest.mark.parametrize("after", [0.0, 0.9 * AHEAD])
def test_a_goal_that_starts_soon_is_validated_once(monkeypatch, after):
    cell = Cell(monkeypatch, nothing)
    cell.prepared(after=after)
    assert len(cell.validated) == 1
    assert cell.now == NOW + round(after * SECOND)


@pytest.mark.parametrize("after", [2.0 * AHEAD, 3600.0])
def test_a_goal_that_waits_for_its_start_is_validated_again_shortly_before(monkeypatch, after):
    """From where the robot is then."""
    cell = Cell(monkeypatch, lambda: cell.measure(0.004), nothing)
    assert cell.prepared(after=after) == pytest.approx(0.004)
    (first, _, _), (second, start, _) = cell.validated
    assert first == NOW
    assert second == NOW + round((after - AHEAD) * SECOND)
    assert start == pytest.approx(0.004)
    assert cell.now == NOW + round(after * SECOND)


def test_a_validation_that_takes_long_begins_earlier(monkeypatch):
    def takes_long():
        cell.now += 2 * SECOND

    cell = Cell(monkeypatch, takes_long)
    cell.prepared(after=100.0)
    assert cell.now == NOW + 100 * SECOND
    assert len(cell.validated) == 2


def test_a_goal_that_has_become_invalid_while_it_waited_is_refused(monkeypatch):
    cell = Cell(monkeypatch, nothing, INVALID)
    with pytest.raises(TrajectoryInCollisionError):
        cell.prepared(after=100.0)
    assert len(cell.validated) == 2


def test_an_invalid_goal_is_refused_without_waiting_for_its_start(monkeypatch):
    cell = Cell(monkeypatch, INVALID)
    with pytest.raises(TrajectoryInCollisionError):
        cell.prepared(after=100.0)
    assert cell.now == NOW


def test_a_goal_is_refused_if_motion_is_forbidden_at_its_start(monkeypatch):
    def forbid():
        raise StoppedError("the emergency stop is pressed", stage="emergency stop")

    cell = Cell(monkeypatch, nothing, lambda: setattr(cell.permission, "check", forbid))
    with pytest.raises(StoppedError):
        cell.prepared(after=100.0)


@pytest.mark.parametrize("rate", [0.3, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("after", [0.3, 3.0])
def test_a_goal_begins_in_time_whatever_the_rate_of_simulated_time(monkeypatch, rate, after):
    cell = Cell(monkeypatch, nothing)
    cell.drive.rate = rate
    cell.prepared(after=after)
    assert after <= (cell.now - NOW) / SECOND <= after + rate * preparation.CHECK_PERIOD


def test_a_goal_whose_begin_the_clock_stands_just_before_waits_without_spinning(monkeypatch):
    """And begins late by no more than the time for which the clock has stood."""
    cell, waits = Cell(monkeypatch, nothing), []

    async def stands(node, seconds, token):
        waits.append(seconds)
        cell.now += 1 if sum(waits) > 10.0 else 0

    monkeypatch.setattr(preparation, "pause", stands)
    cell.prepared(after=1 / SECOND)
    assert cell.now == NOW + 1
    assert len(waits) < 10.0 / STANDING + 20
    assert all(wait <= max(2.0 * sum(waits[:index]), 0.001) for index, wait in enumerate(waits))


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_goal_that_waits_for_its_start_ends_if_the_clock_is_set(monkeypatch, jump):
    """It would begin late, at once, or wait for as long as the clock was set back."""
    cell, wait = Cell(monkeypatch, nothing), []
    pause = cell._pause

    async def set_clock(node, seconds, token):
        wait.append(seconds)
        assert len(wait) < 4000
        if len(wait) == 5:
            cell.now += round(jump * SECOND)
            cell.preparation.call_off(StoppedError("the clock was set", stage="clock"))
        await pause(node, seconds, token)

    monkeypatch.setattr(preparation, "pause", set_clock)
    with pytest.raises(StoppedError, match="the clock was set"):
        cell.prepared(after=100.0)
    cell.preparation.call_off(StoppedError("again", stage="clock"))
    monkeypatch.setattr(preparation, "pause", pause)
    cell.measure(0.0)
    cell.prepared()  # goals that begin at once do not depend on the clock


def test_measurements_of_joints_that_are_held_meanwhile_are_waited_for(monkeypatch):
    """Those of another robot arrive late; the motion used to be refused."""
    cell = Cell(monkeypatch, nothing)
    cell.drive.others_are_unsettled = True
    wait, waits = cell._pause, []

    async def pause(node, seconds, token):
        waits.append(seconds)
        cell.drive.others_are_unsettled = len(waits) < 3
        await wait(node, seconds, token)

    monkeypatch.setattr(preparation, "pause", pause)
    cell.prepared()
    assert len(waits) == 3
    assert [time for time, *_ in cell.validated] == [NOW + round(sum(waits) * SECOND)]


@pytest.mark.parametrize("commanded", [{}, {"joint": 2.0}])
def test_a_goal_waits_until_a_robot_without_commands_or_away_from_them_is_at_rest(monkeypatch, commanded):
    """After an emergency stop that was released at once, the robot may brake yet: it would be led back abruptly."""
    cell = Cell(monkeypatch, nothing)
    cell.drive.commanded = commanded
    cell.measure_moving(0.0)
    wait, brakes = cell._pause, [0.02, 0.03, 0.035]

    async def pause(node, seconds, token):
        await wait(node, seconds, token)
        if brakes:
            cell.measure_moving(brakes.pop(0))
        else:
            cell._measure(0.035)

    monkeypatch.setattr(preparation, "pause", pause)
    assert cell.prepared(start_tolerance=1.0) == pytest.approx(0.035)
    ((validated_at, start, _),) = cell.validated
    assert start == pytest.approx(0.035)
    assert validated_at >= NOW + round((3 * preparation.CHECK_PERIOD + STOOD) * SECOND)


@pytest.mark.parametrize("count", [LONG, LONG + 1])
def test_the_message_of_a_long_trajectory_has_arrays_which_are_sent_while_other_threads_run(monkeypatch, count):
    cell = Cell(monkeypatch, nothing)
    assert cell.prepared(count=count) == 0.0
    assert isinstance(cell.points, PointBlocks) == (count > LONG)
    assert len(cell.validated) == 1
    assert len(cell.points) == count
