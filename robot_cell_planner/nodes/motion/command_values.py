"""The values of a joint command."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from ..common.joint_state_messages import JointValues

FIELDS = ("position", "velocity", "effort")


def sendable(commanded: Mapping[str, float], robot_of: Callable[[str], str], *, moving: bool) -> Mapping[str, float]:
    """Return the positions to send: while any joint moves, all that are known; between motions, those of each robot
    whose joints are all known. An unknown position is NaN."""
    unknown = [name for name, value in commanded.items() if not math.isfinite(value)]
    if not unknown:
        return commanded
    missing = set() if moving else set(map(robot_of, unknown))
    known = {name: value for name, value in commanded.items() if math.isfinite(value)}
    return {name: value for name, value in known.items() if robot_of(name) not in missing}


class CommandValues:
    """The command of all joints. fields: command interfaces of the robot: position, velocity, effort."""

    def __init__(self, fields: Collection[str]) -> None:
        self._fields = frozenset(fields)
        self._names: tuple[str, ...] = ()
        self.values = JointValues((), 0, (), (), ())

    @property
    def has_efforts(self) -> bool:
        return "effort" in self._fields

    def fill(
        self,
        positions: Mapping[str, float],
        velocities: Mapping[str, float],
        efforts: Mapping[str, float],
        stamp: int,
    ) -> None:
        """Set the values. positions: of all joints [rad or m]; velocities [per s] and efforts [Nm or N]: of some.
        stamp [ns]."""
        names = tuple(positions)
        if names != self._names:
            self._names = names
        self.values = JointValues(
            self._names,
            stamp,
            list(positions.values()) if "position" in self._fields else (),
            [velocities.get(name, 0.0) for name in names] if "velocity" in self._fields else (),
            [efforts.get(name, 0.0) for name in names] if self.has_efforts else (),
        )
