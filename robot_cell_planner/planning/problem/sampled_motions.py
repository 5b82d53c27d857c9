"""Straight motions checked at samples, most of which spheres prove free many at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...collision.checker import CollisionChecker
from ...collision.motion_sampling import halving_order, segments
from ...trajectory.limits import Array

# Samples whose spheres are evaluated together, in bisection order: a blocked motion is mostly found in the first part.
FIRST_PART, LATER_PARTS = 32, 256
MAX_STATES = 8192  # in a `FreeStates`


class FreeStates:
    """States that were found free, such as the ends of motions, which are checked again and again."""

    def __init__(self) -> None:
        self._states: set[bytes] = set()

    def __contains__(self, q: Array) -> bool:
        return q.tobytes() in self._states

    def add(self, *states: Array) -> None:
        """Add states (dof,)."""
        if len(self._states) >= MAX_STATES:
            self._states.clear()
        self._states.update(q.tobytes() for q in states)


def first_collision(
    checker: CollisionChecker,
    start: Array,
    end: Array,
    step: float,
    proven_free: Callable[[Array], NDArray[np.bool_]],
    free_states: FreeStates,
) -> tuple[float | None, int]:
    """Return the fraction (0 to 1) of a straight motion at which a collision was found, or None, and the number of
    samples up to that one.

    Samples and their order, and errors, are those of `CollisionChecker.first_collision_on_motion`.

    Args:
        proven_free: Returns for each of n configurations (n, dof) whether spheres prove it free (n,).
        free_states: States that need not be checked if they are ends of the motion.
    """
    count = segments(start, end, step)
    order, checked, part = iter(halving_order(count)), 0, FIRST_PART
    while checked <= count:
        fractions = np.array(tuple(islice(order, part)))
        configurations = start + fractions[:, None] * (end - start)
        if not checked:
            configurations[1] = end  # interpolation may round it
        free = proven_free(configurations)
        if not checked:
            free[0] |= start in free_states
            free[1] |= end in free_states
        for row in np.flatnonzero(~free).tolist():
            if checker.in_collision(configurations[row]):
                return float(fractions[row]), checked + row + 1
        checked, part = checked + len(fractions), LATER_PARTS
    free_states.add(start, end)
    return None, count + 1
