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
AFTER_STOP = "press and release the emergency stop."
TURNED = f"{REMEDY} If it was turned by other means, {AFTER_STOP}"
TURNED_LISTED = f"Restart its driver, so that it counts turns from the measured position, and {AFTER_STOP}"
BEYOND = (
    "Take the joint out of angle_wraparound if its driver publishes positions over several turns. Otherwise, it counts "
    "again as soon as it is published at rest within one turn."
)


def nearest_turn(position: float, reference: float) -> float:
    """Return a position by whole turns nearest to a reference [rad]."""
    return position + TURN * round((reference - position) / TURN)


def turns_away(step: float, tolerance: float) -> int:
    """Return the number of whole turns, with its sign, that a step of a joint is within a tolerance [rad]; 0 if it is
    not."""
    turns = round(step / TURN)
    return turns if abs(step - turns * TURN) <= tolerance else 0


class Wraparound:
    """Continues measured positions beyond one turn: each counts as nearest to the one before it.

    A measurement after one that was lost counts as it is: the driver may have been restarted, and the robot moved by
    other means. So do those of a joint that was published beyond one turn, for which `check` raises an error until it
    rests within one turn: where its robot is, is unknown by whole turns.

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

    def note_rest(self, joint: str, position: float) -> None:
        """Let a joint count again that rests at a published position within one turn [rad]."""
        if abs(position) <= LARGEST:
            self._beyond.pop(joint, None)

    @property
    def beyond(self) -> frozenset[str]:
        """Joints that were published beyond one turn, and have not rested within one since."""
        return frozenset(self._beyond)

    def check(self, joints: Collection[str]) -> None:
        """Raise FeedbackLostError if one of these joints was published beyond one turn, and has not rested within one
        since."""
        for name in self._beyond:
            if name in joints:
                raise self._error(name)

    def turned(self, joint: str, measured: float, commanded: float, tolerance: float) -> FeedbackLostError | None:
        """Return the error about a joint that is measured whole turns from its last command, within a tolerance [rad];
        None if it is not. If its driver wraps, commands that begin at the measured position would turn the robot by
        them."""
        turns = abs(turns_away(measured - commanded, tolerance))
        if not turns:
            return None
        text = f"{joint} is measured {'one turn' if turns == 1 else f'{turns} turns'} from its last command"
        values = (Value("measured", measured, None, "rad"), Value("last command", commanded, None, "rad"))
        remedy = TURNED_LISTED if joint in self.joints else TURNED
        return FeedbackLostError(text, subjects=(joint,), values=values, remedy=remedy)

    def _error(self, name: str) -> FeedbackLostError:
        text = f"joint_states contains a position of {name} beyond one turn, though it is listed in angle_wraparound"
        values = (Value("position", self._beyond[name], TURN, "rad"),)
        return FeedbackLostError(text, subjects=(name,), values=values, remedy=BEYOND)

    def near(self, joints: Sequence[str], positions: Array, references: Array) -> Array:
        """Return positions of joints (dof,) with those that wrap by whole turns nearest to references (dof,)."""
        wraps = np.array([joint in self.joints for joint in joints])
        return np.where(wraps, positions + TURN * np.round((references - positions) / TURN), positions)

    def _of(self, last: Measurement | None, name: str, position: float, listened: float) -> float:
        # Values that cannot be are reported as they are.
        if name not in self.joints or last is None or not abs(position) <= MAX_JOINT_VALUE:
            return position
        if name in self._beyond:
            return position
        if listened - (last.arrival - last.paused) > self._lost_after:
            return position
        return nearest_turn(position, last.position)
