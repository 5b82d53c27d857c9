"""The values of a joint command."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping

from ...errors import ExecutionError, Value
from ..common.joint_state_messages import JointValues

FIELDS = ("position", "velocity", "effort")


def sendable(
    commanded: Mapping[str, float], robot_of: Callable[[str], str], moving: Iterable[str]
) -> Mapping[str, float]:
    """Return the positions to send: those of each robot whose joints are all known, and all that are known of robots of
    which a joint moves. An unknown position is NaN. moving: joints."""
    unknown = [name for name, value in commanded.items() if not math.isfinite(value)]
    if not unknown:
        return commanded
    missing = set(map(robot_of, unknown)).difference(map(robot_of, moving))
    known = {name: value for name, value in commanded.items() if math.isfinite(value)}
    return {name: value for name, value in known.items() if robot_of(name) not in missing}


def left_out_of_commands(
    commanded: Mapping[str, float], robot_of: Callable[[str], str], moving: Iterable[str], ages: Mapping[str, Value]
) -> str:
    """Return a text about other robots that get no commands, since a position is unknown; "" without any.

    Args:
        moving: Joints of a motion that is to begin.
        ages: Of measurements that are too old to know positions by [s].

    Raises:
        ExecutionError: A position of one of its robots, or of a joint of no robot, is unknown.
    """
    robots = {"", *map(robot_of, moving)}  # a joint of no robot may move any of them
    unknown = [name for name, value in commanded.items() if not math.isfinite(value)]
    own = tuple(name for name in unknown if robot_of(name) in robots)
    if own:
        text, old = _unknown_positions(f"commands need positions of {', '.join(own)}, which are unknown", own, ages)
        raise ExecutionError(text, subjects=own, values=old)
    if not unknown:
        return ""
    others = ", ".join(sorted({robot_of(name).removesuffix("/") for name in unknown}))
    text = f"robot {others} gets no commands: positions of {', '.join(unknown)} are unknown"
    return _unknown_positions(text, unknown, ages)[0]


def _unknown_positions(text: str, joints: Iterable[str], ages: Mapping[str, Value]) -> tuple[str, tuple[Value, ...]]:
    """Return a text with the ages of the measurements of joints, and these."""
    old = tuple(ages[name] for name in joints if name in ages)
    if old:
        text += f"; joint_states are too old: {', '.join(map(str, old))}. Check the driver of these joints"
    return text, old


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
