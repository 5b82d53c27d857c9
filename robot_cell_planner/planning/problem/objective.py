"""What a path is to be good at, as a cost to make small."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ...trajectory.limits import Array

# Steps between the states at which a path is measured [rad or m].
TOOL_STEP = 0.02
CLEARANCE_STEP = 0.05
# Clearances are taken to be between these [m]: nothing nearer counts for more, nothing farther for less.
NEAREST, FARTHEST = 1e-3, 0.5

SegmentCost: TypeAlias = Callable[[Array, Array], float]


class Objective(str, Enum):
    """What to make small."""

    JOINT_LENGTH = "joint length"  # Euclidean, rad and m alike
    CARTESIAN_LENGTH = "Cartesian length"  # [m] of the way of the tool centre point, or of the tip
    CLEARANCE = "clearance"  # integral of 1 / clearance along the path, rad/m


class PathCost:
    """The cost of paths as the sum over their straight motions; each motion is measured once."""

    def __init__(self, objective: Objective, segment: SegmentCost) -> None:
        self.objective = objective
        self._segment = segment
        self._known: dict[bytes, float] = {}

    def of(self, path: Array) -> float:
        """The cost of a path (n, dof)."""
        return sum((self.of_motion(start, end) for start, end in pairwise(path)), 0.0)

    def of_motion(self, start: Array, end: Array) -> float:
        """The cost of a straight motion."""
        key = start.tobytes() + end.tobytes()
        if key not in self._known:
            self._known[key] = self._segment(start, end)
        return self._known[key]


def joint_length(start: Array, end: Array) -> float:
    return float(np.linalg.norm(end - start))


def points_between(start: Array, end: Array, step: float) -> Array:
    """Both ends and states between them (n, dof), no joint moving further than `step` from one to the next."""
    count = max(1, int(np.ceil(float(np.abs(end - start).max()) / step - 1e-9)))
    return np.asarray(start + np.linspace(0.0, 1.0, count + 1)[:, None] * (end - start))


def tool_length(positions_of: Callable[[Array], Array]) -> SegmentCost:
    """positions_of: (n, dof) -> (n, 3) of the tool."""

    def cost(start: Array, end: Array) -> float:
        positions = positions_of(points_between(start, end, TOOL_STEP))
        return float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())

    return cost


def inverse_clearance(clearance_of: Callable[[Array, float], float]) -> SegmentCost:
    """clearance_of: clearance [m] of a state (dof,), looked for no farther than a distance."""

    def cost(start: Array, end: Array) -> float:
        points = points_between(start, end, CLEARANCE_STEP)
        found = np.array([clearance_of(q, FARTHEST) for q in points])
        densities = 1.0 / np.clip(found, NEAREST, FARTHEST)
        lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
        return float((lengths * 0.5 * (densities[:-1] + densities[1:])).sum())

    return cost
