"""Outcomes and replacements of motions."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.task import Future

from robot_cell_planner.msg import ExecutionRecord
from robot_cell_planner.srv import ValidateTrajectory

from .motion import Motion, Phase
from .reports import record_message
from .streamed_motion import StreamedMotion


@dataclass(frozen=True, eq=False)
class Outcome:
    """A motion that has ended, its start [ns], and the reply of its validation."""

    motion: Motion
    started: int
    reply: ValidateTrajectory.Response | None

    @property
    def record(self) -> ExecutionRecord:
        return record_message(self.motion, self.started, None if self.reply is None else self.reply.state)

    def check(self) -> None:
        """Raise the error of the motion, if any."""
        if self.motion.error is not None:
            raise self.motion.error


@dataclass(frozen=True, eq=False)
class Replacement:
    """A motion that will replace the running one; fields as of `Outcome`."""

    running: StreamedMotion
    motion: StreamedMotion
    finished: Future[None]
    started: int
    reply: ValidateTrajectory.Response | None

    @property
    def running_continues(self) -> bool:
        """Whether the running motion has neither ended nor been replaced."""
        return not self.running.channel.replaced and self.running.phase is not Phase.DONE
