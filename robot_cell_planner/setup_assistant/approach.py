"""Search for a collision of two links, by descent of their distance from many configurations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..collision.report import Clearance
from ..kinematics.forward import chain_to

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
CLOSE = 5e-3  # [m] a search ends at pairs that come closer than this
STARTS = 20  # of the search, each at the closest of
START_SAMPLES = 40  # random configurations
NEAR = 0.1  # [m] a pair that these bring closer than this
NEAR_STARTS = 200  # is searched from more of them, while lower minima are expected,
MAX_LOWER = 0.25  # or more than this fraction of one
SAME_MINIMUM = 1e-3  # [m]
MAX_DESCENT_STEPS = 30  # from each start
MAX_STEP = 0.5  # [rad or m] of a joint
STEP_FRACTIONS = np.array((1.0, 0.5, 0.25, 0.125, 0.06))
MIN_GRADIENT = 1e-6  # [m per rad or m]
MIN_DESCENT = 1e-5  # [m] of a step
AT_LIMIT = 1e-9  # [rad or m]


class Approach:
    """Search for the smallest distance of two links.

    Args:
        checker: Checks the pair, among others.
        pair: Names of the links.
        moving: Indices of the variables that move them against each other.
        lower, upper: Bounds of all variables (dof,) [rad or m].
    """

    def __init__(
        self, checker: CollisionChecker, pair: tuple[str, str], moving: Indices, lower: Floats, upper: Floats
    ) -> None:
        self._checker = checker
        self._search = checker.search_of_pair(*pair)
        self._moving = moving
        self._lower, self._upper = lower, upper
        self._chains = {link: chain_to(checker.cell, checker.state, link, checker.variables) for link in pair}

    def smallest_distance(self, seed: int) -> float:
        """Return the smallest distance [m] that was found; the search ends below `CLOSE`.

        Each start is the closest of some random configurations, from which the distance is descended. Pairs that come
        near are searched from more starts, since the descent can end at parts that do not meet: until no lower minimum
        is expected (see `_are_complete`).
        """
        moving, random = self._moving, np.random.default_rng(seed)
        rest = self._checker.default
        at_rest = self._search.closest_of(rest[np.newaxis], math.inf)
        best = math.inf if at_rest is None else at_rest[1].distance
        minima: set[int] = set()
        for start in range(NEAR_STARTS if len(moving) else 0):
            if best < CLOSE or (start >= STARTS and (best > NEAR or _are_complete(len(minima), start))):
                break
            drawn = np.tile(rest, (START_SAMPLES, 1))
            drawn[:, moving] = random.uniform(self._lower[moving], self._upper[moving], (START_SAMPLES, len(moving)))
            found = self._search.closest_of(drawn, math.inf)
            if found is not None:
                reached = self._descend(drawn[found[0]], found[1])
                minima.add(round(reached / SAME_MINIMUM))
                best = min(best, reached)
        return best

    def _descend(self, q: Floats, found: Clearance) -> float:
        """Bring the links closer from a configuration and its distance, along the gradient; return the smallest
        distance [m].

        A step is as long as would bring the links together if the distance were linear, or shorter where that brings
        them closer. Joints at a limit do not move beyond it.
        """
        for _ in range(MAX_DESCENT_STEPS):
            if found.distance < CLOSE:
                break
            gradient = self.gradient(q, found)
            square = float(gradient @ gradient)
            if square < MIN_GRADIENT**2:
                break
            step = -(found.distance + CLOSE) / square * gradient
            step /= max(1.0, float(np.abs(step).max()) / MAX_STEP)
            trials = np.clip(q + STEP_FRACTIONS[:, np.newaxis] * step, self._lower, self._upper)
            reached = self._search.closest_of(trials, found.distance - MIN_DESCENT)
            if reached is None:
                break
            q, found = trials[reached[0]], reached[1]
        return found.distance

    def gradient(self, q: Floats, found: Clearance) -> Floats:
        """Return the gradient (dof,) of the distance `found` at q [m per rad or m]; 0 for joints at a limit that would
        have to move beyond it.

        The closest points are at rest on their links to first order, so the gradient is the velocity of one against the
        other along the normal (envelope theorem).
        """
        normal = np.array(found.normal)
        slope = self._chains[found.first].point_speeds(q, np.array(found.point_first), normal)
        slope -= self._chains[found.second].point_speeds(q, np.array(found.point_second), normal)
        gradient = np.zeros(len(q))
        gradient[self._moving] = slope[self._moving]
        gradient[(q - self._lower < AT_LIMIT) & (gradient > 0.0)] = 0.0
        gradient[(self._upper - q < AT_LIMIT) & (gradient < 0.0)] = 0.0
        return gradient


def _are_complete(minima: int, starts: int) -> bool:
    """Return whether less than MAX_LOWER minima are expected that are lower than the different ones found.

    With w minima after n starts, w (w + 1) / (n - w - 2) more are expected (C. G. E. Boender, A. H. G. Rinnooy Kan,
    "Bayesian stopping rules for multistart global optimization methods", Mathematical Programming 37, 1987). Each of
    them is the lowest of w + 1 with a probability of 1 / (w + 1), if the order in which they are found says nothing
    about their depth.
    """
    return starts > minima + 2 and minima < MAX_LOWER * (starts - minima - 2)
