"""Whether motion is allowed: the emergency stop, and the robot's mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from std_msgs.msg import Bool, String

from ...errors import StoppedError, StopRequestedError
from ..common.node import CellNode, reliable
from ..common.polled_subscription import MAX_SIZE, PolledSubscription

MODE = "robot mode"  # stage of errors
DEPTH = 10  # messages kept between two reads


class MotionPermission:
    """Reads `emergency_stop` and `robot_mode`. The command stream checks it before each command, in its own thread, so
    that no command follows a message that forbids motion, even if the node is busy.

    modes: those in which motion is allowed; without any, the mode is ignored. on_change(reason) is called by
    `report_change` after motion was allowed (None) or forbidden.
    """

    def __init__(self, node: CellNode, modes: Sequence[str], on_change: Callable[[StoppedError | None], None]) -> None:
        self._modes = tuple(modes)
        self._on_change = on_change
        self._lock = threading.Lock()
        self._stopped = self._stopped_before = False  # by volatile and by latched messages
        self._mode = ""
        self._suspended = False
        self._reported: str | None = None
        # A volatile subscription matches every publisher, but gets no earlier messages; a transient local one gets the
        # latched messages of transient local publishers.
        self._stops = PolledSubscription(node, Bool, "emergency_stop", reliable(DEPTH))
        self._latched_stops = PolledSubscription(node, Bool, "emergency_stop", reliable(DEPTH, latched=True))
        self._robot_modes = PolledSubscription(node, String, "robot_mode", reliable(DEPTH), max_size=MAX_SIZE)
        self._revoked = 0
        self._interruptions = self._reported_interruptions = 0  # changes from allowed to forbidden
        self._forbids = False  # as of the last message
        self._last_reason: StoppedError | None = None

    @property
    def reason(self) -> StoppedError | None:
        """Return why motion is forbidden; None if it is allowed."""
        with self._lock:
            self._read()
            return self._reason()

    def suspend(self) -> None:
        """Forbid motion until `resume`."""
        with self._lock:
            self._suspended = True
            self._note()

    def resume(self) -> None:
        """Allow motion again, unless something else forbids it."""
        with self._lock:
            self._suspended = False
            self._note()
            self._reported_interruptions = self._interruptions  # nothing waited meanwhile

    def check(self) -> None:
        """Raise the reason if motion is forbidden."""
        reason = self.reason
        if reason is not None:
            raise reason

    def check_until_known(self) -> None:
        """As `check`, for a goal that waits for the robot to appear: its mode may not be known yet."""
        reason = self.reason
        if reason is not None and (self._mode or reason.stage != MODE):
            raise reason

    def forbidden(self, seen: int) -> tuple[int, StoppedError | None]:
        """Return how often motion was forbidden, and why no command may be sent: the present reason, or the last one if
        motion was forbidden more often than `seen`, since a stop that is released at once also counts."""
        with self._lock:
            self._read()
            reason = self._reason()
            return self._revoked, reason or (self._last_reason if self._revoked != seen else None)

    def report_change(self) -> None:
        """Call `on_change` if the permission has changed since the last call, also if motion was forbidden and is
        allowed again: goals from before that, whose motions have not begun, end too."""
        with self._lock:
            self._read()
            reason, interrupted = self._reason(), self._interruptions != self._reported_interruptions
            passed, self._reported_interruptions = self._last_reason, self._interruptions
        description = None if reason is None else str(reason)
        if reason is None and interrupted:
            self._on_change(passed)
        elif description == self._reported:
            return
        self._reported = description
        self._on_change(reason)

    def _reason(self) -> StoppedError | None:
        if self._suspended:
            return StopRequestedError("the execution node is not active", stage="lifecycle")
        if self._stopped or self._stopped_before:
            return StoppedError("the emergency stop is pressed", stage="emergency stop")
        if self._modes and self._mode not in self._modes:
            mode = f"the robot's mode is {self._mode!r}" if self._mode else "the robot's mode is unknown"
            return StoppedError(f"{mode}; motion needs {' or '.join(self._modes)}", stage=MODE)
        return None

    def _read(self) -> None:
        """Read new messages."""
        for stop in self._latched_stops.take():
            self._stopped_before = bool(stop.data)
            self._note()
        for stop in self._stops.take():
            self._stopped = bool(stop.data)
            # A release applies to all; a delayed latched one does not release a newer stop.
            self._stopped_before = self._stopped_before and self._stopped
            self._note()
        refused = self._robot_modes.refused
        for mode in self._robot_modes.take():
            self._mode = mode.data
            self._note()
        if self._robot_modes.refused != refused:  # no mode in which motion is allowed has such a name
            self._mode = ""
            self._note()

    def _note(self) -> None:
        reason = self._reason()
        if reason is not None:
            self._last_reason = reason
            self._revoked += 1
            self._interruptions += not self._forbids
        self._forbids = reason is not None
