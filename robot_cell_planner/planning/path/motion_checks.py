"""Collision checks of motions of a path: certificates where fast, then samples, then verification."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...trajectory.limits import Array
from ..problem.collision_checks import CountedChecks
from .simplification import densify
from .validity import PathVerifier

STATES_PER_BATCH = 16  # states per collision query


class MotionChecks:
    """Checks of motions that repeat; results are cached.

    Motions that spheres do not prove free are sampled every `step` [rad or m]; those without a colliding sample are
    verified at steps of `resolution` where no certificate decides.
    """

    def __init__(self, checks: CountedChecks, step: float, resolution: float) -> None:
        self._checks = checks
        self._step = step
        self._verifier = PathVerifier(checks, resolution)
        self._free: set[bytes] = set()

    def first_blocked(
        self, path: Array, on_progress: Callable[[float], None] = lambda fraction: None
    ) -> tuple[int, Array] | None:
        """Return the index of the first colliding motion of a path (n, dof) and the colliding configuration; None if
        all are free. The first point has to be free.

        Args:
            on_progress: Called with the completed fraction at the beginning, before each run of motions that spheres do
                not prove free, and at the end if they prove all.

        Raises:
            CancelledError, TimedOutError: See `ProgressMonitor`.
        """
        count, index = max(len(path) - 1, 0), 0
        on_progress(0.0)
        known = [_key(path, number) in self._free for number in range(count)]
        free = (np.array(known, dtype=bool) | self._checks.certified_motions(path)).tolist()
        if all(free):
            on_progress(1.0)
        while index < count:
            if free[index]:
                index += 1
                continue
            on_progress(index / count)
            end = index + 1
            while end < count and not free[end]:
                end += 1
            found = self._sampled(path[index : end + 1]) or self._verified(path[index : end + 1])
            self._free.update(_key(path, number) for number in range(index, end if found is None else index + found[0]))
            if found is not None:
                self._checks.motions += index + found[0] + 1
                return index + found[0], found[1]
            index = end
        self._checks.motions += count
        return None

    def _sampled(self, path: Array) -> tuple[int, Array] | None:
        samples, parameters = densify(path, self._step)
        for begin in range(1, len(samples), STATES_PER_BATCH):
            batch = slice(begin, begin + STATES_PER_BATCH)
            blocked = np.flatnonzero(~self._checks.batch_free(samples[batch]))
            if len(blocked):
                index = begin + int(blocked[0])
                edge = min(int(np.ceil(parameters[index] - 1e-9)) - 1, len(path) - 2)
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
