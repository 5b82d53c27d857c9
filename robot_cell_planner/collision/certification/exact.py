"""Certificates by exact distances, for intervals that the sphere test leaves open.

The algorithm is conservative advancement (Mirtich, 1996) by bisection: two objects at distance d at a configuration
cannot collide within an interval around it in which they approach each other by less than d. A pair is evaluated until
it is decided; undecided pairs are evaluated again in both halves of the interval.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checker import CollisionChecker
from ..engines.base import TOUCHING, distance_error
from ..geometry.broad_phase import Candidates
from .curves import JointCurve
from .motion_bounds import motion_model
from .single_joint_gaps import single_joint_gaps

Floats = NDArray[np.float64]
ENOUGH = 20_000  # maximum number of configurations for one interval
MAX_IN_CONTACT = 200  # maximum number of those with an undecided pair nearer than TOUCHING, as in sliding contact


@dataclass(frozen=True)
class ContactResult:
    """Result of the exact test of an interval.

    Attributes:
        free: Whether the interval is proven free.
        collides: Whether it collides at `place`; if neither, the interval is undecided there.
        place: Path parameter of the collision or of the undecided configuration.
        first, second: Indices of the collision objects of the pair.
        distance: Distance of the pair there minus its margins [m].
    """

    free: bool
    collides: bool = False
    place: float = 0.0
    first: int = -1
    second: int = -1
    distance: float = 0.0


class OpenPair(NamedTuple):
    """A pair that may collide: indices of both objects and distance minus margin at a configuration [m].

    missing [m]: amount by which the distance is too small to exclude a collision.
    """

    pair: tuple[int, int]
    distance: float
    missing: float


class ExactCertifier:
    """Certify intervals of curves with the exact distances of a checker. states: number of configurations evaluated."""

    def __init__(self, checker: CollisionChecker) -> None:
        self._checker = checker
        self._model = motion_model(checker)
        joints = self._model.tree.joints
        # The distance errors of other engines exceed every tolerance used here; their distances are used uncorrected.
        self._errs = checker.engine == "coal"
        self._joint_of = np.array([joint.variable for joint in joints], dtype=np.intp)
        self._gain = np.array([abs(joint.multiplier) for joint in joints])
        self.states = 0

    def certify(
        self, curve: JointCurve, middle: float, half: float, margin: float, resolution: float, enough: int = ENOUGH
    ) -> ContactResult:
        """Certify that a curve keeps a margin [m] in addition to those of the allowed pairs, within `half` of `middle`.

        Args:
            curve: Curve to certify.
            middle: Middle of the interval in the curve's parameter.
            half: Half the length of the interval.
            margin: Additional margin [m].
            resolution: Intervals in which no joint moves by more than this [rad or m] are not bisected further.
            enough: Maximum number of configurations. The test also ends, undecided, after 200 configurations with an
                undecided pair in contact, since contact is proven in steps of a few micrometres.
        """
        pending: list[tuple[float, float, set[tuple[int, int]] | None]] = [(middle, half, None)]
        spent = self.states + enough
        in_contact = 0
        while pending:
            middle, half, candidates = pending.pop()
            deviation = curve.deviation_bound(middle, half)[self._joint_of] * self._gain
            self.states += 1
            left, worst = self._left(curve.at(middle), deviation, margin, candidates)
            if worst is not None:
                pair, distance = worst
                if distance < -TOUCHING:
                    return ContactResult(False, True, middle, *pair, distance)
                in_contact += distance < TOUCHING
                exhausted = self.states >= spent or in_contact > MAX_IN_CONTACT
                if float(deviation.max(initial=0.0)) <= resolution or exhausted:
                    return ContactResult(False, False, middle, *pair, distance)
                pending.extend(((middle + 0.5 * half, 0.5 * half, left), (middle - 0.5 * half, 0.5 * half, left)))
        return ContactResult(True)

    def _slack(self, distance: float) -> float:
        """Return by how much a computed distance may exceed the true one [m]."""
        return distance_error(distance) if self._errs else 0.0

    def _left(
        self, q: Floats, deviation: Floats, margin: float, candidates: set[tuple[int, int]] | None
    ) -> tuple[set[tuple[int, int]], tuple[tuple[int, int], float] | None]:
        """Return the pairs that remain undecided at q, and the closest of them with its distance minus margin [m]."""
        found = self._open(q, deviation, margin, candidates)
        worst = min(found, key=lambda entry: entry.distance, default=None)
        return {entry.pair for entry in found}, None if worst is None else (worst.pair, worst.distance)

    def open_pairs(
        self, q: Floats, deviation: Floats, margin: float, candidates: Set[tuple[int, int]] | None
    ) -> list[OpenPair]:
        """Return the pairs that may collide while no variable deviates from q (dof,) by more than `deviation` (dof,).

        candidates: pairs to evaluate; None: all. The call counts as one configuration.
        """
        self.states += 1
        return self._open(q, deviation[self._joint_of] * self._gain, margin, candidates)

    def _open(
        self, q: Floats, deviation: Floats, margin: float, candidates: Set[tuple[int, int]] | None
    ) -> list[OpenPair]:
        # Before the engine places the objects at q, since the gaps need it, too.
        gaps = self._gaps
        # Two objects approach each other by at most the sum of both displacement bounds.
        displacements = self._model.speed_bounds @ deviation
        near = self._checker.near_candidates(q, margin + 2.0 * float(displacements.max(initial=0.0)))
        proven = {pair for pair, gap in gaps.items() if gap >= margin}
        approach = self._approach(near, deviation, candidates, proven)
        slack = self._slack(float(near.gaps.max(initial=0.0)))
        is_open = near.min_distances - slack < near.margins + margin + approach - TOUCHING
        found: list[OpenPair] = []
        described = self._checker.described(near.chosen(is_open))
        for each, displacement in zip(described, approach[is_open].tolist(), strict=True):
            distance = self._checker.geometry_distance(each.first, each.second)
            slack, gap = self._slack(distance), distance - each.margin - margin
            missing = displacement + slack - TOUCHING - gap
            if gap >= displacement + slack - TOUCHING or (displacement == 0.0 and gap >= -TOUCHING):
                continue
            found.append(OpenPair(each.objects, gap, missing))
        return found

    @cached_property
    def _gaps(self) -> dict[tuple[int, int], float]:
        """Proven gaps of pairs that a single joint moves [m], by indices of both objects in either order."""
        moving = self._model.moving_objects
        found = {}
        for pair, gap in zip(self._model.pairs, single_joint_gaps(self._checker).tolist(), strict=True):
            if gap > 0.0:
                found[moving[pair.first], moving[pair.second]] = found[moving[pair.second], moving[pair.first]] = gap
        return found

    def _approach(
        self,
        near: Candidates,
        deviation: Floats,
        candidates: Set[tuple[int, int]] | None,
        proven: Set[tuple[int, int]],
    ) -> Floats:
        """Return by how much the objects of each pair may approach each other (n,) [m]; minus infinity for pairs that
        are not candidates, and for those that are proven."""
        objects = self._checker.geometry_model.object_indices
        size = len(self._model.allowed_pairs.objects)
        codes, rows = np.unique(objects[near.first] * size + objects[near.second], return_inverse=True)
        approach = np.full(len(codes), -np.inf)
        for index, code in enumerate(codes.tolist()):
            pair = divmod(code, size)
            if pair not in proven and (candidates is None or pair in candidates):
                approach[index] = self._model.pair_bound(*pair) @ deviation
        found: Floats = approach[rows]
        return found
