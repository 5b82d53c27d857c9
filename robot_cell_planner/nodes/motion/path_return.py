"""How long is waited for what a busy computer holds up: silence of the robot, and its return to the path after that."""

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
    """How long is waited for joint states, and for the robot after a pause."""
    silence = parameters["joint_state_timeout"]
    return FeedbackTimeouts(
        silence, max(silence, parameters["joint_state_lost_after"]), parameters["path_return_timeout"]
    )


class PathReturn:
    """The moment that a robot is given to come back to its path after a pause of its process, or of this one; once for
    each time that it is off the path, so that it ends."""

    def __init__(self, path_return_timeout: float) -> None:
        self._path_return_timeout = path_return_timeout
        self._since = math.nan

    @property
    def is_out(self) -> bool:
        """Whether the robot was off its path when this was last asked about, and excused."""
        return not math.isnan(self._since)

    def is_back(self) -> None:
        """The robot is on its path."""
        self._since = math.nan

    def excuses(self, paused_at: float, now: float) -> bool:
        """Whether a robot that is off its path now may be so; paused_at: when the last pause ended, on the same clock
        as now [s]."""
        if math.isnan(self._since):
            if not now - paused_at <= self._path_return_timeout:
                return False
            self._since = now
        return now - self._since <= self._path_return_timeout
