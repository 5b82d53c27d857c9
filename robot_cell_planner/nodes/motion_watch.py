"""A motion that is being carried out: watched against what is measured, slowed, paused, stopped, and accounted for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..errors import ExecutionError, RobotCellError, TrackingError, Value
from ..trajectory.playback import Playback, PlaybackOptions
from .command_stream import Channel, CommandStream
from .joint_feedback import JointFeedback, Measurement, lost
from .trajectory_goals import MotionGoal

Array = NDArray[np.float64]
ON_PATH, AT_GOAL = "path tolerance", "goal tolerance"  # stages of tracking errors


class Phase(str, Enum):
    MOVING = "moving"
    PAUSED = "paused"
    STOPPING = "stopping"
    SETTLING = "settling"
    DONE = "done"


@dataclass(frozen=True, eq=False)
class Tracking:
    """Commanded and measured positions and velocities of the joints (dof,); NaN: velocities that are not measured."""

    desired: Array
    desired_velocities: Array
    actual: Array
    actual_velocities: Array

    @property
    def error(self) -> Array:
        return np.abs(self.actual - self.desired)


@dataclass
class Account:
    """What happened: the largest tracking error [rad or m] and its joint, and the largest error at the end."""

    max_tracking_error: float = 0.0
    joint: str = ""
    goal_error: float = math.nan


class Motion:
    """A goal that is streamed. `on_done` is called once, when it has ended and no command will follow.

    override: the node's speed scale, besides the goal's own. feedback_timeout: age at which joint states count as lost
    [s]. `poll` must be called when measurements come, when the stream says that the channel has ended, and at least
    some times within the feedback timeout; all of it in one thread. passive: it is no motion along a path that could be
    held.
    """

    passive = False

    def __init__(
        self,
        goal: MotionGoal,
        stream: CommandStream,
        feedback: JointFeedback,
        *,
        override: float,
        feedback_timeout: float,
        playback: PlaybackOptions,
        on_end: Callable[[], None],
        on_done: Callable[[], None],
    ) -> None:
        self.goal = goal
        self.error: RobotCellError | None = None
        self.account = Account()
        self._stream = stream
        self._feedback = feedback
        self._override = override
        self._timeout = feedback_timeout
        self._on_done = on_done
        self._paused = False
        self._done = False
        moving = Playback(goal.trajectory, stream.now(), self.scale, playback)
        self.channel = Channel(goal.joints, goal.owner, moving, on_end, goal.efforts)

    @property
    def scale(self) -> float:
        """The speed scale that is asked for; 0 while it is paused."""
        return 0.0 if self._paused else self.goal.speed_scale * self._override

    @property
    def phase(self) -> Phase:
        if self._done:
            return Phase.DONE
        if self.error is not None:
            return Phase.STOPPING
        if self.channel.ended:
            return Phase.SETTLING
        return Phase.MOVING if self.scale > 0.0 else Phase.PAUSED

    @property
    def reached(self) -> float:
        """Time along the trajectory that is commanded [s]."""
        return self.channel.last.place

    @property
    def point(self) -> int:
        """Index of the goal's own point that it is on the way to."""
        first = len(self.goal.trajectory) - self.goal.points
        index = int(np.searchsorted(self.goal.trajectory.times, self.reached)) - first
        return min(max(index, 0), self.goal.points - 1)

    @property
    def remaining(self) -> float:
        """Time to the end at the present speed [s]; 0 if it stands."""
        left = self.goal.trajectory.duration - self.reached
        return left / self.scale if self.scale > 0.0 else 0.0

    def set_override(self, override: float) -> None:
        """Another speed scale of the node."""
        self._override = override
        self._stream.set_scale(self.channel, self.scale)

    def pause(self) -> None:
        """Come to rest on the path."""
        self._paused = True
        self._stream.set_scale(self.channel, 0.0)

    def resume(self) -> None:
        """Go on."""
        self._paused = False
        self._stream.set_scale(self.channel, self.scale)

    def stop(self, error: RobotCellError) -> None:
        """Come to rest on the path and end with this error; the first one counts."""
        if self._done or self.error is not None:
            return
        self.error = error
        self._stream.stop(self.channel)
        if self.channel.ended:
            self._finish()

    def abort(self, error: RobotCellError) -> None:
        """End with this error at once, wherever the robot is. What was commanded of its joints counts no more."""
        if self._done:
            return
        self.error = self.error or error
        self._finish()
        self._stream.forget(self.channel.joints)

    def _finish(self) -> None:
        self._done = True
        self._stream.drop(self.channel)
        self._on_done()

    def tracking(self) -> Tracking | None:
        """Where the joints should be and are; None before all of them were measured."""
        found = self._measured()
        if found is None:
            return None
        last = self.channel.last
        actual = np.array([measurement.position for measurement in found])
        velocities = np.array([measurement.velocity for measurement in found])
        return Tracking(last.positions, last.velocities, actual, velocities)

    def _measured(self) -> list[Measurement] | None:
        found = [self._feedback.get(joint) for joint in self.goal.joints]
        return None if any(measurement is None for measurement in found) else found  # type: ignore[return-value]

    def poll(self) -> None:
        """Look at what was measured since, and go on to the next phase where it is time."""
        if self._done:
            return
        if self.channel.failure is not None:
            self.error = ExecutionError(f"commands cannot be published: {self.channel.failure}")
            self._finish()
            return
        if self.channel.ended and self.error is not None:
            self._finish()
            return
        if self.error is None:
            self._watch()

    def _watch(self) -> None:
        now = time.monotonic()
        age = self._feedback.age(self.goal.joints, now)
        tracking = self.tracking()
        if age > self._timeout or tracking is None:
            self.stop(lost(age, self._timeout))
            return
        self._account(tracking)
        if self.channel.ended:
            self._settle(tracking, now - age, now)
        else:
            self._follow(tracking)

    def _account(self, tracking: Tracking) -> None:
        worst = int(np.argmax(tracking.error))
        if tracking.error[worst] > self.account.max_tracking_error:
            self.account.max_tracking_error = float(tracking.error[worst])
            self.account.joint = self.goal.joints[worst]

    def _follow(self, tracking: Tracking) -> None:
        tolerances = self.goal.tolerances
        off = tracking.error > tolerances.path
        if off.any():
            self.stop(self._left(ON_PATH, tracking.error, tolerances.path, "position"))
            return
        speed = np.abs(tracking.actual_velocities - tracking.desired_velocities)
        if (speed > tolerances.path_velocity).any():
            self.stop(self._left(ON_PATH, speed, tolerances.path_velocity, "velocity"))

    def _settle(self, tracking: Tracking, measured_at: float, now: float) -> None:
        """The end has been commanded: done once a later measurement is within the goal's tolerances."""
        tolerances = self.goal.tolerances
        speed = np.abs(tracking.actual_velocities)
        self.account.goal_error = float(tracking.error.max())
        near = bool((tracking.error <= tolerances.goal).all())
        still = not bool((speed > tolerances.goal_velocity).any())  # not measured: NaN, which is not above
        if near and still and measured_at >= self.channel.ended_at:
            self._finish()
        elif now - self.channel.ended_at > tolerances.goal_time:
            if near and still:
                self.stop(lost(now - measured_at, self._timeout))
            elif near:
                self.stop(self._left(AT_GOAL, speed, tolerances.goal_velocity, "velocity"))
            else:
                self.stop(self._left(AT_GOAL, tracking.error, tolerances.goal, "position"))

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
