"""Collision checks of many consecutive states of a motion with few queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.certification._kernels.arrays import UNBOUNDED
from ...collision.certification.motion_bounds import motion_model
from ...collision.engines.base import distance_error
from ...collision.pairs.allowed_pairs import MAX_EXTRA_MARGIN
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from .path_kernels import find_on_motions, group_states

Indices = NDArray[np.intp]
# Extra clearances [m], in this order, for which states are checked to prove the states around them free.
EXTRA_CLEARANCES = (0.04, 0.015, 0.005)
# Min number of states for which extra clearances are faster than single checks: the checkers for them take tens of
# milliseconds to build for each cell.
MIN_STATES = 1000
STATES_PER_BATCH = 64  # states per collision query
# Widths of groups of consecutive states that are proven free together, wide ones first [rad or m].
WIDTHS = (0.1, 0.02)
ROUNDING = 1e-12  # [rad or m] of the box around a group
# Distance of states from a motion on which they lie, within rounding [rad or m]. Certificates cover a nanoradian.
ON_MOTION = 1e-10
LOOK_AHEAD = 64  # motions of a path


def free_along(checks: CountedChecks, configurations: Array) -> NDArray[np.bool_]:
    """Return for each configuration (n, dof) of a motion, in order, whether it is free: (n,).

    States that spheres prove free, in groups where possible, are not checked again. Of many others, if a state has an
    extra clearance, all states are free before which objects cannot approach each other by as much. The rest is checked
    individually, so the results equal those of `CountedChecks.batch_free`. Nothing is proven about configurations
    between the states.

    Raises:
        CancelledError, TimedOutError: See `ProgressMonitor`.
    """
    result = _proven_free(checks, configurations)
    left = np.flatnonzero(~result)
    left = left[~_free_by_clearance(checks, configurations[left])]
    result[:] = True
    result[left] = checks.exactly_free(configurations[left])
    return result


def on_proven_motions(checks: CountedChecks, path: Array, configurations: Array) -> NDArray[np.bool_]:
    """Return for each configuration (k, dof), in the order along a path (n, dof), whether it lies on a motion of the
    path that was proven free before: (k,).
    """
    found = np.zeros(len(configurations), dtype=np.intp)
    proven = checks.motions_proven_before(path)
    if proven.any():
        # Copies, since kernels are compiled for writable arrays.
        points, states = (np.array(rows, order="C") for rows in (path, configurations))
        find_on_motions(points, proven.astype(np.intp), states, ON_MOTION, LOOK_AHEAD, found)
    return found.astype(bool)


def _proven_free(checks: CountedChecks, configurations: Array) -> NDArray[np.bool_]:
    """As `CountedChecks.proven_free`; groups of consecutive states are proven free together where that is possible."""
    free = np.zeros(len(configurations), dtype=bool)
    configurations = np.array(configurations, order="C")  # a copy: the kernel is compiled for writable arrays
    for width in WIDTHS:
        left = np.flatnonzero(~free)
        if not len(left):
            return free
        lowest, highest, groups = grouped(configurations, left, width)
        proven = checks.proven_free(0.5 * (lowest + highest), 0.5 * (highest - lowest) + ROUNDING)
        free[left] = proven[groups]
    left = np.flatnonzero(~free)
    free[left] = checks.proven_free(configurations[left])
    return free


def grouped(configurations: Array, left: Indices, width: float) -> tuple[Array, Array, Indices]:
    """Return the smallest and largest joint values of each group of configurations (g, dof), and the group of each
    configuration (k,). Arguments are as in `path_kernels.group_states`.
    """
    lowest, highest = np.empty((2, len(left), configurations.shape[1]))
    groups = np.empty(len(left), dtype=np.intp)
    count = group_states(configurations, left, width, lowest, highest, groups)
    return lowest[:count], highest[:count], groups


def _free_by_clearance(checks: CountedChecks, configurations: Array) -> NDArray[np.bool_]:
    """Return for each configuration (n, dof) whether an extra clearance proves it free: (n,)."""
    free = np.zeros(len(configurations), dtype=bool)
    if len(configurations) < MIN_STATES:
        return free
    checker = checks.checker
    model = motion_model(checker)
    bounds = model.approach_bounds
    ends = configurations.min(axis=0), configurations.max(axis=0)
    if (bounds >= UNBOUNDED).any() or any(model.prismatic_excess(q) is not None for q in ends):
        return free
    steps = np.abs(np.diff(configurations, axis=0)) @ bounds
    approach = np.concatenate(([0.0], np.cumsum(steps)))
    for extra in EXTRA_CLEARANCES:
        left = np.flatnonzero(~free)
        if not len(left):
            break
        max_approach = extra - distance_error(extra + model.largest_margin, checker.engine)
        if max_approach <= 0.0 or checker.options.extra_margin + extra > MAX_EXTRA_MARGIN:
            continue
        centres, members = _blocks(approach[left], max_approach)
        free[left] = _free_with_margin(checks, configurations[left[centres]], extra)[members]
    return free


def _blocks(approach: Array, max_approach: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Group states into blocks within which objects approach each other by at most `max_approach` [m].

    Args:
        approach: Upper bound of the approach up to each state (n,).

    Returns:
        Index of the middle state of each block (b,), and block of each state (n,).
    """
    # Blocks are no wider than `max_approach`, so that any of their states can represent them.
    numbers = np.floor(approach / max_approach).astype(np.int64)
    _, firsts, members = np.unique(numbers, return_index=True, return_inverse=True)
    ends = np.append(firsts[1:], len(approach))
    return (firsts + ends) // 2, members


def _free_with_margin(checks: CountedChecks, configurations: Array, extra: float) -> NDArray[np.bool_]:
    checker = checks.checker.with_extra_margin(checks.checker.options.extra_margin + extra)
    result = np.ones(len(configurations), dtype=bool)
    for first in range(0, len(configurations), STATES_PER_BATCH):
        checks.check()
        batch = configurations[first : first + STATES_PER_BATCH]
        result[first : first + STATES_PER_BATCH] = ~checker.in_collision_batch(batch)
        checks.states += len(batch)
    return result
