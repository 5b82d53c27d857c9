"""Rounding of paths of redundant chains where a joint arrives at its limit, or leaves it.

A path that is tracked or smoothed within limits has a corner there: the joint stops from one point to the next, and the
others take over its motion. The whole motion between two rests would be as slow as that corner requires. Instead, the
joint slows down ahead of its limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import TrajectoryLimitError
from ...kinematics._kernels import ik_kernels
from ...trajectory.limits import Array
from ...trajectory.sampled_paths import rates_along, spline_through
from ...trajectory.timing import follow_samples
from .path.points import Point
from .timing import steep_motions
from .tracking.ik_solutions import redundancy
from .tracking.ik_tracker import MAX_ITERATIONS, STALL_TOLERANCE, IkTracker, within_tolerance

NEAR_LIMIT = 0.15  # max distance of a joint from a limit that holds it, as a fraction of the largest step of a joint
CORNER = 0.1  # min change of the joint's rate at a corner, as a fraction of the largest rate of a joint
MAX_WIDTH = 0.5  # [m or rad] of the path, on either side of a corner
MAX_CHANGE = 0.2  # [rad or m] of a joint by the rounding
MAX_CHANGE_AT_END = 0.008  # [rad or m] of the joint at its limit, at the end of the path
SHRINKAGE = 0.9  # of the width, until the change at the end is small enough
WIDTHS = (1.0, 0.5, 0.25)  # fractions of the largest width that are compared
AROUND = 4  # points on either side of a changed part that belong to the curve whose speed is compared
SHARPNESS = 5.0 / 32.0  # of `_rounded`: the change at a corner as a fraction of width and change of the rate


@dataclass(frozen=True, eq=False)
class Corner:
    """Corner of a path where a joint arrives at a limit, or leaves it.

    Attributes:
        joint: Index of the joint.
        parameter: Path parameter [m or rad].
        change: Change of the rates of all joints per path parameter (dof,).
        limit: Limit of the joint [rad or m].
        begin, end: Points between which the joint is at the limit, without `end`.
    """

    joint: int
    parameter: float
    change: Array
    limit: float
    begin: int
    end: int


def round_limit_arrivals(tracker: IkTracker) -> None:
    """Round the path of a tracker that followed its whole Cartesian path, at each corner where a joint arrives at a
    limit or leaves it. Poses are preserved. A corner is kept where the rounded path would collide or joints would jump,
    and the whole path if the motion along the rounded one would not be faster.
    """
    if redundancy(tracker.problem) < 1 or len(tracker.points) < 4:
        return
    path, parameters, limits = tracker.path(), tracker.parameters(), tracker.problem.joints.limits
    corners = corners_at_limits(path, parameters, limits)
    for corner in corners:
        _hold(tracker, path, corner)
    rounded = 0
    for corner in corners:
        tracker.check_limits()
        rounded += _round(tracker, path, parameters, corner)
    if not rounded:
        return
    tracker.note(f"{rounded} of {len(corners)} corners at joint limits rounded")
    points = tracker.points
    before = _duration(tracker)
    tracker.points = [Point(q, point.segment, point.fraction) for q, point in zip(path[1:], points, strict=True)]
    valid = tracker.refine_points() is None and _duration(tracker) < before
    if not valid or (tracker.options.check_collision and tracker.first_blocked(tracker.path()) is not None):
        tracker.points = points


def _duration(tracker: IkTracker) -> float:
    """Return the duration [s] of the motion along the points of a tracker; infinite if its curve is beyond limits."""
    path, parameters = tracker.path(), tracker.parameters()
    steep = steep_motions(path, parameters)
    stops = sorted({*tracker.stops(), *steep.tolist(), *(steep + 1).tolist()})
    try:
        motion = follow_samples(
            path, tracker.context.limits, parameters=parameters, stops=stops, check=tracker.check_limits
        )
    except TrajectoryLimitError:
        return np.inf
    return motion.curve.duration


def corners_at_limits(path: Array, parameters: Array, limits: Array) -> list[Corner]:
    """Return the corners of a path (n, dof), at path parameters (n,), where a joint begins or ends to be held at one of
    the lower and upper limits in the first two rows of `limits`.

    A held joint may be a little inside of its limit, where the projection to a pose has left it.
    """
    steps = np.abs(np.diff(path, axis=0)).max(axis=1)
    near = NEAR_LIMIT * np.maximum(np.append(steps, 0.0), np.append(0.0, steps))[:, None]
    found = []
    for bound in limits[:2]:
        held = np.abs(path - bound) <= near
        for joint in np.flatnonzero(held.any(axis=0)).tolist():
            changes = np.flatnonzero(np.diff(held[:, joint].astype(np.int8), prepend=0, append=0))
            for begin, end in changes.reshape(-1, 2).tolist():
                if end - begin > 1:  # more than a touch
                    found.extend(_corners_of(path, parameters, joint, float(bound[joint]), begin, end))
    found = [corner for corner in found if corner.end > corner.begin]
    return sorted(found, key=lambda corner: corner.parameter)


def _corners_of(path: Array, parameters: Array, joint: int, limit: float, begin: int, end: int) -> list[Corner]:
    """Return the corners at both ends of the part of a path, from a point to the one before another, at a limit."""
    rates = np.diff(path, axis=0) / np.diff(parameters)[:, None]
    found = []
    if 1 < begin < len(rates) - 1 and rates[begin - 2, joint] != 0.0:
        before = rates[begin - 2]
        arrival = float(parameters[begin - 1] + (limit - path[begin - 1, joint]) / before[joint])
        begin += int(parameters[begin] < arrival)
        after = rates[begin].copy()
        after[joint] = 0.0
        if _is_corner(before, after, joint):
            found.append(Corner(joint, arrival, after - before, limit, begin, end))
    if 2 < end < len(path) - 1 and rates[end, joint] != 0.0:
        after = rates[end]
        departure = float(parameters[end] - (path[end, joint] - limit) / after[joint])
        end -= int(parameters[end - 1] > departure)
        before = rates[end - 2].copy()
        before[joint] = 0.0
        if _is_corner(before, after, joint):
            found.append(Corner(joint, departure, after - before, limit, begin, end))
    return found


def _is_corner(before: Array, after: Array, joint: int) -> bool:
    """Return whether the rate of a joint changes much between two rates (dof,)."""
    return bool(abs(after[joint] - before[joint]) >= CORNER * max(np.abs(before).max(), np.abs(after).max()))


def _hold(tracker: IkTracker, path: Array, corner: Corner) -> None:
    """Move the joint of a path (n, dof) to its limit, in place, where it is held there."""
    begin, end = max(corner.begin, 1), corner.end
    targets = path[begin:end].copy()
    targets[:, corner.joint] = corner.limit
    found, converged = _solved(tracker, targets, begin, corner.joint)
    path[begin:end][converged] = found[converged]


def _round(tracker: IkTracker, path: Array, parameters: Array, corner: Corner) -> bool:
    """Round a corner of a path (n, dof) in place, by the width with the fastest motion; return whether it was."""
    largest = _largest_width(corner, corner.parameter - parameters[0], parameters[-1] - corner.parameter)
    candidates: list[tuple[float, Array]] = []
    for width in (fraction * largest for fraction in WIDTHS):
        rounded = _rounded_path(tracker, path, parameters, corner, width)
        if rounded is None:
            continue
        changed = np.flatnonzero((rounded != path).any(axis=1))
        part = slice(max(0, int(changed[0]) - AROUND), int(changed[-1]) + 1 + AROUND)
        before, after = (_speed(tracker, rows[part], parameters[part]) for rows in (path, rounded))
        if after > before:
            candidates.append((after / before, rounded))
    if not candidates:
        return False
    path[:] = max(candidates, key=lambda candidate: candidate[0])[1]
    return True


def _speed(tracker: IkTracker, path: Array, parameters: Array) -> float:
    """Return the speed [1/s] along the curve through a path (n, dof) at path parameters (n,) that its bends allow."""
    return rates_along(spline_through(path, parameters), tracker.context.limits)[0]


def _rounded_path(tracker: IkTracker, path: Array, parameters: Array, corner: Corner, width: float) -> Array | None:
    """Return a path (n, dof) with a corner rounded by a width on either side [m or rad]; None if it is not valid."""
    begin, end = np.searchsorted(parameters, (corner.parameter - width, corner.parameter + width)).tolist()
    begin = max(begin, 1)
    if end - begin < 2:
        return None
    distances = (parameters[begin:end] - corner.parameter) / width
    targets = path[begin:end] + width * _rounded(distances)[:, None] * corner.change
    found, converged = _solved(tracker, targets, begin, corner.joint)
    moved = np.concatenate((path[begin - 1 : begin], found, path[end : end + 1]))
    if not converged.all() or (np.abs(np.diff(moved, axis=0)) > tracker.max_jumps).any():
        return None
    if tracker.options.check_collision and tracker.motions.first_blocked(moved) is not None:
        return None
    return np.concatenate((path[:begin], found, path[end:]))


def _largest_width(corner: Corner, before: float, after: float) -> float:
    """Return the largest width [m or rad] on either side of a corner, for the path before it and after it.

    The start of the path does not change, and the joint changes little at its end.
    """
    width = min(MAX_WIDTH, before, MAX_CHANGE / (SHARPNESS * float(np.abs(corner.change).max())))
    change = abs(float(corner.change[corner.joint]))
    while width > after and width * change * float(_rounded(np.array(after / width))) > MAX_CHANGE_AT_END:
        width *= SHRINKAGE
    return width


def _rounded(distances: Array) -> Array:
    """Return the difference of a smooth curve to a corner of unit change, at distances (k,) from -1 to 1.

    The corner is |x| / 2, and the curve the polynomial of degree 6 that joins it at both ends with three continuous
    derivatives.
    """
    squares = distances * distances
    return np.asarray((5.0 + squares * (15.0 + squares * (-5.0 + squares))) / 32.0 - 0.5 * np.abs(distances))


def _solved(tracker: IkTracker, targets: Array, begin: int, joint: int) -> tuple[Array, NDArray[np.bool_]]:
    """Return configurations (k, dof) with the value of one joint in `targets` (k, dof), which the others are near, at
    the poses of the points from index `begin` of the path on, and whether each converged.
    """
    problem, points = tracker.problem, tracker.points[begin - 1 : begin - 1 + len(targets)]
    segments = np.array([point.segment for point in points], dtype=np.intp)
    poses = tracker.cartesian_path.poses(segments, np.array([point.fraction for point in points]))
    limits = problem.joints.limits
    found = np.ascontiguousarray(np.clip(targets, limits[0], limits[1]))
    errors = np.empty((len(found), 2))
    lower, upper = limits[0].copy(), limits[1].copy()
    for row in range(len(found)):
        lower[joint] = upper[joint] = found[row, joint]
        errors[row] = ik_kernels.solve(
            problem.chain.table, poses[row], problem.rotation_weights, found[row], lower, upper, tracker.tolerance,
            MAX_ITERATIONS, STALL_TOLERANCE,
        )  # fmt: skip
    return found, within_tolerance(problem, errors)
