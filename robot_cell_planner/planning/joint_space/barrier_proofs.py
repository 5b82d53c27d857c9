"""Proofs that two objects collide at a value of one variable for any values of the other variables that move them.

A depth is the length of the shortest translation that separates two objects, or less. Objects of which no point moves
by more than that relative to the other still collide: a plane that separated them then would be passed by a shorter
translation now. Boxes of the other variables are bisected until this holds from their centre to their corners.

Distances are those of the engine that proves motions free. A depth has to exceed the motion by a reserve, at which the
verdict of the checker's engine is certainly a collision, see `_reserve`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...collision.certification.motion_bounds import MotionModel
from ...collision.checker import CollisionChecker
from ...collision.engines.base import PROVING_ENGINE, TOUCHING, distance_error, verdict_reserve
from ...collision.engines.coal_large import size_of, widening
from ...collision.geometry.collision_geometry import CollisionGeometry, Surface, collision_geometries
from ...kinematics.ik.seeds import halton
from ...trajectory.limits import Array

MAX_OTHERS = 2  # variables besides the one with a fixed value
PROBES = 32  # configurations that are checked before a proof


@dataclass(frozen=True, eq=False)
class _PairMotion:
    """What moves two objects relative to each other.

    Attributes:
        variables: Indices of the variables (k,).
        bounds: Max displacement of a point of one relative to the other per unit of each variable (k,).
        lower, upper: Values of each variable that cover all relative poses (k,) [rad or m].
    """

    variables: tuple[int, ...]
    bounds: Array
    lower: Array
    upper: Array


class BarrierProofs:
    """Proofs for one checker, which together compute distances in a max number of boxes."""

    def __init__(self, checker: CollisionChecker, model: MotionModel, boxes: int) -> None:
        self._checker = checker
        self._model = model
        self._motions: dict[tuple[int, int], _PairMotion | None] = {}
        self._boxes_left = boxes

    def collide(self, objects: tuple[int, int], margin: float, q: Array, index: int) -> bool:
        """Return whether it is proven that two objects collide wherever a variable has its value of a configuration.

        Args:
            objects: Indices in `AllowedPairs.objects`.
            margin: Distance below which they collide [m].
            q: Configuration (dof,).
            index: Index of the variable.
        """
        if objects not in self._motions:
            self._motions[objects] = _motion_of(self._checker, self._model, objects)
        motion = self._motions[objects]
        if motion is None or index not in motion.variables or not self._boxes_left:
            return False
        if not self._model.within_prismatic_limits(q):
            return False
        others = [column for column, variable in enumerate(motion.variables) if variable != index]
        return bool(others) and self._collide_at(objects, margin, q, motion, others)

    def _collide_at(
        self, objects: tuple[int, int], margin: float, q: Array, motion: _PairMotion, others: list[int]
    ) -> bool:
        """Return whether two objects are proven to collide for all values of the other variables of a motion."""
        alone = self._checker.with_engine(PROVING_ENGINE).of_pair(min(objects), max(objects), margin)
        columns = [motion.variables[column] for column in others]
        lower, upper, bounds = motion.lower[others], motion.upper[others], motion.bounds[others]
        probes = np.tile(q, (PROBES, 1))
        probes[:, columns] = lower + halton(PROBES, len(columns), 0) * (upper - lower)
        if not alone.in_collision_batch(probes).all():
            return False
        enough = margin - _reserve(self._checker, objects, margin)
        boxes = [(0.5 * (lower + upper), 0.5 * (upper - lower))]
        while boxes and self._boxes_left:
            self._boxes_left -= 1
            centre, half = boxes.pop()
            at = q.copy()
            at[columns] = centre
            depth = enough - alone.distance(at, margin).distance
            if not depth > 0.0:
                return False
            if not float(bounds @ half) < depth:
                boxes.extend(_halves(centre, half, int(np.argmax(bounds * half))))
        return not boxes


def _halves(centre: Array, half: Array, column: int) -> list[tuple[Array, Array]]:
    """Return the halves of a box, centres and half sizes (k,) each, that is cut across a column."""
    half = half.copy()
    half[column] *= 0.5
    offset = np.zeros_like(half)
    offset[column] = half[column]
    return [(centre - offset, half), (centre + offset, half)]


def _motion_of(checker: CollisionChecker, model: MotionModel, objects: tuple[int, int]) -> _PairMotion | None:
    """Return what moves two objects relative to each other; None if too many variables do, a variable has no range that
    covers all poses, or the objects have no depths."""
    first, second = (model.placements[number].joint for number in objects)
    joints = [joint for part in model.tree.between(first, second) for joint in part]
    if len({model.tree.joints[number].variable for number in joints}) > 1 + MAX_OTHERS or not _has_depths(
        checker, objects
    ):
        return None
    per_joint = model.pair_bound(*objects)
    bounds: dict[int, float] = {}
    turns: dict[int, bool] = {}  # whether a turn of the variable is one of all joints that it drives
    for number in joints:
        joint = model.tree.joints[number]
        bounds[joint.variable] = bounds.get(joint.variable, 0.0) + abs(joint.multiplier) * float(per_joint[number])
        whole = joint.revolute and float(joint.multiplier).is_integer()
        turns[joint.variable] = turns.get(joint.variable, True) and whole
    lower, upper = [], []
    for variable, whole in turns.items():
        limits = checker.cell.variables[checker.variables[variable]].limits
        low, high = limits.lower, limits.upper
        if whole and not high - low < 2.0 * np.pi:
            low, high = -np.pi, np.pi
        if not (np.isfinite(low) and np.isfinite(high)):
            return None
        lower.append(low)
        upper.append(high)
    return _PairMotion(tuple(bounds), np.array(list(bounds.values())), np.array(lower), np.array(upper))


def _reserve(checker: CollisionChecker, objects: tuple[int, int], margin: float) -> float:
    """Return by how much the computed distance of two objects has to be below their margin [m], so that the engine of a
    checker is certain to report a collision at this true distance.

    Objects that touch do not collide, and the distances at both ends of a motion have errors: depths exceed the true
    ones by up to 3e-6 m (`distance_error`), and those near large geometries by `widening`.
    """
    sizes = (size_of(part) for number in objects for part in _parts(checker, number))
    errors = 3.0 * distance_error(margin) + 2.0 * widening(tuple(sizes))
    return TOUCHING + errors + verdict_reserve(checker.engine)


def _parts(checker: CollisionChecker, number: int) -> Iterator[CollisionGeometry]:
    """Return the collision geometries of an object, by index in `AllowedPairs.objects`."""
    for shape in checker.allowed_pairs.objects[number].shapes:
        yield from collision_geometries(shape.geometry)


def _has_depths(checker: CollisionChecker, objects: tuple[int, int]) -> bool:
    """Return whether the computed depths of two objects are those of translations: not those of surfaces, which have no
    interior."""
    return not any(isinstance(part, Surface) for number in objects for part in _parts(checker, number))
