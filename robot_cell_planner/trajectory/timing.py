"""Timing of paths: when to be where, within velocity, acceleration and jerk limits, by Ruckig's profiles.

Paths keep their geometry; what is timed is the way along them, so that all joints obey their limits everywhere, not
only at samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

import numpy as np
from frozendict import frozendict

from ..cell.mechanism import JointLimits
from ..errors import InvalidRequestError, JointLimitError, Value
from .curves import Curve, CurveSequence, PolynomialCurve, TraversedPath
from .limits import Array, MotionLimits
from .profiles import Rates, Stretch, solved, to_whole_periods
from .trajectory import Rest, Trajectory, sample_curve

DEFAULT_PERIOD = 0.004  # [s]: 250 Hz
# Points nearer than this [rad or m] to one another are one point; bends smaller than this are none.
SAME_POINT = 1e-12
# How the acceleration and jerk limits of a curved path are shared out between keeping to the curve and speeding up.
CURVATURE_SHARE_OF_ACCELERATION = 0.5
CURVATURE_SHARE_OF_JERK = 0.25
MIXED_SHARE_OF_JERK = 0.5


class Method(str, Enum):
    """How the points of a path are passed."""

    STOP_AT_WAYPOINTS = "stop at waypoints"
    SMOOTH = "smooth"
    FOLLOW_SAMPLES = "follow samples"


@dataclass(frozen=True)
class TimingOptions:
    """How a path becomes a trajectory.

    period [s]: between the samples. *_scale: shares of the limits to use, above 0 to 1. path_speed: highest speed along
    the path parameter (with Cartesian samples, metres of the tool's way: m/s); 0: only the joints limit it.

    The rest is for `parameterization.time_path` alone. method: how. limits: of this request, by joint; they can only
    narrow those of the model. tool_speed: highest speed of the tool centre point [m/s]; 0: not limited. limit_effort:
    whether joint torques bound the accelerations. blend_tolerance: SMOOTH, see `smooth.SmoothOptions`. start_velocity,
    end_velocity: by joint [per s], zero for those not named; only SMOOTH takes others than zero.

    Raises:
        InvalidRequestError: a value outside its range.
    """

    period: float = DEFAULT_PERIOD
    velocity_scale: float = 1.0
    acceleration_scale: float = 1.0
    jerk_scale: float = 1.0
    path_speed: float = 0.0
    method: Method = Method.STOP_AT_WAYPOINTS
    limits: Mapping[str, JointLimits] = field(default_factory=frozendict)
    tool_speed: float = 0.0
    limit_effort: bool = False
    blend_tolerance: float = 0.1
    start_velocity: Mapping[str, float] = field(default_factory=frozendict)
    end_velocity: Mapping[str, float] = field(default_factory=frozendict)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.period) and 1e-5 <= self.period <= 10.0):
            text = f"the sample period is {self.period:g} s, expected 1e-5 to 10"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("period", self.period, None, "s"),))
        if not (math.isfinite(self.path_speed) and self.path_speed >= 0.0):
            text = f"the path speed is {self.path_speed:g}, expected at least 0"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("path speed", self.path_speed),))
        if not (math.isfinite(self.tool_speed) and self.tool_speed >= 0.0):
            text = f"the tool speed is {self.tool_speed:g}, expected at least 0"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("tool speed", self.tool_speed),))

    def apply(self, limits: MotionLimits) -> MotionLimits:
        """The limits to keep to: shares of those that the request leaves."""
        return limits.narrowed(self.limits).scaled(self.velocity_scale, self.acceleration_scale, self.jerk_scale)


@dataclass(frozen=True, eq=False)
class TimedMotion:
    """A motion over time: the exact curve (parts from stop to stop), its samples, the time at which each point of its
    path is passed (k,), and where it rests."""

    curve: CurveSequence
    trajectory: Trajectory
    passing_times: Array
    rests: tuple[Rest, ...]


def stop_at_waypoints(path: Array, limits: MotionLimits, options: TimingOptions | None = None) -> TimedMotion:
    """Straight motions in joint space between the waypoints (n, dof), at rest at each of them.

    A waypoint that lies exactly on the straight way between its neighbours is passed without stopping. Each stretch
    takes a whole number of sample periods, so that every stop is a sample.

    Raises:
        InvalidRequestError: a path of a wrong shape or with numbers that are not finite.
        JointLimitError: a waypoint beyond position limits.
    """
    options = options or TimingOptions()
    path = checked_path(path, limits)
    limits = options.apply(limits)
    corners = corners_of(path)
    parts: list[PolynomialCurve] = []
    passing = np.zeros(len(path))
    start = 0.0
    for first, last in pairwise(corners):
        part = _straight(path[first], path[last], limits, options)
        passing[first : last + 1] = start + _times_along(part, path[first : last + 1])
        parts.append(part)
        start += part.duration
    return _finished(parts or [_rest(path[0])], passing, corners, path, limits, options)


def duration_of_stopping(corners: Array, limits: MotionLimits, options: TimingOptions) -> float:
    """How long stopping at each of some corners (n, dof), n at least 2, takes, as `stop_at_waypoints` does it [s].

    limits: the shares of them that the options leave.
    """
    times: list[float] = solved(_ways(corners, limits)).independent_min_durations
    return options.period * sum(math.ceil(time / options.period - 1e-9) for time in times)


def follow_samples(
    samples: Array,
    limits: MotionLimits,
    options: TimingOptions | None = None,
    *,
    parameters: Array | None = None,
    stops: Sequence[int] = (),
) -> TimedMotion:
    """A smooth motion through dense samples (n, dof) of a curve, such as those of a Cartesian path.

    Between two stops the samples are joined by a cubic spline with continuous curvature, over the path parameter of the
    samples (n,) (increasing, for example metres travelled; without one, the distance in joint space). It begins and
    ends at rest, and rests at the samples listed in `stops`, where the curve may have corners.

    Raises:
        InvalidRequestError: shapes that do not fit, numbers that are not finite, parameters that do not increase.
        JointLimitError: a sample beyond position limits.
    """
    options = options or TimingOptions()
    samples = checked_path(samples, limits)
    limits = options.apply(limits)
    places = _path_parameters(samples, parameters)
    bounds = sorted({0, len(samples) - 1, *(int(index) for index in stops)})
    if bounds[0] < 0 or bounds[-1] >= len(samples):
        raise InvalidRequestError(f"a stop is not one of the {len(samples)} samples", stage="trajectory")
    parts: list[Curve] = []
    passing = np.zeros(len(samples))
    start = 0.0
    for first, last in pairwise(bounds):
        part = _curved(samples[first : last + 1], places[first : last + 1], limits, options)
        if part is None:
            passing[first : last + 1] = start
            continue
        passing[first : last + 1] = start + _times_at(part.law, places[first : last + 1] - places[first])
        parts.append(part)
        start += part.duration
    return _finished(parts or [_rest(samples[0])], passing, bounds, samples, limits, options)


def _finished(
    parts: Sequence[Curve],
    passing: Array,
    stops: Sequence[int],
    points: Array,
    limits: MotionLimits,
    options: TimingOptions,
) -> TimedMotion:
    curve = CurveSequence(parts)
    rests = [Rest(float(passing[index]), points[index]) for index in stops]
    passing.setflags(write=False)
    return TimedMotion(curve, sample_curve(limits.variables, curve, options.period, rests), passing, tuple(rests))


def checked_path(path: Array, limits: MotionLimits) -> Array:
    path = np.array(path, dtype=np.float64, ndmin=2)
    if path.ndim != 2 or path.shape[0] == 0 or path.shape[1] != len(limits.variables):
        text = f"the path has shape {path.shape}, expected (n, {len(limits.variables)}) with at least one point"
        raise InvalidRequestError(text, stage="trajectory")
    if not np.isfinite(path).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(path))[0])
        text = f"joint {limits.variables[column]} of point {row} of the path is not a finite number"
        raise InvalidRequestError(text, stage="trajectory", subjects=(limits.variables[column],))
    beyond = np.argwhere((path < limits.lower - SAME_POINT) | (path > limits.upper + SAME_POINT))
    if len(beyond):
        row, column = (int(index) for index in beyond[0])
        joint, value = limits.variables[column], float(path[row, column])
        limit = limits.lower[column] if value < limits.lower[column] else limits.upper[column]
        text = f"point {row} of the path is beyond the limit of joint {joint}"
        raise JointLimitError(text, stage="trajectory", subjects=(joint,), values=(Value(joint, value, float(limit)),))
    return path


def corners_of(path: Array) -> list[int]:
    """Indices of the points where the path turns, the first and last included; repeated points are passed over."""
    corners = [0]
    previous = 0
    for index in range(1, len(path)):
        if float(np.abs(path[index] - path[previous]).max()) <= SAME_POINT:
            continue
        if previous != corners[-1] and not _is_straight(path[corners[-1]], path[previous], path[index]):
            corners.append(previous)
        previous = index
    if previous != corners[-1]:
        corners.append(previous)
    # Repeats of the last point belong to the last stretch.
    if len(corners) > 1:
        corners[-1] = len(path) - 1
    return corners


def _is_straight(first: Array, middle: Array, last: Array) -> bool:
    """Whether `middle` lies between the two, on the straight line within rounding."""
    whole, part = last - first, middle - first
    length = float(np.linalg.norm(whole))
    along = float(part @ whole) / (length * length) if length > 0.0 else -1.0
    return 0.0 < along < 1.0 and float(np.abs(part - along * whole).max()) <= SAME_POINT * max(1.0, length)


def _ways(corners: Array, limits: MotionLimits) -> list[Stretch]:
    """The straight ways from rest to rest: one profile each for the distance, scaled to each joint."""
    steps = np.abs(np.diff(corners, axis=0))
    lengths = steps.max(axis=1)
    shares = steps / lengths[:, None]
    with np.errstate(divide="ignore"):
        rates = [(rate / shares).min(axis=1) for rate in (limits.velocity, limits.acceleration, limits.jerk)]
    rows = np.stack([lengths, *rates], axis=1).tolist()
    return [Stretch(length, Rates(*values)) for length, *values in rows]


def _straight(first: Array, last: Array, limits: MotionLimits, options: TimingOptions) -> PolynomialCurve:
    """The fastest straight motion from rest to rest."""
    law = to_whole_periods(_ways(np.stack([first, last]), limits)[0].profile(), options.period)
    # The profile is taken as a share from 0 to 1, so that the last point is met within rounding.
    coefficients = law.coefficients / law.evaluate(np.array([law.duration]))[0, 0] * (last - first)
    coefficients[:, 0] += first
    return PolynomialCurve(law.breaks, coefficients)


def _curved(samples: Array, places: Array, limits: MotionLimits, options: TimingOptions) -> TraversedPath | None:
    """The spline through samples, traversed from rest to rest; None if they are all one point."""
    if float(np.ptp(samples, axis=0).max()) <= SAME_POINT:
        return None
    from scipy.interpolate import CubicSpline  # slow to import, and needed for curves alone

    spline = CubicSpline(places - places[0], samples, axis=0, bc_type="not-a-knot" if len(places) > 3 else "natural")
    path = PolynomialCurve(np.asarray(spline.x), np.ascontiguousarray(spline.c[::-1].transpose(1, 0, 2)))
    first, second, third = (path.largest_derivatives(order).max(axis=0) for order in (1, 2, 3))
    velocity, acceleration, jerk = _rates_along(first, second, third, limits)
    if options.path_speed > 0.0:
        velocity = min(velocity, options.path_speed)
    rates = Rates(velocity, acceleration, jerk)
    law = to_whole_periods(Stretch(path.duration, rates).profile(), options.period)
    return TraversedPath(path, law)


def _rates_along(first: Array, second: Array, third: Array, limits: MotionLimits) -> tuple[float, float, float]:
    """Bounds on the speed, acceleration and jerk along a path with which no joint breaks its limits anywhere.

    first, second, third: the largest |q'|, |q''| and |q'''| of each joint over the path. With |s'| <= v, |s''| <= a
    and |s'''| <= j the chain rule bounds a joint's acceleration by q'' v2 + q' a and its jerk by
    q''' v3 + 3 q'' v a + q' j; v and a take at most fixed shares of the limits, j takes what they leave.
    """
    with np.errstate(divide="ignore"):
        velocity = min(
            float((limits.velocity / first).min()),
            float(np.sqrt(CURVATURE_SHARE_OF_ACCELERATION * limits.acceleration / second).min()),
            float(np.cbrt(CURVATURE_SHARE_OF_JERK * limits.jerk / third).min()),
        )
        acceleration = min(
            float(((limits.acceleration - second * velocity**2) / first).min()),
            float((MIXED_SHARE_OF_JERK * limits.jerk / (3.0 * second * velocity)).min()),
        )
        left = limits.jerk - third * velocity**3 - 3.0 * second * velocity * acceleration
        jerk = float((left / first).min())
    return velocity, acceleration, jerk


def _rest(point: Array) -> PolynomialCurve:
    return PolynomialCurve(np.array([0.0, 0.0]), point[None, None, :])


def _path_parameters(samples: Array, parameters: Array | None) -> Array:
    if parameters is None:
        steps = np.linalg.norm(np.diff(samples, axis=0), axis=1)
        if len(steps) and float(steps.min()) <= SAME_POINT:
            index = int(np.argmin(steps))
            raise InvalidRequestError(f"samples {index} and {index + 1} are the same point", stage="trajectory")
        return np.concatenate(([0.0], np.cumsum(steps)))
    places = np.array(parameters, dtype=np.float64)
    if places.shape != (len(samples),) or not np.isfinite(places).all():
        text = f"path parameters have shape {places.shape}, expected ({len(samples)},) finite numbers"
        raise InvalidRequestError(text, stage="trajectory")
    late = np.flatnonzero(np.diff(places) <= 0.0)
    if len(late):
        raise InvalidRequestError(f"path parameter {int(late[0]) + 1} is not above the one before", stage="trajectory")
    return places


def _times_along(curve: PolynomialCurve, points: Array) -> Array:
    """Times at which a straight motion passes points on it."""
    if len(points) == 2:
        return np.array([0.0, curve.duration])
    step = points[-1] - points[0]
    axis = int(np.argmax(np.abs(step)))
    law = PolynomialCurve(curve.breaks, curve.coefficients[:, :, axis : axis + 1])
    return _times_at(law, points[:, axis], rising=bool(step[axis] > 0.0))


def _times_at(law: PolynomialCurve, values: Array, rising: bool = True) -> Array:
    """Times at which a monotone law of motion takes values, by bisection to the last bit."""
    sign = 1.0 if rising else -1.0
    low, high = np.zeros(len(values)), np.full(len(values), law.duration)
    for _ in range(60):
        middle = 0.5 * (low + high)
        before = sign * law.evaluate(middle)[:, 0] < sign * values
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    high[0], high[-1] = 0.0, law.duration
    return high
