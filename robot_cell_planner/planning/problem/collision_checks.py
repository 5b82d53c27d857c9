"""Collision checks of a search, with counters, a state limit, and cancellation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...collision.certification.certificate import MotionCertificate
from ...collision.certification.certifier import MotionCertifier
from ...collision.certification.paths import certified_fraction
from ...collision.certification.refinement import ENOUGH, MotionRefiner, Overlap, Polyline, describe_overlap
from ...collision.checker import CollisionChecker
from ...collision.sphere_model.resolution import ObjectSpheres
from ...trajectory.limits import Array
from .blocked_motions import BlockedMotion, BlockedMotions
from .certifiers import Certifiers
from .progress import ProgressMonitor
from .proven_motions import ProvenMotions
from .sampled_motions import FreeStates, first_collision

# States per collision query, so that cancellations are handled within milliseconds.
BATCH_SIZE = 64
# Max number of configurations with exact distances per interval of a motion that the spheres do not decide.
MAX_EXACT_STATES = 400
MAX_CACHED_CERTIFICATES = 4096
# Max number of configurations checked between the states of all motions together, and min number for each motion.
MAX_STATES_BETWEEN = 40_000
MIN_STATES_BETWEEN = 32


class CountedChecks:
    """Collision checker with counters, a state limit, and cancellation.

    Attributes:
        states: Number of states checked so far.
        motions: Number of motions checked so far.
        blocked: Motions found in collision.
        state_limit: Max number of states.
        spheres_only_until: Number of states up to which a motion that the spheres do not prove free counts as
            blocked, without checks of samples.

    Args:
        monitor: Progress monitor that raises on cancellation and time limit.
        certify: If False, only states are checked, and nothing is proven.
    """

    def __init__(
        self, checker: CollisionChecker, monitor: ProgressMonitor, state_limit: int, certify: bool = True
    ) -> None:
        self.checker = checker
        self.certify = certify
        self.monitor = monitor
        self.state_limit = state_limit
        self.states = 0
        self.spheres_only_until = 0
        self.motions = 0
        self.blocked = BlockedMotions()
        self._certified_only = False
        self._certifiers = Certifiers(checker, certify)
        self._certificates: dict[bytes, MotionCertificate] = {}
        self._proven_motions = ProvenMotions()
        self._free_states = FreeStates()
        self._possible_overlaps: dict[bytes, Overlap] = {}
        self._later: list[tuple[int, Callable[[], None]]] = []

    @property
    def states_left(self) -> int:
        """Return the number of states up to the limit. The checks themselves do not enforce it."""
        return max(0, self.state_limit - self.states)

    @property
    def certifier(self) -> MotionCertifier | None:
        """Certifier of the checker's motions.

        None if the engine decomposes surfaces, if a geometry has no sphere model, or if `certify` is False.
        """
        return self._certifiers.current

    @property
    def refined(self) -> bool:
        """Whether fine spheres are used."""
        return self._certifiers.refined

    def refine(self) -> MotionCertifier:
        """Use fine spheres from now on, and return their certifier. There must be a certifier."""
        self._certifiers.refined = True
        assert self.certifier is not None
        return self.certifier

    def refine_near(self, configurations: Iterable[Array]) -> None:
        """Use fine spheres from now on if the others do not prove all of some free configurations (dof,) free."""
        if self.certifier is not None and not self._proven_free_states(np.array(tuple(configurations))).all():
            self.refine()

    @property
    def coarse_objects(self) -> Mapping[str, ObjectSpheres]:
        """Objects with fewer spheres than requested, by name; none if there is no certifier yet."""
        return self._certifiers.coarse_objects

    @property
    def spheres_only(self) -> bool:
        """Whether motions are currently decided by spheres alone."""
        return self.states < self.spheres_only_until

    def check(self) -> None:
        """Check the time limit and cancellation; called at least every few thousand states. See `ProgressMonitor`."""
        self.monitor.check(self.states)
        for later in [each for each in self._later if self.states >= each[0]]:
            self._later.remove(later)
            later[1]()

    @contextmanager
    def calling_after(self, states: int, call: Callable[[], None]) -> Iterator[None]:
        """Call a function, which may raise, once a number of further states is checked."""
        later = self.states + states, call
        self._later.append(later)
        try:
            yield
        finally:
            if later in self._later:
                self._later.remove(later)

    @contextmanager
    def certified_only(self) -> Iterator[None]:
        """Count only certified motions as free, if motions can be certified; paths found this way need no repair."""
        before, self._certified_only = self._certified_only, self.certifier is not None
        try:
            yield
        finally:
            self._certified_only = before

    @contextmanager
    def with_exact_states(self) -> Iterator[None]:
        """Check states by exact distances alone."""
        self._certifiers.exact_states = True
        try:
            yield
        finally:
            self._certifiers.exact_states = False

    @contextmanager
    def with_spheres_only(self, states: int) -> Iterator[None]:
        """Decide motions by spheres alone until the given number of further states is checked."""
        self.spheres_only_until = self.states + states if self.certifier is not None else 0
        try:
            yield
        finally:
            self.spheres_only_until = 0

    def certified(self, path: Array) -> bool:
        """Return whether the spheres prove all motions of a path (n, dof) free.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        self.check()
        return all(self._free_by_spheres(first, second) for first, second in pairwise(path))

    def certified_motions(self, path: Array) -> NDArray[np.bool_]:
        """Return for each motion of a path (n, dof) whether the spheres prove it free: (n - 1,), cached if they do.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        certifier = self.certifier
        before = 0 if certifier is None else certifier.states
        result = self._proven_motions.proven(path, certifier, self.check)
        self.states += 0 if certifier is None else certifier.states - before
        return result

    def _free_by_spheres(self, start: Array, end: Array) -> bool:
        """Return whether the spheres prove a straight motion free."""
        certifier = self.certifier
        if certifier is None:
            return False
        before = certifier.states
        free = certifier.quickly_free(start, end)
        self.states += certifier.states - before
        return free

    def certificate(self, start: Array, end: Array) -> MotionCertificate | None:
        """Return the certificate of a straight motion, or None if motions cannot be certified. Certificates are cached.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        self.check()
        # A start correction from beyond a position limit cannot be certified.
        if self.certifier is None or not self.certifier.within_prismatic_limits(start, end):
            return None
        key = start.tobytes() + end.tobytes()
        found = self._certificates.get(key)
        if found is None:
            found = self._certifiers.finest.certify(start, end, enough=MAX_EXACT_STATES)
            self.states += found.states + found.exact_states
            if len(self._certificates) >= MAX_CACHED_CERTIFICATES:
                self._certificates.clear()
            self._certificates[key] = found
        return found

    def certified_fraction(self, path: Array) -> float:
        """Return `Plan.certified_fraction`: the fraction of a path (n, dof), by Euclidean length in joint space, with
        free certificates.

        Each interval that the spheres do not decide gets at most `MAX_EXACT_STATES` configurations with exact
        distances. The result is NaN if nothing can be proven: no certifier, no checked pair that the variables move
        relative to each other, or a path of zero length.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        if self.certifier is None or not self.certifier.scene.model.moves_pairs:
            return math.nan
        motions = zip(self.certified_motions(path).tolist(), pairwise(path), strict=True)
        return certified_fraction(path, [free or self._certified(*motion) for free, motion in motions])

    def motions_proven_before(self, path: Array) -> NDArray[np.bool_]:
        """Return for each motion of a path (n, dof) whether an earlier test proved it free: (n - 1,)."""
        found = (self._certificates.get(start.tobytes() + end.tobytes()) for start, end in pairwise(path))
        certified = [certificate is not None and certificate.free for certificate in found]
        return np.logical_or(self._proven_motions.known(path), certified)

    def _certified(self, start: Array, end: Array) -> bool:
        """Return whether a straight motion has a free certificate."""
        found = self.certificate(start, end)
        return found is not None and found.free

    @cached_property
    def _refiner(self) -> MotionRefiner:
        return MotionRefiner(self.checker)

    def overlap_between(self, configurations: Array, ignored: Set[frozenset[str]] = frozenset()) -> Overlap | None:
        """Bound the overlaps between the states of a motion (n, dof), each of which was found free.

        States are added where objects are closer than they may move between two states, at most `refinement.ENOUGH` for
        the motion and `MAX_STATES_BETWEEN` for all motions together. A possible overlap of a straight motion is stored
        for `overlap_warnings`.

        Args:
            ignored: Pairs of names that may overlap.

        Returns:
            The deepest overlap found or possible; None if there is none.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        refiner, before = self._refiner, self._refiner.states
        found = refiner.deepest_overlap(
            Polyline.through(configurations),
            self.certifier,
            ignored=ignored,
            enough=max(MIN_STATES_BETWEEN, min(ENOUGH, MAX_STATES_BETWEEN - before)),
            on_step=self.check,
        )
        self.states += refiner.states - before
        if len(configurations) == 2 and found is not None and not found.collides:
            self._possible_overlaps[configurations.tobytes()] = found
        return found

    def overlap_warnings(self, path: Array) -> tuple[str, ...]:
        """Return a warning about the deepest possible overlap on a path (n, dof), if not all of its motions are proven
        free.
        """
        found = [self._possible_overlaps.get(path[index : index + 2].tobytes()) for index in range(len(path) - 1)]
        open_motions = [(overlap.depth, -index, overlap) for index, overlap in enumerate(found) if overlap is not None]
        if not open_motions:
            return ()
        _, index, deepest = max(open_motions)
        many = f"{len(open_motions)} of {len(found)} motions of the path are not proven free"
        return (f"{many}; on motion {-index}, {describe_overlap(deepest)}",)

    def state_free(self, q: Array) -> bool:
        """Return whether q (dof,) is free. Spheres, which are faster, are tested first if there are certifiers already.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        if any(certifier.quickly_free(q, q) for certifier in self._certifiers.all_at_hand):
            self.check()
            self.states += 1
            free = True
        else:
            free = self._exactly_free(q)
        if free:
            self._free_states.add(q)
        return free

    def _exactly_free(self, q: Array) -> bool:
        self.check()
        self.states += 1
        return not self.checker.in_collision(q)

    def motion_free(self, start: Array, end: Array, step: float) -> bool:
        """Return whether a straight motion is free.

        It is free if it is proven free, or else if all states along it, at most `step` apart and including both ends,
        are free. With `spheres_only` the spheres alone decide; within `certified_only` a certificate is required.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        self.check()
        self.motions += 1
        if self._free_by_spheres(start, end):
            return True
        if self.certifier is not None:
            # The most likely collision is where the spheres are undecided or touch.
            undecided = BlockedMotion(start, end, self.certifier.undecided_fraction)
            if self.spheres_only or not self._exactly_free(undecided.configuration):
                self.blocked.add(undecided)
                return False
            if self._certified_only:
                return self._proven_free(start, end)
        proven = self._proven_free_states
        fraction, states = first_collision(self.checker, start, end, step, proven, self._free_states)
        self.states += states
        if fraction is None:
            return True
        self.blocked.add(BlockedMotion(start, end, fraction))
        return False

    def _proven_free(self, start: Array, end: Array) -> bool:
        """Return whether a straight motion is proven free by spheres or exact distances."""
        found = self.certificate(start, end)
        if found is None or not found.free:
            self.blocked.add(BlockedMotion(start, end, 0.5 if found is None else found.place))
            return False
        return True

    def clearance(self, q: Array, max_distance: float) -> float:
        """Return the clearance [m] of a state (dof,), at most `max_distance`. Counts as one state.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        self.check()
        self.states += 1
        return min(self.checker.distance(q, max_distance).distance, max_distance)

    def batch_free(self, configurations: Array) -> NDArray[np.bool_]:
        """Return for each of n configurations (n, dof) whether it is free: (n,) of bool.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        result = self.proven_free(configurations)
        left = np.flatnonzero(~result)
        result[left] = self.exactly_free(configurations[left])
        return result

    def exactly_free(self, configurations: Array) -> NDArray[np.bool_]:
        """As `batch_free`, by exact distances alone."""
        result = np.ones(len(configurations), dtype=bool)
        for first in range(0, len(configurations), BATCH_SIZE):
            self.check()
            part = configurations[first : first + BATCH_SIZE]
            result[first : first + BATCH_SIZE] = ~self.checker.in_collision_batch(part)
            self.states += len(part)
        return result

    def proven_free(self, configurations: Array, deviations: Array | None = None) -> NDArray[np.bool_]:
        """Return for each of n configurations (n, dof) whether spheres prove it free: (n,). All False unless there is
        already a certifier, since to create one can take seconds. Those that are proven free count as checked.

        deviations: Prove all configurations free that differ by at most these from each one (n, dof) [rad or m].

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        self.check()
        found = self._proven_free_states(configurations, deviations)
        self.states += int(found.sum())
        return found

    def _proven_free_states(self, configurations: Array, deviations: Array | None = None) -> NDArray[np.bool_]:
        """As `proven_free`, without counting."""
        certifier = self._certifiers.at_hand
        if certifier is None or not len(configurations) or not certifier.sphere_test_applies():
            return np.zeros(len(configurations), dtype=bool)
        self.checker.require_configurations(configurations)
        off = np.zeros_like(configurations) if deviations is None else deviations
        if not certifier.within_prismatic_limits(
            (configurations - off).min(axis=0), (configurations + off).max(axis=0)
        ):
            return np.zeros(len(configurations), dtype=bool)
        found: NDArray[np.bool_] = certifier.check_boxes(configurations, off) == 0
        return found


def pair_names(checker: CollisionChecker, q: Array) -> tuple[str, str]:
    """Return the names of the first colliding pair at q (dof,); empty names if there is none."""
    pair = checker.first_pair(q)
    return ("", "") if pair is None else (pair.first, pair.second)
