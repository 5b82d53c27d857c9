"""Moves between two configurations: straight ones, and those that stay on constraints on frames."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np

from ..trajectory.limits import Array
from .checks import CountedChecks
from .frame_constraints import FrameConstraints
from .subspace import Subspace

# On constraints, a way that is this much longer than the straight one goes astray.
DETOUR = 3.0
MAX_HALVINGS = 12


class Mover(Protocol):
    """How to get from one configuration to another."""

    checks: CountedChecks

    def connect(self, start: Array, end: Array) -> Array | None:
        """A free way (n, dof) that begins and ends exactly there; None: there is none."""

    def settle(self, q: Array) -> Array | None:
        """The allowed configuration that belongs to q (dof,), free or not; None: there is none."""


class StraightMover:
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


class ProjectedMover:
    """Steps of `step` towards the end, each brought back onto the constraints."""

    def __init__(
        self, checks: CountedChecks, step: float, subspace: Subspace, constraints: FrameConstraints
    ) -> None:
        self.checks = checks
        self.step = step
        self.subspace = subspace
        self.constraints = constraints

    def settle(self, q: Array) -> Array | None:
        q = self.subspace.to_full(self.subspace.to_reduced(q))
        return self.constraints.project(q, self.subspace.basis)

    def connect(self, start: Array, end: Array) -> Array | None:
        away = float(np.linalg.norm(end - start))
        points, here, travelled = [start], start, 0.0
        while True:
            left = end - here
            distance = float(np.linalg.norm(left))
            if distance <= self.step:
                break
            moved = self.constraints.project(here + left * (self.step / distance), self.subspace.basis)
            if moved is None or not self.subspace.within_limits(moved):
                return None
            stride = float(np.linalg.norm(moved - here))
            travelled += stride
            nearer = float(np.linalg.norm(end - moved)) < distance - 0.1 * self.step
            if not nearer or stride > 2.0 * self.step or travelled > DETOUR * away:
                return None
            points.append(moved)
            here = moved
        points.append(end)
        path = self.refined(np.array(points))
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
