"""Certification of motions: proven free, colliding at a given configuration, or undecided at a resolution."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...system.cache import IdentityCache
from ..checker import CollisionChecker
from ..engines.base import PROVING_ENGINE, TOUCHING, verdict_reserve
from ..pairs.allowed_pairs import CheckedPair
from ..sphere_model.approximation import PROTRUSION
from ._kernels.arrays import EVALUATED, HITS, MAX_OPEN, UNDECIDED_MIDDLE, Packed
from ._kernels.schedule import FREE, SPACING, certify_straight, check_boxes, undecided_intervals
from .arguments import check_margin, check_numbers, check_pieces
from .certificate import FINE, MotionCertificate, Verdict
from .curves import JointCurve, StraightMotion, intervals, joined
from .exact import ENOUGH, ExactCertifier
from .fixed_gap import smallest_fixed_gap
from .joint_tree import LIMIT_SLACK
from .scene import MotionScene, has_motion_scene, motion_scene

Floats = NDArray[np.float64]
COARSE = 1.0 / 1024.0  # [rad or m], interval size at which the sphere test stops bisecting
MAX_CACHED_CERTIFIERS = 16  # of a thread
MAX_LEVELS = 12


class MotionCertifier:
    """Certify motions of the variables of a collision checker, in its cell and attachment topology.

    Missing sphere approximations of moving objects are computed and stored on disk, which takes about a second for a
    new mesh. With stored approximations a certifier is created in milliseconds. It may only be used in the thread of
    its checker.

    Proofs use the distances of engine coal, which are exact. For a checker with another engine, a motion is proven free
    if it also keeps the error of that engine's distances, so that its verdict is free as well, unless it decomposes
    surfaces (see `certifiable`); and it counts as colliding only if that engine finds the collision, too.

    Attributes:
        checker: The checker with engine coal.
        scene: Objects as the sphere test uses them.
        exact: Test by exact distances.
        states: Number of configurations evaluated with spheres.
        undecided_fraction: Fraction of the last motion of `quickly_free` at which it was inconclusive.

    Raises:
        GeometryError: A collision shape cannot be read.
    """

    @public
    def __init__(
        self, checker: CollisionChecker, *, protrusion: float = PROTRUSION, scene: MotionScene | None = None
    ) -> None:
        """Create a certifier. scene: of the checker with engine coal; None: its own, with spheres of `protrusion`."""
        self._requested = checker
        self._reserve = verdict_reserve(checker.engine)
        self.checker = checker.with_engine(PROVING_ENGINE)
        self.scene = scene or MotionScene(self.checker, protrusion)
        self.states = 0
        self.undecided_fraction = 0.5
        self._counters = np.zeros(3)
        self._fixed_gap = smallest_fixed_gap(self.checker)
        if checker is not self.checker:  # the gap of its own distances, without their error
            self._fixed_gap = min(self._fixed_gap, smallest_fixed_gap(checker) + self._reserve)
        self.exact = ExactCertifier(self.checker, self._reserve, self._fixed_gap)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about objects whose spheres are coarser than requested: name, resolution in use, and reason."""
        return tuple(found.warning(name) for name, found in self.scene.coarse.items())

    def packed(self, margin: float = 0.0) -> tuple[Packed, Packed]:
        """Return the packed arrays and the work space of the kernels for an additional margin [m]."""
        return self.scene.packed(margin + self._reserve)

    def sphere_test_applies(self, margin: float = 0.0) -> bool:
        """Return whether the sphere test can prove anything at a margin [m].

        It cannot if a pair that no variable moves is closer than that.
        """
        return margin <= self._fixed_gap + TOUCHING

    def quickly_free(self, start: Floats, end: Floats, margin: float = 0.0) -> bool:
        """Return whether the sphere test alone proves a straight motion free.

        False means inconclusive, for example because a prismatic joint is beyond its limits.

        Raises:
            InvalidRequestError: A shape is wrong, or a number is not finite or out of range.
        """
        start, end = self.checker.checked(start), self.checker.checked(end)
        check_margin(margin)
        self.undecided_fraction = 0.5
        if not self.sphere_test_applies(margin) or not self.within_prismatic_limits(start, end):
            return False
        scene, work = self.packed(margin)
        # Previous hits do not change the verdict, but they change the fraction that is reported as inconclusive.
        work.arrays[HITS].fill(0)
        counters = self._counters
        counters[EVALUATED] = 0.0
        start, end = np.ascontiguousarray(start, dtype=np.float64), np.ascontiguousarray(end, dtype=np.float64)
        found = certify_straight(scene.address, work.address, start, end, COARSE, counters)
        self.states += int(counters[EVALUATED])
        self.undecided_fraction = float(counters[UNDECIDED_MIDDLE])
        return bool(found == FREE)

    def motions_free(self, path: Floats) -> NDArray[np.bool_]:
        """Return for each straight motion of a path (n, dof), n >= 1, whether `quickly_free` proves it: (n - 1,).

        Raises:
            InvalidRequestError: The shape is wrong, or a number is not finite or out of range.
        """
        self.checker.require_configurations(path)
        free = np.zeros(len(path) - 1, dtype=np.bool_)
        if not self.sphere_test_applies():
            return free
        path = np.ascontiguousarray(path, dtype=np.float64)
        arrays, room = self.packed()
        room.arrays[HITS].fill(0)  # as in `quickly_free`, for the number of configurations
        scene, work = arrays.address, room.address
        all_within = self.within_prismatic_limits(path.min(axis=0), path.max(axis=0))
        counters = np.zeros(3)
        for index in range(len(free)):
            start, end = path[index], path[index + 1]
            if all_within or self.within_prismatic_limits(start, end):
                free[index] = certify_straight(scene, work, start, end, COARSE, counters) == FREE
        self.states += int(counters[EVALUATED])
        return free

    def certify(
        self, start: Floats, end: Floats, margin: float = 0.0, *, resolution: float = FINE, enough: int = ENOUGH
    ) -> MotionCertificate:
        """Certify the straight motion between two configurations (dof,) [rad or m].

        Args:
            start: First configuration (dof,).
            end: Last configuration (dof,).
            margin: Clearance in addition to the margins of the cell [m].
            resolution: Intervals in which no joint moves by more than this [rad or m] are not bisected further.
            enough: Maximum number of configurations evaluated with exact distances for each interval that the sphere
                test leaves open.

        Raises:
            InvalidRequestError: A shape is wrong, or a number is not finite or out of range.
            JointLimitError: A prismatic joint exceeds its limits, beyond which no motion bound holds.
        """
        check_numbers(margin, resolution)
        motion = StraightMotion(self.checker.checked(start).copy(), self.checker.checked(end).copy())
        self.scene.model.check_prismatic_limits(motion.start, motion.end)
        counters = np.zeros(3)
        left = np.array(((0.5, 0.5),))
        if self.sphere_test_applies(margin):
            scene, work = self.packed(margin)
            left = undecided_intervals(scene.address, work.address, motion.start, motion.end, COARSE, counters)
        left, counts = joined(left)
        return self._decided(motion, left, margin, resolution, int(counters[EVALUATED]), enough * counts)

    def certify_curve(self, curve: JointCurve, margin: float = 0.0, *, resolution: float = FINE) -> MotionCertificate:
        """Certify a curve. Arguments and errors are as in `certify`; path parameters are those of the curve.

        Raises:
            InvalidRequestError: In addition, the breaks descend, or a piece does not begin where the previous one ends.
        """
        check_numbers(margin, resolution)
        check_pieces(curve)
        # First the breaks alone: a curve that leaves the range of joint values would be divided into 100,000 intervals.
        self.checker.require_configurations(np.array([curve.at(place) for place in curve.pieces.tolist()]))
        middles, halves = intervals(curve, 0.5 * SPACING)
        pending = np.column_stack((middles, halves))
        self.checker.require_configurations(curve.boxes(pending)[0])
        self._check_prismatic_limits_along(curve, middles, halves)
        left, states = self._undecided_by_spheres(curve, pending, margin)
        return self._decided(curve, left, margin, resolution, states, np.full(len(left), ENOUGH))

    def check_boxes(self, middles: Floats, deviations: Floats, margin: float = 0.0) -> NDArray[np.int8]:
        """Return verdicts (n,) of the sphere test about boxes in joint space: 0 free, 1 undecided, 2 spheres overlap.

        middles: middles of the boxes (n, dof). deviations: half sizes of the boxes (n, dof), at least 0 [rad or m].
        Prismatic joints must be within their limits, and the sphere test must apply at the margin.
        """
        scene, work = self.packed(margin)
        counters = np.zeros(3)
        found = check_boxes(
            scene.address, work.address, np.ascontiguousarray(middles), np.ascontiguousarray(deviations), counters
        )
        self.states += int(counters[EVALUATED])
        return np.asarray(found, dtype=np.int8)

    def undecided_intervals(self, curve: JointCurve) -> Floats:
        """Return the intervals (n, 2) of a curve that the sphere test does not prove free.

        Each row has the middle and half the length of an interval in the curve's parameter. Prismatic joints must be
        within their limits on the whole curve.
        """
        left, states = self._undecided_by_spheres(curve, np.column_stack(intervals(curve, 0.5 * SPACING)), 0.0)
        self.states += states
        return joined(left)[0]

    def _undecided_by_spheres(self, curve: JointCurve, pending: Floats, margin: float) -> tuple[Floats, int]:
        return self._open_boxes(curve, pending, margin) if self.sphere_test_applies(margin) else (pending, 0)

    def _open_boxes(self, curve: JointCurve, pending: Floats, margin: float) -> tuple[Floats, int]:
        """Return the intervals (n, 2) that the sphere test does not prove free, and the number of configurations
        evaluated."""
        scene, work = self.packed(margin)
        counters = np.zeros(3)
        left: list[Floats] = []
        for level in range(MAX_LEVELS):
            middles, deviations = (np.ascontiguousarray(part) for part in curve.boxes(pending))
            found = check_boxes(scene.address, work.address, middles, deviations, counters)
            narrow = deviations.max(axis=1) <= COARSE
            last = level == MAX_LEVELS - 1 or 2 * len(pending) > 8 * MAX_OPEN
            give_up = (found == 2.0) | ((found == 1.0) & (narrow | last))
            left.append(pending[give_up])
            again = pending[(found == 1.0) & ~give_up]
            if not len(again):
                break
            half = 0.5 * again[:, 1]
            pending = np.concatenate([np.column_stack((again[:, 0] + side * half, half)) for side in (-1.0, 1.0)])
        rows = np.concatenate(left)
        return rows[np.argsort(rows[:, 0], kind="stable")], int(counters[EVALUATED])

    def _decided(
        self,
        curve: JointCurve,
        left: Floats,
        margin: float,
        resolution: float,
        states: int,
        enough: NDArray[np.intp],
    ) -> MotionCertificate:
        """Return the certificate of a curve whose intervals `left` (n, 2) are undecided after the sphere test.

        enough: maximum number of configurations (n,) for each interval.
        """
        before = self.exact.states
        self.states += states
        span = float(curve.pieces[-1] - curve.pieces[0])
        fraction = float(2.0 * left[:, 1].sum()) / span if span > 0.0 else float(len(left) > 0)
        undecided: MotionCertificate | None = None
        for (middle, half), max_configurations in zip(left.tolist(), enough.tolist(), strict=True):
            found = self.exact.certify(curve, middle, half, margin, resolution, max_configurations)
            if found.free:
                continue
            configuration = curve.at(found.place)
            collides = found.collides and self._is_confirmed(configuration, margin)
            verdict = MotionCertificate(
                Verdict.COLLIDING if collides else Verdict.UNDECIDED,
                place=found.place,
                configuration=tuple(configuration.tolist()),
                pair=self._pair(found.first, found.second),
                distance=found.distance + margin,
                resolution=resolution,
                states=states,
                exact_states=self.exact.states - before,
                exact_fraction=fraction,
                warnings=self.warnings,
            )
            if collides:
                return verdict
            undecided = undecided or verdict
        if undecided is not None:
            return undecided
        return MotionCertificate(
            Verdict.FREE,
            clearance=margin,
            resolution=resolution,
            states=states,
            exact_states=self.exact.states - before,
            exact_fraction=fraction,
            warnings=self.warnings,
        )

    def _is_confirmed(self, q: Floats, margin: float) -> bool:
        """Return whether the engine of the given checker finds a collision, too, at an additional margin [m]."""
        requested = self._requested
        if requested is self.checker:
            return True
        return requested.with_extra_margin(requested.options.extra_margin + margin).in_collision(q)

    def _pair(self, first: int, second: int) -> CheckedPair:
        allowed_pairs = self.checker.allowed_pairs
        found = allowed_pairs.pair(allowed_pairs.objects[first].name, allowed_pairs.objects[second].name)
        assert isinstance(found, CheckedPair)
        return found

    def within_prismatic_limits(self, start: Floats, end: Floats) -> bool:
        """As `MotionModel.within_prismatic_limits`, of the ends of a motion."""
        return self.scene.model.within_prismatic_limits(start, end)

    def _check_prismatic_limits_along(self, curve: JointCurve, middles: Floats, halves: Floats) -> None:
        """Check that a curve keeps prismatic joints within their limits, bisecting intervals until the bounds decide.

        Raises:
            JointLimitError: A prismatic joint exceeds its limits.
        """
        model = self.scene.model
        pending = list(zip(middles.tolist(), halves.tolist(), strict=True))
        while pending:
            middle, half = pending.pop()
            q, deviation = curve.at(middle), curve.deviation_bound(middle, half)
            if model.within_prismatic_limits(q - deviation, q + deviation):
                continue
            model.check_prismatic_limits(q)
            # The remaining intervals are within the slack by which the bounds are wider than the limits.
            if float(deviation.max()) > LIMIT_SLACK:
                pending.extend((middle + side * 0.5 * half, 0.5 * half) for side in (-1.0, 1.0))


class _ThreadCache(threading.local):
    """Cache of a thread."""

    def __init__(self) -> None:
        self.cache: IdentityCache[MotionCertifier] = IdentityCache(size=MAX_CACHED_CERTIFIERS)


_of_thread = _ThreadCache()


def certifiable(checker: CollisionChecker) -> bool:
    """Return whether a motion that is proven free is free for the engine of a checker, too: unless it decomposes
    surfaces into convex pieces, which extend beyond them."""
    return not checker.decomposed_by_engine


def certifier_of(checker: CollisionChecker, protrusion: float = PROTRUSION) -> MotionCertifier:
    """Return the cached certifier of a checker; it is shared by equal checkers of a thread.

    protrusion: as for `sphere_model.tolerance.protrusions` [m].

    Raises:
        GeometryError: A collision shape cannot be read.
    """
    make = partial(_with_shared_scene, checker, protrusion)
    return _of_thread.cache.get((checker.geometry_model,), _extras(checker, protrusion), make)


def _with_shared_scene(checker: CollisionChecker, protrusion: float) -> MotionCertifier:
    return MotionCertifier(checker, scene=motion_scene(checker.with_engine(PROVING_ENGINE), protrusion))


def cached_certifier(checker: CollisionChecker, protrusion: float = PROTRUSION) -> MotionCertifier | None:
    """Return the certifier of a checker unless its spheres would have to be made, which can take seconds."""
    found = _of_thread.cache.find((checker.geometry_model,), _extras(checker, protrusion))
    if found is None and has_motion_scene(checker.with_engine(PROVING_ENGINE), protrusion):
        return certifier_of(checker, protrusion)
    return found


def _extras(checker: CollisionChecker, protrusion: float) -> tuple[object, ...]:
    return checker.variables, checker.fixed_values, protrusion


def certify(
    cell: RobotCell,
    state: RobotCellState,
    start: Floats,
    end: Floats,
    margin: float = 0.0,
    *,
    variables: Sequence[str] | None = None,
) -> MotionCertificate:
    """Certify one straight motion of variables (None: those of all robots) between two configurations (dof,).

    All other joints keep the values of the state. To certify many motions, create a `MotionCertifier` once.
    """
    return MotionCertifier(CollisionChecker(cell, state, variables)).certify(start, end, margin)
