"""Compiled kernels of straight motions with frames that have to stay in sets: their check, and their refinement.

Angles are in rad, lengths in m.
"""

from __future__ import annotations

import math

import numpy as np

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_bound_kernels import motion_bounds
from .chain_kernels import Array, forward_pass
from .frame_set_kernels import AXIS_IN_CONE, ORIENTATION, FrameSets, deviation_of, extended, project

MAX_HALVINGS = 12
CHECK_STEP = 0.001  # max motion of a variable between two states of a motion that is checked [rad or m]
MAX_INTERVALS = 128  # that wait for their check; more than their max number of halvings


@compiled
def deviation_on(sets: FrameSets, k: int, start: Array, end: Array, fraction: float) -> float:
    """Return the deviation of a frame from set k [rad or m] at a fraction of a straight motion."""
    sets, start, end = borrowed((sets, start, end))
    q, pose, normal = np.empty(start.shape[0]), np.empty((4, 4)), np.empty(6)
    for i in range(start.shape[0]):
        q[i] = start[i] + fraction * (end[i] - start[i]) if fraction < 1.0 else end[i]
    chain = sets.chains[sets.spans[k, 0] : sets.spans[k, 1]]
    forward_pass(chain, q, np.empty((chain.shape[0], 3)), np.empty((chain.shape[0], 3)), pose)
    return deviation_of(sets, k, pose, normal)


@compiled
def deviation_bounds(sets: FrameSets, k: int, start: Array, end: Array) -> tuple[float, float, float]:
    """Return bounds for the deviation from set k on a straight motion.

    Deviations are distances from convex sets: on geodesics their second derivative is not negative, as long as an angle
    is below a limit (a quarter turn for the axis in a cone, on the sphere; half a turn for an orientation).

    Returns:
        Bound of the negative second derivative with respect to the fraction of the motion, bound of the first
        derivative, and that limit of the deviation; no limit for positions.
    """
    sets, start, end = borrowed((sets, start, end))
    turn, angular, linear = motion_bounds(sets.chains[sets.spans[k, 0] : sets.spans[k, 1]], start, end)
    if sets.rules[k] == AXIS_IN_CONE:
        return angular + 0.5 * turn * turn, turn, 0.5 * math.pi
    if sets.rules[k] == ORIENTATION:
        return angular, turn, math.pi
    return linear, 0.0, math.inf


@compiled
def motion_within(sets: FrameSets, start: Array, end: Array) -> bool:
    """Return whether the states of a straight motion between configurations (dof,) are within the tolerances, including
    both ends; no variable moves by more than CHECK_STEP between two states.

    States are left out where the deviations at both ends of their interval, and bounds of the derivatives, prove them.
    """
    sets, start, end = borrowed((sets, start, end))
    furthest = 0.0
    for i in range(start.shape[0]):
        furthest = max(furthest, abs(end[i] - start[i]))
    count = max(1.0, math.ceil(furthest / CHECK_STEP - 1e-9))
    intervals = np.empty((MAX_INTERVALS, 4))  # first and last state, and the deviations there
    for k in range(sets.rules.shape[0]):
        tolerance = sets.tolerances[k]
        bend, slope, limit = deviation_bounds(sets, k, start, end)
        intervals[0, 0], intervals[0, 1] = 0.0, count
        intervals[0, 2] = deviation_on(sets, k, start, end, 0.0)
        intervals[0, 3] = deviation_on(sets, k, start, end, 1.0)
        if max(intervals[0, 2], intervals[0, 3]) > tolerance:
            return False
        waiting = 1
        while waiting > 0:
            waiting -= 1
            low, high = intervals[waiting, 0], intervals[waiting, 1]
            first, last = intervals[waiting, 2], intervals[waiting, 3]
            width = (high - low) / count
            below = max(first, last) + 0.125 * bend * width * width <= tolerance
            if high - low <= 1.0 or (below and 0.5 * (first + last + slope * width) < limit):
                continue
            middle = math.floor(0.5 * (low + high))
            deviation = deviation_on(sets, k, start, end, middle / count)
            if deviation > tolerance:
                return False
            intervals[waiting, 1], intervals[waiting, 3] = middle, deviation
            intervals[waiting + 1, 0], intervals[waiting + 1, 1] = middle, high
            intervals[waiting + 1, 2], intervals[waiting + 1, 3] = deviation, last
            waiting += 2
    return True


@compiled
def path_within(sets: FrameSets, path: Array) -> bool:
    """Return whether the straight motions of a path (n, dof) are within the tolerances, see `motion_within`."""
    sets, path = borrowed((sets, path))
    for row in range(max(path.shape[0] - 1, 1)):
        if not motion_within(sets, path[row], path[min(row + 1, path.shape[0] - 1)]):
            return False
    return True


@compiled
def refined(sets: FrameSets, path: Array, basis: Array) -> Array:
    """Return a path (n, dof) with points added until straight motions along it are within the tolerances, see
    `motion_within`; no points if projection fails, or if a point of the path is not within them."""
    sets, path, basis = borrowed((sets, path, basis))
    size = path.shape[1]
    points, count = np.empty((2 * path.shape[0], size)), 1
    points[0] = path[0]
    ends, depths = np.empty((MAX_HALVINGS + 1, size)), np.zeros(MAX_HALVINGS + 1, dtype=np.int64)
    middle = np.empty(size)
    for row in range(1, path.shape[0]):
        # Ends of the intervals that follow each other from the latest point, the nearest one last.
        ends[0], depths[0], waiting = path[row], 0, 1
        while waiting > 0:
            start, end = points[count - 1], ends[waiting - 1]
            if motion_within(sets, start, end):
                points = extended(points, count)
                points[count] = end
                count += 1
                waiting -= 1
                continue
            depth = depths[waiting - 1] + 1
            for i in range(size):
                middle[i] = start[i] + 0.5 * (end[i] - start[i])
            if depth > MAX_HALVINGS or not project(sets, middle, basis):
                return points[:0]
            depths[waiting - 1] = depth
            ends[waiting], depths[waiting] = middle, depth
            waiting += 1
    return points[:count]
