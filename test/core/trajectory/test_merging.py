"""Trajectories of several robots that keep their limits give one trajectory that keeps them, on the same paths."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from timed_motions import DOF, limits_of, motions

from robot_cell_planner import Trajectory, merge_trajectories, validate
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.trajectory.separation import SAME, JerkSteps, separating_delay, separating_delays

APART = 2e-4


def between(first, second):
    """Whether a step of one trajectory is between 0 and 0.2 ms away from one of the other."""
    away = np.abs(first[:, None] - second[None, :])
    return ((away > (SAME + 0.5) * 1e-9) & (away < APART)).any()


@pytest.mark.parametrize(("seed", "robots"), product(range(20), (2, 3)))
def test_merged_motions_keep_the_limits_and_the_paths(seed, robots):
    given = motions(seed, robots)
    delays = separating_delays(given)
    merged = merge_trajectories(given)
    validate(merged, limits_of(range(robots))).check()
    times = np.random.default_rng(seed).uniform(0.0, merged.duration, 200)
    for order, tolerance in ((0, 1e-11), (1, 1e-8)):
        separate = np.hstack([one.at(times - delay, order) for one, delay in zip(given, delays, strict=True)])
        assert np.abs(merged.at(times, order) - separate).max() < tolerance
    assert max(delays) < 0.005


@pytest.mark.parametrize("seed", range(10))
def test_a_delay_is_the_least_that_separates_the_steps(seed):
    fixed, later = motions(seed, 2)
    delay = separating_delay(later, [fixed])
    steps, others = JerkSteps.of(later).main, np.concatenate((np.zeros(1), JerkSteps.of(fixed).main))
    assert not between(steps + delay, others)
    shorter = np.arange(0.0, delay - 2e-6, 1e-6)
    assert all(between(steps + less, others) for less in shorter)
    moved = replace(later, times=later.times + delay)
    assert separating_delays((fixed, moved)) == separating_delays((moved, fixed)) == (0.0, 0.0)


def test_equal_motions_need_no_delay():
    (one,) = motions(4, 1)
    two = Trajectory(limits_of([1]).variables, one.times, one.positions, one.velocities, one.accelerations)
    assert separating_delays((one, two)) == (0.0, 0.0)
    assert len(merge_trajectories((one, two))) == len(one)


def test_a_motion_that_begins_at_speed_is_not_delayed():
    """The robot that begins at rest waits for it, in any order; two at speed keep their times."""
    seed = next(seed for seed in range(50) if separating_delays(motions(seed, 2))[1] > 0.0)
    resting, other = motions(seed, 2)
    velocities = other.velocities.copy()
    velocities[0] = 1e-3
    moving = replace(other, velocities=velocities)
    delays = separating_delays((resting, moving))
    assert delays[1] == 0.0 < delays[0]
    assert separating_delays((moving, resting)) == delays[::-1]
    velocities = resting.velocities.copy()
    velocities[0] = 1e-3
    both = (replace(resting, velocities=velocities), moving)
    assert separating_delays(both) == (0.0, 0.0)
    assert separating_delay(both[0], [both[1]]) is None
    assert merge_trajectories(both).duration == max(one.duration for one in both)


def test_steps_that_no_delay_separates_are_merged_nevertheless():
    """One robot has steps everywhere: its samples are 0.1 ms apart."""
    (one,) = motions(4, 1)
    times = np.arange(0.0, 0.1, 1e-4)
    shaking = np.random.default_rng(1).uniform(-1.0, 1.0, (len(times), DOF)) * 1e-6
    shaking[[0, -1]] = 0.0
    rough = Trajectory(limits_of([1]).variables, times, shaking, 0.0 * shaking, 0.0 * shaking)
    assert separating_delay(one, [rough]) is None
    assert separating_delays((rough, one)) == (0.0, 0.0)
    merged = merge_trajectories((rough, one))
    assert merged.duration == one.duration
    assert (np.diff(merged.times) >= 0.49e-4).all()


@pytest.mark.parametrize("period", [0.0, -0.02, 1e-9, np.nan, np.inf])
def test_a_sample_period_out_of_range_is_refused(period):
    with pytest.raises(InvalidRequestError, match="sample period is"):
        merge_trajectories(motions(0, 2), period)
