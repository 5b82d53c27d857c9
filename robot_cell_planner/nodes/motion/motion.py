"""A motion that is under way, whoever gives the commands: how far it has come, and how it is ended."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...errors import RobotCellError
from ...trajectory.sampler import TrajectorySample
from .joint_feedback import JointFeedback
from .path_return import FeedbackTimeouts
from .trajectory_goals import MotionGoal

Array = NDArray[np.float64]
LONGEST = 1e9  # [s] that is told to be left
ON_PATH, AT_GOAL = "path tolerance", "goal tolerance"  # stages of tracking errors


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
    """The commands: how many, the longest time between two of them [s], how many came late, and when the first and last
    were sent, on the steady clock [s]. paused_at: when the last pause of the stream ended, on that clock."""

    commands: int = 0
    longest_interval: float = 0.0
    late: int = 0
    first: float = math.nan
    last: float = math.nan
    paused_at: float = -math.inf


@dataclass
class Account:
    """What happened: the largest tracking error [rad or m] that the path tolerance was held against, and its joint; the
    largest while the robot was on its way back after a pause, and how many such pauses there were; the largest error at
    the end, NaN before."""

    max_tracking_error: float = 0.0
    joint: str = ""
    max_returning_error: float = 0.0
    pauses: int = 0
    goal_error: float = math.nan


class Motion(ABC):
    """A goal that is being carried out. `on_done` is called once, when it has ended and no command will follow.

    `poll` must be called when measurements come, and at least some times within the feedback timeout; all of it in one
    thread. global_scale: the node's speed scale, besides the goal's own. timeouts: for missing joint states.
    passive: it is no motion along a path that could be held.
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

    # What it is doing.

    @property
    @abstractmethod
    def sent(self) -> Sent:
        """The commands."""

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
        """The speed scale that is asked for; 0 while it is paused."""
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
        """Time along the trajectory that is commanded [s]."""
        return self.last.parameter

    @property
    def remaining(self) -> float:
        """Time to the end at the present speed [s]; 0 if it stands."""
        left = max(self.goal.trajectory.duration - self.reached, 0.0)
        return min(left / self.scale, LONGEST) if self.scale > 0.0 else 0.0

    @property
    def point(self) -> int:
        """Index of the goal's own point that it is on the way to."""
        first = len(self.goal.trajectory) - self.goal.points
        index = int(np.searchsorted(self.goal.trajectory.times, self.reached)) - first
        return min(max(index, 0), self.goal.points - 1)

    def tracking(self) -> Tracking | None:
        """Where the joints should be and are; None before all of them were measured."""
        found = [measured for joint in self.goal.joints if (measured := self._feedback.get(joint)) is not None]
        if len(found) != len(self.goal.joints):
            return None
        actual = np.array([measurement.position for measurement in found])
        velocities = np.array([measurement.velocity for measurement in found])
        stamp = min(measurement.stamp for measurement in found)
        return Tracking(self._commanded_at(stamp), actual, velocities, stamp)

    def _commanded_at(self, stamp: int) -> TrajectorySample:
        """What had been commanded when the joints were measured [ns]."""
        return self.last

    # What is done with it.

    @abstractmethod
    def poll(self) -> None:
        """Look at what happened since, and go on to the next phase where it is time."""

    @abstractmethod
    def set_global_scale(self, global_scale: float) -> None:
        """Another speed scale of the node."""

    @abstractmethod
    def pause(self) -> None:
        """Come to rest on the path."""

    @abstractmethod
    def resume(self) -> None:
        """Go on."""

    @abstractmethod
    def _stop(self) -> None:
        """Begin to stop on the path."""

    @abstractmethod
    def _drop(self) -> None:
        """Give no more commands, now that it has ended."""

    def stop(self, error: RobotCellError) -> None:
        """Come to rest on the path and end with this error; the first one counts."""
        if self._done or self.error is not None:
            return
        self.error = error
        self._stop()
        self.poll()

    def abort(self, error: RobotCellError) -> None:
        """End with this error at once, wherever the robot is."""
        if not self._done:
            self.error = self.error or error
            self._finish()

    def _finish(self) -> None:
        if not self._done:
            self._done = True
            self._drop()
            self._on_done()

    def _account(self, tracking: Tracking) -> None:
        error = tracking.error
        worst = int(np.argmax(error))
        if error[worst] > self.account.max_tracking_error:
            self.account.max_tracking_error = float(error[worst])
            self.account.joint = self.goal.joints[worst]
