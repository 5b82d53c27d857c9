"""Joints whose drivers publish positions within one turn, such as from -pi to pi."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..common.joint_states import MAX_JOINT_VALUE, Measurement

Array = NDArray[np.float64]

TURN = 2.0 * math.pi
REMEDY = "If its driver publishes positions within one turn, list the joint in parameter angle_wraparound."


def nearest_turn(position: float, reference: float) -> float:
    """Return a position by whole turns nearest to a reference [rad]."""
    return position + TURN * round((reference - position) / TURN)


def is_near_turn(step: float, tolerance: float) -> bool:
    """Return whether a step of a joint is one turn, within a tolerance [rad]."""
    return abs(step - TURN) <= tolerance


class Wraparound:
    """Continues measured positions beyond one turn: each counts as nearest to the one before it.

    A measurement after one that was lost counts as it is: the driver may have been restarted, and the robot moved by
    other means.

    Args:
        joints: Those whose drivers publish positions within one turn.
        lost_after: Age at which measurements count as lost [s].
    """

    def __init__(self, joints: Collection[str] = (), lost_after: float = math.inf) -> None:
        self.joints = frozenset(joints)
        self._lost_after = lost_after

    def continued(
        self, names: Sequence[str], positions: Sequence[float], latest: Mapping[str, Measurement], listened: float
    ) -> Sequence[float]:
        """Return the positions of a message (n,) continued from the latest ones [rad or m]. listened: time on the
        steady clock without pauses of this process [s]."""
        if self.joints.isdisjoint(names) or len(names) != len(positions):
            return positions
        return [self._of(latest.get(name), name, at, listened) for name, at in zip(names, positions, strict=True)]

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
