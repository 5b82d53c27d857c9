"""Whether motion is allowed: the emergency stop, and the robot's mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from std_msgs.msg import Bool, String

from ..errors import StoppedError
from .node import CellNode, reliable


class MotionPermission:
    """Follows `emergency_stop` and `robot_mode`.

    modes: those in which motion is allowed; without any, the mode does not matter. on_change(reason) is called whenever
    the permission is given (None) or taken away.
    """

    def __init__(self, node: CellNode, modes: Sequence[str], on_change: Callable[[StoppedError | None], None]) -> None:
        self._modes = tuple(modes)
        self._on_change = on_change
        self._emergency = False
        self._mode = ""
        node.create_subscription(Bool, "emergency_stop", self._on_emergency, reliable(1))
        node.create_subscription(String, "robot_mode", self._on_mode, reliable(1))

    @property
    def reason(self) -> StoppedError | None:
        """Why motion is not allowed; None if it is."""
        if self._emergency:
            return StoppedError("the emergency stop is pressed", stage="emergency stop")
        if self._modes and self._mode not in self._modes:
            mode = f"the robot's mode is {self._mode!r}" if self._mode else "the robot's mode is not known"
            return StoppedError(f"{mode}; motion needs {' or '.join(self._modes)}", stage="robot mode")
        return None

    def check(self) -> None:
        """Raise the reason if motion is not allowed."""
        reason = self.reason
        if reason is not None:
            raise reason

    def _on_emergency(self, message: Bool) -> None:
        if message.data != self._emergency:
            self._emergency = message.data
            self._on_change(self.reason)

    def _on_mode(self, message: String) -> None:
        if message.data != self._mode:
            self._mode = message.data
            self._on_change(self.reason)
