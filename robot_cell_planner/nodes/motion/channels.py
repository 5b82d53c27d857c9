"""Channels of the command stream: joints that move together along a trajectory."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError, RobotCellError, StopRequestedError
from ...trajectory.command_limits import STAGE, CommandLimitCheck, stopped_at
from ...trajectory.limits import MotionLimits
from ...trajectory.sampler import SamplerOptions, TrajectorySample, TrajectorySampler
from ...trajectory.time_scaling import TimeScaling
from ...trajectory.trajectory import Trajectory
from ..common.clock_monitor import CLOCK_SKEW
from .motion import Sent

MAX_HISTORY = 6144  # stored commands, for comparison with delayed measurements: CLOCK_SKEW at 1 kHz
REPLACED = "replaced"  # stage of errors of motions that were, or were to be, replaced


@dataclass(eq=False)
class Channel:
    """Joints that move together along a trajectory, from the first command on.

    efforts: feed-forward efforts at the times of the trajectory (n, dof) or constant (dof,) [Nm or N]; the last ones
    are kept at the end. limits: of the joints, for changes of the speed; None if unknown. begins: start on the clock of
    trajectories [s]; NaN: with the next command.

    on_end: called once, by any thread, when the end of the trajectory, or rest after `CommandStream.stop`, has been
    commanded, or another channel has replaced it; the last command is repeated until the channel is dropped. ended_at:
    time of that on the steady clock [s]. failure: why it ended otherwise. successor: the channel that replaces it at
    its start, and the time scaling until then. replaced: that has taken place. awaits_resume: it is at rest after a gap
    of the stream, and waits to be resumed. violation: why a command was rejected; it then stops along its path, or
    where it is if that would violate a limit. halted: that stop is over.
    """

    joints: tuple[str, ...]
    owner: str
    trajectory: Trajectory
    scale: float
    options: SamplerOptions
    on_end: Callable[[], None]
    efforts: NDArray[np.float64] | None = None
    limits: MotionLimits | None = None
    begins: float = math.nan
    successor: tuple[Channel, TimeScaling] | None = None
    replaced: bool = False
    sent: Sent = field(default_factory=Sent)
    last: TrajectorySample = field(init=False)
    stopping: bool = False
    ended_at: float = math.inf
    failure: Exception | None = None
    awaits_resume: bool = False
    violation: RobotCellError | None = None
    halted: bool = False
    sampler: TrajectorySampler | None = None
    played_at: float = math.nan
    history: deque[tuple[int, TrajectorySample]] = field(default_factory=lambda: deque(maxlen=MAX_HISTORY))

    def __post_init__(self) -> None:
        self._path = TrajectorySampler(self.trajectory, 0.0, 0.0, self.options)
        self.last = self._path.sample(0.0)
        self.limit_check = CommandLimitCheck(self.joints, self.limits, self.last.positions)

    @property
    def ended(self) -> bool:
        return math.isfinite(self.ended_at)

    def stand_at(self, positions: NDArray[np.float64]) -> None:
        """Set where the joints (dof,) are before the first command, so that a step from there is a violation; without
        this, they are at the start of the trajectory."""
        self.last = replace(self.last, positions=positions)
        self.limit_check = CommandLimitCheck(self.joints, self.limits, positions)

    def play(self, now: float, stamp: int, max_command_gap: float) -> None:
        """Compute the next command. stamp [ns]: in the time of messages.

        After a longer gap the robot is at rest and waits to be resumed. A command that would violate a limit is
        replaced by a stop.
        """
        sample = self._allowed(now, max_command_gap) if self.violation is None else None
        if sample is None:
            self.stopping = True
            sample = self._stopped(now, max_command_gap)
        self._record(sample, now, stamp)

    def _allowed(self, now: float, max_command_gap: float) -> TrajectorySample | None:
        """Return the next command; None if it violates a limit."""
        try:
            sample = self._next(now, max_command_gap)
        except RobotCellError as error:
            self.violation = error.changed(f"no next command: {error.message}")
            return None
        except Exception as error:
            # Any error in the trajectory brings the robot to rest; the stream continues.
            self.violation = InternalError(f"no next command: {type(error).__name__}: {error}", stage=STAGE)
            return None
        self.violation = self.limit_check.violation(sample, now)
        return sample if self.violation is None else None

    def _next(self, now: float, max_command_gap: float) -> TrajectorySample:
        """Return the next command before the check of its limits."""
        if self.sampler is None:
            begins = self.begins if math.isfinite(self.begins) else now
            self.sampler = TrajectorySampler(self.trajectory, begins, self.scale, self.options, self.limits)
        elif now - self.played_at > max_command_gap and not self.sampler.is_still(self.played_at):
            self.sampler.set_rest(self.last.parameter, now)
            self.limit_check.rest()
            self.awaits_resume = True
        return self.sampler.sample(now)

    def _stopped(self, now: float, max_command_gap: float) -> TrajectorySample:
        """Return the next command of a stop after a violation."""
        if not self.halted and not now - self.played_at > max_command_gap:
            sample = self._stop_step(now)
            if sample is not None:
                self.halted = not sample.velocities.any()
                return sample
        self.halted = True
        return stopped_at(self.last)

    def _stop_step(self, now: float) -> TrajectorySample | None:
        """Return the next command of a stop along the path; None if it would violate a limit."""
        return self.limit_check.stop_step(self._path.point, self.last.parameter, now)

    def _record(self, sample: TrajectorySample, now: float, stamp: int) -> None:
        """Record the present command. stamp [ns]: in the time of messages."""
        self.last, self.played_at = sample, now
        self.limit_check.passed(sample, now)
        if self.history and stamp < self.history[-1][0]:
            self.history.clear()  # the time of messages was set back: older entries cannot be looked up any more
        self.history.append((stamp, sample))

    def remember(self, predecessor: Channel) -> None:
        """Copy the history of another channel; joints that it does not contain stood at the start of this one."""
        columns = {joint: index for index, joint in enumerate(predecessor.joints)}
        for stamp, sample in predecessor.history:
            rows = [sample.positions, sample.velocities, sample.accelerations]
            defaults = [self.last.positions, np.zeros(len(self.joints)), np.zeros(len(self.joints))]
            order = [columns.get(joint, -1) for joint in self.joints]
            merged = [
                np.where(np.array(order) >= 0, row[order], default) for row, default in zip(rows, defaults, strict=True)
            ]
            self.history.append((stamp, TrajectorySample(0.0, *merged)))
        if self.history:
            self.last = self.history[-1][1]
            self.limit_check.passed(self.last, predecessor.played_at)

    def at(self, stamp: int) -> TrajectorySample:
        """Return the command at a time of messages [ns], interpolated linearly; the last command if the clock of the
        time differs."""
        if not self.history or abs(self.history[-1][0] - stamp) > CLOCK_SKEW:
            return self.last
        index = bisect_right(self.history, stamp, key=itemgetter(0))
        if index in (0, len(self.history)):
            return self.history[max(index - 1, 0)][1]
        (begin, before), (end, after) = self.history[index - 1], self.history[index]
        return _between(before, after, (stamp - begin) / (end - begin))

    @property
    def waits(self) -> bool:
        """Return whether it still has to replace another channel."""
        return self.sampler is None and math.isfinite(self.begins)

    def hands_over(self, now: float, max_command_gap: float) -> bool:
        """Return whether its successor starts now, and it is at the start of that; false after a longer gap."""
        if self.successor is None or now - self.played_at > max_command_gap:
            return False
        return self.has_kept_to(self.successor[1]) and now >= self.successor[0].begins

    def has_kept_to(self, time_scaling: TimeScaling) -> bool:
        """Return whether it still moves with the expected time scaling."""
        return self.sampler is not None and self.violation is None and self.sampler.time_scaling is time_scaling

    def withdraw_successor(self, reason: Exception | None = None) -> Channel | None:
        """Remove the successor, whose start it does not reach; returns the successor, which has failed.

        reason: of the failure; None: it did not continue as expected.
        """
        if self.successor is None or self.replaced:
            return None
        successor, self.successor = self.successor[0], None
        text = "the motion to be replaced did not continue as expected"
        successor.fail(StopRequestedError(text, stage=REPLACED) if reason is None else reason)
        return successor

    def fail(self, reason: Exception) -> None:
        """End without further commands; the first reason and end count."""
        self.failure = self.failure or reason
        self.ended_at = min(self.ended_at, time.monotonic())

    def has_come_to_its_end(self, now: float) -> bool:
        """Return whether the last command was its end, or rest after a stop."""
        if self.violation is not None:
            return self.halted
        sampler = self.sampler
        return sampler is not None and (sampler.at_end(now) or (self.stopping and sampler.at_rest(now)))

    def effort_at(self, place: float) -> NDArray[np.float64]:
        """Return the efforts at a time of the trajectory (dof,) [Nm or N]."""
        if self.efforts is None:
            return np.zeros(len(self.joints))
        if self.efforts.ndim == 1:
            return self.efforts
        times = self.trajectory.times
        return np.array([np.interp(place, times - times[0], column) for column in self.efforts.T])


def _between(before: TrajectorySample, after: TrajectorySample, fraction: float) -> TrajectorySample:
    return TrajectorySample(
        before.parameter + fraction * (after.parameter - before.parameter),
        before.positions + fraction * (after.positions - before.positions),
        before.velocities + fraction * (after.velocities - before.velocities),
        before.accelerations + fraction * (after.accelerations - before.accelerations),
    )
