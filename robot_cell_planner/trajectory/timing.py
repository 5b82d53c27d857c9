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

from ..errors import InvalidRequestError, JointLimitError, Value
from ..model.arguments import checked_fields, public
from ..model.mechanism import JointLimits
from .curve_limits import slowing
from .curves import Curve, CurveSequence, PolynomialCurve, TraversedPath, times_at
from .limits import Array, MotionLimits
from .profiles import PathInterval, Rates, solved, to_whole_periods
from .sampled_paths import SAME_POINT, path_parameters, rates_along, sharp_turns, spline_through
from .trajectory import Rest, Trajectory, sample_curve

DEFAULT_PERIOD = 0.004  # [s]: 250 Hz
# Shares of the limits of velocity, acceleration and jerk that motions are timed by. What is left is for rounding, and
# for a robot that is a few 1e-5 rad or m away from the start: `joining` adds the way from there.
ROOM = (1.0 - 1e-4, 1.0 - 1e-4, 1.0 - 1e-3)
MOST_SLOWINGS = 5
SMALLEST_FACTOR = 1.0 + 1e-9


class Method(str, Enum):
    """How the points of a path are passed."""

    STOP_AT_WAYPOINTS = "stop at waypoints"
    SMOOTH = "smooth"
    FOLLOW_SAMPLES = "follow samples"


@checked_fields
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
        if not (math.isfinite(self.period) and 1e-4 <= self.period <= 10.0):
            text = f"the sample period is {self.period:g} s, expected 1e-4 to 10"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("period", self.period, None, "s"),))
        if not (math.isfinite(self.path_speed) and self.path_speed >= 0.0):
            text = f"the path speed is {self.path_speed:g}, expected at least 0"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("path speed", self.path_speed),))
        if not (math.isfinite(self.tool_speed) and self.tool_speed >= 0.0):
            text = f"the tool speed is {self.tool_speed:g}, expected at least 0"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("tool speed", self.tool_speed),))

    def allowed(self, limits: MotionLimits) -> MotionLimits:
        """The limits to keep to: shares of those that the request leaves."""
        return limits.narrowed(self.limits).scaled(self.velocity_scale, self.acceleration_scale, self.jerk_scale)

    def apply(self, limits: MotionLimits) -> MotionLimits:
        """The limits to time by: those to keep to, less what rounding and a robot that is not quite at the start of the
        motion will need (`ROOM`)."""
        return self.allowed(limits).scaled(*ROOM)


@dataclass(frozen=True, eq=False)
class TimedMotion:
    """A motion over time: the exact curve (parts from stop to stop), its samples, the time at which each point of its
    path is passed (k,), and where it rests."""

    curve: CurveSequence
    trajectory: Trajectory
    passing_times: Array
    rests: tuple[Rest, ...]


@public
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
    allowed, limits = options.allowed(limits), options.apply(limits)
    corners = corners_of(path)
    parts: list[PolynomialCurve] = []
    passing = np.zeros(len(path))
    start = 0.0
    for first, last in pairwise(corners):
        part = _straight(path[first], path[last], limits, options)
        passing[first : last + 1] = start + _times_along(part, path[first : last + 1])
        parts.append(part)
        start += part.duration
    return _finished(parts or [_rest(path[0])], passing, corners, path, allowed, options)


def duration_of_stopping(corners: Array, limits: MotionLimits, options: TimingOptions) -> float:
    """How long stopping at each of some corners (n, dof), n at least 2, takes, as `stop_at_waypoints` does it [s].

    limits: the shares of them that the options leave.
    """
    times: list[float] = solved(_ways(corners, limits)).independent_min_durations
    return options.period * sum(math.ceil(time / options.period - 1e-9) for time in times)


@public
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
    ends at rest, and rests at the samples listed in `stops`, where the curve may have corners. Without a parameter of
    its own it also rests where the samples turn back or by more than 45 degrees (`sampled_paths.sharp_turns`), for the
    distance in joint space makes a corner of that. Samples nearer than 1e-4 to the one before are passed, but are no
    knots of the spline.

    Raises:
        InvalidRequestError: shapes that do not fit, numbers that are not finite, parameters that do not increase.
        JointLimitError: a sample beyond position limits.
    """
    options = options or TimingOptions()
    samples = checked_path(samples, limits)
    allowed, limits = options.allowed(limits), options.apply(limits)
    places = path_parameters(samples, parameters)
    turns = sharp_turns(samples) if parameters is None else []
    bounds = sorted({0, len(samples) - 1, *(int(index) for index in stops), *turns})
    if bounds[0] < 0 or bounds[-1] >= len(samples):
        wrong = Value("stop", bounds[0] if bounds[0] < 0 else bounds[-1], len(samples) - 1)
        raise InvalidRequestError(
            f"a stop is not one of the {len(samples)} samples", stage="trajectory", values=(wrong,)
        )
    parts: list[Curve] = []
    passing = np.zeros(len(samples))
    start = 0.0
    for first, last in pairwise(bounds):
        part = _curved(samples[first : last + 1], places[first : last + 1], limits, options)
        if part is None:
            passing[first : last + 1] = start
            continue
        passing[first : last + 1] = start + times_at(part.law, places[first : last + 1] - places[first])
        parts.append(part)
        start += part.duration
    return _finished(parts or [_rest(samples[0])], passing, bounds, samples, allowed, options)


def _finished(
    parts: Sequence[Curve],
    passing: Array,
    stops: Sequence[int],
    points: Array,
    limits: MotionLimits,
    options: TimingOptions,
) -> TimedMotion:
    """limits: to keep to, all of them."""
    curve = CurveSequence(parts)
    rests = [Rest(float(passing[index]), points[index]) for index in stops]
    passing.setflags(write=False)
    trajectory = sample_curve(limits.variables, curve, options.period, rests)
    return kept_within(TimedMotion(curve, trajectory, passing, tuple(rests)), limits, options.period)


def kept_within(motion: TimedMotion, limits: MotionLimits, period: float) -> TimedMotion:
    """The motion, from rest to rest, with each part slowed down for which the curve through its samples breaks a limit
    of velocity, acceleration or jerk.

    Between samples that curve is not quite the motion: where its path goes through samples itself, and where steps of
    the jerk are too close for a sample at each.
    """
    for _ in range(MOST_SLOWINGS):
        trajectory = motion.trajectory
        if len(trajectory) < 2:
            break
        needed = slowing(trajectory.curve, limits)
        if not (needed > SMALLEST_FACTOR).any():
            break
        middles = 0.5 * (trajectory.times[:-1] + trajectory.times[1:])
        parts = np.clip(np.searchsorted(motion.curve.starts, middles) - 1, 0, len(motion.curve.parts) - 1)
        factors = np.ones(len(motion.curve.parts))
        np.maximum.at(factors, parts, needed)
        motion = slowed(motion, factors, limits.variables, period)
    return motion


def slowed(motion: TimedMotion, factors: Array, variables: Sequence[str], period: float) -> TimedMotion:
    """The motion with its parts slowed down by factors (parts,) of at least 1, each to a whole number of periods."""
    parts: list[Curve] = []
    for part, factor in zip(motion.curve.parts, factors.tolist(), strict=True):
        whole = np.ceil(part.duration * factor / period - 1e-9) * period
        parts.append(part.stretched(whole / part.duration) if factor > SMALLEST_FACTOR else part)
    curve = CurveSequence(parts)
    passing: Array = np.interp(motion.passing_times, motion.curve.starts, curve.starts)
    times = np.interp([rest.time for rest in motion.rests], motion.curve.starts, curve.starts)
    rests = tuple(Rest(time, rest.position) for time, rest in zip(times.tolist(), motion.rests, strict=True))
    passing.setflags(write=False)
    return TimedMotion(curve, sample_curve(variables, curve, period, rests), passing, rests)


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


def _ways(corners: Array, limits: MotionLimits) -> list[PathInterval]:
    """The straight ways from rest to rest: one profile each for the distance, scaled to each joint."""
    steps = np.abs(np.diff(corners, axis=0))
    lengths = steps.max(axis=1)
    shares = steps / lengths[:, None]
    with np.errstate(divide="ignore"):
        rates = [(rate / shares).min(axis=1) for rate in (limits.velocity, limits.acceleration, limits.jerk)]
    rows = np.stack([lengths, *rates], axis=1).tolist()
    return [PathInterval(length, Rates(*values)) for length, *values in rows]


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
    path = spline_through(samples, places)
    velocity, acceleration, jerk = rates_along(path, limits)
    if options.path_speed > 0.0:
        velocity = min(velocity, options.path_speed)
    rates = Rates(velocity, acceleration, jerk)
    law = to_whole_periods(PathInterval(path.duration, rates).profile(), options.period)
    return TraversedPath(path, law, of_samples=True)


def _rest(point: Array) -> PolynomialCurve:
    return PolynomialCurve(np.array([0.0, 0.0]), point[None, None, :])


def _times_along(curve: PolynomialCurve, points: Array) -> Array:
    """Times at which a straight motion passes points on it."""
    if len(points) == 2:
        return np.array([0.0, curve.duration])
    step = points[-1] - points[0]
    axis = int(np.argmax(np.abs(step)))
    law = PolynomialCurve(curve.breaks, curve.coefficients[:, :, axis : axis + 1])
    return times_at(law, points[:, axis], rising=bool(step[axis] > 0.0))
