"""A motion that this node streams: monitored by measurements, slowed, paused, stopped, and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import (
    CancelledError,
    ExecutionError,
    RobotCellError,
    StoppedError,
    StopRequestedError,
    TrajectoryStartError,
)
from ...trajectory.sampler import SamplerOptions, TrajectorySample
from ...trajectory.time_scaling import TimeScaling
from ...trajectory.tracking import Check, violation
from ..common.cancellation import CancellationToken, available
from ..common.node import CellNode
from .channels import REPLACED, Channel
from .command_stream import CommandStream
from .held_positions import HeldPositions
from .joint_feedback import STOOD
from .motion import Array, Motion, Sent, Tracking
from .motion_clock import CLOCK_TOPIC
from .path_return import PathReturn, RobotTimeout

CAUGHT_UP = 0.5  # a motion that was held for a lag continues below this fraction of the longest permitted lag
MakeMotion = Callable[..., "StreamedMotion"]


class StreamedMotion(Motion):
    """A streamed goal. on_end: called by the stream's thread once the end has been commanded."""

    def __init__(
        self,
        stream: CommandStream,
        sampler: SamplerOptions,
        on_end: Callable[[], None],
        *arguments: Any,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self._held = False
        self._standing: tuple[str, ...] = ()
        self._held_positions: HeldPositions | None = None
        goal = self.goal
        self._stream = stream
        self.channel = Channel(
            goal.joints, goal.owner, goal.trajectory, self.scale, sampler, on_end, goal.efforts, goal.limits
        )
        self._coming_back, self._settling = RobotTimeout(), RobotTimeout()
        self._return = PathReturn(self._timeouts.path_return_timeout)

    @property
    def sent(self) -> Sent:
        return self.channel.sent

    @property
    def last(self) -> TrajectorySample:
        return self.channel.last

    def _commanded_at(self, stamp: int) -> TrajectorySample:
        return self._stream.commanded_at(self.channel, stamp)

    @property
    def _ended(self) -> bool:
        return self.channel.ended

    def set_global_scale(self, global_scale: float) -> None:
        self._global_scale = global_scale
        self._stream.set_scale(self.channel, self.scale)

    def pause(self) -> None:
        self._paused = True
        self._stream.set_scale(self.channel, 0.0)

    def resume(self) -> None:
        self._paused = False
        self._stream.set_scale(self.channel, self.scale)

    def _stop(self) -> None:
        self._stream.stop(self.channel)

    def _drop(self) -> None:
        self._stream.drop(self.channel)

    def abort(self, error: RobotCellError) -> None:
        """End at once and forget its commands: the robot stops by other means."""
        super().abort(error)
        self._stream.forget(self.channel.joints)

    def poll(self) -> None:
        """Process new measurements, and enter the next phase if due."""
        if self._done:
            return
        failure = self.channel.failure
        if failure is not None or self.channel.replaced:
            error = (
                failure if isinstance(failure, RobotCellError) else ExecutionError(f"no command was sent: {failure}")
            )
            replaced_error = StopRequestedError("replaced by a newer goal", stage=REPLACED)
            self.error = self.error or (replaced_error if failure is None else error)
            self._finish()
            return
        if self.error is None:
            self.error = self.channel.violation
        if self.error is None:
            self._check_feedback()
        else:
            self._record(Check.NONE, self.tracking())
            # Without time, there is no stop; a simulation that stands does not move the robot either.
            if self._stream.clock.stands or (self.channel.ended and self._has_come_to_rest()):
                self._finish()

    def _check_feedback(self) -> None:
        if self.channel.waits:
            # The motion that it will replace is monitored; joints that it does not move must not be moved meanwhile.
            self._stop_for(self._moved_away())
            return
        now, timeouts = time.monotonic(), self._timeouts
        age = self._feedback.age(self.goal.joints, now)
        tracking = self.tracking()
        if age > timeouts.lost_after or tracking is None:
            self._stop_for(self._verdict(Check.FEEDBACK, tracking, age))
        elif (lagging := self._feedback.lagging(self.goal.joints, timeouts.lost_after)) is not None:
            self._record(Check.NONE, tracking, age)
            self.stop(lagging)
        elif not self.channel.ended and (age > timeouts.silence or self._lags or self.channel.awaits_resume):
            self._record(Check.NONE, tracking, age)
            self._hold()
        elif self._is_held:
            self._come_back(tracking, self._feedback.listened(now))
        else:
            self._check_path(tracking, now)
            if self.error is None and self.channel.ended:
                self._settle(tracking, self._feedback.arrival(self.goal.joints), now)

    def stands_until_it_begins(self, joints: Sequence[str], held: HeldPositions) -> None:
        """Set the joints that stand until it replaces another motion, which does not move them."""
        self._standing, self._held_positions = tuple(joints), held

    def _moved_away(self) -> TrajectoryStartError | None:
        """Return the error if a joint that stands until it begins is not where it will begin."""
        if self._held_positions is None:
            return None
        start = dict(zip(self.goal.joints, self.goal.trajectory.positions[0].tolist(), strict=True))
        units = dict(zip(self.goal.joints, self.goal.tolerances.units, strict=False))  # none if they are not known
        return self._held_positions.away_from({joint: start[joint] for joint in self._standing}, units)

    # Standing after a pause.

    @property
    def scale(self) -> float:
        """The requested speed scale; 0 while it is paused or held."""
        return 0.0 if self._held else super().scale

    @property
    def _paused_at(self) -> float:
        """End of the last pause that may have brought the robot off its path [s]."""
        return max(self._feedback.paused_at(self.goal.joints), self.channel.sent.paused_at)

    @property
    def _is_held(self) -> bool:
        """Whether it is held until the robot is back on its path."""
        return self._held and not self.channel.ended

    @property
    def _lags(self) -> bool:
        """Whether the robot lags behind the clock, as in a simulation slower than real time, and has to catch up."""
        fraction = CAUGHT_UP if self._held else 1.0
        return self._feedback.lag(self.goal.joints) > fraction * self._timeouts.silence

    def _hold(self) -> None:
        """Hold on the path until the robot is measured on it again."""
        if self._held and not self.channel.awaits_resume:
            return
        self.account.pauses += not self._held
        self._held = True
        self._stream.set_scale(self.channel, 0.0)

    def _go_on(self) -> None:
        self._held, self._coming_back = False, RobotTimeout()
        self._return.is_back()
        self._stream.set_scale(self.channel, self.scale)

    def _come_back(self, tracking: Tracking, now: float) -> None:
        """Resume once the robot has been measured at rest on its path; now: clock without pauses of this process
        [s]."""
        at_rest = not tracking.desired.velocities.any()
        late = self._coming_back.has_expired(self._timeouts.path_return_timeout, now, tracking.stamp, at_rest)
        if (tracking.error > self.goal.tolerances.path).any():
            if not late:
                self._record(Check.NONE, tracking)
                self._account_for_return(tracking)
            else:
                self._account(tracking)
                self._stop_for(self._verdict(Check.PATH, tracking))
            return
        self._account(tracking)
        if late or at_rest:
            self._go_on()

    def _account_for_return(self, tracking: Tracking) -> None:
        self.account.max_returning_error = max(self.account.max_returning_error, float(tracking.error.max()))

    # On the path, and at its end.

    def _check_path(self, tracking: Tracking, now: float) -> None:
        """Check measurements along the path against the path tolerances. Those after the end are checked against the
        goal tolerances, unless the robot is still returning to its path."""
        if self._at_end(tracking) and not self._return.is_out:
            self._record(Check.NONE, tracking)
            return
        error = self._verdict(Check.PATH, tracking)
        if error is None:
            self._return.is_back()
            self._account(tracking)
        elif self._return.excuses(self._paused_at, now):
            self._log.excuse()
            self._account_for_return(tracking)
            if not self.channel.ended:
                self._hold()
        else:
            self._account(tracking)
            self.stop(error)

    def _verdict(self, check: Check, tracking: Tracking | None, age: float = 0.0) -> RobotCellError | None:
        """Record a measurement. Returns what it violates, if anything."""
        row, timeouts = self._record(check, tracking, age), self._timeouts
        self._found = violation(row, self.goal.joints, self.goal.tolerances, timeouts.silence, timeouts.lost_after)
        return self._found

    def _stop_for(self, error: RobotCellError | None) -> None:
        if error is not None:
            self.stop(error)

    def _has_come_to_rest(self) -> bool:
        """Return whether the robot is at rest after a stop."""
        now, joints = time.monotonic(), self.goal.joints
        age, tracking = self._feedback.age(joints, now), self.tracking()
        if age > self._timeouts.silence or tracking is None or self._is_late(tracking, now):
            return True
        if isinstance(self.error, CancelledError | StoppedError):
            return self._is_there(tracking, self._feedback.arrival(joints))
        # Its position may differ from the commands, which it did not follow or which were invalid.
        return self._feedback.arrival(joints) >= self.channel.ended_at and self._feedback.stood_for(joints) >= STOOD

    def _is_late(self, tracking: Tracking, now: float) -> bool:
        """Return whether the time to be at the goal tolerances has passed since the end was commanded."""
        listened, limit = self._feedback.listened(now), self.goal.tolerances.goal_time
        return self._settling.has_expired(limit, listened, tracking.stamp, self._at_end(tracking))

    def _at_end(self, tracking: Tracking) -> bool:
        """Return whether the end was commanded when the robot was measured."""
        return self.channel.ended and tracking.desired.parameter >= self.last.parameter

    def _is_there(self, tracking: Tracking, measured_at: float) -> bool:
        """Return whether a later measurement is at the last command."""
        tolerances = self.goal.tolerances
        near = bool((self._distance(tracking) <= tolerances.goal).all())
        # A velocity that is not measured is NaN and does not exceed its limit.
        still = not bool((np.abs(tracking.actual_velocities) > tolerances.goal_velocity).any())
        return near and still and measured_at >= self.channel.ended_at

    def _distance(self, tracking: Tracking) -> Array:
        """Return the distances from the last command (dof,)."""
        return np.abs(tracking.actual - self.last.positions)

    def _settle(self, tracking: Tracking, measured_at: float, now: float) -> None:
        """After the end of the commands, finish once a later measurement is within the goal tolerances."""
        self.account.goal_error = float(self._distance(tracking).max())
        if self._is_there(tracking, measured_at):
            self._finish()
        elif self._is_late(tracking, now):
            self._stop_for(self._verdict(Check.GOAL, tracking, now - measured_at))


@dataclass(frozen=True, eq=False)
class Predicted:
    """The predicted command at a time [s] of the stream's clock, with the present time scaling."""

    time: float
    sample: TrajectorySample
    time_scaling: TimeScaling


class StreamDrive:
    """Motions by commands of this node. held: positions of joints that do not move."""

    def __init__(self, node: CellNode, stream: CommandStream, sampler: SamplerOptions, held: HeldPositions) -> None:
        self._node = node
        self._stream = stream
        self._sampler = sampler
        self.held = held

    @property
    def commanded(self) -> dict[str, float]:
        """Return the last commanded positions of the joints, also those that grippers return to [rad or m]."""
        return {**self.held.gripping, **self._stream.commanded}

    def forget_commands(self) -> None:
        """Forget the last commands of all joints. Grippers return to theirs if they are not moved meanwhile."""
        self.held.forget()

    @property
    def others_are_unsettled(self) -> bool:
        """Whether a motion cannot begin yet, since measurements of joints that it would hold are late, or these still
        move."""
        return not self._stream.held.isdisjoint(self.held.unsettled())

    async def ready(self, token: CancellationToken) -> None:
        """Wait until the robot subscribes to commands, and the clock of motions runs."""
        within = self._node.parameters["server_timeout"]
        await available(self._node, lambda: self._stream.clock.runs, token, within, CLOCK_TOPIC)
        subscriber = f"a subscriber of {', '.join(self._stream.topics)}"
        await available(self._node, lambda: self._stream.has_subscribers, token, within, subscriber)

    def check(self) -> None:
        """Raise an error if commands are forbidden, or would be too far apart, or the clock of motions is not one."""
        self._stream.clock.check()
        self._stream.check_alone()
        self._stream.check_rate()

    def predicted(self, running: StreamedMotion, at: float) -> Predicted | None:
        """Return the state of a motion at a time [s] of the stream's clock; None if it will then be at rest."""
        channel = running.channel
        sampler = channel.sampler
        if sampler is None or channel.ended or channel.stopping or sampler.at_end(at) or sampler.scale <= 0.0:
            return None
        return Predicted(at, sampler.sample(at), sampler.time_scaling)

    def is_still(self, running: StreamedMotion) -> bool:
        """Return whether a motion rests on its path, or has not begun."""
        sampler = running.channel.sampler
        return sampler is None or sampler.is_still(self._stream.now())

    def now(self) -> float:
        """Return the clock of motions [s]."""
        return self._stream.now()

    @property
    def rate(self) -> float:
        """Seconds of the clock of motions per second of the steady clock."""
        return self._stream.clock.rate

    def after(self, seconds: float) -> float:
        """Return the clock of motions [s] after a duration of the steady clock [s]."""
        return self._stream.clock.after(seconds)

    def replace(self, running: StreamedMotion, predicted: Predicted, motion: StreamedMotion) -> bool:
        """Replace a motion by another one at its predicted state; False if it will not be there."""
        motion.channel.begins = predicted.time
        motion.stands_until_it_begins(
            [name for name in motion.goal.joints if name not in running.goal.joints], self.held
        )
        return self._stream.replace(running.channel, motion.channel, predicted.time_scaling)

    def make(self, on_end: Callable[[], None], *arguments: Any, **keywords: Any) -> StreamedMotion:
        """Create a motion that is not started."""
        return StreamedMotion(self._stream, self._sampler, on_end, *arguments, **keywords)

    def start(
        self, make: MakeMotion | None, on_end: Callable[[], None], *arguments: Any, **keywords: Any
    ) -> StreamedMotion:
        """Start a motion. make: factory in place of StreamedMotion; the arguments are those of Motion."""
        motion = (make or StreamedMotion)(self._stream, self._sampler, on_end, *arguments, **keywords)
        channel = motion.channel
        channel.stand_at(self.held.present(channel.joints, channel.last.positions))
        self.begin(channel)
        return motion

    def begin(self, channel: Channel) -> None:
        """Start a channel; that of servo has no trajectory.

        Raises:
            MotionBusyError, ExecutionError: As of `CommandStream.start`.
            FeedbackLostError: As of `HeldPositions.withheld`.
        """
        withheld = self.held.withheld(channel.joints)
        self._stream.start(channel, *self.held.of_others(), withheld)
        for error in withheld.values():
            self._node.get_logger().warning(f"its robot gets no commands: {error}. {error.remedy}")
