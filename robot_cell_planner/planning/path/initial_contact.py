"""Contact at the beginning of a motion: whether the motion leaves it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...collision.certification.motion_bounds import motion_model
from ...collision.checker import CollisionChecker
from ...collision.report import CollisionPair, CollisionReport
from ...trajectory.limits import Array
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import dense_times

SAME_DISTANCE = 1e-4  # [m], above the error of penetration depths
LONGEST_WAY = 0.05  # [rad or m] of a joint within which the distance of a pair in contact has to increase

Names = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Departure:
    """How a motion goes on from the contact that it begins in.

    Attributes:
        time: Time of the collision, or from which the contact has ended [s]; infinite if it lasts up to the end of the
            motion without being changed by it.
        configuration: Configuration (dof,) of the collision; empty without one.
        pair: Names of the pair that collides; None if the motion leaves the contact.
        states: Number of states checked.
    """

    time: float
    configuration: Array
    pair: Names | None
    states: int


def depart(checker: CollisionChecker, trajectory: Trajectory, step: float) -> Departure:
    """Follow a trajectory that begins in contact, with states at most `step` [rad or m] apart, to the end of the
    contact.

    Pairs in contact at the beginning have to separate: their distance must not decrease, has to increase within every
    0.05 rad or m of joint motion, and the contact has to end within the trajectory. Any other contact is a collision;
    so is a later one of a pair that has separated. Pairs that the trajectory does not move relative to each other are
    no obstacle to it.
    """
    times = dense_times(trajectory, step)
    configurations = trajectory.at(times)
    ways = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(configurations, axis=0)).max(axis=1))])
    contacts = _Contacts(checker, checker.report(configurations[0]))
    for index, (q, way) in enumerate(zip(configurations, ways.tolist(), strict=True)):
        pair = contacts.collision(checker.report(q), way)
        if pair is not None:
            return Departure(float(times[index]), q, pair, index + 1)
        if contacts.ended:
            return Departure(float(times[index]), np.empty(0), None, index + 1)
    lasting = contacts.lasting
    if lasting is None:
        return Departure(math.inf, np.empty(0), None, len(times))
    return Departure(float(times[-1]), configurations[-1], lasting, len(times))


class _Contacts:
    """The pairs in contact at the beginning of a motion, as it goes on."""

    def __init__(self, checker: CollisionChecker, report: CollisionReport) -> None:
        model = motion_model(checker)
        names = [item.name for item in checker.allowed_pairs.objects]
        fixed = {frozenset((names[i], names[j])) for i, j, _ in model.fixed_pairs}
        pairs = [_names(pair) for pair in report.pairs]
        self._fixed = frozenset(pair for pair in pairs if frozenset(pair) in fixed)
        # The largest distance so far, and the way after which it was reached.
        self._moving = {pair: (-math.inf, 0.0) for pair in pairs if pair not in self._fixed}

    @property
    def ended(self) -> bool:
        """Whether nothing is in contact any more."""
        return not self._moving and not self._fixed

    @property
    def lasting(self) -> Names | None:
        """A pair that has not separated yet, if any."""
        return next(iter(self._moving), None)

    def collision(self, report: CollisionReport, way: float) -> Names | None:
        """Return a pair that collides, and does not just separate, at a state after a way [rad or m]."""
        left = {}
        for pair in report.pairs:
            names = _names(pair)
            if names in self._fixed:
                continue
            if names not in self._moving:
                return names
            largest, since = self._moving[names]
            if pair.distance < largest - SAME_DISTANCE or way - since > LONGEST_WAY:
                return names
            left[names] = (pair.distance, way) if pair.distance > largest + SAME_DISTANCE else (largest, since)
        self._moving = left
        return None


def _names(pair: CollisionPair) -> Names:
    return pair.first, pair.second
