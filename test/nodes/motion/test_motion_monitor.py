"""Replies of the look-ahead that stop a motion: the robot moves on meanwhile, and may be in contact already."""

import asyncio
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from planning_cells import gantry

from robot_cell_planner.errors import CollisionAheadError, FeedbackLostError, StaleStateError, TrajectoryLimitError
from robot_cell_planner.model.mechanism import Mechanism
from robot_cell_planner.nodes.conversions.trajectory_reports import report_to_message
from robot_cell_planner.nodes.motion import motion_monitor
from robot_cell_planner.nodes.motion.motion_monitor import MonitoredMotion, MotionMonitor
from robot_cell_planner.planning.path.look_ahead import LookAheadRequest, look_ahead
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.prediction import Progress, ahead
from robot_cell_planner.trajectory.timing import stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory

CELL, _ = gantry()
LIMITS = MotionLimits.of([CELL.variables[name] for name in ("x", "y")])
TRAJECTORY = stop_at_waypoints(np.array([[-0.9, 0.0], [0.9, 0.0]]), LIMITS).trajectory
HALF = 0.05  # of the cube [m]
BEGIN = 0.8  # [s] of the trajectory, at full speed
PLACE = float(TRAJECTORY.at([BEGIN])[0, 0])
GOAL = SimpleNamespace(trajectory=TRAJECTORY, names=("x", "y"), limits=LIMITS)
OLD, NEW = 1, 2  # revisions of the scene
MAX_REQUESTS = 20


def scene_with(begin, end):
    """A box across the path from x = begin to x = end."""
    return Scene(*gantry((("box", (0.5 * (begin + end), 0.0), (end - begin, 0.1)),)))


def resampled(period):
    """The trajectory with samples at a period [s]."""
    times = np.append(np.arange(0.0, TRAJECTORY.duration, period), TRAJECTORY.duration)
    return Trajectory(TRAJECTORY.variables, times, *(TRAJECTORY.at(times, order) for order in range(3)))


def remaining_up_to(end):
    """The part of the trajectory from BEGIN to a time [s]."""
    return ahead(Progress(TRAJECTORY, BEGIN, 1.0), end - BEGIN, 500)


class Monitor(MotionMonitor):
    """Calls the look-ahead directly. delay: time along the trajectory that passes until a reply [s]."""

    def __init__(self, scene, delay):
        self.motion = SimpleNamespace(reached=BEGIN, goal=GOAL)
        self.monitored = MonitoredMotion(self.motion, None, OLD)
        self.requests, self.checked = 0, BEGIN  # checked: end of the latest interval [s]
        self.max_requests = MAX_REQUESTS
        self._scene, self._delay = scene, delay

    async def _checked(self, monitored, rest, revision, token, within=0.5, stamp=0):
        self.requests += 1
        assert self.requests < self.max_requests, "the request is repeated too often"
        report, self.checked = look_ahead(self._scene, LookAheadRequest(rest)), rest.duration
        self.motion.reached = min(self.motion.reached + self._delay, TRAJECTORY.duration)
        return SimpleNamespace(report=report_to_message(report, self._scene.cell), state=SimpleNamespace(revision=NEW))

    def paths(self):
        """Paths to check because of other robots."""
        return []

    def check_known(self, state):
        """The positions of all joints are known."""

    def check(self):
        """Check the remaining path after a change of the scene."""

        async def run():
            rest = self.monitored.rest(self.motion.reached)
            await self._check(
                self.monitored, rest, await self._checked(self.monitored, rest, NEW, None), OLD, None, self
            )

        asyncio.run(run())

    def check_paths(self, known, path=None):
        """Check the path ahead because of other robots; None: the remaining one."""
        path = path or self.monitored.rest(self.motion.reached)
        return asyncio.run(self._check_paths(self.monitored, [path], known, None))


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("gap", [0.3, 0.03, 0.001, -0.001, -0.02])
def test_an_obstacle_stops_the_motion_however_near_it_is(gap, delay):
    """Ahead, reached before the reply, or in contact already, also while the motion is paused."""
    monitor = Monitor(scene_with(PLACE + HALF + gap, 1.5), delay)
    with pytest.raises(CollisionAheadError, match="box"):
        monitor.check()
    assert monitor.requests <= 2


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_a_contact_that_the_motion_leaves_does_not_stop_it(delay):
    monitor = Monitor(scene_with(-1.5, PLACE - HALF + 0.001), delay)
    monitor.check()
    assert monitor.requests == 1


@pytest.mark.parametrize("ends", [0.02, 0.2])
def test_a_contact_that_lasts_longer_than_the_path_ahead_does_not_stop_a_motion_that_leaves_it(ends):
    """As of a finger that has opened against the object that it has put down, in a slow motion."""
    path = remaining_up_to(BEGIN + ends)
    scene = scene_with(-1.5, PLACE - HALF + 0.03)
    assert len(look_ahead(scene, LookAheadRequest(path)).collisions) == (ends == 0.02), "before it has left it"
    assert Monitor(scene, 0.0).check_paths(NEW, path) == NEW


@pytest.mark.parametrize("delay", [0.0, 0.003])
def test_a_contact_that_lasts_over_several_intervals_does_not_stop_a_motion_that_leaves_it(monkeypatch, delay):
    monkeypatch.setattr(motion_monitor, "MAX_POINTS", 5)
    monitor = Monitor(scene_with(-1.5, PLACE - HALF + 0.03), delay)
    monitor.motion.goal = SimpleNamespace(trajectory=resampled(0.005), names=("x", "y"), limits=LIMITS)
    monitor.max_requests = (TRAJECTORY.duration - BEGIN) / (4 * 0.005) + 2  # each interval once
    monitor.check()
    assert monitor.checked == TRAJECTORY.duration


def test_a_contact_that_the_path_ahead_goes_further_into_stops_it():
    with pytest.raises(CollisionAheadError, match="box"):
        Monitor(scene_with(PLACE + HALF - 0.001, 1.5), 0.0).check_paths(NEW, remaining_up_to(BEGIN + 0.02))


def test_a_contact_that_lasts_up_to_the_end_of_the_motion_stops_it():
    monitor = Monitor(scene_with(-1.5, PLACE - HALF + 0.03), 0.0)
    path = remaining_up_to(BEGIN + 0.02)
    monitor.motion.goal = SimpleNamespace(trajectory=path, names=("x", "y"), limits=LIMITS)
    with pytest.raises(CollisionAheadError, match="collide"):
        monitor.check_paths(NEW, path)


def test_the_error_says_what_has_changed():
    scene = scene_with(PLACE + HALF + 0.3, 1.5)
    with pytest.raises(CollisionAheadError, match="since revision 2 of the scene, "):
        Monitor(scene, 0.0).check()
    with pytest.raises(CollisionAheadError, match="since joints have moved that the motion does not move, "):
        Monitor(scene, 0.0).check_paths(NEW)


def test_an_obstacle_behind_the_contact_stops_it():
    walls = (("behind", (PLACE - HALF - 0.099, 0.0), (0.2, 0.1)), ("ahead", (PLACE + 0.4, 0.0), (0.1, 0.1)))
    with pytest.raises(CollisionAheadError, match="ahead"):
        Monitor(Scene(*gantry(walls)), 0.05).check()


def test_an_obstacle_passed_before_the_scene_changed_does_not_stop_it():
    monitor = Monitor(scene_with(PLACE + 0.1, PLACE + 0.11), 0.3)
    monitor.check()
    assert monitor.requests == 2


def test_another_robot_that_was_reached_before_the_reply_stops_it():
    scene = scene_with(PLACE + HALF + 0.02, PLACE + HALF + 0.03)
    with pytest.raises(CollisionAheadError, match="box"):
        Monitor(scene, 0.05).check_paths(NEW)
    assert Monitor(scene, 0.05).check_paths(OLD) == NEW  # requested again at once
    with pytest.raises(CollisionAheadError, match="box"):
        Monitor(scene_with(PLACE + 0.049, PLACE + 1.0), 0.05).check_paths(NEW)


def test_the_path_ahead_is_checked_while_the_whole_path_is(monkeypatch):
    """A long motion has many intervals: a robot that begins to move meanwhile is not noticed after the last only."""
    monkeypatch.setattr(motion_monitor, "MAX_POINTS", 20)
    scene, asked = scene_with(1.4, 1.5), []

    class Beside(Monitor):
        """Another robot moves from the second interval on."""

        def paths(self):
            return [] if len(asked) < 2 else [TRAJECTORY]

        async def _checked(self, monitored, rest, revision, token, within=0.5, stamp=0):
            asked.append("ahead" if rest is TRAJECTORY else "interval")
            return await super()._checked(monitored, rest, revision, token, within)

    Beside(scene, 0.0).check()
    assert asked[:2] == ["interval", "interval"]
    assert len(asked) >= 6
    assert asked[2:] == ["ahead", "interval"] * (len(asked[2:]) // 2)


def test_the_whole_path_is_checked_with_joint_states_that_show_the_other_robot_at_rest():
    """The planning node may receive them later than the monitor; until then, changes of the scene are looked for."""
    stamp, asked = 7, []

    class Resting(Monitor):
        """Another robot has come to rest, of which the planning node knows when the path is checked for the second
        time."""

        is_due = True

        def watch(self, motion):
            return self

        def present(self):
            return True

        def measured_at(self):
            return stamp

        def whole_is_due(self):
            due, self.is_due = self.is_due, False
            return due

        def check_again(self):
            self.is_due = True

        async def _checked(self, monitored, rest, revision, token, within=0.5, stamp=0):
            asked.append((revision, stamp))
            if len(asked) < 4:
                raise StaleStateError("the planning node is behind")
            found = await super()._checked(monitored, rest, revision, token, within)
            self.motion.reached = TRAJECTORY.duration
            return found

    monitor = Resting(scene_with(1.4, 1.5), 0.0)
    monitor._others, monitor._ahead = monitor, None
    asyncio.run(monitor._look_ahead(monitor.monitored, None))
    assert asked == [(OLD, stamp), (OLD + 1, 0), (OLD, stamp), (OLD + 1, 0)]


def test_a_motion_stops_once_the_position_of_another_joint_is_unknown():
    """Also if nothing else happens that a request would be sent for."""

    class Lost(Monitor):
        """The position of a joint is unknown from the second request on."""

        def watch(self, motion):
            return self

        def present(self):
            return False

        def whole_is_due(self):
            return False

        def check_known(self, state):
            if self.requests:
                raise FeedbackLostError("where the finger is now is unknown")

        async def _checked(self, monitored, rest, revision, token, within=0.5, stamp=0):
            self.requests += 1
            raise StaleStateError("no newer revision")

    monitor = Lost(scene_with(1.4, 1.5), 0.0)
    monitor._others, monitor._ahead = monitor, None
    with pytest.raises(FeedbackLostError, match="finger"):
        asyncio.run(monitor._look_ahead(monitor.monitored, None))
    assert monitor.requests == 1


def with_limits(**limits):
    """A free scene, in which the first joint has other limits."""
    cell, state = gantry()
    robot = cell.robots["gantry"]
    joint = robot.mechanism.joints["x"]
    changed = msgspec.structs.replace(joint, limits=msgspec.structs.replace(joint.limits, **limits))
    mechanism = Mechanism("gantry", robot.mechanism.links, robot.mechanism.joints.set("x", changed))
    robots = frozendict({"gantry": msgspec.structs.replace(robot, mechanism=mechanism)})
    return Scene(msgspec.structs.replace(cell, robots=robots), state)


@pytest.mark.parametrize("delay", [0.0, 0.05])
@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"velocity": 0.6}, "velocity of x"),
        ({"acceleration": 3.0}, "acceleration of x"),
        ({"jerk": 30.0}, "jerk of x"),
        ({"upper": 0.7}, "position of x"),
    ],
)
def test_a_limit_that_has_become_narrower_stops_the_motion(limits, named, delay):
    with pytest.raises(TrajectoryLimitError, match=f"since revision 2 of the scene, the {named}") as raised:
        Monitor(with_limits(**limits), delay).check()
    (limit,) = limits.values()
    assert raised.value.stage == "look-ahead"
    assert raised.value.subjects == ("x",)
    assert (raised.value.values[0].name, raised.value.values[0].limit) == (named, limit)
    assert abs(raised.value.values[0].value) > limit


def test_limits_that_the_motion_keeps_to_do_not_stop_it():
    for limits in ({}, {"upper": 0.95}, {"velocity": 2.0, "jerk": 80.0}):
        monitor = Monitor(with_limits(**limits), 0.0)
        monitor.check()
        assert monitor.requests == 1


def test_a_limit_of_the_validation_is_not_checked_again():
    """What was validated is within its limits: differences are those of rounding, or of a start beyond a limit."""
    scene = with_limits(velocity=0.6)
    monitor = Monitor(scene, 0.0)
    validated = MotionLimits.of([scene.cell.variables[name] for name in ("x", "y")])
    monitor.motion.goal = SimpleNamespace(trajectory=TRAJECTORY, names=("x", "y"), limits=validated)
    monitor.check()


def test_a_narrower_limit_that_was_passed_before_the_scene_changed_does_not_stop_it():
    """The motion has reached its slow end when the reply arrives."""
    monitor = Monitor(with_limits(velocity=0.9), TRAJECTORY.duration - 0.1 - BEGIN)
    monitor.check()
    assert monitor.requests == 2


def test_predicted_paths_of_several_robots_are_not_checked_for_limits():
    assert Monitor(with_limits(velocity=0.6), 0.0).check_paths(NEW) == NEW
