"""Robots besides that of a motion: whether they move, and where they will be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...trajectory.prediction import Progress, predicted
from ...trajectory.trajectory import Trajectory
from .independent_robots import IndependentRobots
from .joint_feedback import STILL, JointFeedback
from .motion import Motion

POINTS = 31  # of a path ahead, so that a check takes little time
PERIOD = 0.1  # [s] between checks


class OtherRobots:
    """The robots of a cell that may move independently. motions: returns those that are running. passive: joints that
    do not count, such as those of grippers. horizon: time ahead that is checked [s], longer than a stop takes."""

    def __init__(
        self,
        robots: IndependentRobots,
        feedback: JointFeedback,
        motions: Callable[[], Sequence[Motion]],
        passive: Sequence[str],
        horizon: float,
    ) -> None:
        self.robots = robots
        self._feedback = feedback
        self._motions = motions
        self._passive = frozenset(passive)
        self.horizon = horizon
        self._executed: set[str] = set()  # joints of motions

    def watch(self, motion: Motion) -> RobotWatch:
        """Return a watch of the robots besides those of a motion, which begins."""
        if not motion.passive:
            self._executed.update(motion.goal.joints)
        return RobotWatch(self, motion)

    def positions(self, motion: Motion) -> dict[str, float]:
        """Return the measured positions of the joints of other robots [rad or m].

        A joint without a prefix is one of a robot if it has been moved by a motion: others are those of tools.
        """
        others = self._positions_besides(motion)
        return {name: others[name] for name in others if self.robots.of_joint(name) or name in self._executed}

    def measured_at(self, silent: bool) -> int:
        """Return a stamp that the measurements of all joints have reached which are published at present [ns]; silent:
        of all joints that were ever measured. 0 without any."""
        counted = self._feedback.measured() if silent else self._feedback.present()
        return min((found.stamp for found in counted.values()), default=0)

    def present(self, motion: Motion) -> bool:
        """Return whether there may be other robots."""
        return bool(self.robots.prefixes) and bool(self._positions_besides(motion))

    def _positions_besides(self, motion: Motion) -> dict[str, float]:
        """Return the measured positions of joints besides those of the robots of a motion, and passive ones."""
        own = self.robots.of_joints(motion.goal.joints)
        return {
            name: position
            for name, position in self._feedback.positions().items()
            if self.robots.of_joint(name) not in own and name not in self._passive
        }

    def motions(self, motion: Motion) -> list[Motion]:
        """Return the running motions of other robots, each joint once."""
        found, joints = [], set(motion.goal.joints)
        for other in self._motions():
            if not other.passive and joints.isdisjoint(other.goal.joints):
                found.append(other)
                joints.update(other.goal.joints)
        return found


class RobotWatch:
    """Tells one motion what to check because of other robots."""

    def __init__(self, others: OtherRobots, motion: Motion) -> None:
        self._others = others
        self._motion = motion
        self._checked_at: dict[str, float] = {}  # positions of the other robots at the last check
        self._moved = False  # since the whole path was checked
        self._lacked = False  # whether the planning node lacked joint states as new as requested

    def present(self) -> bool:
        """Return whether there are other robots."""
        return self._others.present(self._motion)

    def paths(self) -> list[Trajectory]:
        """Return the paths to check now: that of the motion, to be checked with the other robots where they are
        measured, and that of all motions together. None if no other robot moves, or the motion stands."""
        positions = self._others.positions(self._motion)
        own = _progress(self._motion)
        alone = predicted(own, (), self._others.horizon, POINTS)
        if alone is None or not self.present() or not self._others_move(positions):
            return []
        self._checked_at, self._moved = positions, True
        moving = [found for found in map(_progress, self._others.motions(self._motion)) if found.scale > 0.0]
        together = predicted(own, moving, self._others.horizon, POINTS) if moving else None
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
        """Return, once, whether the other robots rest after they have moved, so that the whole path has to be checked
        with them where they are measured."""
        due = self._moved and not self._others_move(self._others.positions(self._motion))
        self._moved = self._moved and not due
        return due

    def _others_move(self, positions: dict[str, float]) -> bool:
        """Return whether other robots execute motions, or have moved since the last check."""
        if self._others.motions(self._motion):
            return True
        return any(abs(now - self._checked_at.get(name, math.inf)) > STILL for name, now in positions.items())


def _progress(motion: Motion) -> Progress:
    """Return how far a motion has come, with the joints in the names of the cell."""
    return Progress(motion.goal.named_trajectory, motion.reached, motion.scale)
