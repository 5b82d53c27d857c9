"""Cache of straight motions that spheres proved free."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...collision.certification.certifier import MotionCertifier
from ...trajectory.limits import Array

MOTIONS_AT_ONCE = 64  # motions between two checks of cancellation
MAX_CACHED = 16384


class ProvenMotions:
    """Straight motions that spheres proved free; a motion is identified by its ends."""

    def __init__(self) -> None:
        self._proven: set[bytes] = set()

    def known(self, path: Array) -> NDArray[np.bool_]:
        """Return for each motion of a path (n, dof) whether it is in the cache: (n - 1,)."""
        return np.array([key in self._proven for key in _keys(path)], dtype=bool)

    def proven(self, path: Array, certifier: MotionCertifier | None, check: Callable[[], None]) -> NDArray[np.bool_]:
        """Return for each motion of a path (n, dof) whether it is proven free: (n - 1,).

        Args:
            certifier: Certifier of the motions that are not in the cache; None if there is none.
            check: Called between parts of the path; may raise.
        """
        keys, result = _keys(path), self.known(path)
        if certifier is None:
            return result
        for first, last in _runs(~result):
            for begin in range(first, last, MOTIONS_AT_ONCE):
                check()
                end = min(begin + MOTIONS_AT_ONCE, last)
                result[begin:end] = certifier.motions_free(path[begin : end + 1])
        if len(self._proven) + len(keys) > MAX_CACHED:
            self._proven.clear()
        self._proven.update(key for key, free in zip(keys, result.tolist(), strict=True) if free)
        return result


def _keys(path: Array) -> list[bytes]:
    return [path[index : index + 2].tobytes() for index in range(len(path) - 1)]


def _runs(selected: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the ranges of consecutive selected indices: first, and one past the last."""
    padded = np.zeros(len(selected) + 2, dtype=bool)  # `np.diff` with values before and after takes much longer
    padded[1:-1] = selected
    changes = np.flatnonzero(padded[1:] != padded[:-1])
    return list(zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True))
