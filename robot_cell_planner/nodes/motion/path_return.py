"""Time limits for delays of a busy computer: missing joint states, and the return of the robot to its path."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..common.parameters import Parameters


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
