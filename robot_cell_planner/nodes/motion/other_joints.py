"""Joints besides those of a motion, of other robots, tools and grippers: whether they move, and where they will be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from robot_cell_planner.msg import StateRef

from ...trajectory.prediction import Progress, ahead, predicted
from ...trajectory.trajectory import Trajectory
from ..conversions.basic import duration_from_message, duration_to_message
from .independent_robots import IndependentRobots
from .joint_feedback import STILL, JointFeedback, published_names
from .motion import Motion
from .trajectory_goals import MotionGoal

POINTS = 31  # of a path ahead with motions of other robots, so that a check takes little time
MAX_POINTS = 500  # of a path ahead that is checked as it is
PERIOD = 0.1  # [s] between checks
CHECK_TIME = 1.5  # [s] until a check notices that joints move and replies, on a busy computer


def check_known(feedback: JointFeedback, goal: MotionGoal, state: StateRef) -> None:
    """Check that no joint of the cell besides those of a validated goal is published with invalid positions.

    Collisions were, and would be, checked with an earlier position of it. Joints whose positions the state gives do not
    count.

    Raises:
        FeedbackLostError: There is such a joint.
    """
    if state.own_state:
        return
    error = feedback.unknown(goal.cell_joints.difference(goal.joints, given_joints(state)), time.monotonic())
    if error is not None:
        raise error


def given_joints(state: StateRef) -> frozenset[str]:
    """Return the names in joint_states of the joints whose positions a state gives, also by SET_JOINTS."""
    configurations = state.configuration, *(change.configuration for change in state.changes)
    return published_names(name for configuration in configurations for name in configuration.joint_names)


class OtherJoints:
    """The joints of a cell that may move while a motion does not move them: those of other robots, and those of tools
    and grippers, whose drivers others may use, too.

    motions: returns those that are running. horizon: time ahead that is checked [s], longer than a stop takes.
    """

    def __init__(
        self,
        robots: IndependentRobots,
        feedback: JointFeedback,
        motions: Callable[[], Sequence[Motion]],
        horizon: float,
    ) -> None:
        self._robots = robots
        self._feedback = feedback
        self._motions = motions
        self.horizon = horizon

    def watch(self, motion: Motion) -> JointWatch:
        """Return a watch of the joints besides those of a motion, which begins."""
        return JointWatch(self, motion)

    def positions(self, motion: Motion) -> dict[str, float]:
        """Return the measured positions of the joints of the cell besides those of a motion [rad or m].

        Others may be published as well, such as wheels or another cell's robot, and move all the time.
        """
        others = motion.goal.cell_joints.difference(motion.goal.joints)
        return {name: position for name, position in self._feedback.positions().items() if name in others}

    def check_known(self, motion: Motion, state: StateRef) -> None:
        """As the function `check_known`, for a motion that was validated in a state."""
        check_known(self._feedback, motion.goal, state)

    def measured_at(self, silent: bool) -> int:
        """Return a stamp that the measurements of all joints have reached which are published at present [ns]; silent:
        of all joints that were ever measured. 0 without any."""
        counted = self._feedback.measured() if silent else self._feedback.present()
        return min((found.stamp for found in counted.values()), default=0)

    def present(self, motion: Motion) -> bool:
        """Return whether there are other robots, which often move beside a motion, unlike tools."""
        own = self._robots.of_joints(motion.goal.joints)
        return any(self._robots.of_joint(name) not in own for name in self._feedback.positions())

    def motions(self, motion: Motion) -> list[Motion]:
        """Return the running motions of other robots, each joint once. Those of grippers are not among them, since they
        may end at an object before their goal."""
        found, joints = [], set(motion.goal.joints)
        for other in self._motions():
            if not other.passive and joints.isdisjoint(other.goal.joints):
                found.append(other)
                joints.update(other.goal.joints)
        return found


class JointWatch:
    """What one motion has to check because of joints that it does not move."""

    def __init__(self, others: OtherJoints, motion: Motion) -> None:
        self._others = others
        self._motion = motion
        self._checked_at = motion.goal.measured  # positions of the joints at the last check, at first the validation
        self._moved = False  # since the whole path was checked
        self._lacked = False  # whether the planning node lacked joint states as new as requested

    def present(self) -> bool:
        """Return whether there are other robots."""
        return self._others.present(self._motion)

    def check_known(self, state: StateRef) -> None:
        """Check, for a motion that was validated in a state, that the positions of the joints are known: as of
        `check_known`."""
        self._others.check_known(self._motion, state)

    def paths(self) -> list[Trajectory]:
        """Return the paths to check now: that of the motion, to be checked with the other joints where they are
        measured, and that of all motions together. None if no other joint moves, or the motion stands."""
        positions = self._others.positions(self._motion)
        if not self._others_move(positions):
            return []
        own, horizon = _progress(self._motion), self._others.horizon
        motions = list(map(_progress, self._others.motions(self._motion)))
        # Beside motions of other robots, a coarser path, so that a check takes less time. It may differ near an object.
        exact = None if motions else ahead(own, horizon, MAX_POINTS)
        alone = exact or predicted(own, (), horizon, POINTS)
        if alone is None:
            return []
        self._checked_at, self._moved = positions, True
        moving = [found for found in motions if found.scale > 0.0]
        together = predicted(own, moving, horizon, POINTS) if moving else None
        return [alone] if together is None else [alone, together]

    def measured_at(self) -> int:
        """Return the stamp that joint states must have reached where the whole path is checked [ns].

        It is that of the joints published at present. If the planning node lacked them in the check before, a joint of
        the cell may have fallen silent; its robot then counts as standing where it was measured last.
        """
        lacked, self._lacked = self._lacked, False
        return self._others.measured_at(silent=lacked)

    def check_again(self) -> None:
        """Let the check of the whole path be due again, for which joint states were too old."""
        self._moved = self._lacked = True

    def whole_is_due(self) -> bool:
        """Return, once, whether the other joints rest after they have moved, so that the whole path has to be checked
        with them where they are measured."""
        due = self._moved and not self._others_move(self._others.positions(self._motion))
        self._moved = self._moved and not due
        return due

    def _others_move(self, positions: dict[str, float]) -> bool:
        """Return whether other robots execute motions, or other joints have moved since the last check."""
        if self._others.motions(self._motion):
            return True
        return any(abs(now - self._checked_at.get(name, math.inf)) > STILL for name, now in positions.items())


def _progress(motion: Motion) -> Progress:
    """Return how far a motion has come, with the joints in the names of the cell."""
    # At a whole number of nanoseconds, as in messages, see `MonitoredMotion.rest`.
    reached = duration_from_message(duration_to_message(motion.reached))
    return Progress(motion.goal.named_trajectory, reached, motion.scale)
