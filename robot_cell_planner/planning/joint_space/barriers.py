"""Barriers: values of one joint that no path can pass, because two objects collide there for any values of the others.

The relative pose of two objects depends on the joints between them. If these follow one variable, a collision at a
value between those of start and goal separates start and goal, since a continuous path takes all values in between. If
they follow a few variables, a collision at a value of one of them is proven for all values of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...collision.certification.motion_bounds import MotionModel, motion_model
from ...collision.checker import CollisionChecker
from ...collision.report import CollisionPair
from ...trajectory.limits import Array
from .barrier_proofs import BarrierProofs

SAMPLES = 64  # configurations of a straight motion at which barriers are looked for
BOXES, BOXES_AT_END = 1_000, 8_000  # distances that proofs compute: during a search, and after it
Collisions = Sequence[tuple[CollisionPair, Array]]  # with the configurations (dof,) of the collisions


@dataclass(frozen=True)
class Barrier:
    """Value of a variable that no path can pass.

    Attributes:
        pair: Objects that collide there.
        variable: Name of the variable.
        value: Value at which they collide [rad or m].
        start, goal: Values of the variable at both ends [rad or m].
    """

    pair: CollisionPair
    variable: str
    value: float
    start: float
    goal: float

    def __str__(self) -> str:
        return (
            f"{self.pair.first} and {self.pair.second} collide at {self.variable} = {self.value:.4g} for any values of "
            f"the other joints, so that {self.variable} cannot move from {self.start:.4g} to {self.goal:.4g}"
        )


def barrier_at(checker: CollisionChecker, start: Array, goal: Array, q: Array) -> Barrier | None:
    """Return a barrier between two configurations at another one, (dof,) each, of objects that one variable moves
    relative to each other; None if none is found there."""
    model = motion_model(checker)
    if not any(len(_variables_between(model, near.objects)) == 1 for near in checker.near_geometries(q, 0.0)):
        return None  # without the exact distances of other pairs
    return _of_one_variable(checker, start, goal, [(pair, q) for pair in checker.report(q).pairs])


def barrier_between(checker: CollisionChecker, start: Array, goal: Array, boxes: int = BOXES) -> Barrier | None:
    """Return a barrier between two configurations (dof,) that is found on the straight motion, or None.

    boxes: Max number of distances that are computed for proofs.
    """
    fractions = (np.arange(SAMPLES) + 0.5)[:, None] / SAMPLES
    rows = start + fractions * (goal - start)
    collisions = [(pair, q) for q in rows[checker.in_collision_batch(rows)] for pair in checker.report(q).pairs]
    found = _of_one_variable(checker, start, goal, collisions)
    return _proven(checker, start, goal, collisions, boxes) if found is None else found


def _of_one_variable(checker: CollisionChecker, start: Array, goal: Array, collisions: Collisions) -> Barrier | None:
    """Return the first barrier among collisions of objects that one variable moves relative to each other."""
    for pair, q in collisions:
        variables = _variables_between(motion_model(checker), _indices(checker, pair))
        if len(variables) == 1 and _separates(start, goal, q, variables[0]):
            return _barrier(checker, pair, start, goal, q, variables[0])
    return None


def _proven(checker: CollisionChecker, start: Array, goal: Array, collisions: Collisions, boxes: int) -> Barrier | None:
    """Return a barrier among collisions of objects that a few variables move relative to each other, proven for all
    values of the others; None if none is proven."""
    model = motion_model(checker)
    proofs = BarrierProofs(checker, model, boxes)
    # The deepest are the easiest to prove.
    for pair, q in sorted(collisions, key=lambda each: each[0].distance - each[0].margin):
        objects = _indices(checker, pair)
        for index in _variables_between(model, objects):
            if _separates(start, goal, q, index) and proofs.collide(objects, pair.margin, q, index):
                return _barrier(checker, pair, start, goal, q, index)
    return None


def _separates(start: Array, goal: Array, q: Array, index: int) -> bool:
    """Return whether the value of a variable at q (dof,) is between those of start and goal, and neither of them."""
    low, high = sorted((start[index], goal[index]))
    return bool(low < q[index] < high)


def _barrier(
    checker: CollisionChecker, pair: CollisionPair, start: Array, goal: Array, q: Array, index: int
) -> Barrier:
    return Barrier(pair, checker.variables[index], float(q[index]), float(start[index]), float(goal[index]))


def _indices(checker: CollisionChecker, pair: CollisionPair) -> tuple[int, int]:
    """Return the indices of the objects of a pair in `AllowedPairs.objects`."""
    objects = checker.allowed_pairs.by_name
    return objects[pair.first].index, objects[pair.second].index


def _variables_between(model: MotionModel, objects: tuple[int, int]) -> tuple[int, ...]:
    """Return the indices of the variables that move two collision objects relative to each other."""
    first, second = (model.placements[index].joint for index in objects)
    joints = (joint for part in model.tree.between(first, second) for joint in part)
    return tuple(dict.fromkeys(model.tree.joints[joint].variable for joint in joints))
