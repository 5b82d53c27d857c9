"""Optimization objectives, as costs of paths."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ...trajectory.limits import Array

# Step between the states at which a cost is evaluated [rad or m].
TOOL_STEP = 0.02
CLEARANCE_STEP = 0.05
# Clearances are clipped to this range [m].
MIN_CLEARANCE, MAX_CLEARANCE = 1e-3, 0.5

SegmentCost: TypeAlias = Callable[[Array, Array], float]


class Objective(str, Enum):
    """Quantity to minimize."""

    JOINT_LENGTH = "joint length"  # Euclidean, rad and m alike
    CARTESIAN_LENGTH = "Cartesian length"  # [m] path length of the tool centre point, or of the tip link
    CLEARANCE = "clearance"  # integral of 1 / clearance along the path, rad/m


class PathCost:
    """Cost of paths as the sum over their straight motions. Costs of motions are cached."""

    def __init__(self, objective: Objective, segment: SegmentCost) -> None:
        self.objective = objective
        self._segment = segment
        self._costs: dict[bytes, float] = {}

    def of(self, path: Array) -> float:
        """Return the cost of a path (n, dof)."""
        return sum((self.of_motion(start, end) for start, end in pairwise(path)), 0.0)

    def of_motion(self, start: Array, end: Array) -> float:
        """Return the cost of a straight motion."""
        key = start.tobytes() + end.tobytes()
        if key not in self._costs:
            self._costs[key] = self._segment(start, end)
        return self._costs[key]


def joint_length(start: Array, end: Array) -> float:
    return float(np.linalg.norm(end - start))


def points_between(start: Array, end: Array, step: float) -> Array:
    """Return both ends and states between them (n, dof); no joint moves by more than `step` [rad or m] between two
    states.
    """
    count = max(1, int(np.ceil(float(np.abs(end - start).max()) / step - 1e-9)))
    return np.asarray(start + np.linspace(0.0, 1.0, count + 1)[:, None] * (end - start))


def tool_length(positions_of: Callable[[Array], Array]) -> SegmentCost:
    """Return the tool path length as a cost. positions_of: configurations (n, dof) -> tool positions (n, 3) [m]."""

    def cost(start: Array, end: Array) -> float:
        positions = positions_of(points_between(start, end, TOOL_STEP))
        return float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())

    return cost


def inverse_clearance(clearance_of: Callable[[Array, float], float]) -> SegmentCost:
    """Return the integral of 1 / clearance as a cost. clearance_of: state (dof,), max distance [m] -> clearance [m]."""

    def cost(start: Array, end: Array) -> float:
        points = points_between(start, end, CLEARANCE_STEP)
        found = np.array([clearance_of(q, MAX_CLEARANCE) for q in points])
        densities = 1.0 / np.clip(found, MIN_CLEARANCE, MAX_CLEARANCE)
        lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
        return float((lengths * 0.5 * (densities[:-1] + densities[1:])).sum())

    return cost
