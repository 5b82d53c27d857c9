"""Joints whose drivers publish positions within one turn, such as from -pi to pi."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import FeedbackLostError, Value
from ...model.value import MAX_JOINT_VALUE
from ..common.joint_states import Measurement

Array = NDArray[np.float64]

TURN = 2.0 * math.pi
LARGEST = TURN + 0.1  # [rad] positions within one turn, from -pi or 0 on, are at most this
REMEDY = "If its driver publishes positions within one turn, list the joint in parameter angle_wraparound."


def nearest_turn(position: float, reference: float) -> float:
    """Return a position by whole turns nearest to a reference [rad]."""
    return position + TURN * round((reference - position) / TURN)


def is_near_turn(step: float, tolerance: float) -> bool:
    """Return whether a step of a joint is one turn, within a tolerance [rad]."""
    return abs(step - TURN) <= tolerance


def one_turn_away(joint: str, measured: float, commanded: float) -> FeedbackLostError:
    """Return the error about a joint that is measured one turn from its last command [rad]: commands that begin at the
    measured position would turn the robot by that turn if its driver wraps."""
    text = f"{joint} is measured one turn from its last command"
    values = (Value("measured", measured, None, "rad"), Value("last command", commanded, None, "rad"))
    remedy = f"{REMEDY} If it was turned by other means, press and release the emergency stop."
    return FeedbackLostError(text, subjects=(joint,), values=values, remedy=remedy)


class Wraparound:
    """Continues measured positions beyond one turn: each counts as nearest to the one before it.

    A measurement after one that was lost counts as it is: the driver may have been restarted, and the robot moved by
    other means. A joint that was measured beyond one turn is not one of these joints: where its robot is, is unknown.

    Args:
        joints: Those whose drivers publish positions within one turn.
        lost_after: Age at which measurements count as lost [s].
    """

    def __init__(self, joints: Collection[str] = (), lost_after: float = math.inf) -> None:
        self.joints = frozenset(joints)
        self._lost_after = lost_after
        self._beyond: dict[str, float] = {}  # joints that were published beyond one turn, and where first [rad]

    def continued(
        self, names: Sequence[str], positions: Sequence[float], latest: Mapping[str, Measurement], listened: float
    ) -> Sequence[float]:
        """Return the positions of a message (n,) continued from the latest ones [rad or m]. listened: time on the
        steady clock without pauses of this process [s]."""
        if self.joints.isdisjoint(names) or len(names) != len(positions):
            return positions
        return [self._of(latest.get(name), name, at, listened) for name, at in zip(names, positions, strict=True)]

    def faults(self, names: Sequence[str], positions: Sequence[float]) -> list[FeedbackLostError]:
        """Return errors about joints of a message that are published beyond one turn for the first time."""
        found = []
        for name, position in zip(names, positions, strict=False) if self.joints else ():
            is_beyond = LARGEST < abs(position) <= MAX_JOINT_VALUE
            if is_beyond and name in self.joints and name not in self._beyond:
                self._beyond[name] = position
                found.append(self._error(name))
        return found

    def check(self, joints: Collection[str]) -> None:
        """Raise FeedbackLostError if one of these joints was published beyond one turn."""
        for name in self._beyond:
            if name in joints:
                raise self._error(name)

    def _error(self, name: str) -> FeedbackLostError:
        text = f"joint_states contains a position of {name} beyond one turn, though it is listed in angle_wraparound"
        values = (Value("position", self._beyond[name], TURN, "rad"),)
        remedy = "Take the joint out of angle_wraparound: its driver publishes positions over several turns."
        return FeedbackLostError(text, subjects=(name,), values=values, remedy=remedy)

    def near(self, joints: Sequence[str], positions: Array, references: Array) -> Array:
        """Return positions of joints (dof,) with those that wrap by whole turns nearest to references (dof,)."""
        wraps = np.array([joint in self.joints for joint in joints])
        return np.where(wraps, positions + TURN * np.round((references - positions) / TURN), positions)

    def _of(self, last: Measurement | None, name: str, position: float, listened: float) -> float:
        # Values that cannot be are reported as they are.
        if name not in self.joints or last is None or not abs(position) <= MAX_JOINT_VALUE:
            return position
        if listened - (last.arrival - last.paused) > self._lost_after:
            return position
        return nearest_turn(position, last.position)
