"""Local planners: motions between two configurations, straight or projected onto frame constraints."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np

from ...trajectory.limits import Array
from .collision_checks import CountedChecks
from .frame_constraints import FrameConstraints
from .subspace import Subspace


class LocalPlanner(Protocol):
    """Connects two configurations by a free motion."""

    checks: CountedChecks

    def connect(self, start: Array, end: Array) -> Array | None:
        """Return a free path (n, dof) with exactly these ends, or None if there is none."""

    def project(self, q: Array) -> Array | None:
        """Return the configuration on the constraints for q (dof,), free or not; None if there is none."""

    def keeps(self, path: Array) -> bool:
        """Return whether the straight motions along a path (n, dof) keep the constraints, free or not. The parts of a
        motion that does may not: constraints on frames are evaluated at states of each motion.
        """


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

    def keeps(self, path: Array) -> bool:
        """See `LocalPlanner`. Combinations of joints are constant on straight motions in their subspace."""
        return True


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

    def keeps(self, path: Array) -> bool:
        """See `LocalPlanner`."""
        return self.constraints.keeps(path)

    def step_towards(self, start: Array, end: Array) -> Array | None:
        """Return the projected configuration one step from `start` towards `end`; None without progress."""
        return self.constraints.step_towards(start, end, self.step, self.subspace.basis)

    def connect(self, start: Array, end: Array) -> Array | None:
        path = self.constraints.trace(start, end, self.step, self.subspace.basis)
        return path if path is not None and self._free(path) else None

    def connect_by_step(self, start: Array, end: Array) -> Array | None:
        """Return a free path (n, dof) that follows the straight motion of one step, None if there is none."""
        if not self.checks.motion_free(start, end, self.step):
            return None
        path = self.constraints.refined(np.array((start, end)), self.subspace.basis)
        return path if path is not None and (len(path) == 2 or self._free(path)) else None

    def _free(self, path: Array) -> bool:
        return all(self.checks.motion_free(first, second, self.step) for first, second in pairwise(path))
