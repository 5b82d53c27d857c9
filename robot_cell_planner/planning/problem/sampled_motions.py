"""Straight motions checked at samples, most of which spheres prove free many at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...collision.checker import CollisionChecker, halving_order, segments
from ...trajectory.limits import Array

# Samples whose spheres are evaluated together, in bisection order: a blocked motion is mostly found in the first part.
FIRST_PART, LATER_PARTS = 32, 256
ProvenFree = Callable[[Array], NDArray[np.bool_]]


def first_collision(
    checker: CollisionChecker, start: Array, end: Array, step: float, proven_free: ProvenFree | None
) -> tuple[float | None, int]:
    """Return the fraction (0 to 1) of a straight motion at which a collision was found, or None, and the number of
    states up to that one.

    The result is that of `CollisionChecker.first_collision_on_motion`. proven_free: for each of n configurations
    (n, dof), whether it need not be checked; None if nothing can be proven.
    """
    count = segments(start, end, step)
    if proven_free is None:
        fraction = checker.first_collision_on_motion(start, end, step)
        rank = count + 1 if fraction is None else rank_in_bisection_order(round(fraction * count), count)
        return fraction, rank
    order, checked, part = iter(halving_order(count)), 0, FIRST_PART
    while checked <= count:
        fractions = np.array(tuple(islice(order, part)))
        configurations = start + fractions[:, None] * (end - start)
        configurations[fractions == 1.0] = end  # interpolation would round it
        for row in np.flatnonzero(~proven_free(configurations)).tolist():
            if checker.in_collision(configurations[row]):
                return float(fractions[row]), checked + row + 1
        checked, part = checked + len(fractions), LATER_PARTS
    return None, count + 1


def rank_in_bisection_order(index: int, count: int) -> int:
    """Return the number of states checked up to state `index` of 0 to `count` if both ends are checked first, then the
    midpoint, the quarters and so on.
    """
    if index == 0:
        return 1
    if index == count:
        return 2
    half = index & -index
    return 2 + (count - 1) // (2 * half) + (index - half) // (2 * half) + 1
