"""Contact at the beginning of a motion: whether the motion leaves it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...collision.certification.motion_bounds import motion_model
from ...collision.checker import CollisionChecker
from ...collision.report import CollisionPair, CollisionReport
from ...trajectory.limits import Array
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import dense_times

SAME_DISTANCE = 1e-4  # [m], above the error of penetration depths
SEPARATION_STEP = 0.001  # [rad or m] between states of a planned motion that leaves a contact
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
        contacts: Pairs in contact at the beginning, which the motion leaves or does not change.
    """

    time: float
    configuration: Array
    pair: Names | None
    states: int
    contacts: tuple[Names, ...]

    def describe(self) -> str:
        """Return the warning about a motion that leaves its contact."""
        pairs = ", ".join(f"{first} and {second}" for first, second in self.contacts)
        end = f"leaves it within {self.time:.3f} s" if math.isfinite(self.time) else "does not change it"
        return f"the trajectory begins in contact between {pairs} and {end}"


class ContactExit(NamedTuple):
    """Where a motion leaves its initial contact.

    Attributes:
        state: Index of the state of the collision, or of the first one without contact; the number of states if the
            contact lasts without being changed.
        pair: Names of the pair that collides; None if the motion leaves the contact.
        contacts: As in `Departure`.
    """

    state: int
    pair: Names | None
    contacts: tuple[Names, ...]


def departure_from_contact(checker: CollisionChecker, trajectory: Trajectory, step: float) -> Departure | None:
    """Return `depart` of a trajectory that begins in contact, None for any other."""
    return depart(checker, trajectory, step) if checker.in_collision(trajectory.positions[0]) else None


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
    exit = leave_contact(checker, configurations)
    last = min(exit.state, len(times) - 1)
    time = math.inf if exit.state == len(times) else float(times[last])
    configuration = np.empty(0) if exit.pair is None else configurations[last]
    return Departure(time, configuration, exit.pair, last + 1, exit.contacts)


def leave_contact(checker: CollisionChecker, configurations: Array) -> ContactExit:
    """Follow the states (n, dof) of a motion that begins in contact up to the end of the contact, see `depart`."""
    ways = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(configurations, axis=0)).max(axis=1))])
    contacts = _Contacts(checker, checker.report(configurations[0]))
    for index, (q, way) in enumerate(zip(configurations, ways.tolist(), strict=True)):
        pair = contacts.collision(checker.report(q), way)
        if pair is not None or contacts.ended:
            return ContactExit(index, pair, contacts.initial)
    lasting = contacts.lasting
    return ContactExit(len(configurations) - (lasting is not None), lasting, contacts.initial)


class _Contacts:
    """The pairs in contact at the beginning of a motion, as it goes on."""

    def __init__(self, checker: CollisionChecker, report: CollisionReport) -> None:
        model = motion_model(checker)
        names = [item.name for item in checker.allowed_pairs.objects]
        fixed = {frozenset((names[i], names[j])) for i, j, _ in model.fixed_pairs}
        self.initial = tuple(_names(pair) for pair in report.pairs)
        self._fixed = frozenset(pair for pair in self.initial if frozenset(pair) in fixed)
        # The largest distance so far, and the way after which it was reached.
        self._moving = {pair: (-math.inf, 0.0) for pair in self.initial if pair not in self._fixed}

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
