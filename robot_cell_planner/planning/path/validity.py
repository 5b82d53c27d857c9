"""The last check of a path: by certificates where these decide, elsewhere at states a resolution apart."""

from __future__ import annotations

import math

import numpy as np

from ...collision.certification.certifier import Verdict
from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from .motion_samples import free_along

STATES_AT_ONCE = 512  # checked between two looks at whether one is blocked


class PathVerifier:
    """Checks straight motions from end to end.

    A certificate decides where it can. Where it cannot, as where something is grazed, and where none is made, states
    are checked, no joint moving by more than `resolution` from one to the next, and more of them where objects are
    nearer to each other than they may move in between (`CountedChecks.overlap_between`). What is found free in that way
    is not proven: that is for `CountedChecks.proven_fraction` alone to say.
    """

    def __init__(self, checks: CountedChecks, resolution: float, *, certificates: bool = True) -> None:
        """resolution [rad or m]. certificates: False to ask the collision engine alone at these states, whatever
        could be proven."""
        self._certificates = certificates
        self._checks = checks
        self._resolution = resolution
        self._free: set[bytes] = set()

    def is_free(self, start: Array, end: Array) -> bool:
        """Whether a straight motion is free; its start is known to be.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        return self.blocked_at(start, end) is None

    def blocked_at(self, start: Array, end: Array) -> Array | None:
        """A configuration (dof,) at which a straight motion collides, None if it is free; its start is known to be.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
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
        # The states of `path_tools.densify`, so that who checks the path there finds what was found here.
        step = end - start
        count = max(1, math.ceil(float(np.abs(step).max()) / self._resolution - 1e-9))
        for first in range(1, count + 1, STATES_AT_ONCE):
            last = min(first + STATES_AT_ONCE, count + 1)
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

    def first_blocked(self, path: Array, first: int = 0) -> int | None:
        """Index, from `first` on, of the first motion of a path (n, dof) that is in collision; None if all are free."""
        for index in range(first, len(path) - 1):
            if not self.is_free(path[index], path[index + 1]):
                return index
        return None
