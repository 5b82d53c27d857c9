"""Tool speed and torques keep their limits at all times, however long the sample period is."""

import numpy as np
import pytest

from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import PathModel, time_path
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

LIMITS = MotionLimits(("a", "b"), *(np.full(2, value) for value in (-3.0, 3.0, 1.0, 4.0, 40.0)))
PATH = np.array([[0.0, 0.0], [0.7, 0.2], [1.4, 0.2], [2.0, -0.3]])
PERIODS = (0.01, 0.1, 0.5, 2.0, 10.0)


def lever(q):
    """Peaks of width 0.1 rad, which long sample periods pass between two samples."""
    return 0.2 + np.exp(-(((q[:, 0] - 0.43) / 0.05) ** 2)) + np.exp(-(((q[:, 0] - 1.71) / 0.05) ** 2))


def tool_speeds(q, v):
    return lever(q) * np.linalg.norm(v, axis=1)


def efforts(q, v, a):
    return lever(q)[:, None] * (a + v**2)


def motion_of(method, period, model, **options):
    path = PATH
    if method is TimingMethod.FOLLOW_SAMPLES:
        path = np.stack([np.linspace(0.0, 2.0, 60), 0.2 * np.sin(np.linspace(0.0, 2.0, 60))], axis=1)
    curve = time_path(path, LIMITS, TimingOptions(method=method, period=period, **options), model).curve
    times = np.linspace(0.0, curve.duration, 40_001)
    return [curve.evaluate(times, order) for order in range(3)]


@pytest.mark.parametrize("method", TimingMethod)
@pytest.mark.parametrize("period", PERIODS)
def test_the_tool_speed_is_kept_between_states(method, period):
    q, v, _ = motion_of(method, period, PathModel(tool_speeds=tool_speeds), tool_speed=0.05)
    assert tool_speeds(q, v).max() <= 0.05 * (1.0 + 1e-3)


@pytest.mark.parametrize("method", TimingMethod)
@pytest.mark.parametrize("period", PERIODS)
def test_torques_are_kept_between_states(method, period):
    model = PathModel(efforts=efforts, effort_limits=np.full(2, 0.02))
    q, v, a = motion_of(method, period, model, limit_effort=True)
    assert np.abs(efforts(q, v, a)).max() <= 0.02 * (1.0 + 1e-2)
