"""Collision checks of a search: counted, limited, and ended by a cancellation or a time limit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Set
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.certification.certifier import MotionCertificate, MotionCertifier, certifier_of
from ...collision.certification.paths import proven_fraction
from ...collision.certification.refinement import ENOUGH, MotionRefiner, Overlap, Polyline
from ...collision.checker import CollisionChecker, segments
from ...collision.report import CollisionPair
from ...errors import GeometryError
from ...trajectory.limits import Array
from .progress import ProgressMonitor

MAX_BLOCKED_KEPT = 256
# Batches are cut, so that a cancellation is heard within some milliseconds.
CHUNK = 64
# Configurations that exact distances may cost for a stretch of a motion that balls cannot tell about.
EXACT_STATES = 400
MAX_CERTIFICATES_KEPT = 4096
# Configurations that may be checked between the states of all motions together, and at least for each.
STATES_BETWEEN = 40_000
LEAST_BETWEEN = 32


class _Blocked(NamedTuple):
    """A motion that was blocked at a share of its way."""

    start: Array
    end: Array
    share: float

    @property
    def configuration(self) -> Array:
        return self.start + self.share * (self.end - self.start)


class CountedChecks:
    """A collision checker that counts, and that stops its caller where it must.

    Attributes: states, motions (checked so far), blocked (motions found in collision), state_limit,
    balls_until (number of states up to which a motion counts as blocked that balls do not prove free, without a look
    at samples).
    """

    def __init__(
        self, checker: CollisionChecker, watch: ProgressMonitor, state_limit: int, certify: bool = True
    ) -> None:
        """certify: False to check states alone, and prove nothing."""
        self.checker = checker
        self.certify = certify
        self.watch = watch
        self.state_limit = state_limit
        self.states = 0
        self.balls_until = 0
        self.motions = 0
        self.blocked = 0
        self._proven_alone = False
        self._certificates: dict[bytes, MotionCertificate] = {}
        self._hidden: dict[bytes, Overlap] = {}
        self._first_blocked: list[_Blocked] = []
        self._last_blocked = _Blocked(checker.default, checker.default, 0.0)

    @property
    def states_left(self) -> int:
        """States up to the limit; nothing stops at it but those who ask."""
        return max(0, self.state_limit - self.states)

    @cached_property
    def certifier(self) -> MotionCertifier | None:
        """Proves motions of the checker free; None with another engine than coal, where a shape cannot be covered
        by balls, or where nothing is to be proven."""
        if self.checker.engine != "coal" or not self.certify:
            return None
        try:
            return certifier_of(self.checker)
        except GeometryError:
            return None

    @property
    def certifier_warnings(self) -> tuple[str, ...]:
        """Warnings of the certifier, if there is one by now: of objects whose spheres are coarse."""
        certifier = self.__dict__.get("certifier")
        return certifier.warnings if certifier is not None else ()

    @property
    def by_balls(self) -> bool:
        """Whether balls alone decide about motions at present."""
        return self.states < self.balls_until

    @contextmanager
    def proven_alone(self) -> Iterator[None]:
        """Let nothing count as free but what is proven, where anything can be: what is found then needs no repair."""
        before, self._proven_alone = self._proven_alone, self.certifier is not None
        try:
            yield
        finally:
            self._proven_alone = before

    @contextmanager
    def balls_alone(self, states: int) -> Iterator[None]:
        """Let balls alone decide about motions, until so many more states have been checked."""
        self.balls_until = self.states + states if self.certifier is not None else 0
        try:
            yield
        finally:
            self.balls_until = 0

    def proven(self, path: Array) -> bool:
        """Whether balls prove all motions of a path (n, dof) free.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        self.watch.check(self.states)
        return all(self._quickly_free(first, second) for first, second in pairwise(path))

    def _quickly_free(self, start: Array, end: Array) -> bool:
        """Whether balls prove a straight motion free."""
        certifier = self.certifier
        if certifier is None or not certifier.within_prismatic_limits(start, end):
            return False
        before = certifier.states
        free = certifier.quickly_free(start, end)
        self.states += certifier.states - before
        return free

    def certificate(self, start: Array, end: Array) -> MotionCertificate | None:
        """What is proven of a straight motion; None where nothing can be. The latest ones are kept.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        self.watch.check(self.states)
        # A start beyond its limits, on its way back, is nothing for a certificate.
        if self.certifier is None or not self.certifier.within_prismatic_limits(start, end):
            return None
        key = start.tobytes() + end.tobytes()
        found = self._certificates.get(key)
        if found is None:
            found = self.certifier.certify(start, end, enough=EXACT_STATES)
            self.states += found.states + found.exact_states
            if len(self._certificates) >= MAX_CERTIFICATES_KEPT:
                self._certificates.clear()
            self._certificates[key] = found
        return found

    def proven_fraction(self, path: Array) -> float:
        """The `proven` of a plan: the fraction of a path (n, dof), by Euclidean length in joint space, whose segments
        have a certificate that they are free, with `EXACT_STATES` as the most configurations for each interval that
        balls cannot decide.

        NaN where there is nothing to prove it with: no certifier, no objects that are checked and that the variables
        move against each other, or a path without length.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        if self.certifier is None or not self.certifier.scene.model.moves_pairs:
            return math.nan
        return proven_fraction(path, [self._certified(first, second) for first, second in pairwise(path)])

    def _certified(self, start: Array, end: Array) -> bool:
        """Whether a straight motion has a certificate that it is free."""
        if start.tobytes() + end.tobytes() not in self._certificates and self._quickly_free(start, end):
            return True
        found = self.certificate(start, end)
        return found is not None and found.free

    @cached_property
    def _refiner(self) -> MotionRefiner:
        return MotionRefiner(self.checker)

    def overlap_between(self, configurations: Array, ignored: Set[frozenset[str]] = frozenset()) -> Overlap | None:
        """What states between those of a motion (n, dof), each of which was found free, show or may hide: states are
        added wherever objects are nearer to each other than they may move from one to the next, as far as
        `refinement.ENOUGH` of them go, and `STATES_BETWEEN` for all motions together; None: nothing is hidden.

        ignored: pairs of names that may overlap. What may be hidden on a straight motion is kept for `hidden_warnings`.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        refiner, before = self._refiner, self._refiner.states
        found = refiner.deepest_overlap(
            Polyline.through(configurations),
            self.certifier,
            ignored=ignored,
            enough=max(LEAST_BETWEEN, min(ENOUGH, STATES_BETWEEN - before)),
            look=lambda: self.watch.check(self.states),
        )
        self.states += refiner.states - before
        if len(configurations) == 2 and found is not None and not found.collides:
            self._hidden[configurations.tobytes()] = found
        return found

    def hidden_warnings(self, path: Array) -> tuple[str, ...]:
        """A warning of what may be hidden on the motions of a path (n, dof) that nothing proves free, if any."""
        found = [self._hidden.get(path[index : index + 2].tobytes()) for index in range(len(path) - 1)]
        open_motions = [(overlap.depth, -index, overlap) for index, overlap in enumerate(found) if overlap is not None]
        if not open_motions:
            return ()
        _, index, deepest = max(open_motions)
        many = f"{len(open_motions)} of {len(found)} motions of the path are not proven free"
        return (f"{many}; on motion {-index}, {may_overlap(deepest)}",)

    def state_free(self, q: Array) -> bool:
        """Whether q (dof,) is free.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        self.watch.check(self.states)
        self.states += 1
        return not self.checker.in_collision(q)

    def motion_free(self, start: Array, end: Array, step: float) -> bool:
        """Whether a straight motion is proven free, or else free at states no further than `step` apart, its ends
        included; while `by_balls` holds, whether balls prove it free, and within `proven_alone`, whether anything does.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        self.watch.check(self.states)
        self.motions += 1
        if self._quickly_free(start, end):
            return True
        if self.certifier is not None:
            # Where balls cannot tell, or touch, is where it most likely collides.
            doubtful = _Blocked(start, end, self.certifier.undecided_fraction)
            if self.by_balls or not self.state_free(doubtful.configuration):
                self._note_blocked(doubtful)
                return False
            if self._proven_alone:
                return self._proven_free(start, end)
        fraction = self.checker.first_collision_on_motion(start, end, step)
        count = segments(start, end, step)
        if fraction is None:
            self.states += count + 1
            return True
        self.states += rank_in_halving_order(round(fraction * count), count)
        self._note_blocked(_Blocked(start, end, fraction))
        return False

    def _proven_free(self, start: Array, end: Array) -> bool:
        """Whether a straight motion can be proven free, with exact distances where balls cannot tell."""
        found = self.certificate(start, end)
        if found is None or not found.free:
            self._note_blocked(_Blocked(start, end, 0.5 if found is None else found.place))
            return False
        return True

    def _note_blocked(self, motion: _Blocked) -> None:
        self.blocked += 1
        self._last_blocked = motion
        if len(self._first_blocked) < MAX_BLOCKED_KEPT:
            self._first_blocked.append(motion)

    @property
    def last_blocked(self) -> Array:
        """The configuration (dof,) at which the last motion was that was found blocked."""
        return self._last_blocked.configuration

    def clearance(self, q: Array, farthest: float) -> float:
        """Clearance [m] of a state (dof,), `farthest` if nothing is as near; counts as a state.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        self.watch.check(self.states)
        self.states += 1
        return min(self.checker.distance(q, farthest).distance, farthest)

    def batch_free(self, configurations: Array) -> NDArray[np.bool_]:
        """Whether each of n configurations (n, dof) is free: (n,) of bool.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        result = np.ones(len(configurations), dtype=bool)
        for first in range(0, len(configurations), CHUNK):
            self.watch.check(self.states)
            part = configurations[first : first + CHUNK]
            result[first : first + CHUNK] = ~self.checker.in_collision_batch(part)
            self.states += len(part)
        return result

    def most_blocking_pair(self) -> tuple[CollisionPair, int] | None:
        """The pair that blocked most of the first 256 motions that were blocked, and how many of them; None: no motion
        was blocked."""
        found: dict[tuple[str, str], CollisionPair] = {}
        counts: Counter[tuple[str, str]] = Counter()
        for motion in self._first_blocked:
            pair = self.checker.first_pair(motion.configuration)
            if pair is not None:
                found.setdefault((pair.first, pair.second), pair)
                counts[pair.first, pair.second] += 1
        if not counts:
            return None
        most = min(counts, key=lambda names: (-counts[names], names))
        return found[most], counts[most]


def may_overlap(found: Overlap) -> str:
    """What may be hidden between states, in words."""
    if math.isinf(found.depth):
        return "which no bound holds for, states were checked at the resolution alone"
    depth = f"{1.005e3 * found.depth:.3g} mm"  # rounded up
    return f"{found.first} and {found.second} may overlap by up to {depth} between the states that were checked"


def rank_in_halving_order(index: int, count: int) -> int:
    """How many states have been checked when that of `index` (0 to `count`) has, with both ends first, then the middle,
    the quarters and so on."""
    if index == 0:
        return 1
    if index == count:
        return 2
    half = index & -index
    return 2 + (count - 1) // (2 * half) + (index - half) // (2 * half) + 1
