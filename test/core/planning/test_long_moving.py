"""Robots that move or rest for long while another is planned: rests cost nothing, and requests bound the work."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner import Goals, MotionRequest, PlanningOptions, Trajectory, load_cell, plan_motion
from robot_cell_planner.errors import BlockedByMovingRobotsError, CancelledError, LimitExceededError
from robot_cell_planner.planning.space_time import moving_robots
from robot_cell_planner.planning.space_time.joint_motion import JointMotion
from robot_cell_planner.planning.space_time.moving_robots import CELL_SIZE, MAX_BOUNDS, MovingRobots
from robot_cell_planner.planning.space_time.roadmap import TimedRoadmap
from robot_cell_planner.planning.space_time.timed_checks import CELLS_AT_ONCE

LEFT, RIGHT = "left/manipulator", "right/manipulator"
GOALS = Goals(named_states=("up",))


@pytest.fixture(scope="module")
def arms(request):
    return load_cell(request.config.rootpath / "config" / "two_arms" / "cell.yaml")


def with_rest(trajectory, seconds):
    """The trajectory with a sample at rest so much later."""
    rows = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    later = [np.vstack((values, values[-1:])) for values in rows]
    return Trajectory(trajectory.variables, np.append(trajectory.times, trajectory.duration + seconds), *later)


def turning(arms, duration):
    """The last joint of the left arm turns back and forth."""
    cell, state = arms
    names = cell.group(LEFT).variables
    times = np.linspace(0.0, duration, 301)
    here = np.tile([state.configuration[name] for name in names], (len(times), 1))
    here[:, -1] += 0.1 * np.sin(8.0 * np.pi * times / duration)
    return Trajectory(names, times, here)


@pytest.mark.parametrize("seconds", [2.0, 3600.0, 1e6])
def test_a_rest_at_the_end_costs_no_states(arms, seconds):
    cell, state = arms
    left = plan_motion(cell, state, MotionRequest(GOALS, LEFT)).trajectory
    plain = plan_motion(cell, state, MotionRequest(GOALS, RIGHT, moving=(left,)))
    resting = with_rest(left, seconds)
    plan = plan_motion(cell, state, MotionRequest(GOALS, RIGHT, moving=(resting,)))
    assert plan.moving == (resting,)
    assert plan.states_checked == plain.states_checked
    assert (plan.path == plain.path).all()
    assert (plan.trajectory.positions == plain.trajectory.positions).all()
    moving = MovingRobots(cell, state, (resting,), cell.group(RIGHT).variables)
    assert moving.end_time == left.duration
    times = np.array([0.5 * left.duration, left.duration + 0.5 * seconds])
    assert moving.at(times) == pytest.approx(resting.at(times), abs=1e-12)
    low, high = moving.bounds(times, times + 0.1)
    assert (low[1] == high[1]).all()


def test_a_short_rest_is_retained(arms):
    """Plans among short trajectories depend on the division of their whole time."""
    cell, state = arms
    resting = with_rest(plan_motion(cell, state, MotionRequest(GOALS, LEFT)).trajectory, 0.5)
    assert MovingRobots(cell, state, (resting,), cell.group(RIGHT).variables).end_time == resting.duration


def test_motions_that_take_too_long_are_refused_before_they_are_divided(arms, monkeypatch):
    cell, state = arms
    longest = CELL_SIZE * (MAX_BOUNDS // 6)
    assert MovingRobots(cell, state, (turning(arms, longest),), cell.group(RIGHT).variables).end_time == longest
    monkeypatch.setattr(moving_robots, "merged_curve", None)
    for duration in (1.01 * longest, 1e6):
        with pytest.raises(LimitExceededError, match="until all rest, and may take") as found:
            plan_motion(cell, state, MotionRequest(GOALS, RIGHT, moving=(turning(arms, duration),)))
        (value,) = found.value.values
        assert (value.value, value.limit) == pytest.approx((duration, longest))
        assert "give only the part" in str(found.value)


def test_the_state_limit_ends_a_search_among_long_motions(arms):
    cell, state = arms
    options = PlanningOptions(state_limit=20_000)
    request = MotionRequest(GOALS, RIGHT, moving=(turning(arms, 1000.0),), options=options)
    with pytest.raises(BlockedByMovingRobotsError, match=r"before state_limit \(20000\) was reached") as found:
        plan_motion(cell, state, request)
    assert 20_000 <= found.value.partial.states_checked < 20_000 + 2 * CELLS_AT_ONCE
    assert "start is blocked" not in str(found.value)


def test_a_request_is_cancelled_while_one_configuration_is_checked(arms):
    """By the number of checks of the monitor: many more than configurations."""
    cell, state = arms
    asked = []

    def cancelled():
        asked.append(None)
        return len(asked) > 60

    with pytest.raises(CancelledError):
        plan_motion(cell, state, MotionRequest(GOALS, RIGHT, moving=(turning(arms, 1600.0),)), cancelled=cancelled)


def test_a_motion_is_returned_if_the_states_end_while_a_faster_one_is_searched(arms, monkeypatch):
    cell, state = arms
    left = plan_motion(cell, state, MotionRequest(GOALS, LEFT)).trajectory
    searched, search = [], TimedRoadmap.search
    blocked_once = TimedRoadmap.min_path_duration

    def first_only(roadmap):
        searched.append(None)
        return search(roadmap) if len(searched) == 1 else None

    monkeypatch.setattr(TimedRoadmap, "search", first_only)
    monkeypatch.setattr(TimedRoadmap, "min_path_duration", lambda *given: blocked_once(*given) - 10.0)
    plan = plan_motion(cell, state, MotionRequest(GOALS, RIGHT, moving=(left,)))
    assert len(searched) == 2
    assert plan.trajectory.duration > 0.0


def test_checks_of_a_long_motion_need_little_memory():
    """A million states of the motion are checked, of which few are in memory at a time; they include both ends."""
    times = np.arange(100) * 4.0
    turning = Trajectory(("a",), times, 5.0 * (np.arange(100) % 2)[:, None])
    checked = []

    def in_collision_batch(states):
        checked.append((len(states), states[0, 1], states[-1, 1]))
        return np.zeros(len(states), dtype=bool)

    still = Trajectory(("b",), np.zeros(1), np.zeros((1, 1)))
    motion = JointMotion(SimpleNamespace(in_collision_batch=in_collision_batch), still, (turning,))
    tracemalloc.start()
    try:
        count = motion.check_states(5e-4)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == sum(size for size, _, _ in checked) > 990_000
    assert (checked[0][1], checked[-1][2]) == (0.0, 5.0)
    assert most < 5e6
