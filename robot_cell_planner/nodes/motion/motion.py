"""A running motion, by either kind of drive: its progress and control."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...errors import RobotCellError
from ...trajectory.sampler import TrajectorySample
from ...trajectory.tracking import Check, FaultRecord, SupervisedMotion, TrackingLog, TrackingRow, supervised
from .joint_feedback import JointFeedback
from .path_return import FeedbackTimeouts
from .trajectory_goals import MotionGoal

Array = NDArray[np.float64]
LONGEST = 1e9  # [s] maximum remaining time in feedback


class Phase(str, Enum):
    MOVING = "moving"
    PAUSED = "paused"
    STOPPING = "stopping"
    SETTLING = "settling"
    DONE = "done"


@dataclass(frozen=True, eq=False)
class Tracking:
    """Commanded and measured positions and velocities of the joints (dof,); NaN: velocities that are not measured.
    stamp: of the oldest measurement among them [ns]."""

    desired: TrajectorySample
    actual: Array
    actual_velocities: Array
    stamp: int = 0

    @property
    def difference(self) -> Array:
        """Desired minus actual positions (dof,)."""
        return self.desired.positions - self.actual

    @property
    def error(self) -> Array:
        return np.abs(self.difference)


@dataclass
class Sent:
    """Statistics of commands: number, longest interval between two [s], number of late ones, and times of the first and
    last on the steady clock [s]. paused_at: end of the last pause of the stream, on that clock."""

    commands: int = 0
    longest_interval: float = 0.0
    late: int = 0
    first: float = math.nan
    last: float = math.nan
    paused_at: float = -math.inf


@dataclass
class Account:
    """Errors of a motion: the maximum tracking error [rad or m] checked against the path tolerance, and its joint; the
    maximum while the robot returned to its path after a pause, and the number of pauses; the maximum error at the end,
    NaN before."""

    max_tracking_error: float = 0.0
    joint: str = ""
    max_returning_error: float = 0.0
    pauses: int = 0
    goal_error: float = math.nan


class Motion(ABC):
    """A goal that is being executed. `on_done` is called once, when it has ended and no command will follow.

    `poll` must be called after new measurements, and several times within the feedback timeout; all calls in one
    thread. global_scale: the node's speed scale, in addition to the goal's. timeouts: for missing joint states.
    passive: not a motion along a path on which it could be held.
    """

    passive = False

    def __init__(
        self,
        goal: MotionGoal,
        feedback: JointFeedback,
        *,
        global_scale: float,
        timeouts: FeedbackTimeouts,
        on_done: Callable[[], None],
    ) -> None:
        self.goal = goal
        self.error: RobotCellError | None = None
        self.account = Account()
        self._feedback = feedback
        self._global_scale = global_scale
        self._timeouts = timeouts
        self._on_done = on_done
        self._paused = False
        self._done = False
        self._log = TrackingLog()
        self._found: RobotCellError | None = None  # violation by the last row

    # State.

    @property
    @abstractmethod
    def sent(self) -> Sent:
        """Statistics of the commands."""

    @property
    @abstractmethod
    def last(self) -> TrajectorySample:
        """The last command."""

    @property
    @abstractmethod
    def _ended(self) -> bool:
        """Whether its end, or rest after a stop, has been commanded."""

    @property
    def scale(self) -> float:
        """The requested speed scale; 0 while it is paused."""
        return 0.0 if self._paused else self.goal.speed_scale * self._global_scale

    @property
    def phase(self) -> Phase:
        if self._done:
            return Phase.DONE
        if self.error is not None:
            return Phase.STOPPING
        if self._ended:
            return Phase.SETTLING
        return Phase.MOVING if self.scale > 0.0 else Phase.PAUSED

    @property
    def reached(self) -> float:
        """Commanded time along the trajectory [s]."""
        return self.last.parameter

    @property
    def remaining(self) -> float:
        """Time to the end at the present speed [s]; 0 if it is at rest."""
        left = max(self.goal.trajectory.duration - self.reached, 0.0)
        return min(left / self.scale, LONGEST) if self.scale > 0.0 else 0.0

    @property
    def point(self) -> int:
        """Index of the next point of the goal."""
        first = len(self.goal.trajectory) - self.goal.points
        index = int(np.searchsorted(self.goal.trajectory.times, self.reached)) - first
        return min(max(index, 0), self.goal.points - 1)

    def tracking(self) -> Tracking | None:
        """Return commanded and measured joints; None before all of them were measured."""
        found = [measured for joint in self.goal.joints if (measured := self._feedback.get(joint)) is not None]
        if len(found) != len(self.goal.joints):
            return None
        actual = np.array([measurement.position for measurement in found])
        velocities = np.array([measurement.velocity for measurement in found])
        stamp = min(measurement.stamp for measurement in found)
        return Tracking(self._commanded_at(stamp), actual, velocities, stamp)

    def _commanded_at(self, stamp: int) -> TrajectorySample:
        """Return the command at the time of a measurement [ns]."""
        return self.last

    # Control.

    @abstractmethod
    def poll(self) -> None:
        """Process new measurements, and enter the next phase if due."""

    @abstractmethod
    def set_global_scale(self, global_scale: float) -> None:
        """Change the speed scale of the node."""

    @abstractmethod
    def pause(self) -> None:
        """Come to rest on the path."""

    @abstractmethod
    def resume(self) -> None:
        """Resume."""

    @abstractmethod
    def _stop(self) -> None:
        """Start a stop on the path."""

    @abstractmethod
    def _drop(self) -> None:
        """Stop commanding after the end."""

    def stop(self, error: RobotCellError) -> None:
        """Come to rest on the path and end with this error; the first one counts."""
        if self._done or self.error is not None:
            return
        self.error = error
        self._stop()
        self.poll()

    def abort(self, error: RobotCellError) -> None:
        """End with this error at once, without a stop."""
        if not self._done:
            self.error = self.error or error
            self._finish()

    def _finish(self) -> None:
        if not self._done:
            self._done = True
            self._drop()
            self._on_done()

    def _record(self, check: Check, tracking: Tracking | None, age: float = 0.0) -> TrackingRow:
        """Record a measurement and what it is compared with."""
        desired = self.last if check is Check.GOAL or tracking is None else tracking.desired
        unknown: Array = np.full(len(self.goal.joints), math.nan)
        row = TrackingRow(
            check,
            time.monotonic(),
            self.reached,
            age,
            desired.positions,
            desired.velocities,
            unknown if tracking is None else tracking.actual,
            unknown if tracking is None else tracking.actual_velocities,
        )
        self._log.add(row, failed=self.error is not None)
        return row

    def supervised(self) -> SupervisedMotion:
        """Return what the supervision has seen, for a case file."""
        error = None if self.error is self._found else self.error
        return supervised(
            self.goal.named_trajectory,
            self.goal.joints,
            self.goal.tolerances,
            self._log.rows(),
            silence=self._timeouts.silence,
            lost_after=self._timeouts.lost_after,
            speed_scale=self.goal.speed_scale,
            interruption=None if error is None else FaultRecord.of(error),
        )

    def _account(self, tracking: Tracking) -> None:
        error = tracking.error
        worst = int(np.argmax(error))
        if error[worst] > self.account.max_tracking_error:
            self.account.max_tracking_error = float(error[worst])
            self.account.joint = self.goal.joints[worst]
