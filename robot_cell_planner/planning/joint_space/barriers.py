"""Barriers: values of one joint that no path can pass, because two objects collide there for any values of the others.

The relative pose of two objects depends on the joints between them. If these follow one variable, a collision at a
value between those of start and goal separates start and goal, since a continuous path takes all values in between. If
they follow a few variables, a collision at a value of one of them is proven for all values of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ...collision.certification.motion_bounds import MotionModel, motion_model
from ...collision.checker import CollisionChecker
from ...collision.report import CollisionPair
from ...trajectory.limits import Array
from .barrier_proofs import BarrierProofs

SAMPLES = 64  # configurations of a straight motion at which barriers are looked for
_VARIABLES: WeakKeyDictionary[MotionModel, dict[tuple[int, int], int | None]] = WeakKeyDictionary()


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
    """Return a barrier between two configurations at another one, (dof,) each; None if none is found there."""
    return next(_barriers(checker, start, goal, q), None)


def barrier_between(checker: CollisionChecker, start: Array, goal: Array, boxes: int = 1_000) -> Barrier | None:
    """Return a barrier between two configurations (dof,) that is found on the straight motion, or None.

    boxes: Max number of distances that are computed for proofs.
    """
    fractions = (np.arange(SAMPLES) + 0.5)[:, None] / SAMPLES
    rows = start + fractions * (goal - start)
    for q in rows[checker.in_collision_batch(rows)]:
        found = barrier_at(checker, start, goal, q)
        if found is not None:
            return found
    return _proven_barrier(checker, start, goal, rows, boxes)


def _proven_barrier(checker: CollisionChecker, start: Array, goal: Array, rows: Array, boxes: int) -> Barrier | None:
    """Return a barrier at a configuration (k, dof) for a pair that a few variables move, proven for all values of the
    others; None if none is proven."""
    model, objects = motion_model(checker), checker.allowed_pairs.by_name
    proofs = BarrierProofs(checker, model, boxes)
    collisions = [(pair, q) for q in rows[checker.in_collision_batch(rows)] for pair in checker.report(q).pairs]
    collisions.sort(key=lambda each: each[0].distance - each[0].margin)  # the deepest are the easiest to prove
    for pair, q in collisions:
        indices = objects[pair.first].index, objects[pair.second].index
        for index in _variables_between(model, indices):
            low, value, high = sorted((float(start[index]), float(q[index]), float(goal[index])))
            if value == float(q[index]) and low < value < high and proofs.collide(indices, pair.margin, q, index):
                return Barrier(pair, checker.variables[index], value, float(start[index]), float(goal[index]))
    return None


def _barriers(checker: CollisionChecker, start: Array, goal: Array, q: Array) -> Iterator[Barrier]:
    model = motion_model(checker)
    if not any(_variable_between(model, near.objects) is not None for near in checker.near_geometries(q, 0.0)):
        return  # without the exact distances of other pairs
    objects = checker.allowed_pairs.by_name
    for pair in checker.report(q).pairs:
        index = _variable_between(model, (objects[pair.first].index, objects[pair.second].index))
        if index is None:
            continue
        low, value, high = sorted((float(start[index]), float(q[index]), float(goal[index])))
        if value == float(q[index]) and low < value < high:
            yield Barrier(pair, checker.variables[index], value, float(start[index]), float(goal[index]))


def _variable_between(model: MotionModel, objects: tuple[int, int]) -> int | None:
    """Return the index of the only variable that moves two collision objects relative to each other; None if there is
    none, or several do."""
    known = _VARIABLES.setdefault(model, {})
    if objects not in known:
        known[objects] = _computed_variable(model, objects)
    return known[objects]


def _computed_variable(model: MotionModel, objects: tuple[int, int]) -> int | None:
    variables = _variables_between(model, objects)
    return variables[0] if len(variables) == 1 else None


def _variables_between(model: MotionModel, objects: tuple[int, int]) -> tuple[int, ...]:
    """Return the indices of the variables that move two collision objects relative to each other."""
    first, second = (model.placements[index].joint for index in objects)
    joints = (joint for part in model.tree.between(first, second) for joint in part)
    return tuple(dict.fromkeys(model.tree.joints[joint].variable for joint in joints))
