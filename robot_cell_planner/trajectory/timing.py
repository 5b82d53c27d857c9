"""Time parameterization of paths within velocity, acceleration and jerk limits, with profiles of Ruckig.

The geometry of a path is kept. The timing is computed for the path parameter, so that all joints obey their limits on
the whole path, not only at samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import accumulate, pairwise

import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..errors import InvalidRequestError, Value
from ..model.arguments import checked_fields, public
from ..model.mechanism import JointLimits
from ..system.cache import IdentityCache
from .curve_limits import slowing
from .curves import Curve, CurveSequence, PolynomialCurve, TraversedPath, times_at
from .limits import Array, MotionLimits, check_scales
from .position_limits import within_positions
from .profiles import AT_ONCE, PathInterval, Rates, pieces_of_all, solved, to_whole_periods
from .sampled_paths import SAME_POINT, checked_path, path_parameters, rates_along, sharp_corners, spline_through
from .straight_kernels import find_corners
from .straight_motions import passing_times, straight_curve, straight_segments
from .trajectory import Rest, Trajectory, sample_curve

DEFAULT_PERIOD = 0.02  # [s]
DURATION_STEP = 0.01  # [s], of which durations between stops are multiples
# Fractions of the velocity, acceleration and jerk limits that motions are timed with. The rest is reserved for rounding
# and for a robot that is a few 1e-5 rad or m away from the start, see `splicing`.
LIMIT_FRACTIONS = (1.0 - 1e-4, 1.0 - 1e-4, 1.0 - 1e-3)
MAX_SLOWDOWNS = 5
CURVES_AT_ONCE = 16  # between two checks of whether the timing is to be ended early
SMALLEST_FACTOR = 1.0 + 1e-9
_reduced: IdentityCache[MotionLimits] = IdentityCache(size=64, owners=64)  # to these fractions of given limits


class TimingMethod(str, Enum):
    """Time parameterization method."""

    STOP_AT_WAYPOINTS = "stop at waypoints"
    SMOOTH = "smooth"
    FOLLOW_SAMPLES = "follow samples"


@checked_fields
@dataclass(frozen=True)
class TimingOptions:
    """Options of the time parameterization.

    The options from `method` on are only used by `parameterization.time_path`.

    Attributes:
        period: Sample period [s].
        velocity_scale, acceleration_scale, jerk_scale: Fractions of the limits to use, above 0 and at most 1.
        path_speed: Maximum rate of the path parameter; 0: limited by the joints only. The parameter of a Cartesian
            motion is the way of its frame, so that this is its speed [m/s], or the angle where it rotates in place
            [rad/s]. The parameter of a path in joint space is the (Euclidean) distance in joint space [rad/s or m/s],
            by every method. `parameterization.time_path` also limits these speeds between distant samples, where the
            curve through them is faster than its parameter.
        method: How waypoints are passed.
        limits: Limits of this request by joint; they can only narrow those of the model. An effort limit among them
            implies `limit_effort`.
        tool_speed: Maximum speed of the tool centre point [m/s]; 0: not limited.
        limit_effort: Whether joint torques limit the accelerations.
        blend_tolerance: Tolerance of the SMOOTH method, see `blended.SmoothOptions`.
        start_velocity, end_velocity: Velocities by joint [rad/s or m/s], zero for joints that are not named; only the
            SMOOTH method supports nonzero values. Their Euclidean norms are at most `path_speed`.
        limit_units: Units of the positions that `limits` are given in, "rad" or "m", by joint. Those that are given
            have to be those of the joints of the cell.

    Raises:
        InvalidRequestError: A value is outside its range.
    """

    period: float = DEFAULT_PERIOD
    velocity_scale: float = 1.0
    acceleration_scale: float = 1.0
    jerk_scale: float = 1.0
    path_speed: float = 0.0
    method: TimingMethod = TimingMethod.STOP_AT_WAYPOINTS
    limits: Mapping[str, JointLimits] = field(default_factory=frozendict)
    tool_speed: float = 0.0
    limit_effort: bool = False
    blend_tolerance: float = 0.1
    start_velocity: Mapping[str, float] = field(default_factory=frozendict)
    end_velocity: Mapping[str, float] = field(default_factory=frozendict)
    limit_units: Mapping[str, str] = field(default_factory=frozendict)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.period) and 1e-4 <= self.period <= 10.0):
            text = f"the sample period is {self.period:g} s, expected 1e-4 to 10"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("period", self.period, None, "s"),))
        check_scales(self.velocity_scale, self.acceleration_scale, self.jerk_scale)
        if not (math.isfinite(self.path_speed) and self.path_speed >= 0.0):
            text = f"the path speed is {self.path_speed:g}, expected at least 0"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("path speed", self.path_speed),))
        if not (math.isfinite(self.tool_speed) and self.tool_speed >= 0.0):
            text = f"the tool speed is {self.tool_speed:g}, expected at least 0"
            raise InvalidRequestError(text, stage="trajectory", values=(Value("tool speed", self.tool_speed),))
        if not (math.isfinite(self.blend_tolerance) and self.blend_tolerance > 0.0):
            text = f"the blend tolerance is {self.blend_tolerance:g}, expected a finite number above 0"
            values = (Value("blend tolerance", self.blend_tolerance),)
            raise InvalidRequestError(text, stage="trajectory", values=values)
        for name in ("limits", "start_velocity", "end_velocity", "limit_units"):
            object.__setattr__(self, name, frozendict(getattr(self, name)))
        for name, velocities in (("start_velocity", self.start_velocity), ("end_velocity", self.end_velocity)):
            for joint, velocity in velocities.items():
                if not math.isfinite(velocity):
                    text = f"{name} of joint {joint} is {velocity:g}, expected a finite number"
                    values = (Value(f"{name} of {joint}", velocity),)
                    raise InvalidRequestError(text, stage="trajectory", subjects=(joint,), values=values)

    @property
    def duration_step(self) -> float:
        """Step of durations between stops [s]: they are multiples of it."""
        return duration_step(self.period)

    @property
    def efforts_are_limited(self) -> bool:
        """Whether joint torques limit the accelerations, of the model or of this request."""
        return self.limit_effort or any(limit.effort for limit in self.limits.values())

    @property
    def ends_moving(self) -> bool:
        """Whether a velocity at the end is requested."""
        return any(self.end_velocity.values())

    def allowed(self, limits: MotionLimits) -> MotionLimits:
        """Return the limits that the motion must obey: those of the model, narrowed and scaled by the request."""
        return limits.narrowed(self.limits).scaled(self.velocity_scale, self.acceleration_scale, self.jerk_scale)

    def apply(self, limits: MotionLimits) -> MotionLimits:
        """Return the limits to time with: the allowed limits, reduced by the reserve `LIMIT_FRACTIONS`."""
        allowed = self.allowed(limits)
        return _reduced.get((allowed,), (), lambda: allowed.scaled(*LIMIT_FRACTIONS))


@dataclass(frozen=True, eq=False)
class TimedMotion:
    """A timed motion.

    Attributes:
        curve: Exact curve, one part for each motion between two stops.
        trajectory: Samples of the curve.
        passing_times: Time at which each point of the path is passed (k,) [s].
        rests: Times and positions with zero velocity.
    """

    curve: CurveSequence
    trajectory: Trajectory
    passing_times: Array
    rests: tuple[Rest, ...]

    @property
    def parts_of_pieces(self) -> NDArray[np.intp]:
        """Index of the part of each piece of the trajectory's curve (m,), ascending."""
        middles = 0.5 * (self.trajectory.times[:-1] + self.trajectory.times[1:])
        return np.clip(np.searchsorted(self.curve.starts, middles) - 1, 0, len(self.curve.parts) - 1)


def duration_step(period: float) -> float:
    """Return the step of durations between stops for a sample period [s]."""
    return min(period, DURATION_STEP)


def uninterrupted() -> None:
    """The check of motions whose timing is not to be ended early."""


@public
def stop_at_waypoints(
    path: Array,
    limits: MotionLimits,
    options: TimingOptions | None = None,
    *,
    check: Callable[[], None] = uninterrupted,
) -> TimedMotion:
    """Time straight joint-space motions between waypoints (n, dof), with a stop at each waypoint.

    A waypoint exactly on the straight line between its neighbours is passed without a stop. The duration of each
    segment is a multiple of `TimingOptions.duration_step`. Every stop is a sample.

    Args:
        path: Waypoints (n, dof) [rad or m].
        limits: Limits of the joints.
        options: Options of the timing.
        check: Called every 256 segments; may raise, for example at a time limit.

    Raises:
        InvalidRequestError: The path has the wrong shape or is not finite.
        JointLimitError: A waypoint is beyond position limits.
    """
    options = options or TimingOptions()
    allowed, limits = options.allowed(limits), options.apply(limits)
    path = checked_path(path, allowed)
    corners = corners_of(path)
    parts: list[PolynomialCurve] = []
    passing = np.zeros(len(path))
    start = 0.0
    pieces = pieces_of_all(straight_segments(path[corners], limits, options.path_speed))
    for number, ((first, last), (spans, rows)) in enumerate(zip(pairwise(corners), pieces, strict=True)):
        if number % AT_ONCE == 0:
            check()
        part = straight_curve([0.0, *accumulate(spans)], rows, path[first], path[last], options.duration_step)
        passing[first : last + 1] = start + passing_times(part, path[first : last + 1])
        parts.append(part)
        start += part.duration
    return _finished(parts or [_rest(path[0])], passing, corners, path, allowed, options)


def duration_of_stopping(corners: Array, limits: MotionLimits, options: TimingOptions) -> float:
    """Return the duration [s] of a motion through corners (n, dof), n at least 2, as timed by `stop_at_waypoints`.

    limits: limits after applying the options.
    """
    times: list[float] = solved(straight_segments(corners, limits, options.path_speed)).independent_min_durations
    step = options.duration_step
    return step * sum(math.ceil(time / step - 1e-9) for time in times)


@public
def follow_samples(
    samples: Array,
    limits: MotionLimits,
    options: TimingOptions | None = None,
    *,
    parameters: Array | None = None,
    stops: Sequence[int] = (),
    check: Callable[[], None] = uninterrupted,
) -> TimedMotion:
    """Time a smooth motion through dense samples (n, dof) of a curve, such as those of a Cartesian path.

    Between two stops the samples are interpolated by a cubic spline with continuous curvature over the path parameter.
    Samples less than 1e-4 after the previous one are passed, but are not knots of the spline. The motion has zero
    velocity at both ends and at the stops.

    Args:
        samples: Configurations (n, dof) [rad or m].
        limits: Limits of the joints.
        options: Options of the timing.
        parameters: Increasing path parameter of the samples (n,), for example metres travelled; None: the distance in
            joint space. In the latter case the motion also stops where the samples reverse or turn by more than 45
            degrees (`sampled_paths.sharp_corners`), since the curve has a corner there over the joint-space distance.
        stops: Indices of samples at which to stop; the curve may have corners there.
        check: Called every 16 stops; may raise, for example at a time limit.

    Raises:
        InvalidRequestError: Shapes do not fit, numbers are not finite, or parameters do not increase.
        JointLimitError: A sample is beyond position limits.
        TrajectoryLimitError: The curve through the samples is beyond them.
    """
    options = options or TimingOptions()
    allowed, limits = options.allowed(limits), options.apply(limits)
    samples = checked_path(samples, allowed)
    sample_parameters = path_parameters(samples, parameters)
    turns = sharp_corners(samples) if parameters is None else []
    bounds = sorted({0, len(samples) - 1, *(int(index) for index in stops), *turns})
    if bounds[0] < 0 or bounds[-1] >= len(samples):
        wrong = Value("stop", bounds[0] if bounds[0] < 0 else bounds[-1], len(samples) - 1)
        raise InvalidRequestError(
            f"a stop is not one of the {len(samples)} samples", stage="trajectory", values=(wrong,)
        )
    parts: list[Curve] = []
    passing = np.zeros(len(samples))
    start = 0.0
    for number, (first, last) in enumerate(pairwise(bounds)):
        if number % CURVES_AT_ONCE == 0:
            check()
        part = _curved(samples[first : last + 1], sample_parameters[first : last + 1], limits, options)
        if part is None:
            passing[first : last + 1] = start
            continue
        passing[first : last + 1] = start + times_at(
            part.time_scaling, sample_parameters[first : last + 1] - sample_parameters[first]
        )
        parts.append(part)
        start += part.duration
    motion = _finished(parts or [_rest(samples[0])], passing, bounds, samples, allowed, options)
    return kept_within(motion, allowed, options.period)


def kept_within(motion: TimedMotion, limits: MotionLimits, period: float) -> TimedMotion:
    """Return a motion whose curve between samples is within position limits, see `position_limits`."""
    return replace(motion, trajectory=within_positions(motion.curve, motion.trajectory, motion.rests, limits, period))


def _finished(
    parts: Sequence[Curve],
    passing: Array,
    stops: Sequence[int],
    points: Array,
    limits: MotionLimits,
    options: TimingOptions,
) -> TimedMotion:
    """Assemble a timed motion from its parts. limits: limits that the motion must obey."""
    curve = CurveSequence(parts)
    rests = [Rest(float(passing[index]), points[index]) for index in stops]
    passing.setflags(write=False)
    trajectory = sample_curve(limits.variables, curve, options.period, rests)
    return slowed_to_limits(TimedMotion(curve, trajectory, passing, tuple(rests)), limits, options.period)


def slowed_to_limits(motion: TimedMotion, limits: MotionLimits, period: float) -> TimedMotion:
    """Slow down those parts of a motion for which the trajectory's curve exceeds velocity, acceleration or jerk limits.

    The motion has zero velocity at both ends. The curve through the samples differs slightly from the exact motion
    between samples: where the path itself interpolates samples, and where jerk steps are too close for a sample at
    each.
    """
    for _ in range(MAX_SLOWDOWNS):
        trajectory = motion.trajectory
        if len(trajectory) < 2:
            break
        needed = slowing(trajectory.curve, limits)
        if not (needed > SMALLEST_FACTOR).any():
            break
        factors = np.ones(len(motion.curve.parts))
        np.maximum.at(factors, motion.parts_of_pieces, needed)
        motion = slowed(motion, factors, limits.variables, period)
    return motion


def slowed(motion: TimedMotion, factors: Array, variables: Sequence[str], period: float) -> TimedMotion:
    """Slow down the parts of a motion by factors (parts,) of at least 1, each to a multiple of `duration_step`."""
    step, parts = duration_step(period), list[Curve]()
    for part, factor in zip(motion.curve.parts, factors.tolist(), strict=True):
        whole = np.ceil(part.duration * factor / step - 1e-9) * step
        parts.append(part.stretched(whole / part.duration) if factor > SMALLEST_FACTOR else part)
    curve = CurveSequence(parts)
    passing: Array = np.interp(motion.passing_times, motion.curve.starts, curve.starts)
    times = np.interp([rest.time for rest in motion.rests], motion.curve.starts, curve.starts)
    rests = tuple(Rest(time, rest.position) for time, rest in zip(times.tolist(), motion.rests, strict=True))
    passing.setflags(write=False)
    return TimedMotion(curve, sample_curve(variables, curve, period, rests), passing, rests)


def corners_of(path: Array) -> list[int]:
    """Return the indices of the corners of a path, with the first and the last point; repeated points are skipped."""
    corners = np.empty(len(path), dtype=np.intp)
    count = find_corners(np.array(path, order="C"), SAME_POINT, corners)
    found: list[int] = corners[:count].tolist()
    return found


def _curved(
    samples: Array, sample_parameters: Array, limits: MotionLimits, options: TimingOptions
) -> TraversedPath | None:
    """Return the spline through samples with zero velocity at both ends; None if all samples are equal."""
    if float(np.ptp(samples, axis=0).max()) <= SAME_POINT:
        return None
    return traversed(spline_through(samples, sample_parameters), limits, options)


def traversed(path: PolynomialCurve, limits: MotionLimits, options: TimingOptions) -> TraversedPath:
    """Return the motion along a spline with zero velocity at both ends. limits: after applying the options."""
    velocity, acceleration, jerk = rates_along(path, limits)
    if options.path_speed > 0.0:
        velocity = min(velocity, options.path_speed)
    rates = Rates(velocity, acceleration, jerk)
    time_scaling = to_whole_periods(PathInterval(path.duration, rates).profile(), options.duration_step)
    return TraversedPath(path, time_scaling, of_samples=True)


def _rest(point: Array) -> PolynomialCurve:
    return PolynomialCurve(np.array([0.0, 0.0]), point[None, None, :])
