"""A motion that this node streams: monitored by measurements, slowed, paused, stopped, and recorded."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import CancelledError, ExecutionError, RobotCellError, StoppedError, TrackingError, Value
from ...trajectory.sampler import SamplerOptions, TrajectorySample
from ...trajectory.time_scaling import TimeScaling
from ..common.cancellation import CancellationToken, available
from ..common.node import CellNode
from .channels import REPLACED, Channel
from .command_stream import CommandStream
from .joint_feedback import JointFeedback, lost
from .motion import AT_GOAL, ON_PATH, Array, Motion, Sent, Tracking
from .path_return import PathReturn

STOOD = 0.1  # [s] without measured motion, after which a robot counts as standing
MAX_RETURN = 5.0  # multiple of the return time that the robot may take by this computer's clock
MakeMotion = Callable[..., "StreamedMotion"]


class StreamedMotion(Motion):
    """A streamed goal. on_end: called by the stream's thread once the end has been commanded."""

    def __init__(
        self,
        stream: CommandStream,
        playback: SamplerOptions,
        on_end: Callable[[], None],
        *arguments: Any,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self._held = False
        goal = self.goal
        self._stream = stream
        self.channel = Channel(
            goal.joints, goal.owner, goal.trajectory, self.scale, playback, on_end, goal.efforts, goal.limits
        )
        self._held_at = self._settling_at = math.nan
        self._stands_since: int | None = None
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
            replaced_error = StoppedError("replaced by a newer goal", stage=REPLACED)
            self.error = self.error or (replaced_error if failure is None else error)
            self._finish()
            return
        if self.error is None:
            self.error = self.channel.violation
        if self.error is None:
            self._check_feedback()
        elif self.channel.ended and self._has_come_to_rest():
            self._finish()

    def _check_feedback(self) -> None:
        if self.channel.waits:
            return  # the motion that it will replace is monitored
        now, timeouts = time.monotonic(), self._timeouts
        age = self._feedback.age(self.goal.joints, now)
        tracking = self.tracking()
        if age > timeouts.lost_after or tracking is None:
            self.stop(lost(age, timeouts.lost_after))
        elif not self.channel.ended and (age > timeouts.silence or self.channel.stands):
            self._hold()
        elif self._is_held:
            self._come_back(tracking, self._feedback.listened(now))
        else:
            self._judge(tracking, now)
            if self.error is None and self.channel.ended:
                self._settle(tracking, self._feedback.arrival(self.goal.joints), now)

    # Standing after a pause.

    @property
    def scale(self) -> float:
        """The requested speed scale; 0 while it is paused or held."""
        return 0.0 if self._held else super().scale

    @property
    def _is_held(self) -> bool:
        """Whether it is held until the robot is back on its path."""
        return self._held and not self.channel.ended

    def _hold(self) -> None:
        """Hold on the path until the robot is measured on it again."""
        if self._held and not self.channel.stands:
            return
        self.account.pauses += not self._held
        self._held = True
        self._stream.set_scale(self.channel, 0.0)

    def _go_on(self) -> None:
        self._held, self._held_at, self._stands_since = False, math.nan, None
        self._return.is_back()
        self._stream.set_scale(self.channel, self.scale)

    def _come_back(self, tracking: Tracking, now: float) -> None:
        """Resume once the robot has been measured at rest on its path; now: clock without pauses of this process
        [s]."""
        stands = not tracking.desired.velocities.any()
        if math.isnan(self._held_at):
            self._held_at = now
        if stands and self._stands_since is None:
            self._stands_since = tracking.stamp
        # In the robot's time, since a slow simulation is late with everything.
        stood = 0.0 if self._stands_since is None else (tracking.stamp - self._stands_since) * 1e-9
        max_return, held = self._timeouts.path_return_timeout, now - self._held_at
        late = min(stood, held) > max_return or held > MAX_RETURN * max_return
        if (tracking.error > self.goal.tolerances.path).any():
            if not late:
                self._account_for_return(tracking)
            else:
                self._account(tracking)
                self.stop(self._left(ON_PATH, tracking.error, self.goal.tolerances.path, "position"))
            return
        self._account(tracking)
        if late or stands:
            self._go_on()

    def _account_for_return(self, tracking: Tracking) -> None:
        self.account.max_returning_error = max(self.account.max_returning_error, float(tracking.error.max()))

    # On the path, and at its end.

    def _judge(self, tracking: Tracking, now: float) -> None:
        """Check measurements along the path against the path tolerances. Those after the end are checked against the
        goal tolerances, unless the robot is still returning to its path."""
        if self.channel.ended and tracking.desired.parameter >= self.last.parameter and not self._return.is_out:
            return
        error = self._off_path(tracking)
        if error is None:
            self._return.is_back()
            self._account(tracking)
        elif self._return.excuses(max(self._feedback.paused_at, self.channel.sent.paused_at), now):
            self._account_for_return(tracking)
            if not self.channel.ended:
                self._hold()
        else:
            self._account(tracking)
            self.stop(error)

    def _off_path(self, tracking: Tracking) -> TrackingError | None:
        """Return the violation of the path tolerances, if any."""
        tolerances = self.goal.tolerances
        if (tracking.error > tolerances.path).any():
            return self._left(ON_PATH, tracking.error, tolerances.path, "position")
        speed = np.abs(tracking.actual_velocities - tracking.desired.velocities)
        if (speed > tolerances.path_velocity).any():
            return self._left(ON_PATH, speed, tolerances.path_velocity, "velocity")
        return None

    def _has_come_to_rest(self) -> bool:
        """Return whether the robot is at rest after a stop."""
        now, joints = time.monotonic(), self.goal.joints
        if self._settled_for(now) > self.goal.tolerances.goal_time:
            return True
        age, tracking = self._feedback.age(joints, now), self.tracking()
        if age > self._timeouts.silence or tracking is None:
            return True
        if isinstance(self.error, CancelledError | StoppedError):
            return self._is_there(tracking, self._feedback.arrival(joints))
        # Its position may differ from the commands, which it did not follow or which were invalid.
        return self._feedback.arrival(joints) >= self.channel.ended_at and self._feedback.stood_for(joints) >= STOOD

    def _settled_for(self, now: float) -> float:
        """Return the time since the end was commanded, without pauses of this process [s]."""
        listened = self._feedback.listened(now)
        if math.isnan(self._settling_at):
            self._settling_at = listened
        return listened - self._settling_at

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
        elif self._settled_for(now) > self.goal.tolerances.goal_time:
            self.stop(self._missed(tracking, now - measured_at))

    def _missed(self, tracking: Tracking, age: float) -> RobotCellError:
        """Return the violation of the goal tolerances, if any."""
        tolerances, speed = self.goal.tolerances, np.abs(tracking.actual_velocities)
        if (self._distance(tracking) > tolerances.goal).any():
            return self._left(AT_GOAL, self._distance(tracking), tolerances.goal, "position")
        if (speed > tolerances.goal_velocity).any():
            return self._left(AT_GOAL, speed, tolerances.goal_velocity, "velocity")
        return lost(age, self._timeouts.silence)

    def _left(self, stage: str, values: Array, limits: Array, quantity: str) -> TrackingError:
        """Return the error of the joint with the largest violation."""
        beyond = np.where(values > limits, values / np.maximum(limits, 1e-12), 0.0)
        worst = int(np.argmax(beyond))
        joint = self.goal.joints[worst]
        error, limit = float(values[worst]), float(limits[worst])
        if stage == AT_GOAL:
            text = f"goal tolerance violated: {quantity} error of {joint} is {error:.4g} (limit {limit:.4g})"
        else:
            text = f"path tolerance violated: {quantity} error of {joint} is {error:.4g} (limit {limit:.4g})"
            text = f"{text} at {self.reached:.3f} s"
        return TrackingError(text, stage=stage, subjects=(joint,), values=(Value(f"{quantity} error", error, limit),))


@dataclass(frozen=True, eq=False)
class Predicted:
    """The predicted command at a time [s] of the stream's clock, with the present time scaling."""

    time: float
    sample: TrajectorySample
    time_scaling: TimeScaling


class StreamDrive:
    """Motions by commands of this node.

    start_tolerance: maximum distance of a joint from its last command to count as being there [rad or m]. passive:
    joints whose measured positions may differ from their commands (a gripper that holds an object).
    """

    def __init__(
        self,
        node: CellNode,
        stream: CommandStream,
        feedback: JointFeedback,
        playback: SamplerOptions,
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
        """Return the last commanded positions of the joints [rad or m]."""
        return self._stream.commanded

    async def ready(self, token: CancellationToken) -> None:
        """Wait until the robot subscribes to commands."""
        within = self._node.parameters["server_timeout"]
        heard = f"a subscriber of {self._stream.topic}"
        await available(self._node, lambda: self._stream.is_heard, token, within, heard)

    def check(self) -> None:
        """Raise an error if commands are forbidden."""
        self._stream.check_alone()

    def predicted(self, running: StreamedMotion, at: float) -> Predicted | None:
        """Return the state of a motion at a time [s] of the stream's clock; None if it will have ended or stand."""
        channel = running.channel
        playback = channel.playback
        if playback is None or channel.ended or channel.stopping or playback.at_end(at) or playback.scale <= 0.0:
            return None
        return Predicted(at, playback.sample(at), playback.time_scaling)

    def now(self) -> float:
        """Return the clock of motions [s]."""
        return self._stream.now()

    def replace(self, running: StreamedMotion, predicted: Predicted, motion: StreamedMotion) -> bool:
        """Replace a motion by another one at its predicted state; False if it will not be there."""
        motion.channel.begins = predicted.time
        return self._stream.replace(running.channel, motion.channel, predicted.time_scaling)

    def make(self, on_end: Callable[[], None], *arguments: Any, **keywords: Any) -> StreamedMotion:
        """Create a motion that is not started."""
        return StreamedMotion(self._stream, self._playback, on_end, *arguments, **keywords)

    def start(
        self, make: MakeMotion | None, on_end: Callable[[], None], *arguments: Any, **keywords: Any
    ) -> StreamedMotion:
        """Start a motion. make: factory in place of StreamedMotion; the arguments are those of Motion."""
        motion = (make or StreamedMotion)(self._stream, self._playback, on_end, *arguments, **keywords)
        self._stream.start(motion.channel, self._held())
        return motion

    def begin(self, channel: Channel) -> None:
        """Start a channel without a trajectory.

        Raises:
            MotionBusyError, ExecutionError: as of `CommandStream.start`.
        """
        self._stream.start(channel, self._held())

    def _held(self) -> dict[str, float]:
        """Return the positions at which other joints are held: the measured ones, if they differ from their
        commands."""
        commanded = self._stream.commanded
        held = {}
        for joint, position in self._feedback.positions().items():
            last = commanded.get(joint)
            moved = last is None or (abs(last - position) > self._start_tolerance and joint not in self._passive)
            if moved:
                held[joint] = position
        return held
