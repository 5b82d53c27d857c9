"""The last commands of joints, which the command stream repeats for those that do not move."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import Value
from .command_values import left_out_of_commands, sendable


@dataclass(frozen=True, eq=False)
class ForgottenCommand:
    """The last command of a joint before it was forgotten: position [rad or m] and effort [Nm or N]."""

    position: float
    effort: float


class CommandedJoints:
    """The last commanded position of each joint [rad or m], NaN if unknown, and which of them are sent.

    Args:
        joints: Those of every message; without any, all that were commanded so far.
        robot_of: Returns the name of the robot of a joint; each is commanded once all of its joints are known.
        passive: Joints whose forgotten commands are kept, since a gripper presses on what it holds.

    Attributes:
        efforts: The last commanded efforts [Nm or N].
        forgotten: The last command of each passive joint that was forgotten.
    """

    def __init__(self, joints: Sequence[str], robot_of: Callable[[str], str], passive: Collection[str] = ()) -> None:
        self._joints = tuple(joints)
        self._robot_of = robot_of
        self._passive = frozenset(passive)
        self.forgotten: Mapping[str, ForgottenCommand] = {}
        self._positions: dict[str, float] = dict.fromkeys(self._joints, math.nan)
        self._withheld: frozenset[str] = frozenset()  # joints whose robots get no commands while they do not move
        self.efforts: dict[str, float] = {}

    @property
    def names(self) -> frozenset[str]:
        """The joints of every message, and those that were commanded."""
        return frozenset(self._positions)

    @property
    def known(self) -> dict[str, float]:
        """The positions that are known."""
        return {name: value for name, value in self._positions.items() if math.isfinite(value)}

    def sendable(self, moving: Iterable[str]) -> Mapping[str, float]:
        """Return the positions to send, see `sendable`. moving: joints."""
        positions: Mapping[str, float] = self._positions
        if self._withheld:
            positions = {**positions, **dict.fromkeys(self._withheld, math.nan)}
        return sendable(positions, self._robot_of, moving)

    def start(
        self,
        moving: Mapping[str, float],
        held: Mapping[str, float],
        ages: Mapping[str, Value],
        withheld: Collection[str] = (),
    ) -> str:
        """Set the positions at which a motion starts; returns a text about robots that get no commands.

        Args:
            moving: Positions of its joints.
            held: Positions of others that are held from now on, NaN if unknown.
            ages: Of measurements that are too old to know positions by, for the error [s].
            withheld: Joints that keep their last commands, but whose robots get none until the next motion starts.

        Raises:
            ExecutionError: A position of a robot that moves is unknown, as of `left_out_of_commands`.
        """
        kept = {name: value for name, value in held.items() if name not in withheld}
        positions = {**self._positions, **kept, **moving}
        left_out = left_out_of_commands(positions, self._robot_of, tuple(moving), ages)
        self._positions, self._withheld = positions, frozenset(withheld)
        self._resume_efforts(kept)
        return left_out

    def update(self, positions: Mapping[str, float]) -> None:
        """Note commands of joints that move."""
        self._positions.update(positions)

    def hold_at(self, positions: Mapping[str, float]) -> None:
        """Set positions of joints that are not known yet."""
        for name in self._joints or tuple(positions):
            if not math.isfinite(self._positions.get(name, math.nan)) and name in positions:
                self._positions[name] = positions[name]
                self._resume_efforts({name: positions[name]})

    def _resume_efforts(self, positions: Mapping[str, float]) -> None:
        """Set the efforts of passive joints that are held at their forgotten commands."""
        for name, position in positions.items():
            last = self.forgotten.get(name)
            if last is not None and last.position == position:
                self.efforts[name] = last.effort

    def forget(self, joints: Iterable[str]) -> None:
        """Forget the commands of joints."""
        forgotten = frozenset(joints)
        self._withheld -= forgotten
        for name in forgotten:
            effort, position = self.efforts.pop(name, 0.0), self._positions.get(name, math.nan)
            if name in self._passive and math.isfinite(position):
                self.forgotten = {**self.forgotten, name: ForgottenCommand(position, effort)}  # other threads read it
            if name in self._joints:
                self._positions[name] = math.nan
            else:
                self._positions.pop(name, None)

    def forget_all(self) -> None:
        """Forget all commands."""
        self.forget(tuple(self._positions))
