"""The message of joint commands, which is reused for each command, since creating one is slower."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

FIELDS = ("position", "velocity", "effort")


class CommandMessage:
    """The command of all joints. fields: command interfaces of the robot: position, velocity, effort."""

    def __init__(self, fields: Collection[str]) -> None:
        self._fields = frozenset(fields)
        self.message = JointState()

    @property
    def has_efforts(self) -> bool:
        return "effort" in self._fields

    def fill(
        self,
        positions: Mapping[str, float],
        velocities: Mapping[str, float],
        efforts: Mapping[str, float],
        stamp: Time,
    ) -> None:
        """Fill the message. positions: of all joints [rad or m]; velocities [per s] and efforts [Nm or N]: of some."""
        message, names = self.message, list(positions)
        if len(names) != len(message.name) or names != message.name:
            message.name = names
        if "position" in self._fields:
            message.position = array("d", positions.values())
        if "velocity" in self._fields:
            message.velocity = array("d", [velocities.get(name, 0.0) for name in names])
        if self.has_efforts:
            message.effort = array("d", [efforts.get(name, 0.0) for name in names])
        message.header.stamp = stamp
