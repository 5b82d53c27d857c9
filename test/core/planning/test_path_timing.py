"""Timing of paths in a cell results in a valid trajectory or a named error for any path and options."""

import re

import numpy as np
import pytest
from loaded_cells import loaded

from robot_cell_planner.errors import CancelledError, InvalidRequestError, RobotCellError
from robot_cell_planner.planning.path.timing import PathTiming, time_joint_path
from robot_cell_planner.planning.problem.request import PlanningOptions
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

CELL, STATE = loaded()
NAMES = tuple(CELL.group().variables)
HERE = np.array([STATE.configuration[name] for name in NAMES])
PATHS = {
    "one point": HERE[None],
    "the same point twice": np.stack([HERE, HERE]),
    "a point that is nearly the same": np.stack([HERE, HERE + 1e-11]),
    "two points": np.stack([HERE, HERE + 0.05]),
    "there and back": np.stack([HERE, HERE + 0.05, HERE]),
    "no point": np.zeros((0, len(HERE))),
    "not a number": np.stack([HERE, HERE * np.nan]),
    "huge": np.stack([HERE, HERE + 1e300]),
}
OPTIONS = (
    {},
    {"tool_speed": 0.1},
    {"tool_speed": 1e-300},
    {"limit_effort": True},
    {"start_velocity": {NAMES[0]: 0.1}},
    {"end_velocity": {NAMES[0]: 0.1}},
    {"start_velocity": {NAMES[0]: np.inf}},
    {"period": 1e-4},
    {"period": 10.0},
    {"velocity_scale": 1e-300},
    {"jerk_scale": 1e-9},
    {"blend_tolerance": 1e-300},
    {"blend_tolerance": 1e300},
)


def timed(path, stops=(), **options):
    return time_joint_path(CELL, STATE, PathTiming(NAMES, path, TimingOptions(**options), PlanningOptions(), stops))


@pytest.mark.parametrize("method", TimingMethod)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_path_has_a_valid_trajectory_or_a_named_error(method, options):
    for name, path in PATHS.items():
        try:
            found = timed(path, method=method, **options)
        except RobotCellError:
            continue
        assert found.report.valid, name
        np.testing.assert_allclose(found.trajectory.positions[0], path[0], atol=1e-9)
        np.testing.assert_allclose(found.trajectory.positions[-1], path[-1], atol=1e-9)


@pytest.mark.parametrize("method", TimingMethod)
def test_one_point_is_a_trajectory_that_stays_there(method):
    found = timed(HERE[None], method=method)
    assert found.report.valid
    assert found.trajectory.duration == 0.0
    np.testing.assert_array_equal(found.trajectory.positions, HERE[None])


def test_samples_that_turn_back_are_reported_with_a_warning_unless_they_are_named():
    share = np.sin(np.linspace(0.0, 2.0 * np.pi, 301))[:, None]
    path = HERE + 0.1 * share * np.eye(len(HERE))[0]
    found = timed(path, method=TimingMethod.FOLLOW_SAMPLES)
    assert found.report.valid
    assert any("2 of its samples, first at sample 75" in text for text in found.report.warnings)
    named = timed(path, stops=(75, 225), method=TimingMethod.FOLLOW_SAMPLES)
    assert not any("turns sharply" in text for text in named.report.warnings)
    assert named.trajectory.duration == found.trajectory.duration


def test_the_method_that_the_warning_of_sharp_turns_names_rests_at_none_of_them():
    """As those of a path that was measured with noise."""
    share = np.linspace(0.0, 1.0, 40)[:, None]
    path = HERE + 0.2 * share + np.random.default_rng(0).normal(0.0, 0.01, (40, len(HERE)))
    followed, rounded = (timed(path, method=method) for method in (TimingMethod.FOLLOW_SAMPLES, TimingMethod.SMOOTH))
    (warning,) = [text for text in followed.report.warnings if "turns sharply" in text]
    assert "method SMOOTH rounds corners" in warning
    assert not any("turns sharply" in text for text in rounded.report.warnings)
    for found, count in ((followed, 10), (rounded, 0)):
        speeds = np.abs(found.trajectory.completed().velocities).max(axis=1)[1:-1]
        assert (speeds < 1e-9).sum() >= count if count else (speeds > 1e-3).all()


@pytest.mark.parametrize("stops", [(), (100, 200)])
def test_noise_that_makes_the_motion_slow_is_reported_with_its_cost(stops):
    """Noise without a sharp turn. A curve that is fitted is as fast as the path was without noise."""
    smooth = HERE + np.linspace(0.0, 0.4, 300)[:, None] * np.linspace(1.0, 0.2, len(HERE))
    path = smooth + np.random.default_rng(0).normal(0.0, 2e-5, smooth.shape)
    found, reference = (timed(each, stops, method=TimingMethod.FOLLOW_SAMPLES) for each in (path, smooth))
    (warning,) = found.report.warnings
    assert reference.report.warnings == ()
    shown = re.search(r"most at sample (\d+) that of (\w+): the motion takes (\S+) s, (\S+) times as long", warning)
    assert 0 < int(shown[1]) < 300
    assert shown[2] in NAMES
    assert float(shown[3]) == pytest.approx(found.trajectory.duration, rel=0.01)
    assert float(shown[4]) == pytest.approx(found.trajectory.duration / reference.trajectory.duration, rel=0.15)


@pytest.mark.parametrize("slow", [{"tool_speed": 0.002}, {"velocity_scale": 0.002}], ids=str)
def test_noise_is_not_reported_where_another_limit_is_the_reason(slow):
    smooth = HERE + np.linspace(0.0, 0.1, 100)[:, None] * np.linspace(1.0, 0.2, len(HERE))
    path = smooth + np.random.default_rng(0).normal(0.0, 2e-5, smooth.shape)
    assert any("noise" in text for text in timed(path, method=TimingMethod.FOLLOW_SAMPLES).report.warnings)
    assert not any("noise" in text for text in timed(path, method=TimingMethod.FOLLOW_SAMPLES, **slow).report.warnings)


def test_invalid_stops_are_refused():
    path = np.stack([HERE, HERE + 0.05])
    with pytest.raises(InvalidRequestError, match="a stop is not one of the 2 samples"):
        timed(path, stops=(2,), method=TimingMethod.FOLLOW_SAMPLES)
    with pytest.raises(InvalidRequestError, match="stops require the method"):
        timed(path, stops=(1,), method=TimingMethod.SMOOTH)


@pytest.mark.parametrize("limits", [{}, {"limit_effort": True}, {"tool_speed": 0.2}], ids=str)
def test_a_cancellation_ends_the_timing_of_a_long_path(limits):
    """The timing asks every few hundred segments whether it is cancelled, and the limits of torque and tool at each."""
    rows = HERE + 0.02 * np.random.default_rng(1).uniform(-1.0, 1.0, (1500, len(HERE)))
    calls = []

    def cancelled():
        calls.append(None)
        return len(calls) >= (20 if limits else 3)

    request = PathTiming(NAMES, rows, TimingOptions(**limits), PlanningOptions())
    with pytest.raises(CancelledError, match=r"^timing: "):
        time_joint_path(CELL, STATE, request, cancelled=cancelled)
    assert len(calls) == (20 if limits else 3)
