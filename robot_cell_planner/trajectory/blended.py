"""Smooth traversal of a path: corners are blended within a tolerance, checked for collisions and timed.

A blend is passed at constant speed, and between blends Ruckig's profiles change the speed. All joints obey their limits
everywhere, by the extrema of the polynomials. The radius of a colliding blend is halved; after several halvings the
blend is removed, and the motion stops at that waypoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import ruckig

from ..errors import InvalidRequestError, TrajectoryError, Value
from ..model.arguments import checked_fields
from ..model.units import ANY_JOINT
from .braking import checked_velocity, with_braking
from .corner_blends import (
    Blends,
    CornerRates,
    Polyline,
    blended_path,
    interval_rates,
    largest_radii,
    points_of_blend,
)
from .curves import CurveSequence, PolynomialCurve, TraversedPath, times_at
from .limits import Array, MotionLimits
from .profiles import PathInterval, Rates, pieces_of, reachable_speed, solved, speed_change_distance, to_whole_periods
from .sampled_paths import checked_path
from .timing import (
    TimedMotion,
    TimingOptions,
    corners_of,
    duration_of_stopping,
    slowed_to_limits,
    stop_at_waypoints,
)
from .trajectory import Rest, sample_curve
from .validation import CollisionCheck, MotionCheck

# Candidate fractions of the shorter adjacent segment that blends may use; the fastest is selected.
FRACTIONS = (0.48, 0.4, 0.3, 0.18)
HALVINGS = 5


@checked_fields
@dataclass(frozen=True)
class SmoothOptions:
    """Options of corner blending.

    Attributes:
        tolerance: Maximum distance between path and motion at a blend [rad or m of each joint].
        in_collision: Collision check of the blends, from configurations (n, dof) to (n,) of bool; None: not checked.
        collides_between: Whether a motion collides between its states (n, dof), all of which are free; None: not
            checked.
        step: Maximum change of a joint between checked states [rad or m].

    Raises:
        InvalidRequestError: The tolerance or the step is not above 0.
    """

    tolerance: float = 0.1
    in_collision: CollisionCheck | None = None
    collides_between: MotionCheck | None = None
    step: float = 0.001

    def __post_init__(self) -> None:
        for name in ("tolerance", "step"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                text = f"the {name} of blends is {value:g}, expected a finite number above 0"
                raise InvalidRequestError(text, stage="trajectory", values=(Value(name, value),))


def smooth(
    path: Array,
    limits: MotionLimits,
    options: TimingOptions | None = None,
    blends: SmoothOptions | None = None,
    *,
    start_velocity: Array | None = None,
    end_velocity: Array | None = None,
    speeds: Array | None = None,
) -> TimedMotion:
    """Time a motion along a path (n, dof) that stops only where necessary.

    It takes no longer than with stops, or some percent longer with a limited speed along the path or of the tool.

    Args:
        path: Waypoints (n, dof) [rad or m].
        limits: Limits of the joints.
        options: Options of the timing.
        blends: Options of corner blending.
        start_velocity, end_velocity: Velocities (dof,) at both ends; zero by default. A velocity that deviates from the
            path adds a short segment along the velocity before or after the path, which is checked for collisions like
            the blends.
        speeds: Maximum joint-space speed (Euclidean) on each segment (n - 1,); None: limited by the joints only.

    Raises:
        InvalidRequestError: The path or a velocity has the wrong shape or is not finite.
        JointLimitError: A waypoint is beyond position limits.
        TrajectoryError: A start or end velocity exceeds its limits, or there is no collision-free distance to brake.
    """
    options, blends = options or TimingOptions(), blends or SmoothOptions()
    path = checked_path(path, limits.narrowed(options.limits))
    allowed, scaled = options.allowed(limits), options.apply(limits)
    corner_indices = corners_of(path)
    corners = path[corner_indices]
    first = checked_velocity(start_velocity, allowed, "start")
    last = checked_velocity(end_velocity, allowed, "end")
    if len(corners) == 1 and not (first.any() or last.any()):
        return stop_at_waypoints(path, limits, options)
    moving = bool(first.any() or last.any())
    ends = float(np.linalg.norm(first)), float(np.linalg.norm(last))
    caps = _caps(corner_indices, speeds)
    # With limited speeds, a segment that brakes from a velocity, or leads to it, is not faster than that.
    end_caps = (np.inf, np.inf) if speeds is None else ends
    corners, caps, added = with_braking(corners, (caps, *end_caps), (first, last), scaled, partial(_collides, blends))
    line = Polyline.through(corners)
    plain = interval_rates(line, scaled)
    rates = [replace(rate, speed=min(rate.speed, cap)) for rate, cap in zip(plain, caps.tolist(), strict=True)]
    best = _fastest(line, rates, ends, scaled, blends)
    if speeds is None and not moving and duration_of_stopping(corners, scaled, options) <= best.duration:
        return stop_at_waypoints(path, limits, options)
    return _finished(best, path, corner_indices, added, ends, allowed, options)


@dataclass(frozen=True, eq=False)
class _Choice:
    """Candidate solution: radii and speeds at all corners, rises of the inner blends, and the timed path intervals."""

    line: Polyline
    radii: Array
    rises: Array
    speeds: Array
    intervals: tuple[PathInterval, ...]
    profiles: ruckig.Trajectory
    duration: float


def _fastest(
    line: Polyline, rates: list[Rates], ends: tuple[float, float], limits: MotionLimits, blends: SmoothOptions
) -> _Choice:
    best: _Choice | None = None
    tried: set[bytes] = set()
    corners = CornerRates.of(line, limits)
    for fraction in FRACTIONS:
        chosen = corners.fastest(largest_radii(line, blends.tolerance, fraction))
        chosen = _free_blends(line, chosen, corners, blends)
        if chosen.radii.tobytes() not in tried:
            tried.add(chosen.radii.tobytes())
            choice = _timed(line, chosen, rates, ends)
            best = choice if best is None or choice.duration < best.duration else best
    assert best is not None
    return best


def _free_blends(line: Polyline, blends: Blends, corners: CornerRates, options: SmoothOptions) -> Blends:
    """Return the blends with radii halved until they are free of collision, or 0."""
    if options.in_collision is None:
        return blends
    left = np.flatnonzero(blends.radii).tolist()
    for _ in range(HALVINGS):
        if not left:
            return blends
        points = [
            points_of_blend(line, corner, float(blends.radii[corner]), float(blends.rises[corner]), options.step)
            for corner in left
        ]
        hits = np.asarray(options.in_collision(np.concatenate(points)))
        parts = np.split(hits, np.cumsum([len(each) for each in points])[:-1])
        left = [
            corner
            for corner, states, hit in zip(left, points, parts, strict=True)
            if hit.any() or (options.collides_between is not None and options.collides_between(states))
        ]
        radii = blends.radii.copy()
        radii[left] *= 0.5
        # A changed radius may change the shape of its own blend, which is checked again; the other blends are
        # unchanged.
        blends = corners.fastest(radii)
    radii = blends.radii.copy()
    radii[left] = 0.0
    return corners.fastest(radii)


def _timed(line: Polyline, blends: Blends, rates: list[Rates], ends: tuple[float, float]) -> _Choice:
    """Compute the maximum speeds at the corners that the path intervals between them allow.

    Raises:
        TrajectoryError: The interval is too short to brake from a start or end velocity.
    """
    around = np.concatenate(([0.0], blends.radii, [0.0]))
    caps = [min(before.speed, after.speed) for before, after in pairwise(rates)]
    inner = np.minimum(blends.speeds, caps).tolist()
    lengths = (line.lengths - around[:-1] - around[1:]).tolist()
    speeds = [ends[0], *inner, ends[1]]
    for index, rate in enumerate(rates):
        speeds[index + 1] = reachable_speed(speeds[index], speeds[index + 1], lengths[index], rate)
    for index in range(len(rates) - 1, -1, -1):
        speeds[index] = reachable_speed(speeds[index + 1], speeds[index], lengths[index], rates[index])
    for name, index, requested, found in (("start", 0, ends[0], speeds[0]), ("end", -1, ends[1], speeds[-1])):
        if found < requested:
            distance = speed_change_distance(requested, 0.0, rates[index])
            numbers = (Value("distance", distance, lengths[index], ANY_JOINT),)
            raise TrajectoryError(f"the {name} velocity requires more distance than the path has there", values=numbers)
    intervals = tuple(
        PathInterval(length, rate, speeds[index], speeds[index + 1])
        for index, (length, rate) in enumerate(zip(lengths, rates, strict=True))
    )
    passed = sum(2.0 * radius / speed for radius, speed in zip(around.tolist(), speeds, strict=True) if radius > 0.0)
    profiles = solved(intervals)
    duration = passed + sum(profiles.independent_min_durations)
    return _Choice(line, around, blends.rises, np.array(speeds), intervals, profiles, duration)


def _finished(
    choice: _Choice,
    path: Array,
    corner_indices: list[int],
    added: tuple[bool, bool],
    ends: tuple[float, float],
    limits: MotionLimits,
    options: TimingOptions,
) -> TimedMotion:
    """Assemble the parts between stops. Durations of parts with zero velocity at both ends are multiples of
    `TimingOptions.duration_step`."""
    count = len(choice.line.corners)
    stops = [0, *(i for i in range(1, count - 1) if choice.radii[i] == 0.0), count - 1]
    parts: list[TraversedPath] = []
    passing_corners = np.zeros(count)
    rests: list[Rest] = []
    start = 0.0
    if ends[0] == 0.0:
        rests.append(Rest(0.0, choice.line.corners[0]))
    for first, last in pairwise(stops):
        line = Polyline(
            choice.line.corners[first : last + 1],
            choice.line.directions[first:last],
            choice.line.lengths[first:last],
        )
        time_scaling, times = _time_scaling(choice, first, last)
        at_rest = choice.speeds[first] == 0.0 and choice.speeds[last] == 0.0
        if at_rest:
            stretched = to_whole_periods(time_scaling, options.duration_step)
            times = times * (stretched.duration / time_scaling.duration)
            time_scaling = stretched
        part = TraversedPath(
            blended_path(line, choice.radii[first + 1 : last], choice.rises[first : last - 1]), time_scaling
        )
        passing_corners[first : last + 1] = start + times
        start += part.duration
        parts.append(part)
        if last < count - 1 or ends[1] == 0.0:
            rests.append(Rest(start, choice.line.corners[last]))
    curve = CurveSequence(parts)
    timed = list(zip(curve.starts.tolist(), parts, strict=False))
    passing = _passing_times(path, corner_indices, choice.line, stops, timed, (passing_corners, added))
    trajectory = sample_curve(limits.variables, curve, options.period, rests)
    motion = TimedMotion(curve, trajectory, passing, tuple(rests))
    return motion if any(ends) else slowed_to_limits(motion, limits, options.period)


def _time_scaling(choice: _Choice, first: int, last: int) -> tuple[PolynomialCurve, Array]:
    """Return the path parameter over time between two stops, and the passing times of corners (blend middles)."""
    spans: list[float] = []
    rows: list[tuple[float, float, float, float]] = []
    passing, time, parameter = [0.0], 0.0, 0.0
    profiles = choice.profiles.profiles[0]
    radii, speeds, lengths = choice.radii.tolist(), choice.speeds.tolist(), choice.line.lengths.tolist()
    for index in range(first, last):
        taken, pieces = pieces_of(choice.intervals[index], profiles[index])
        spans += taken
        rows += [(parameter + piece[0], *piece[1:]) for piece in pieces]
        time += math.fsum(taken)
        radius, speed = radii[index + 1], speeds[index + 1]
        parameter += lengths[index] - radii[index] - radius
        if radius > 0.0:
            span = 2.0 * radius / speed
            rows.append((parameter, speed, 0.0, 0.0))
            spans.append(span)
            passing.append(time + 0.5 * span)
            time += span
            parameter += 2.0 * radius
        else:
            passing.append(time)
    breaks = np.concatenate(([0.0], np.cumsum(spans)))
    return PolynomialCurve(breaks, np.array(rows)[:, :, None]), np.array(passing)


def _passing_times(
    path: Array,
    corner_indices: list[int],
    line: Polyline,
    stops: Sequence[int],
    parts: Sequence[tuple[float, TraversedPath]],
    corners: tuple[Array, tuple[bool, bool]],
) -> Array:
    """Return the time at which each point of the path is passed: at its place on its straight segment.

    parts: Start time and motion between two stops each. corners: Passing times of the corners of the line, and whether
    its second and its last but one were added.
    """
    times, (passing, (before, after)) = np.zeros(len(path)), corners
    if len(corner_indices) > 1:
        own = slice(int(before), len(passing) - int(after))
        lengths = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))))
        along = np.concatenate(([0.0], np.cumsum(line.lengths)))
        places = np.interp(lengths, lengths[corner_indices], along[own])
        for (first, last), (start, part) in zip(pairwise(stops), parts, strict=True):
            inside = np.flatnonzero((places >= along[first]) & (places <= along[last]))
            values = np.concatenate(([0.0], places[inside] - along[first], [along[last] - along[first]]))
            times[inside] = start + times_at(part.time_scaling, values)[1:-1]
        times[corner_indices] = passing[own]
        # A segment that was added leaves the path at its start, or joins it at its end.
        times[0], times[-1] = 0.0, start + part.duration
    times.setflags(write=False)
    return times


def _caps(corner_indices: list[int], speeds: Array | None) -> Array:
    """Return the maximum speed on each retained segment: the minimum of the speeds of the original segments on it."""
    if speeds is None:
        return np.full(max(len(corner_indices) - 1, 0), np.inf)
    return np.array([float(np.min(speeds[a:b])) for a, b in pairwise(corner_indices)])


def _collides(blends: SmoothOptions, start: Array, end: Array) -> bool:
    """Return whether a straight motion between two configurations (dof,) collides."""
    if blends.in_collision is None:
        return False
    count = int(np.ceil(float(np.abs(end - start).max()) / blends.step)) + 1
    points, between = np.linspace(start, end, count + 1), blends.collides_between
    return bool(np.asarray(blends.in_collision(points)).any()) or (between is not None and between(points))
