"""Moves between two configurations: straight ones, and those that stay on constraints on frames."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np

from ...trajectory.limits import Array
from .collision_checks import CountedChecks
from .frame_constraints import FrameConstraints
from .subspace import Subspace

# On constraints, a step must bring its aim nearer by this share of its length.
LEAST_PROGRESS = 0.1
MAX_HALVINGS = 12


class LocalPlanner(Protocol):
    """How to get from one configuration to another."""

    checks: CountedChecks

    def connect(self, start: Array, end: Array) -> Array | None:
        """A free way (n, dof) that begins and ends exactly there; None: there is none."""

    def settle(self, q: Array) -> Array | None:
        """The allowed configuration that belongs to q (dof,), free or not; None: there is none."""


class StraightLocalPlanner:
    """Straight motions, checked every `step` [rad or m]. subspace: where configurations settle; None: anywhere."""

    def __init__(self, checks: CountedChecks, step: float, subspace: Subspace | None = None) -> None:
        self.checks = checks
        self.step = step
        self.subspace = subspace

    def connect(self, start: Array, end: Array) -> Array | None:
        return np.vstack((start, end)) if self.checks.motion_free(start, end, self.step) else None

    def settle(self, q: Array) -> Array | None:
        if self.subspace is None:
            return q
        q = self.subspace.to_full(self.subspace.to_reduced(q))
        return q if self.subspace.within_limits(q) else None


class ProjectedLocalPlanner:
    """Steps of `step` towards the end, each brought back onto the constraints."""

    def __init__(self, checks: CountedChecks, step: float, subspace: Subspace, constraints: FrameConstraints) -> None:
        self.checks = checks
        self.step = step
        self.subspace = subspace
        self.constraints = constraints

    def settle(self, q: Array) -> Array | None:
        q = self.subspace.to_full(self.subspace.to_reduced(q))
        return self.constraints.project(q, self.subspace.basis)

    def step_towards(self, start: Array, end: Array) -> Array | None:
        """The configuration a step from one towards another, on the constraints; None: that leads astray."""
        left = end - start
        distance = float(np.linalg.norm(left))
        moved = self.constraints.project(start + left * (self.step / distance), self.subspace.basis)
        if moved is None or not self.subspace.within_limits(moved):
            return None
        stride = float(np.linalg.norm(moved - start))
        nearer = distance - float(np.linalg.norm(end - moved))
        return moved if stride <= 2.0 * self.step and nearer >= LEAST_PROGRESS * self.step else None

    def connect(self, start: Array, end: Array) -> Array | None:
        points = [start]
        while float(np.linalg.norm(end - points[-1])) > self.step:
            moved = self.step_towards(points[-1], end)
            if moved is None:
                return None
            points.append(moved)
        path = self.refined(np.array([*points, end]))
        if path is None:
            return None
        free = all(self.checks.motion_free(first, second, self.step) for first, second in pairwise(path))
        return path if free else None

    def refined(self, path: Array) -> Array | None:
        """The path (n, dof) with so many points between that straight motions along it stay within the tolerances;
        None: projection leads astray."""
        points = [path[0]]
        for end in path[1:]:
            between = self._between(points[-1], end, 0)
            if between is None:
                return None
            points.extend(between)
        return np.array(points)

    def _between(self, start: Array, end: Array, depth: int) -> list[Array] | None:
        """What lies behind a point up to the next one, that one included."""
        shares = np.array([0.25, 0.5, 0.75])[:, None]
        if float(self.constraints.excess(start + shares * (end - start)).max()) <= 0.99:
            return [end]
        if depth == MAX_HALVINGS:
            return None
        middle = self.constraints.project(0.5 * (start + end), self.subspace.basis)
        if middle is None:
            return None
        first, second = self._between(start, middle, depth + 1), self._between(middle, end, depth + 1)
        return None if first is None or second is None else first + second
