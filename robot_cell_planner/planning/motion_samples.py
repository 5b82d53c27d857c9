"""Many states that follow one another along a motion, held against the cell with as few checks as will do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..collision.rules import CollisionOptions
from ..trajectory.limits import Array
from .checks import CountedChecks
from .speed_bounds import speed_bounds

# Distances [m], widest first, that a state is tried to keep beyond its margins, to prove those around it free.
ROOMS = (0.04, 0.015, 0.005)
LEAST_STATES = 64  # for which it pays
AT_ONCE = 64  # states checked between two looks at the clock


def free_along(checks: CountedChecks, configurations: Array) -> NDArray[np.bool_]:
    """Whether each of the configurations (n, dof) of a motion, in its order, is free: (n,).

    Where a state keeps a distance beyond its margins, all states are free that things cannot approach each other by as
    much on the way to; states without such a neighbour are checked one by one. So the answers are those of
    `CountedChecks.batch_free`.

    Raises:
        CancelledError, TimedOutError: see `Watch`.
    """
    bounds = speed_bounds(checks.checker)
    if len(configurations) < LEAST_STATES or not np.isfinite(bounds).all():
        return checks.batch_free(configurations)
    steps = np.abs(np.diff(configurations, axis=0)) @ bounds
    approach = np.concatenate(([0.0], np.cumsum(steps)))
    left = np.arange(len(configurations))
    for room in ROOMS:
        if not len(left):
            break
        centres, members = _blocks(approach[left], room)
        roomy = _free_with(checks, configurations[left[centres]], room)
        left = left[~roomy[members]]
    result = np.ones(len(configurations), dtype=bool)
    result[left] = checks.batch_free(configurations[left])
    return result


def _blocks(approach: Array, room: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """States, by how far things may have approached each other up to each (n,), in blocks within which they cannot by
    more than `room` on either side of one state: that state of each block (b,), and the block of each state (n,)."""
    # A block is no wider than the room, so that any state of it serves as its centre.
    numbers = np.floor(approach / room).astype(np.int64)
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
