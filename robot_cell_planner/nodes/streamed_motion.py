"""A motion that this node streams: watched against what is measured, slowed, paused, stopped, and accounted for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CancelledError, ExecutionError, RobotCellError, StoppedError, TrackingError, Value
from ..trajectory.playback import PlaybackOptions, PlaybackSample
from ..trajectory.speed_laws import SpeedLaw
from .channels import REPLACED, Channel
from .command_stream import CommandStream
from .interrupts import Interrupt, available
from .joint_feedback import JointFeedback, lost
from .motion import AT_GOAL, ON_PATH, Array, Motion, Sent, Tracking
from .node import CellNode

MakeMotion = Callable[..., "StreamedMotion"]


class StreamedMotion(Motion):
    """A goal that is streamed. on_end: called by the stream's thread once the end has been commanded."""

    def __init__(
        self,
        stream: CommandStream,
        playback: PlaybackOptions,
        on_end: Callable[[], None],
        *arguments: Any,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        goal = self.goal
        self._stream = stream
        self.channel = Channel(
            goal.joints, goal.owner, goal.trajectory, self.scale, playback, on_end, goal.efforts, goal.limits
        )

    @property
    def sent(self) -> Sent:
        return self.channel.sent

    @property
    def last(self) -> PlaybackSample:
        return self.channel.last

    def _commanded_at(self, stamp: int) -> PlaybackSample:
        return self._stream.commanded_at(self.channel, stamp)

    @property
    def _ended(self) -> bool:
        return self.channel.ended

    def set_override(self, override: float) -> None:
        self._override = override
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
        """End at once. What was commanded of its joints counts no more: the robot stops by other means."""
        super().abort(error)
        self._stream.forget(self.channel.joints)

    def poll(self) -> None:
        """Look at what was measured since, and go on to the next phase where it is time."""
        if self._done:
            return
        failure = self.channel.failure
        if failure is not None or self.channel.replaced:
            told = failure if isinstance(failure, RobotCellError) else ExecutionError(f"no command was sent: {failure}")
            replaced = StoppedError("a newer goal has taken its place", stage=REPLACED)
            self.error = self.error or (replaced if failure is None else told)
            self._finish()
            return
        if self.error is None:
            self._watch()
        elif self.channel.ended and self._has_come_to_rest():
            self._finish()

    def _watch(self) -> None:
        if self.channel.waits:
            return  # what it will take the place of is watched
        now = time.monotonic()
        age = self._feedback.age(self.goal.joints, now)
        tracking = self.tracking()
        if age > self._timeout or tracking is None:
            self.stop(lost(age, self._timeout))
            return
        self._account(tracking)
        if self.channel.ended:
            self._settle(tracking, self._feedback.arrival(self.goal.joints), now)
        else:
            self._follow(tracking)

    def _has_come_to_rest(self) -> bool:
        """Whether the robot is at rest after a stop that was wanted; after another one nothing is waited for."""
        now = time.monotonic()
        if not isinstance(self.error, CancelledError | StoppedError):
            return True
        if now - self.channel.ended_at > self.goal.tolerances.goal_time:
            return True
        age, tracking = self._feedback.age(self.goal.joints, now), self.tracking()
        if age > self._timeout or tracking is None:
            return True
        return self._is_there(tracking, self._feedback.arrival(self.goal.joints))

    def _is_there(self, tracking: Tracking, measured_at: float) -> bool:
        """Whether the last command was reached, by a measurement that came after it."""
        tolerances = self.goal.tolerances
        near = bool((self._distance(tracking) <= tolerances.goal).all())
        # A velocity that is not measured is NaN, which is not above its limit.
        still = not bool((np.abs(tracking.actual_velocities) > tolerances.goal_velocity).any())
        return near and still and measured_at >= self.channel.ended_at

    def _distance(self, tracking: Tracking) -> Array:
        """From the last command (dof,)."""
        return np.abs(tracking.actual - self.last.positions)

    def _follow(self, tracking: Tracking) -> None:
        tolerances = self.goal.tolerances
        off = tracking.error > tolerances.path
        if off.any():
            self.stop(self._left(ON_PATH, tracking.error, tolerances.path, "position"))
            return
        speed = np.abs(tracking.actual_velocities - tracking.desired.velocities)
        if (speed > tolerances.path_velocity).any():
            self.stop(self._left(ON_PATH, speed, tolerances.path_velocity, "velocity"))

    def _settle(self, tracking: Tracking, measured_at: float, now: float) -> None:
        """The end has been commanded: done once a later measurement is within the goal's tolerances."""
        self.account.goal_error = float(self._distance(tracking).max())
        if self._is_there(tracking, measured_at):
            self._finish()
        elif now - self.channel.ended_at > self.goal.tolerances.goal_time:
            self.stop(self._missed(tracking, now - measured_at))

    def _missed(self, tracking: Tracking, age: float) -> RobotCellError:
        """Why the goal's tolerances do not hold."""
        tolerances, speed = self.goal.tolerances, np.abs(tracking.actual_velocities)
        if (self._distance(tracking) > tolerances.goal).any():
            return self._left(AT_GOAL, self._distance(tracking), tolerances.goal, "position")
        if (speed > tolerances.goal_velocity).any():
            return self._left(AT_GOAL, speed, tolerances.goal_velocity, "velocity")
        return lost(age, self._timeout)

    def _left(self, stage: str, values: Array, limits: Array, quantity: str) -> TrackingError:
        """The error for the joint that is furthest beyond its tolerance."""
        beyond = np.where(values > limits, values / np.maximum(limits, 1e-12), 0.0)
        worst = int(np.argmax(beyond))
        joint = self.goal.joints[worst]
        where = "after the end" if stage == AT_GOAL else f"{self.reached:.3f} s after the start"
        return TrackingError(
            f"the {quantity} of {joint} is not as commanded, {where}",
            stage=stage,
            subjects=(joint,),
            values=(Value(f"{quantity} error", float(values[worst]), float(limits[worst])),),
        )


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What will be commanded at a time [s] of the stream's clock, by the law of speed that is followed now."""

    time: float
    sample: PlaybackSample
    law: SpeedLaw


class StreamDrive:
    """Moves the robot by commands of this node's own.

    start_tolerance: how far a joint may be from where it was commanded to and still count as there [rad or m]. passive:
    joints whose measured position says nothing about that (those of a gripper that holds something).
    """

    def __init__(
        self,
        node: CellNode,
        stream: CommandStream,
        feedback: JointFeedback,
        playback: PlaybackOptions,
        start_tolerance: float,
        passive: Sequence[str] = (),
    ) -> None:
        self._node = node
        self._stream = stream
        self._feedback = feedback
        self._playback = playback
        self._start_tolerance = start_tolerance
        self._passive = frozenset(passive)

    @property
    def commanded(self) -> dict[str, float]:
        """Where the last commands have left the joints [rad or m]."""
        return self._stream.commanded

    async def ready(self, interrupt: Interrupt) -> None:
        """Wait until the robot listens."""
        within = self._node.parameters["appear_timeout"]
        heard = f"who listens to {self._stream.topic}"
        await available(self._node, lambda: self._stream.is_heard, interrupt, within, heard)

    def check(self) -> None:
        """Raise what forbids to give commands."""
        self._stream.check_alone()

    def foreseen(self, running: StreamedMotion, at: float) -> Foreseen | None:
        """Where a motion will be at a moment [s] of the stream's clock; None if it will have ended, or stand."""
        channel = running.channel
        playback = channel.playback
        if playback is None or channel.ended or channel.stopping or playback.at_end(at) or playback.scale <= 0.0:
            return None
        return Foreseen(at, playback.sample(at), playback.law)

    def now(self) -> float:
        """The clock that motions run on [s]."""
        return self._stream.now()

    def replace(self, running: StreamedMotion, foreseen: Foreseen, motion: StreamedMotion) -> bool:
        """Let a motion take another's place where that was foreseen to be; False if it will not be there."""
        motion.channel.begins = foreseen.time
        return self._stream.replace(running.channel, motion.channel, foreseen.law)

    def make(self, on_end: Callable[[], None], *arguments: Any, **keywords: Any) -> StreamedMotion:
        """A motion that has not begun."""
        return StreamedMotion(self._stream, self._playback, on_end, *arguments, **keywords)

    def start(
        self, make: MakeMotion | None, on_end: Callable[[], None], *arguments: Any, **keywords: Any
    ) -> StreamedMotion:
        """Begin a motion. make: what makes it, in place of StreamedMotion; the arguments are those of Motion."""
        motion = (make or StreamedMotion)(self._stream, self._playback, on_end, *arguments, **keywords)
        self._stream.start(motion.channel, self._held())
        return motion

    def begin(self, channel: Channel) -> None:
        """Play a channel that is no trajectory's.

        Raises:
            MotionBusyError, ExecutionError: as of `CommandStream.start`.
        """
        self._stream.start(channel, self._held())

    def _held(self) -> dict[str, float]:
        """Where joints that do not move are to be held: where they are, if that is not where they were commanded to."""
        commanded = self._stream.commanded
        held = {}
        for joint, position in self._feedback.positions().items():
            last = commanded.get(joint)
            moved = last is None or (abs(last - position) > self._start_tolerance and joint not in self._passive)
            if moved:
                held[joint] = position
        return held
