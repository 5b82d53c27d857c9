"""Certificates by exact distances, for intervals that the sphere test leaves open.

The algorithm is conservative advancement (Mirtich, 1996) by division: two objects at distance d at a configuration
cannot collide within an interval around it in which they approach each other by less than d. A pair is evaluated until
it is decided; undecided pairs are evaluated again in equal parts of the interval, as many as would suffice if the
distance were the same in all of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checker import CollisionChecker, NearGeometries
from ..engines.base import TOUCHING, distance_error
from ..geometry.broad_phase import Candidates
from ..geometry.plane_kernels import PlacedPairs
from ..geometry.separating_planes import KnownPlanes
from .curves import JointCurve
from .motion_bounds import motion_model
from .single_joint_gaps import single_joint_gaps

Floats = NDArray[np.float64]
PairIndices = Set[tuple[int, int]]  # indices of two collision objects each
AT_ONCE = 8  # maximum number of configurations evaluated together, and of parts of an undecided interval
ENOUGH = 20_000  # maximum number of configurations for one interval
# Intervals in which a joint deviates by more than WIDE [rad or m] are bisected without distances if more than MANY
# pairs of geometries need one: most of these pairs would be undecided.
MANY, WIDE = 25, 0.05
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
    """Certify intervals of curves with the exact distances of a checker.

    states: number of configurations evaluated.

    Args:
        reserve: Distance that pairs keep in addition to every margin [m], without which they are undecided.
        fixed_gap: Proven distance minus margin of the pairs that no variable moves relative to each other, which need
            no reserve [m].
    """

    def __init__(self, checker: CollisionChecker, reserve: float = 0.0, fixed_gap: float = -math.inf) -> None:
        self._checker = checker
        self._reserve, self._fixed_gap = reserve, fixed_gap
        self._model = motion_model(checker)
        joints = self._model.tree.joints
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
            resolution: Intervals in which no joint moves by more than this [rad or m] are not divided further.
            enough: Maximum number of configurations. The test also ends, undecided, after 200 configurations with an
                undecided pair in contact, since contact is proven in steps of a few micrometres.
        """
        pending: list[tuple[float, float, PairIndices | None]] = [(middle, half, None)]
        spent = self.states + enough
        in_contact = 0
        planes = self.known_planes()
        while pending:
            part = pending[: -AT_ONCE - 1 : -1]  # the latest first
            del pending[-len(part) :]
            configurations, deviations = curve.boxes(np.array([interval[:2] for interval in part]))
            widest = self._of_joints(deviations).max(axis=1, initial=0.0).tolist()
            candidates = [interval[2] for interval in part]
            is_wide = [reach > max(WIDE, resolution) and self.states < spent for reach in widest]
            found = self._open_pairs(configurations, deviations, margin, candidates, planes, is_wide)
            for (middle, half, before), reach, left_open in zip(part, widest, found, strict=True):
                if left_open is None:
                    pending.extend((middle + side * 0.5 * half, 0.5 * half, before) for side in (1.0, -1.0))
                    continue
                if not left_open:
                    continue
                pair, distance, _ = min(left_open, key=lambda entry: entry.distance)
                left = {entry.pair for entry in left_open}
                if distance < -TOUCHING:
                    return ContactResult(False, True, middle, *pair, distance)
                in_contact += distance < TOUCHING
                if reach <= resolution or self.states >= spent or in_contact > MAX_IN_CONTACT:
                    return ContactResult(False, False, middle, *pair, distance)
                count = _sufficient_parts(left_open)
                part_half = half / count
                pending.extend((middle + (count - 1 - 2 * row) * part_half, part_half, left) for row in range(count))
        return ContactResult(True)

    def known_planes(self) -> KnownPlanes:
        """Return planes, none yet, for the configurations of one motion."""
        return KnownPlanes(self._checker.geometry_model.planes)

    def _of_joints(self, deviations: Floats) -> Floats:
        """Return the deviations of all joints (n, joints) for those of the variables (n, dof)."""
        return np.asarray(deviations[:, self._joint_of] * self._gain)

    def _slack(self, distance: float) -> float:
        """Return by how much a computed distance may exceed the true one, plus the reserve [m]."""
        return distance_error(distance, self._checker.engine) + self._reserve

    def open_pairs(
        self,
        configurations: Floats,
        deviations: Floats,
        margin: float,
        candidates: Sequence[PairIndices | None],
        planes: KnownPlanes,
    ) -> list[list[OpenPair]]:
        """Return, for each configuration (n, dof), the pairs that may collide while no variable deviates from it by
        more than a row of `deviations` (n, dof).

        candidates: pairs to evaluate at each configuration; None: all. planes: found in earlier calls for the same
        motion; they save distances, and new ones are added.
        """
        found = self._open_pairs(configurations, deviations, margin, candidates, planes, [False] * len(configurations))
        return [pairs or [] for pairs in found]

    def _open_pairs(
        self,
        configurations: Floats,
        deviations: Floats,
        margin: float,
        candidates: Sequence[PairIndices | None],
        planes: KnownPlanes,
        is_wide: Sequence[bool],
    ) -> list[list[OpenPair] | None]:
        """As `open_pairs`; None for configurations of `is_wide` at which more than MANY pairs need a distance."""
        self.states += len(configurations)
        deviations = self._of_joints(deviations)
        # Two objects approach each other by at most the sum of both displacement bounds.
        displacements = deviations @ self._model.speed_bounds.T
        reach = margin + self._reserve + 2.0 * float(displacements.max(initial=0.0))
        proven = {pair for pair, gap in self._gaps.items() if gap >= margin + self._reserve}
        if margin <= self._fixed_gap:
            proven |= self._fixed_pairs
        states, near, poses = self._checker.near_candidates_along(configurations, reach)
        approach = self._approach(near, deviations[states], proven)
        slack = self._slack(float(near.gaps.max(initial=0.0)))
        is_open = near.min_distances - slack < near.margins + margin + approach - TOUCHING
        near, states, approach = near.chosen(is_open), states[is_open], approach[is_open]
        limits = near.margins + margin + self._reserve + approach - TOUCHING
        bounds = near.min_distances
        described = self._checker.described(near)
        left = Counter((each.first, each.second) for each in described)
        placed_pairs = PlacedPairs(poses, states, near.first, near.second, bounds)
        planes.raise_bounds(left, placed_pairs)
        needed = Counter(
            state
            for row, (each, state) in enumerate(zip(described, states.tolist(), strict=True))
            if is_wide[state] and bounds[row] < limits[row] and _is_candidate(each, candidates[state])
        )
        found: list[list[OpenPair] | None] = [None if needed[state] > MANY else [] for state in range(len(candidates))]
        placed = -1
        for row, (each, displacement, state) in enumerate(
            zip(described, approach.tolist(), states.tolist(), strict=True)
        ):
            pair, open_here = (each.first, each.second), found[state]
            left[pair] -= 1
            if open_here is None or bounds[row] >= limits[row] or not _is_candidate(each, candidates[state]):
                continue
            if state != placed:
                self._checker.place_at(poses[state])
                placed = state
            distance, normal = self._checker.geometry_separation(*pair)
            if normal is not None:
                planes.add(pair, normal, poses[state])
                if left[pair]:
                    planes.raise_bounds((pair,), placed_pairs.after(row))
            entry = self._open_pair(each, distance, displacement, margin)
            if entry is not None:
                open_here.append(entry)
        return found

    def _open_pair(self, near: NearGeometries, distance: float, displacement: float, margin: float) -> OpenPair | None:
        """Return a pair at a distance if its objects may collide when they approach each other by `displacement`."""
        slack, gap = self._slack(distance), distance - near.margin - margin
        missing = displacement + slack - TOUCHING - gap
        rests = displacement == 0.0 and not self._reserve
        if gap >= displacement + slack - TOUCHING or (rests and gap >= -TOUCHING):
            return None
        return OpenPair(near.objects, gap, missing)

    @cached_property
    def _gaps(self) -> dict[tuple[int, int], float]:
        """Proven gaps of pairs that a single joint moves [m], by indices of both objects in either order."""
        moving = self._model.moving_objects
        found = {}
        for pair, gap in zip(self._model.pairs, single_joint_gaps(self._checker).tolist(), strict=True):
            if gap > 0.0:
                found[moving[pair.first], moving[pair.second]] = found[moving[pair.second], moving[pair.first]] = gap
        return found

    @cached_property
    def _fixed_pairs(self) -> PairIndices:
        """Pairs that no variable moves relative to each other, by indices of both objects in either order."""
        fixed = [pair[:2] for pair in self._model.fixed_pairs]
        return frozenset((*fixed, *(pair[::-1] for pair in fixed)))

    def _approach(self, near: Candidates, deviations: Floats, proven: Set[tuple[int, int]]) -> Floats:
        """Return by how much the objects of each pair may approach each other (n,) [m]; minus infinity for pairs that
        are proven. deviations: of the joints for each pair (n, joints)."""
        objects = self._checker.geometry_model.object_indices
        size = len(self._model.allowed_pairs.objects)
        codes, rows = np.unique(objects[near.first] * size + objects[near.second], return_inverse=True)
        bounds, excluded = np.zeros((len(codes), deviations.shape[1])), np.zeros(len(codes), dtype=bool)
        for index, code in enumerate(codes.tolist()):
            pair = divmod(code, size)
            if pair in proven:
                excluded[index] = True
            else:
                bounds[index] = self._model.pair_bound(*pair)
        found: Floats = np.where(excluded[rows], -np.inf, np.einsum("ij,ij->i", bounds[rows], deviations))
        return found


def _sufficient_parts(left_open: list[OpenPair]) -> int:
    """Return the number of equal parts, 2 to AT_ONCE, in which objects that are as far apart as at the middle of the
    interval cannot collide; 2 for pairs in contact, which no number decides."""
    ratios = [1.0 + pair.missing / pair.distance for pair in left_open if pair.distance > TOUCHING]
    # A ratio of 1 plus less than a rounding error is 1, by which no interval is divided.
    return max(math.ceil(min(max(ratios, default=2.0), AT_ONCE)), 2)


def _is_candidate(near: NearGeometries, candidates: PairIndices | None) -> bool:
    return candidates is None or near.objects in candidates
