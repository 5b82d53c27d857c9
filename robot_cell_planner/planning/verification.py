"""The last check of a path: by certificates where these decide, elsewhere at states a resolution apart."""

from __future__ import annotations

import math

import numpy as np

from ..collision.motions.certifier import Verdict
from ..trajectory.limits import Array
from .checks import CountedChecks
from .motion_samples import free_along

STATES_AT_ONCE = 512  # checked between two looks at whether one is blocked


class PathVerifier:
    """Checks straight motions from end to end.

    A certificate decides where it can. Where it cannot, as where something is grazed, and where none is made, states
    are checked, no joint moving by more than `resolution` from one to the next. What is found free in that way is not
    proven: that is for `CountedChecks.proven_fraction` alone to say.
    """

    def __init__(self, checks: CountedChecks, resolution: float, *, certificates: bool = True) -> None:
        """resolution [rad or m]. certificates: False to ask the collision engine alone, whatever could be proven."""
        self._certificates = certificates
        self._checks = checks
        self._resolution = resolution
        self._free: set[bytes] = set()

    def is_free(self, start: Array, end: Array) -> bool:
        """Whether a straight motion is free; its start is known to be.

        Raises:
            CancelledError, TimedOutError: see `Watch`.
        """
        key = start.tobytes() + end.tobytes()
        if key in self._free:
            return True
        self._checks.motions += 1
        certificate = self._checks.certificate(start, end) if self._certificates else None
        if certificate is None or certificate.verdict is Verdict.UNDECIDED:
            free = self._states_free(start, end)
        else:
            free = certificate.free
        if free:
            self._free.add(key)
        return free

    def _states_free(self, start: Array, end: Array) -> bool:
        # The states of `path_tools.densify`, so that who checks the path there finds what was found here.
        step = end - start
        count = max(1, math.ceil(float(np.abs(step).max()) / self._resolution - 1e-9))
        for first in range(1, count + 1, STATES_AT_ONCE):
            last = min(first + STATES_AT_ONCE, count + 1)
            states = start + np.arange(first, last)[:, None] / count * step
            if last > count:
                states[-1] = end
            if not free_along(self._checks, states).all():
                return False
        return True

    def first_blocked(self, path: Array, first: int = 0) -> int | None:
        """Index, from `first` on, of the first motion of a path (n, dof) that is in collision; None if all are free."""
        for index in range(first, len(path) - 1):
            if not self.is_free(path[index], path[index + 1]):
                return index
        return None
