"""Straight motions between two points of a path, in which all joints follow one profile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .curves import PolynomialCurve, times_at
from .limits import Array, MotionLimits
from .profiles import PathInterval, Rates, profile_on_grid
from .straight_kernels import measure_segments, place_profile

END = (0.0, 0.0, 0.0, 0.0)  # of a profile: no piece begins there


def straight_segments(corners: Array, limits: MotionLimits, path_speed: float = 0.0) -> list[PathInterval]:
    """Return the n - 1 straight segments between corners (n, dof) [rad or m], with the rates of the joint that moves
    most.

    path_speed: As in `TimingOptions`.
    """
    rows = np.empty((len(corners) - 1, 4))
    measure_segments(np.array(corners, order="C"), limits.by_order[1][1:], rows)
    if path_speed > 0.0:  # of the distance in joint space; the length is that of the joint that moves most
        distances = np.linalg.norm(np.diff(corners, axis=0), axis=1)
        rows[:, 1] = np.minimum(rows[:, 1], path_speed * rows[:, 0] / distances)
    return [PathInterval(length, Rates(*values)) for length, *values in rows.tolist()]


def straight_motion_on_grid(
    first: Array, last: Array, limits: MotionLimits, period: float, path_speed: float = 0.0
) -> PolynomialCurve:
    """Return a straight motion between two different points (dof,) whose jerk changes at multiples of a period only.

    It begins and ends at rest. Samples of several such motions at one time base lose no change of jerk. limits: limits
    after applying the options of the timing. period [s].
    """
    interval = straight_segments(np.stack([first, last]), limits, path_speed)[0]
    profile = profile_on_grid(interval.length, interval.rates, period)
    return straight_curve(profile.breaks.tolist(), profile.coefficients[:, :, 0].tolist(), first, last)


def straight_curve(
    breaks: Sequence[float], rows: Sequence[Sequence[float]], first: Array, last: Array, period: float = 0.0
) -> PolynomialCurve:
    """Return the straight motion between two points (dof,) with a profile of its length, in multiples of a period.

    breaks: of the profile (m + 1,) [s], the first 0. rows: coefficients of its pieces (m, 4) by ascending powers.
    period: [s]; 0: as fast as the profile.
    """
    profile = np.array([(time, *row) for time, row in zip(breaks, (*rows, END), strict=True)])
    found = PolynomialCurve(np.empty(len(profile)), np.empty((len(rows), 4, len(first))))
    place_profile(profile, np.array(first), np.array(last), period, found.breaks, found.coefficients)
    return found


def passing_times(curve: PolynomialCurve, points: Array) -> Array:
    """Return the times (n,) [s] at which a straight motion passes points (n, dof) on it; it begins at the first one and
    ends at the last one."""
    if len(points) == 2:
        return np.array([0.0, curve.duration])
    step = points[-1] - points[0]
    axis = int(np.argmax(np.abs(step)))
    time_scaling = PolynomialCurve(curve.breaks, curve.coefficients[:, :, axis : axis + 1])
    return times_at(time_scaling, points[:, axis], rising=bool(step[axis] > 0.0))
