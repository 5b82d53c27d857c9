"""Local planners: motions between two configurations, straight or projected onto frame constraints."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np

from ...trajectory.limits import Array
from .collision_checks import CountedChecks
from .frame_constraints import FrameConstraints
from .subspace import Subspace

# Min decrease of the distance to the end per projected step, as a fraction of the step length.
MIN_PROGRESS = 0.1
MAX_HALVINGS = 12


class LocalPlanner(Protocol):
    """Connects two configurations by a free motion."""

    checks: CountedChecks

    def connect(self, start: Array, end: Array) -> Array | None:
        """Return a free path (n, dof) with exactly these ends, or None if there is none."""

    def project(self, q: Array) -> Array | None:
        """Return the configuration on the constraints for q (dof,), free or not; None if there is none."""


class StraightLocalPlanner:
    """Straight motions, checked every `step` [rad or m].

    Args:
        subspace: Subspace that configurations are projected onto; None for no projection.
    """

    def __init__(self, checks: CountedChecks, step: float, subspace: Subspace | None = None) -> None:
        self.checks = checks
        self.step = step
        self.subspace = subspace

    def connect(self, start: Array, end: Array) -> Array | None:
        return np.vstack((start, end)) if self.checks.motion_free(start, end, self.step) else None

    def project(self, q: Array) -> Array | None:
        if self.subspace is None:
            return q
        q = self.subspace.to_full(self.subspace.to_reduced(q))
        return q if self.subspace.within_limits(q) else None


class ProjectedLocalPlanner:
    """Motions in steps of length `step` towards the end, each projected onto the constraints."""

    def __init__(self, checks: CountedChecks, step: float, subspace: Subspace, constraints: FrameConstraints) -> None:
        self.checks = checks
        self.step = step
        self.subspace = subspace
        self.constraints = constraints

    def project(self, q: Array) -> Array | None:
        q = self.subspace.to_full(self.subspace.to_reduced(q))
        return self.constraints.project(q, self.subspace.basis)

    def step_towards(self, start: Array, end: Array) -> Array | None:
        """Return the projected configuration one step from `start` towards `end`; None without progress."""
        difference = end - start
        distance = float(np.linalg.norm(difference))
        moved = self.constraints.project(start + difference * (self.step / distance), self.subspace.basis)
        if moved is None or not self.subspace.within_limits(moved):
            return None
        length = float(np.linalg.norm(moved - start))
        progress = distance - float(np.linalg.norm(end - moved))
        return moved if length <= 2.0 * self.step and progress >= MIN_PROGRESS * self.step else None

    def connect(self, start: Array, end: Array) -> Array | None:
        points = [start]
        while float(np.linalg.norm(end - points[-1])) > self.step:
            moved = self.step_towards(points[-1], end)
            if moved is None:
                return None
            points.append(moved)
        path = self.refine(np.array([*points, end]))
        if path is None:
            return None
        free = all(self.checks.motion_free(first, second, self.step) for first, second in pairwise(path))
        return path if free else None

    def refine(self, path: Array) -> Array | None:
        """Return the path (n, dof) with points added until straight motions along it stay within the tolerances; None
        if projection fails.
        """
        points = [path[0]]
        for end in path[1:]:
            points_between = self._bisected(points[-1], end, 0)
            if points_between is None:
                return None
            points.extend(points_between)
        return np.array(points)

    def _bisected(self, start: Array, end: Array, depth: int) -> list[Array] | None:
        """Return the points after `start` up to and including `end`."""
        fractions = np.array([0.25, 0.5, 0.75])[:, None]
        if float(self.constraints.excess(start + fractions * (end - start)).max()) <= 0.99:
            return [end]
        if depth == MAX_HALVINGS:
            return None
        middle = self.constraints.project(0.5 * (start + end), self.subspace.basis)
        if middle is None:
            return None
        first, second = self._bisected(start, middle, depth + 1), self._bisected(middle, end, depth + 1)
        return None if first is None or second is None else first + second
