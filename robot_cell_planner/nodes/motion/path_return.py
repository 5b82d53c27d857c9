"""Time limits for delays of a busy computer: missing joint states, the return of the robot to its path, and its arrival
at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..common.parameters import Parameters

# [s] of this computer's clock that later stamps may count, beyond those of a message: messages are read in batches.
MAX_CREDIT = 0.1
MAX_SLOWNESS = 5.0  # multiple of a time limit in the robot's time that may pass on this computer's clock


@dataclass(frozen=True)
class FeedbackTimeouts:
    """silence: age at which joint states count as missing, so that a motion is held [s]. lost_after: age at which they
    count as lost, so that it ends; not below the former [s]. path_return_timeout: time limit for the robot to return
    to its path after a pause [s]."""

    silence: float
    lost_after: float
    path_return_timeout: float


def feedback_timeouts(parameters: Parameters) -> FeedbackTimeouts:
    """Return the time limits of the node's parameters."""
    silence = parameters["joint_state_timeout"]
    return FeedbackTimeouts(
        silence, max(silence, parameters["joint_state_lost_after"]), parameters["path_return_timeout"]
    )


class PathReturn:
    """Time allowed for the return of a robot to its path after a pause of its process or of this one; once for each
    deviation."""

    def __init__(self, path_return_timeout: float) -> None:
        self._path_return_timeout = path_return_timeout
        self._since = math.nan

    @property
    def is_out(self) -> bool:
        """Return whether a deviation of the robot is currently allowed."""
        return not math.isnan(self._since)

    def is_back(self) -> None:
        """Note that the robot is on its path."""
        self._since = math.nan

    def excuses(self, paused_at: float, now: float) -> bool:
        """Return whether a deviation from the path is allowed now; paused_at: end of the last pause, on the same clock
        as now [s]."""
        if math.isnan(self._since):
            if not now - paused_at <= self._path_return_timeout:
                return False
            self._since = now
        return now - self._since <= self._path_return_timeout


class RobotTimeout:
    """A time limit that counts in the robot's time, by the stamps of its measurements, since a slow simulation is late
    with everything; at most MAX_SLOWNESS times as long on this computer's clock.

    Time that the robot skips does not count: stamps count as far as this computer's clock has gone on meanwhile.
    """

    def __init__(self) -> None:
        self._since = self._now = math.nan
        self._stamp: int | None = None  # of the last call, once the robot's time counts
        self._robot_time = 0.0
        self._credit = 0.0  # [s] of this computer's clock that no stamp has counted

    def has_expired(self, limit: float, now: float, stamp: int, counts: bool) -> bool:
        """Return whether more than the limit [s] has passed since the first call, by both clocks.

        now: this computer's clock [s]. stamp: of the latest measurement [ns]. counts: whether the robot's time counts
        from this stamp on, if it has not begun to count before.
        """
        if math.isnan(self._since):
            self._since = now
        if self._stamp is not None:
            self._credit += now - self._now
            counted = min(self._credit, (stamp - self._stamp) * 1e-9)
            if counted > 0.0:
                self._robot_time += counted
                self._credit = min(self._credit - counted, MAX_CREDIT)
        if counts or self._stamp is not None:
            self._stamp, self._now = stamp, now
        return self._robot_time > limit or now - self._since > MAX_SLOWNESS * limit
