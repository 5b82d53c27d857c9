"""Verification of straight motions: certificates where they decide, otherwise states at a resolution."""

from __future__ import annotations

import math

import numpy as np

from ...collision.certification.certificate import Verdict
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from ..problem.local_planner import LocalPlanner
from .motion_samples import free_along

STATES_PER_BATCH = 512  # states per collision query
MOTIONS_AT_ONCE = 64  # motions that spheres try to prove free before others are checked


class PathVerifier:
    """Verification of straight motions from end to end.

    A certificate decides if possible. Otherwise states are checked; no joint moves by more than `resolution` [rad or m]
    between them, and states are added where objects are closer than they may move (`CountedChecks.overlap_between`). A
    motion found free in this way is not proven free.

    Args:
        certificates: If False, only the collision engine decides.
    """

    def __init__(self, checks: CountedChecks, resolution: float, *, certificates: bool = True) -> None:
        self._certificates = certificates
        self._checks = checks
        self._resolution = resolution
        self._free: set[bytes] = set()

    def is_free(self, start: Array, end: Array) -> bool:
        """Return whether a straight motion is free; its start has to be free.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        return self.blocked_at(start, end) is None

    def blocked_at(self, start: Array, end: Array) -> Array | None:
        """Return a configuration (dof,) at which a straight motion collides, None if it is free; its start has to be
        free.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        key = start.tobytes() + end.tobytes()
        if key in self._free:
            return None
        self._checks.motions += 1
        certificate = self._checks.certificate(start, end) if self._certificates else None
        if certificate is None or certificate.verdict is Verdict.UNDECIDED:
            blocked = self._state_blocked(start, end)
            if blocked is None and self._certificates:
                blocked = self._blocked_between(start, end)
        else:
            blocked = None if certificate.free else np.array(certificate.configuration)
        if blocked is None:
            self._free.add(key)
        return blocked

    def _state_blocked(self, start: Array, end: Array) -> Array | None:
        # The states of `simplification.densify`, so that path checks have the same results.
        step = end - start
        count = max(1, math.ceil(float(np.abs(step).max()) / self._resolution - 1e-9))
        for first in range(1, count + 1, STATES_PER_BATCH):
            last = min(first + STATES_PER_BATCH, count + 1)
            states = start + np.arange(first, last)[:, None] / count * step
            if last > count:
                states[-1] = end
            free = free_along(self._checks, states)
            if not free.all():
                return np.asarray(states[int(np.argmin(free))])
        return None

    def _blocked_between(self, start: Array, end: Array) -> Array | None:
        found = self._checks.overlap_between(np.array((start, end)))
        return np.array(found.configuration) if found is not None and found.collides else None

    def first_blocked(self, path: Array) -> int | None:
        """Return the index of the first colliding motion of a path (n, dof); None if all are free."""
        for begin in range(0, len(path) - 1, MOTIONS_AT_ONCE):
            part = path[begin : begin + MOTIONS_AT_ONCE + 1]
            proven = self._checks.certified_motions(part).tolist() if self._certificates else [False] * (len(part) - 1)
            for index, free in enumerate(proven):
                self._checks.motions += free
                if not (free or self.is_free(part[index], part[index + 1])):
                    return begin + index
        return None


class VerifiedLocalPlanner:
    """Motions of a local planner that also pass the verification, which finds collisions between its states."""

    def __init__(self, local_planner: LocalPlanner, verifier: PathVerifier) -> None:
        self.checks = local_planner.checks
        self._local_planner = local_planner
        self._verifier = verifier

    def connect(self, start: Array, end: Array) -> Array | None:
        """See `LocalPlanner`; the start has to be free."""
        path = self._local_planner.connect(start, end)
        return path if path is not None and self._verifier.first_blocked(path) is None else None

    def project(self, q: Array) -> Array | None:
        """See `LocalPlanner`."""
        return self._local_planner.project(q)

    def keeps(self, path: Array) -> bool:
        """See `LocalPlanner`."""
        return self._local_planner.keeps(path)
