"""Certificates by exact distances, where balls cannot tell: conservative advancement (Mirtich, 1996) by halving.

Two things that keep a distance d at a configuration cannot meet within a stretch around it in which they approach each
other by less than d. Each pair is asked only until it is done with; what is left is asked again in both halves.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checker import CollisionChecker
from ..engines.base import TOUCHING, distance_error
from .curves import JointCurve
from .motion_bounds import motion_model

Floats = NDArray[np.float64]
ENOUGH = 20_000  # configurations that one stretch may cost
MAX_IN_CONTACT = 200  # of them in which a pair is nearer than TOUCHING and not decided, as where one slides on another


@dataclass(frozen=True)
class ContactResult:
    """What became of a stretch.

    free: proven; otherwise `place` is a parameter where it collides, or which is undecided, of the pair of owners
    `first` and `second`, by index. distance: of these there [m], margins taken off.
    """

    free: bool
    collides: bool = False
    place: float = 0.0
    first: int = -1
    second: int = -1
    distance: float = 0.0


class OpenPair(NamedTuple):
    """A pair of owners that may collide: by index, its distance at a configuration less its margin [m], and by how much
    that is too small to rule a collision out."""

    pair: tuple[int, int]
    distance: float
    missing: float


class ExactCertifier:
    """Certifies stretches of curves with the distances of a checker. states: configurations looked at."""

    def __init__(self, checker: CollisionChecker) -> None:
        self._checker = checker
        self._model = motion_model(checker)
        joints = self._model.tree.joints
        # The distances of other engines are off by more than is ever asked about; they are taken as they are.
        self._errs = checker.engine == "coal"
        self._joint_of = np.array([joint.variable for joint in joints], dtype=np.intp)
        self._gain = np.array([abs(joint.multiplier) for joint in joints])
        self.states = 0

    def certify(
        self, curve: JointCurve, middle: float, half: float, margin: float, resolution: float, enough: int = ENOUGH
    ) -> ContactResult:
        """Whether a curve keeps a margin [m] beyond those of the rule book, within `half` of `middle`.

        resolution: where no joint moves by more than this [rad or m], nothing is cut any further. enough:
        configurations that it may cost; it also ends, undecided, after 200 that leave a pair open in contact, which
        is proven by some micrometres at a time.
        """
        pending: list[tuple[float, float, set[tuple[int, int]] | None]] = [(middle, half, None)]
        spent = self.states + enough
        in_contact = 0
        while pending:
            middle, half, kept = pending.pop()
            spread = curve.spread(middle, half)[self._joint_of] * self._gain
            self.states += 1
            left, worst = self._left(curve.at(middle), spread, margin, kept)
            if worst is not None:
                pair, distance = worst
                if distance < -TOUCHING:
                    return ContactResult(False, True, middle, *pair, distance)
                in_contact += distance < TOUCHING
                exhausted = self.states >= spent or in_contact > MAX_IN_CONTACT
                if float(spread.max(initial=0.0)) <= resolution or exhausted:
                    return ContactResult(False, False, middle, *pair, distance)
                pending.extend(((middle + 0.5 * half, 0.5 * half, left), (middle - 0.5 * half, 0.5 * half, left)))
        return ContactResult(True)

    def _left(
        self, q: Floats, spread: Floats, margin: float, kept: set[tuple[int, int]] | None
    ) -> tuple[set[tuple[int, int]], tuple[tuple[int, int], float] | None]:
        """Pairs of owners that a look at q leaves open, and the nearest of them with its distance less its margin."""
        found = self._open(q, spread, margin, kept)
        worst = min(found, key=lambda entry: entry.distance, default=None)
        return {entry.pair for entry in found}, None if worst is None else (worst.pair, worst.distance)

    def open_pairs(self, q: Floats, spread: Floats, margin: float, kept: Set[tuple[int, int]] | None) -> list[OpenPair]:
        """The pairs that may collide where no variable is further from q (dof,) than `spread` (dof,); kept: the only
        ones to ask about, None for all. Counts as a configuration."""
        self.states += 1
        return self._open(q, spread[self._joint_of] * self._gain, margin, kept)

    def _open(self, q: Floats, spread: Floats, margin: float, kept: Set[tuple[int, int]] | None) -> list[OpenPair]:
        # Nothing approaches anything by more than what two movers can make good.
        drifts = self._model.speed_bounds @ spread
        reach = margin + 2.0 * float(drifts.max(initial=0.0))
        found: list[OpenPair] = []
        for pair, first_solid, second_solid, pair_margin in self._checker.near_solids(q, reach):
            if kept is not None and pair not in kept:
                continue
            distance = self._checker.distance_of_solids(first_solid, second_solid) - pair_margin - margin
            drift = float(self._model.pair_bound(*pair) @ spread)
            slack = distance_error(distance + pair_margin + margin) if self._errs else 0.0
            missing = drift + slack - TOUCHING - distance
            if distance >= drift + slack - TOUCHING or (drift == 0.0 and distance >= -TOUCHING):
                continue
            found.append(OpenPair(pair, distance, missing))
        return found
