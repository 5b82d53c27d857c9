"""Whether the motions of a path are free: proven where that is quick, checked at samples elsewhere, and verified."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from .simplification import densify
from .validity import PathVerifier

STATES_AT_ONCE = 16  # held against the cell between two looks at whether one is blocked


class MotionChecks:
    """Checks of motions that come again and again: what is known of one is kept.

    step [rad or m]: between the first samples of motions that balls do not prove; those of which all are free are
    verified, at steps of `resolution` where no certificate decides.
    """

    def __init__(self, checks: CountedChecks, step: float, resolution: float) -> None:
        self._checks = checks
        self._step = step
        self._verifier = PathVerifier(checks, resolution)
        self._proven: set[bytes] = set()
        self._free: set[bytes] = set()

    def first_blocked(
        self, path: Array, look: Callable[[float], None] = lambda share: None
    ) -> tuple[int, Array] | None:
        """The first motion of a path (n, dof) that is in collision, and the configuration at which it is; its first
        point is known to be free.

        look: called between motions with the share that is done.

        Raises:
            CancelledError, TimedOutError: see `ProgressMonitor`.
        """
        count, index = len(path) - 1, 0
        while index < count:
            look(index / count)
            if self._is_free(path, index):
                index += 1
                continue
            end = index + 1
            while end < count and not self._is_free(path, end):
                end += 1
            found = self._sampled(path[index : end + 1]) or self._verified(path[index : end + 1])
            self._free.update(_key(path, number) for number in range(index, end if found is None else index + found[0]))
            if found is not None:
                self._checks.motions += index + found[0] + 1
                return index + found[0], found[1]
            index = end
        self._checks.motions += max(count, 0)
        return None

    def _is_free(self, path: Array, index: int) -> bool:
        return _key(path, index) in self._free or self._is_proven(path, index)

    def _is_proven(self, path: Array, index: int) -> bool:
        key = _key(path, index)
        if key in self._proven:
            return True
        proven = self._checks.proven(path[index : index + 2])
        if proven:
            self._proven.add(key)
        return proven

    def _sampled(self, path: Array) -> tuple[int, Array] | None:
        samples, places = densify(path, self._step)
        for begin in range(1, len(samples), STATES_AT_ONCE):
            part = slice(begin, begin + STATES_AT_ONCE)
            blocked = np.flatnonzero(~self._checks.batch_free(samples[part]))
            if len(blocked):
                index = begin + int(blocked[0])
                edge = min(int(np.ceil(places[index] - 1e-9)) - 1, len(path) - 2)
                return max(edge, 0), samples[index]
        return None

    def _verified(self, path: Array) -> tuple[int, Array] | None:
        for index in range(len(path) - 1):
            q = self._verifier.blocked_at(path[index], path[index + 1])
            if q is not None:
                return index, q
        return None


def _key(path: Array, index: int) -> bytes:
    return path[index : index + 2].tobytes()
