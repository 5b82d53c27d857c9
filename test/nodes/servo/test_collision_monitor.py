"""The collision monitor with a collision node that replies at once: no jog ends nearer to an object than its safety
margin, at any speed, and any motion that leads away or along is possible."""

import math
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from planning_cells import HALF, gantry

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.pair_settings import Margins
from robot_cell_planner.model.bodies import PairMargin
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.conversions.basic import path_from_message
from robot_cell_planner.nodes.conversions.collisions import clearance_to_message
from robot_cell_planner.nodes.servo import collision_monitor
from robot_cell_planner.nodes.servo.collision_monitor import GROWTH, PAIRS, CollisionMonitor
from robot_cell_planner.nodes.servo.servo import ServoServer
from robot_cell_planner.srv import ComputeClearance
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.servo import VelocityFollower

JOINTS = ("x", "y")
SLOW_DOWN = 0.1  # [m]
PERIOD = 0.02  # [s]
STEPS_PER_REPLY = 3
TOLERANCE = 2e-6  # [m], of distances
WALL = ("wall", (0.5, 0.0), (1.0, 3.0))  # its face is at x = 0
PLATES = [(f"plate{i}", (0.0, HALF + 0.02 + 0.001 * i), (3.0, 0.03)) for i in range(PAIRS + 2)]  # along x, 5 mm off


class Pause:
    """Suspends a coroutine once."""

    def __await__(self):
        yield


class Jog:
    """A cube that follows a velocity, scaled by the monitor."""

    def __init__(self, monkeypatch, walls=(WALL,), x=-0.5, margins=None, pairs=(), slow_down=SLOW_DOWN, half=HALF):
        self.now, self.requests = 100.0, []
        self.max_at_once = math.inf  # a reply with more pairs takes longer
        self.cell, self.state = gantry(walls, half)
        self.set_margins(margins or {}, pairs)
        limits = MotionLimits.of([self.cell.variables[name] for name in JOINTS])
        start = np.array([x, 0.0])
        self.follower = VelocityFollower(limits, start)
        parameters = {"servo_look_ahead": 0.25, "monitor_timeout": 2.0}
        self.monitor = CollisionMonitor(
            SimpleNamespace(parameters=parameters), None, None, JOINTS, limits, start, slow_down, self.max_margin
        )
        monkeypatch.setattr(collision_monitor, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(collision_monitor, "reply_of", self._reply)
        monkeypatch.setattr(collision_monitor, "pause", lambda *_: Pause())
        monkeypatch.setattr(collision_monitor, "ComputeClearance", SimpleNamespace(Request=self._request))
        self._requests = self.monitor.run(CancellationToken())

    def set_margins(self, margins, pairs=()):
        collision = msgspec.structs.replace(self.cell.collision, margins=frozendict(margins), pair_margins=tuple(pairs))
        self.cell = msgspec.structs.replace(self.cell, collision=collision)
        self.checker = CollisionChecker(self.cell, self.state, JOINTS)

    def max_margin(self):
        return Margins(self.cell).bound

    def _request(self, state, **fields):
        return ComputeClearance.Request(**fields)

    async def _reply(self, _node, _client, request, *_):
        """As the collision node replies."""
        self.requests.append(request)
        if request.pairs > self.max_at_once:
            await Pause()
        response = ComputeClearance.Response()
        for index, row in enumerate(path_from_message(request.configurations, "configurations", 100)[1]):
            for found in self.checker.clearances(row, request.pairs, max_distance=request.max_distance):
                message = clearance_to_message(found)
                message.place = float(index)
                response.clearances.append(message)
        return response

    def go(self, velocity, seconds):
        """Follow a velocity; return how far the cube moved."""
        before = self.follower.state.positions
        for step in range(round(seconds / PERIOD)):
            self.step(velocity, asks=step % STEPS_PER_REPLY == 0)
        return self.follower.state.positions - before

    def step(self, velocity, asks):
        """Follow a velocity for a period. asks: whether it is checked."""
        velocity = np.array(velocity)
        self.monitor.requested, self.monitor.present = velocity, self.follower.state
        if asks:
            self._requests.send(None)
        self.follower.step(self.monitor.allowed(velocity), PERIOD)
        self.now += PERIOD

    @property
    def slack(self):
        """Smallest distance beyond a margin."""
        return min(found.slack for found in self.checker.clearances(self.follower.state.positions, 100))


@pytest.mark.parametrize("speed", [0.2, 2e-3, 3e-4, 1e-4, 1e-5])
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_no_jog_is_slow_enough_to_pass_the_safety_margin(monkeypatch, speed, margin):
    distance = max(2.0 * speed, 3e-4)
    jog = Jog(monkeypatch, x=-HALF - margin - distance, margins={"wall": margin})
    jog.go((speed, 0.0), 80.0)
    assert 0.0 < jog.slack < 0.95 * distance
    assert jog.go((speed, 0.0), 1.0)[0] < 1e-5


@pytest.mark.parametrize("speed", [0.2, 3e-4, 1e-6])
def test_no_jog_leads_further_into_a_margin_that_is_violated(monkeypatch, speed):
    jog = Jog(monkeypatch, x=-HALF - 0.03, margins={"wall": 0.05})
    for velocity in ((speed, 0.0), (speed, speed)):
        assert not jog.go(velocity, 1.0).any()


@pytest.mark.parametrize("speed", [0.2, 1e-2, 3e-4, 1e-5])
@pytest.mark.parametrize("inside", [0.0, 1e-5, 0.02])
@pytest.mark.parametrize("direction", [(-1.0, 0.0), (0.0, 1.0), (-1.0, -1.0)])
def test_a_motion_away_or_along_is_not_slowed_where_the_margin_is_reached_or_violated(
    monkeypatch, speed, inside, direction
):
    jog = Jog(monkeypatch, x=-HALF - 0.05 + inside, margins={"wall": 0.05})
    jog.go((speed, 0.0), 0.5)
    jog.go((0.0, 0.0), 0.5)
    assert jog.slack == pytest.approx(-inside, abs=TOLERANCE)
    velocity = speed * np.array(direction)
    moved = jog.go(velocity, 1.0)
    assert np.abs(moved).max() > 0.6 * speed
    assert moved @ velocity > 0.999 * np.linalg.norm(moved) * np.linalg.norm(velocity)


@pytest.mark.parametrize("slow_down", [SLOW_DOWN, 0.02])
@pytest.mark.parametrize("margin", [0.15, 0.25, 1.0])
def test_margins_larger_than_the_search_distance_slow_down_in_time(monkeypatch, slow_down, margin):
    jog = Jog(monkeypatch, x=max(-HALF - margin - 0.2, -1.0), margins={"wall": margin}, slow_down=slow_down)
    if margin < 0.9:
        jog.go((0.05, 0.0), 20.0)
        assert 0.0 < jog.slack < slow_down
    else:  # as far away as it can be, and inside the margin
        assert np.abs(jog.go((0.05, 0.0), 1.0)).max() == 0.0


def test_a_margin_that_is_raised_meanwhile_counts(monkeypatch):
    jog = Jog(monkeypatch, x=-HALF - 0.6)
    jog.go((0.05, 0.0), 0.5)
    jog.set_margins({"wall": 0.3})
    jog.go((0.05, 0.0), 20.0)
    assert 0.0 < jog.slack < SLOW_DOWN


@pytest.mark.parametrize("speed", [0.05, 3e-4])
def test_objects_that_stay_close_do_not_hide_one_that_is_approached(monkeypatch, speed):
    """More pairs are closer than the wall than are requested at first; all are farther from their margins."""
    distance = 0.01 if speed < 1e-3 else 0.3
    walls, pairs = (WALL, *PLATES), (PairMargin("cube", "wall", 0.05),)
    jog = Jog(monkeypatch, walls, x=-HALF - 0.05 - distance, pairs=pairs)
    jog.go((speed, 0.0), 2.0 * distance / speed)
    wall = next(found for found in jog.checker.clearances(jog.follower.state.positions, 100) if found.margin > 0.0)
    assert 0.0 < wall.slack < distance
    assert jog.requests[0].pairs == PAIRS
    assert jog.requests[-1].pairs > len(walls)


def test_pairs_of_an_incomplete_reply_count_at_once(monkeypatch):
    """Plates appear ahead, more of them than are requested at first."""
    jog, velocity = Jog(monkeypatch, x=-0.5), np.array((0.0, 0.05))
    jog.max_at_once = PAIRS
    jog.go(velocity, PERIOD)
    assert jog.monitor.scale(velocity) == 1.0
    jog.checker = CollisionChecker(*gantry((WALL, *PLATES)), JOINTS)
    jog.go(velocity, PERIOD)
    assert [request.pairs for request in jog.requests] == [PAIRS, PAIRS, PAIRS * GROWTH]
    assert jog.monitor.scale(velocity) == 0.0


def turned(speed, degrees):
    """A velocity, turned from along the wall towards it."""
    return speed * math.sin(math.radians(degrees)), speed * math.cos(math.radians(degrees))


@pytest.mark.parametrize("speed", [0.1, 0.25, 1.0])
@pytest.mark.parametrize("steps", [STEPS_PER_REPLY, 10])
@pytest.mark.parametrize(
    ("gap", "degrees"),
    [
        (0.001, lambda step, steps: 11.0),
        (0.001, lambda step, steps: 5.0),
        (0.001, lambda step, steps: 0.5 * step),
        (0.02, lambda step, steps: 11.0 if step % steps else 0.0),  # it is along the wall whenever it is checked
    ],
)
def test_small_turns_between_two_checks_do_not_lead_into_the_margin(monkeypatch, speed, steps, gap, degrees):
    jog = Jog(monkeypatch, x=-HALF - 0.05 - gap, margins={"wall": 0.05})
    for _ in range(10):
        jog.step(turned(speed, 0.0), asks=True)
    assert jog.slack == pytest.approx(gap, abs=TOLERANCE)
    for step in range(1, 60):
        jog.step(turned(speed, degrees(step, steps)), asks=step % steps == 0)
    assert jog.follower.state.positions[0] < -HALF - 0.05 + TOLERANCE


@pytest.mark.parametrize("speed", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("gap", [1e-3, 5e-3, 0.02])
def test_a_thin_tool_does_not_pass_a_thin_sheet_between_two_predictions(monkeypatch, speed, gap):
    half = 2e-3
    jog = Jog(monkeypatch, (("sheet", (5e-4, 0.0), (1e-3, 3.0)),), x=-half - gap, half=half)
    jog.go((speed, 0.0), 1.0)
    assert jog.follower.state.positions[0] < -half
    assert jog.go((-speed, speed), 0.5)[0] < -0.1 * speed  # it can leave


def test_small_turns_away_from_objects_are_followed_at_once(monkeypatch):
    jog = Jog(monkeypatch, x=-HALF - 0.5)
    jog.go(turned(0.25, 0.0), 0.5)
    for degrees in (5.0, 11.0):
        velocity = np.array(turned(0.25, degrees))
        np.testing.assert_allclose(jog.monitor.allowed(velocity), velocity, rtol=1e-12)


def test_a_small_turn_along_a_margin_that_is_reached_continues_in_the_checked_direction_until_it_is_checked(
    monkeypatch,
):
    jog = Jog(monkeypatch, x=-HALF - 0.05, margins={"wall": 0.05})
    jog.step(turned(0.25, 0.0), asks=True)
    allowed = jog.monitor.allowed(np.array(turned(0.25, -11.0)))
    np.testing.assert_allclose(allowed, (0.0, 0.25 * math.cos(math.radians(11.0))), atol=1e-12)
    jog.step(turned(0.25, -11.0), asks=True)
    np.testing.assert_allclose(jog.monitor.allowed(np.array(turned(0.25, -11.0))), turned(0.25, -11.0), rtol=1e-12)


def test_the_bound_of_margins_is_that_of_the_session_and_of_the_present_scene():
    cell, _ = gantry((WALL,))
    raised = msgspec.structs.replace(
        cell, collision=msgspec.structs.replace(cell.collision, margins=frozendict({"wall": 0.3}))
    )
    server = ServoServer.__new__(ServoServer)
    for scene, session in ((cell, raised), (raised, cell)):
        server._scene_monitor = SimpleNamespace(scene=SimpleNamespace(cell=scene))
        assert server._max_margin(session) >= 0.3
