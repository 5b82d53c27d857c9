"""Drafts of the pairs of links that need no collision check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..model.cell import RobotCell
from ..model.random_configurations import finite_bounds, random_configurations
from ..model.robot import DisabledPair, Robot
from .options import DraftOptions

Pair = tuple[str, str]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
ADJACENT, ALWAYS, NEVER, DEFAULT = "Adjacent", "Always", "Never", "Default"
# Pairs that never collided at random are searched for a collision.
CLOSE = 5e-3  # [m] a pair that the search brings closer than this stays checked
STARTS = 20  # of the search, each at the closest of
START_SAMPLES = 40  # random configurations
NEAR = 0.1  # [m] a pair that these bring closer than this
NEAR_STARTS = 200  # is searched from more of them
MAX_DESCENT_STEPS = 30  # from each start
MAX_STEP = 0.5  # [rad or m] of a joint
STEP_FRACTIONS = (1.0, 0.5, 0.25, 0.125, 0.06)
DIFFERENCE = 1e-3  # [rad or m] by which joints are moved for a gradient
MIN_GRADIENT = 1e-6  # [m per rad or m]
MIN_DESCENT = 1e-5  # [m] of a step
MAX_SEARCHED = 5_000  # pairs
# Batches of growing size, after each of which pairs that are decided are left out.
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
    those that collide in nearly all of them are always in collision. A pair that collided in none of them is searched
    for a collision by descent of its distance from random configurations, and is left out only if it stays 5 mm apart.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    return _Sampler(robot, options).pairs()


def bare_checker(robot: Robot, disabled: Iterable[Pair] = ()) -> CollisionChecker:
    """Return a checker of all variables of a robot alone, which leaves out the given pairs instead of those of its
    SRDF."""
    pairs = tuple(DisabledPair(*pair) for pair in sorted(disabled))
    sources = msgspec.structs.replace(robot.sources, srdf="")
    bare = msgspec.structs.replace(
        robot, groups=frozendict(), named_states=frozendict(), disabled_pairs=pairs, sources=sources
    )
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: bare}))
    return CollisionChecker(cell, cell.default_state())


class _Sampler:
    def __init__(self, robot: Robot, options: DraftOptions) -> None:
        self.robot = robot
        self.options = options
        checker = bare_checker(robot)
        self.adjacent = {(pair.first, pair.second) for pair in checker.allowed_pairs.skipped()}
        self.counts = {(pair.first, pair.second): 0 for pair in checker.allowed_pairs.checked()}
        self.lower, self.upper = finite_bounds(robot.variables.values())

    def pairs(self) -> tuple[DraftedPair, ...]:
        settled = self._sample()
        result = [self._adjacent(pair) for pair in self.adjacent]
        samples = self.options.samples
        for pair in (pair for pair, count in self.counts.items() if count and pair not in settled):
            fraction = f"{self.counts[pair]} of {samples} random states"
            result.append(DraftedPair(*pair, ALWAYS, f"sure: overlaps at {fraction}"))
        never = [pair for pair, count in self.counts.items() if not count]
        for pair in never[:MAX_SEARCHED]:
            if (found := self._never(pair)) is not None:
                result.append(found)
        return tuple(sorted(result, key=lambda pair: (pair.first, pair.second)))

    def _adjacent(self, pair: Pair) -> DraftedPair:
        count = len(self._joints_between(pair))
        sure = "certain: fixed, or one joint apart"
        if count > 1:
            sure = f"not sure: {count} joints apart, and the links between them have no shapes; check it"
        return DraftedPair(*pair, ADJACENT, sure)

    def _sample(self) -> set[Pair]:
        """Count collisions; return the pairs that collide sometimes, and not nearly always."""
        configurations = random_configurations(self.robot.variables.values(), self.options.samples, self.options.seed)
        max_misses = (1.0 - self.options.always) * self.options.samples
        cuts = [cut for cut in BATCHES if cut < self.options.samples]
        settled: set[Pair] = set()
        checker, done = bare_checker(self.robot, self.adjacent), 0
        for chunk in np.split(configurations, cuts):
            for q in chunk:
                for found in checker.report(q).pairs:
                    self.counts[found.first, found.second] += 1
            done += len(chunk)
            settled |= {pair for pair, count in self.counts.items() if count and done - count > max_misses}
            checker = bare_checker(self.robot, settled | self.adjacent)
        return settled

    def _never(self, pair: Pair) -> DraftedPair | None:
        """Return a pair that is left out because it was not found to collide; None if a search brings it close."""
        samples = self.options.samples
        distance = self._approach(pair)
        if distance < CLOSE:
            return None
        likely = f"{3.0 / samples:.1g}"  # rule of three: bound at 95 % confidence
        text = f"likely: at none of {samples} random states (below {likely} of all, at 95 %), and a search brought the"
        return DraftedPair(*pair, NEVER, f"{text} links no closer than {1e3 * distance:.0f} mm")

    def _approach(self, pair: Pair) -> float:
        """Search for a collision of a pair, moving the joints between its links; return the smallest distance.

        Each start is the closest of some random configurations, from which the distance is descended. Pairs that come
        near are searched from more starts, since the descent can end at parts that do not meet.
        """
        checker = bare_checker(self.robot, (set(self.counts) | self.adjacent) - {pair})
        moving = self._joints_between(pair)
        random = np.random.default_rng(self.options.seed)
        rest = checker.default
        best = checker.distance(rest).distance
        for start in range(NEAR_STARTS if len(moving) else 0):
            if start >= STARTS and best > NEAR:
                break
            drawn = np.tile(rest, (START_SAMPLES, 1))
            drawn[:, moving] = random.uniform(self.lower[moving], self.upper[moving], (START_SAMPLES, len(moving)))
            found = checker.closest_of(drawn)
            if found is not None:
                best = min(best, self._descend(checker, drawn[found[0]], found[1].distance, moving))
            if best < CLOSE:
                break
        return best

    def _descend(self, checker: CollisionChecker, q: Floats, distance: float, moving: Indices) -> float:
        """Bring the checked pair closer by the given joints, along the gradient of its distance; return the smallest
        distance [m].

        A step is as long as would bring the links together if the distance were linear, or shorter where that brings
        them no closer. Joints at a limit do not move beyond it.
        """
        for _ in range(MAX_DESCENT_STEPS):
            gradient = self._gradient(checker, q, distance, moving)
            square = float(gradient @ gradient)
            if distance < CLOSE or square < MIN_GRADIENT**2:
                break
            step = -(distance + CLOSE) / square * gradient
            step /= max(1.0, float(np.abs(step).max()) / MAX_STEP)
            for fraction in STEP_FRACTIONS:
                trial = np.clip(q + fraction * step, self.lower, self.upper)
                reached = checker.distance(trial).distance
                if reached < distance - MIN_DESCENT:
                    break
            else:
                break
            q, distance = trial, reached
        return distance

    def _gradient(self, checker: CollisionChecker, q: Floats, distance: float, moving: Indices) -> Floats:
        """Return the gradient (n,) of the pair's distance [m per rad or m] at q, from differences; 0 for joints at a
        limit that would have to move beyond it."""
        gradient = np.zeros(len(q))
        for joint in moving:
            change = DIFFERENCE if q[joint] + DIFFERENCE <= self.upper[joint] else -DIFFERENCE
            moved = q.copy()
            moved[joint] += change
            slope = (checker.distance(moved).distance - distance) / change
            limit = self.lower[joint] if slope > 0.0 else self.upper[joint]
            gradient[joint] = 0.0 if abs(q[joint] - limit) < 1e-9 else slope
        return gradient

    def _joints_between(self, pair: Pair) -> Indices:
        """Return the indices of the variables that move the links of a pair against each other."""
        mechanism = self.robot.mechanism
        first, second = (self._joints_above(link) for link in pair)
        sources = {mechanism.mimic_source(name)[0] for name in first ^ second}
        names = {variable for name in sources for variable in mechanism.joints[name].variables}
        return np.array([index for index, name in enumerate(self.robot.variables) if name in names], dtype=np.intp)

    def _joints_above(self, link: str) -> set[str]:
        """Return the joints from the root to a link."""
        joints, found = self.robot.mechanism.parent_joints, set[str]()
        while link in joints:
            found.add(joints[link].name)
            link = joints[link].parent
        return found
