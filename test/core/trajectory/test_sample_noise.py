"""Noise of samples is estimated from their geometry, and what it costs is known from the path without noise."""

from itertools import pairwise

import numpy as np
import pytest

from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.sample_noise import noise_of
from robot_cell_planner.trajectory.sampled_paths import sharp_corners
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions, follow_samples

NAMES = ("a", "b", "c")
LIMITS = MotionLimits(NAMES, *(np.full(3, limit) for limit in (-9.0, 9.0, 2.0, 8.0, 80.0)))
OPTIONS = TimingOptions(method=TimingMethod.FOLLOW_SAMPLES)


def curve(shares):
    """Points (n, 3) of a smooth curve."""
    along, across = np.array([0.6, 0.3, -0.2]), np.array([-0.02, 0.05, 0.04])
    return shares[:, None] * along + np.sin(3.0 * shares)[:, None] * across


def even(count=300):
    return curve(np.linspace(0.0, 1.0, count))


def noisy(level, count=300, seed=0):
    return even(count) + np.random.default_rng(seed).normal(0.0, level, (count, 3))


def effect(path):
    return noise_of(path, LIMITS, OPTIONS, [0, *sharp_corners(path), len(path) - 1])


def duration(path):
    return follow_samples(path, LIMITS, OPTIONS).trajectory.duration


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", [1e-6, 1e-5, 1e-4])
def test_the_time_saved_leads_to_the_duration_without_noise(level, seed):
    path = noisy(level, seed=seed)
    found = effect(path)
    assert duration(path) > 2.0 * duration(even())
    assert duration(path) - found.saved == pytest.approx(duration(even()), rel=0.1)
    assert found.deviation < 10.0 * level


@pytest.mark.parametrize("digits", [4, 5, 6])
def test_rounding_is_noise(digits):
    path = np.round(even(), digits)
    found = effect(path)
    assert duration(path) - found.saved == pytest.approx(duration(even()), rel=0.1)
    assert found.deviation < 3.0 * 10.0**-digits


@pytest.mark.parametrize("level", [1e-5, 1e-4])
def test_fewer_samples_are_faster_as_the_spacing_says(level):
    path = noisy(level)
    fewer = path[:: effect(path).spacing]
    assert duration(fewer) < 1.3 * duration(even())


@pytest.mark.parametrize("sample", [60, 150, 240])
@pytest.mark.parametrize("joint", NAMES[1:])
def test_a_single_outlier_across_the_path_is_found_with_its_joint(sample, joint):
    path = even()
    path[sample, NAMES.index(joint)] += 2e-4
    found = effect(path)
    assert found.joint == joint
    assert abs(found.sample - sample) <= 2


def test_effects_of_parts_between_stops_are_added_up():
    path = noisy(1e-5)
    stops = [0, 100, 200, 299]
    pairs = list(pairwise(stops))
    parts = [noise_of(path[first : last + 1], LIMITS, OPTIONS, [0, last - first]) for first, last in pairs]
    found = noise_of(path, LIMITS, OPTIONS, stops)
    assert found.saved == pytest.approx(sum(part.saved for part in parts))
    worst = int(np.argmax([part.saved for part in parts]))
    assert (found.sample, found.joint) == (stops[worst] + parts[worst].sample, parts[worst].joint)


def corner(turn, count):
    """Two straight lines, and between them a quarter circle whose chords turn by `turn` rad each."""
    step = 0.02 * turn
    angles = np.linspace(0.0, 0.5 * np.pi, int(np.ceil(0.5 * np.pi / turn)) + 1)
    before = [(-step * (count - i), 0.0) for i in range(count)]
    arc = [(0.02 * np.sin(angle), 0.02 * (1.0 - np.cos(angle))) for angle in angles]
    after = [(0.02, 0.02 + step * (i + 1)) for i in range(count)]
    rows = np.array([*before, *arc, *after])
    return np.column_stack((rows, 0.5 * rows[:, 0]))


def wave(samples_per_period):
    index = np.arange(160.0)
    height = 0.004 * np.sin(2.0 * np.pi * index / samples_per_period)
    return np.column_stack((0.005 * index, height, 0.001 * index))


GEOMETRY = {
    "even": even(),
    "few": even(20),
    "uneven": curve(np.sort(np.random.default_rng(1).uniform(0.0, 1.0, 300))),
    "near and far in turn": curve(np.cumsum(np.where(np.arange(300) % 2, 1.0, 3.0)) / 600.0),
    "straight": np.sort(np.random.default_rng(1).uniform(0.0, 1.0, 200))[:, None] * np.array([0.6, 0.3, -0.2]),
    "bends": np.column_stack([np.interp(np.linspace(0, 3, 200), range(4), column) for column in
                              ((0.0, 0.3, 0.6, 0.9), (0.0, 0.1, 0.12, 0.3), (0.0, 0.1, 0.0, 0.1))]),
    **{f"corner of {turn} rad": corner(turn, count) for turn in (0.03, 0.1, 0.3, 0.5, 0.7) for count in (10, 60)},
    **{f"wave of {count} samples": wave(count) for count in (8, 12, 20)},
}  # fmt: skip


@pytest.mark.parametrize("name", GEOMETRY)
def test_geometry_is_no_noise(name):
    found = effect(GEOMETRY[name])
    assert found is None or found.saved < 0.1 * duration(GEOMETRY[name])


def test_a_path_of_few_points_has_no_noise():
    for count in (1, 2, 3, 12):
        assert effect(noisy(1e-5, count)) is None
