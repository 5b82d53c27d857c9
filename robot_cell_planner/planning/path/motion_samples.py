"""Many states that follow one another along a motion, held against the cell with as few checks as will do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.certification._kernels.arrays import UNBOUNDED
from ...collision.certification.motion_bounds import motion_model
from ...collision.checker import CollisionChecker
from ...collision.engines.base import distance_error
from ...collision.pairs.allowed_pairs import MAX_EXTRA_MARGIN, CollisionOptions
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks

# Distances [m], widest first, that a state is tried to keep beyond its margins, to prove those around it free.
ROOMS = (0.04, 0.015, 0.005)
LEAST_STATES = 64  # for which it pays
AT_ONCE = 64  # states checked between two looks at the clock


def free_along(checks: CountedChecks, configurations: Array) -> NDArray[np.bool_]:
    """Whether each of the configurations (n, dof) of a motion, in its order, is free: (n,).

    Where a state keeps a distance beyond its margins, all states are free that objects cannot approach each other by as
    much on the way to; states without such a neighbour are checked one by one. So the answers are those of
    `CountedChecks.batch_free`. They are about these states alone, and no proof of what lies between.

    Raises:
        CancelledError, TimedOutError: see `ProgressMonitor`.
    """
    if len(configurations) < LEAST_STATES:
        return checks.batch_free(configurations)
    checker = checks.checker
    model = motion_model(checker)
    bounds = model.approach_bounds
    ends = configurations.min(axis=0), configurations.max(axis=0)
    if (bounds >= UNBOUNDED).any() or any(model.prismatic_excess(q) is not None for q in ends):
        return checks.batch_free(configurations)
    steps = np.abs(np.diff(configurations, axis=0)) @ bounds
    approach = np.concatenate(([0.0], np.cumsum(steps)))
    left = np.arange(len(configurations))
    for room in ROOMS:
        if not len(left):
            break
        reach = room - distance_error(room + model.largest_margin, checker.engine)
        if reach <= 0.0 or checker.options.extra_margin + room > MAX_EXTRA_MARGIN:
            continue
        centres, members = _blocks(approach[left], reach)
        roomy = _free_with(checks, configurations[left[centres]], room)
        left = left[~roomy[members]]
    result = np.ones(len(configurations), dtype=bool)
    result[left] = checks.batch_free(configurations[left])
    return result


def _blocks(approach: Array, reach: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """States, by how far objects may have approached each other up to each (n,), in blocks within which they cannot by
    more than `reach` [m]: the middle state of each block (b,), and the block of each state (n,)."""
    # A block is no wider than the reach, so that any state of it serves as its centre.
    numbers = np.floor(approach / reach).astype(np.int64)
    _, firsts, members = np.unique(numbers, return_index=True, return_inverse=True)
    ends = np.append(firsts[1:], len(approach))
    return (firsts + ends) // 2, members


def _free_with(checks: CountedChecks, configurations: Array, room: float) -> NDArray[np.bool_]:
    plain = checks.checker
    options = CollisionOptions(plain.options.extra_margin + room, plain.options.steps)
    checker = CollisionChecker(plain.cell, plain.state, plain.variables, engine=plain.engine, options=options)
    result = np.ones(len(configurations), dtype=bool)
    for first in range(0, len(configurations), AT_ONCE):
        checks.watch.check(checks.states)
        part = configurations[first : first + AT_ONCE]
        result[first : first + AT_ONCE] = ~checker.in_collision_batch(part)
        checks.states += len(part)
    return result
