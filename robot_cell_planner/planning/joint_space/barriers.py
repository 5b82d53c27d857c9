"""Barriers: values of one joint that no path can pass, because two objects collide there for any values of the others.

The relative pose of two objects depends on the joints between them. If these follow one variable, a collision at a
value between those of start and goal separates start and goal, since a continuous path takes all values in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...collision.certification.motion_bounds import motion_model
from ...collision.checker import CollisionChecker
from ...collision.report import CollisionPair
from ...trajectory.limits import Array

SAMPLES = 64  # configurations of a straight motion at which barriers are looked for


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


def barrier_between(checker: CollisionChecker, start: Array, goal: Array) -> Barrier | None:
    """Return a barrier between two configurations (dof,) that is found on the straight motion, or None."""
    fractions = (np.arange(SAMPLES) + 0.5)[:, None] / SAMPLES
    rows = start + fractions * (goal - start)
    for q in rows[checker.in_collision_batch(rows)]:
        found = barrier_at(checker, start, goal, q)
        if found is not None:
            return found
    return None


def _barriers(checker: CollisionChecker, start: Array, goal: Array, q: Array) -> Iterator[Barrier]:
    model, objects = motion_model(checker), checker.allowed_pairs.by_name
    for pair in checker.report(q).pairs:
        first, second = (model.placements[objects[name].index].joint for name in (pair.first, pair.second))
        variables = {model.tree.joints[joint].variable for part in model.tree.between(first, second) for joint in part}
        if len(variables) != 1:
            continue
        [index] = variables
        low, value, high = sorted((float(start[index]), float(q[index]), float(goal[index])))
        if value == float(q[index]) and low < value < high:
            yield Barrier(pair, checker.variables[index], value, float(start[index]), float(goal[index]))
