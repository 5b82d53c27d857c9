"""Drafts of the pairs of links that need no collision check."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..model.random_configurations import random_configurations
from ..model.robot import DisabledPair, Robot
from .approach import CLOSE
from .kinematic_tree import slide_along_each_other
from .options import DraftOptions
from .pair_search import Pair, PairSearch, bare_checker, smallest_distances

Floats = NDArray[np.float64]
ADJACENT, ALWAYS, NEVER, DEFAULT = "Adjacent", "Always", "Never", "Default"
NESTED = "not sure: overlaps at rest, and slides along the other as parts of a telescope do; check it"
MAX_SEARCHED = 5_000  # pairs
# Batches of growing size, after each of which pairs that are decided are left out.
ENOUGH = 1_000  # states, after which a pair can count as always in collision
BATCHES = (50, 200, 1_000, 5_000, 20_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class DraftedPair:
    """Pair of links that a draft leaves out of checks.

    Attributes:
        first, second: The links.
        reason: "Adjacent", "Always", "Never" or "Default".
        sure: How this was found, and how sure it is.
    """

    first: str
    second: str
    reason: str
    sure: str

    @property
    def disabled(self) -> DisabledPair:
        """The pair as an SRDF has it."""
        return DisabledPair(self.first, self.second, self.reason)


def drafted_pairs(robot: Robot, options: DraftOptions) -> tuple[DraftedPair, ...]:
    """Find the pairs of links of a robot that need no check.

    Adjacent pairs are fixed to each other or connected by a joint. The others are checked at random configurations:
    those that collide in nearly all of them, or of the first thousand, are always in collision. A pair that collided in
    none of them is searched for a collision by descent of its distance from random configurations, and is left out only
    if it stays 5 mm apart. Pairs that slide along each other and overlap at rest, as parts of a telescope do, are left
    out as overlapping in the default state.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    return _Sampler(robot, options).pairs()


def overlapping_pairs(robot: Robot, options: DraftOptions) -> tuple[DraftedPair, ...]:
    """Find the pairs of links of a robot or tool that are in collision in nearly all configurations, as the parts of a
    linkage are whose loop the description leaves open.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    return _Sampler(robot, options).overlapping() if robot.variables else ()


class _Sampler:
    def __init__(self, robot: Robot, options: DraftOptions) -> None:
        self.robot = robot
        self.options = options
        checker = bare_checker(robot)
        self.adjacent = {(pair.first, pair.second) for pair in checker.allowed_pairs.skipped()}
        checked = {(pair.first, pair.second) for pair in checker.allowed_pairs.checked()}
        self.every = checked | self.adjacent
        self.nested = self._nested(checker)
        self.counts = dict.fromkeys(sorted(checked - self.nested), 0)
        self.search = PairSearch(robot, checker)

    def pairs(self) -> tuple[DraftedPair, ...]:
        result = [self._adjacent(pair) for pair in self.adjacent]
        result += self.overlapping()
        never = [pair for pair, count in self.counts.items() if not count][:MAX_SEARCHED]
        distances = smallest_distances(self.search, never, self.options.seed)
        result += [self._never(*found) for found in zip(never, distances, strict=True) if found[1] >= CLOSE]
        return tuple(sorted(result, key=lambda pair: (pair.first, pair.second)))

    def overlapping(self) -> tuple[DraftedPair, ...]:
        """Return the pairs that overlap at rest and slide along each other, and those that nearly always collide."""
        settled = self._nearly_always()
        result = [DraftedPair(*pair, DEFAULT, NESTED) for pair in sorted(self.nested)]
        for pair, states in settled.items():
            fraction = f"{self.counts[pair]} of {states} random states"
            result.append(DraftedPair(*pair, ALWAYS, f"sure: overlaps at {fraction}"))
        return tuple(result)

    def _nested(self, checker: CollisionChecker) -> set[Pair]:
        """Return the pairs that overlap at rest and slide along each other, as parts of a telescope do."""
        found = {(pair.first, pair.second) for pair in checker.report().pairs} - self.adjacent
        return {pair for pair in found if slide_along_each_other(self.robot.mechanism, *pair)}

    def _adjacent(self, pair: Pair) -> DraftedPair:
        count = len(self.search.joints_between(pair))
        sure = "certain: fixed, or one joint apart"
        if count > 1:
            sure = f"not sure: {count} joints apart, and the links between them have no shapes; check it"
        return DraftedPair(*pair, ADJACENT, sure)

    def _nearly_always(self) -> dict[Pair, int]:
        """Return the pairs that nearly always collide, with the number of states at which they were checked; count
        collisions.

        Most pairs are decided before all states are checked, see `_collides_always`.
        """
        configurations = random_configurations(self.robot.variables.values(), self.options.samples, self.options.seed)
        cuts = [cut for cut in BATCHES if cut < self.options.samples]
        always, sometimes = dict[Pair, int](), set[Pair]()
        # Pairs that nearly always collide are checked on their own, so that the others are free at most states.
        often, done = set[Pair](), 0
        for chunk in np.split(configurations, cuts):
            decided = self.adjacent | self.nested | sometimes | always.keys()
            self._count(chunk, decided | often)
            if often:
                self._count(chunk, self.every - often)
            done += len(chunk)
            for pair in [pair for pair, count in self.counts.items() if count and pair not in decided]:
                decision = self._collides_always(self.counts[pair], done)
                if decision:
                    always[pair] = done
                elif decision is not None:
                    sometimes.add(pair)
            often = {pair for pair, count in self.counts.items() if 2 * count > done} - sometimes - always.keys()
        return always

    def _collides_always(self, count: int, done: int) -> bool | None:
        """Return whether a pair that collided at some of the first states nearly always collides; None if more states
        must be checked, because more or fewer than at the threshold may be free by chance. At the threshold, numbers
        that decide too early have a probability below 1e-4."""
        free, at_threshold = done - count, (1.0 - self.options.always) * done
        if done == self.options.samples:
            return free <= at_threshold
        if free > 2.0 * at_threshold + 10.0:
            return False
        return True if done >= ENOUGH and free <= 0.5 * at_threshold else None

    def _count(self, configurations: Floats, disabled: set[Pair]) -> None:
        """Count the collisions of all pairs but the disabled ones at configurations (n, dof)."""
        checker = bare_checker(self.robot, disabled)
        for q in configurations[checker.in_collision_batch(configurations)]:
            for found in checker.report(q).pairs:
                self.counts[found.first, found.second] += 1

    def _never(self, pair: Pair, distance: float) -> DraftedPair:
        """Return a pair that was not found to collide, with the smallest distance of a search [m]."""
        samples = self.options.samples
        likely = f"{3.0 / samples:.1g}"  # rule of three: bound at 95 % confidence
        text = f"likely: at none of {samples} random states (below {likely} of all, at 95 %), and a search brought the"
        return DraftedPair(*pair, NEVER, f"{text} links no closer than {1e3 * distance:.0f} mm")
