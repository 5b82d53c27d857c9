"""The last check of a path: proven free where there is room, checked at fine steps where there is little."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..collision.checker import CollisionChecker
from ..collision.motions.certifier import Verdict
from ..collision.rules import CollisionOptions
from ..trajectory.limits import Array
from .checks import CountedChecks
from .speed_bounds import speed_bounds

# Distances [m], widest first, that a state is tried to keep beyond its margins, to prove the motion around it free.
ROOMS = (0.03, 0.006)


class PathVerifier:
    """Holds straight motions against the cell, from end to end.

    A certificate decides where it can. Where it cannot, as where something is grazed, a state whose things keep a
    distance of `room` beyond their margins proves the motion free as far as nothing can approach anything by more than
    that. Where no such room is, states are checked one by one, no joint moving by more
    than `resolution` from one to the next.

    Attributes: length, proven: of the motions found free, and of what of them is proven, Euclidean in joint space.
    """

    def __init__(self, checks: CountedChecks, resolution: float, *, certificates: bool = True) -> None:
        """certificates: False to ask the collision engine alone, whatever balls would prove."""
        self._certificates = certificates
        self._checks = checks
        self._resolution = resolution
        self._bounds = speed_bounds(checks.checker)
        self._roomy: list[CollisionChecker | None] = [None] * len(ROOMS)
        self.length = 0.0
        self.proven = 0.0
        self._free: dict[bytes, float] = {}

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
        if certificate is not None and certificate.verdict is not Verdict.UNDECIDED:
            if certificate.free:
                self._note(key, start, end, 1.0)
            return certificate.free
        step = end - start
        fastest = float(np.abs(step).max())
        if fastest == 0.0:
            return True
        speed = float(np.abs(step) @ self._bounds)
        spans = [room / speed if speed > 0.0 else 1.0 for room in ROOMS]
        # The states of `path_tools.densify`, so that who checks the path there finds what was found here.
        count = max(1, math.ceil(fastest / self._resolution - 1e-9))
        retry = [0.0 if 2.0 * span > 1.0 / count else 2.0 for span in spans]
        place, proven = 0.0, 0.0
        while place < 1.0:
            self._checks.watch.check(self._checks.states)
            for level, span in enumerate(spans):
                if place < retry[level]:
                    continue
                middle = min(place + span, 1.0)
                if self._has_room(start + middle * step, level):
                    reached = min(middle + span, 1.0)
                    proven += reached - place
                    break
                retry[level] = place + 2.0 * span
            else:
                reached = min((math.floor(place * count + 1e-9) + 1) / count, 1.0)
                if not self._checks.state_free(start + reached * step if reached < 1.0 else end):
                    return False
            place = reached
        self._note(key, start, end, min(proven, 1.0))
        return True

    def _note(self, key: bytes, start: Array, end: Array, share: float) -> None:
        """Remember a motion that is free, and the share of it that is proven."""
        length = float(np.linalg.norm(end - start))
        self._free[key] = length * share
        self.length += length
        self.proven += self._free[key]

    def share(self, path: Array) -> float:
        """The share of a path (n, dof), all of whose motions were found free, that is proven."""
        lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
        proven = sum(self._free.get(a.tobytes() + b.tobytes(), 0.0) for a, b in pairwise(path))
        return proven / float(lengths.sum()) if lengths.any() else 1.0

    def first_blocked(self, path: Array, first: int = 0) -> int | None:
        """Index, from `first` on, of the first motion of a path (n, dof) that is in collision; None if all are free."""
        for index in range(first, len(path) - 1):
            if not self.is_free(path[index], path[index + 1]):
                return index
        return None

    def _has_room(self, q: Array, level: int) -> bool:
        checker = self._roomy[level]
        if checker is None:
            plain = self._checks.checker
            options = CollisionOptions(plain.options.extra_margin + ROOMS[level], plain.options.steps)
            checker = CollisionChecker(plain.cell, plain.state, plain.variables, engine=plain.engine, options=options)
            self._roomy[level] = checker
        self._checks.states += 1
        return not checker.in_collision(q)
