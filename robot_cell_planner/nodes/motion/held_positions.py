"""Positions at which joints are held: those of other robots while one moves, and all between motions."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...errors import ExecutionError, FeedbackLostError, TrajectoryStartError, Value
from ...model.units import ANY_JOINT
from ..common.node import CellNode
from .command_stream import CommandStream
from .commanded_joints import ForgottenCommand
from .joint_feedback import STOOD, JointFeedback
from .motion import Array
from .path_return import FeedbackTimeouts

TIMEOUTS = FeedbackTimeouts(0.25, 2.0, 2.0)  # defaults of the parameters
REPORT_PERIOD = 10.0  # [s] between warnings that the robot is not held


class HeldPositions:
    """Positions to hold, which are measured or were commanded.

    A measurement older than `timeouts.silence` is not commanded: the robot may have been moved since, and would jump to
    it. Nor is a robot held any longer whose measurements are lost. One that still moves, as while it brakes after an
    emergency stop, would be led back to where it was measured. Between motions, each of several robots is held or not
    by its own measurements.

    A gripper that holds an object is commanded to a position that it does not reach. If its command is forgotten, as by
    an emergency stop, and it stays where it was measured then, it is held at that command again: it would let the
    object fall at the measured position. One that was moved meanwhile, as by hand, is held where it is measured.

    Args:
        start_tolerance: Maximum distance of a joint from its last command to count as being there [rad or m].
        passive: Joints whose measured positions may differ from their commands (a gripper that holds an object).
    """

    def __init__(
        self,
        node: CellNode,
        stream: CommandStream,
        feedback: JointFeedback,
        start_tolerance: float,
        passive: Sequence[str] = (),
        timeouts: FeedbackTimeouts = TIMEOUTS,
    ) -> None:
        self._node = node
        self._stream = stream
        self._feedback = feedback
        self._start_tolerance = start_tolerance
        self._passive = frozenset(passive)
        self._timeouts = timeouts
        self._near: dict[str, tuple[float, dict[str, float]]] = {}  # where robots stay, and since when [s]
        self._left_at: dict[ForgottenCommand, float] = {}  # positions of grippers when these were forgotten [rad or m]

    def of_others(self) -> tuple[dict[str, float], dict[str, Value]]:
        """Return the positions at which joints are held that a new motion does not move, and the ages of measurements
        that are too old.

        Joints are held where they are measured, if that differs from their commands. Without a recent measurement, the
        position of a joint is unknown (NaN): it may have been moved since its last command, too.
        """
        commanded, positions = self._stream.commanded, self._feedback.positions()
        joints = [joint for joint in positions if joint not in self._passive or joint not in commanded]
        old = self._too_old(joints, self._timeouts.silence)
        moved = [joint for joint in joints if not self._is_at(positions[joint], commanded.get(joint))]
        present = {**{joint: positions[joint] for joint in moved}, **self.gripping}
        return {**present, **dict.fromkeys(old, math.nan)}, old

    @property
    def gripping(self) -> dict[str, float]:
        """Return the forgotten commands of grippers that stay where they were when these were forgotten [rad or m]."""
        commanded, measured = self._stream.commanded, self._feedback.positions()
        return {
            joint: last.position
            for joint, last in self._stream.forgotten.items()
            if joint not in commanded and self._is_at(measured.get(joint, math.nan), self._left_at.get(last))
        }

    def withheld(self, moving: Sequence[str]) -> dict[str, FeedbackLostError]:
        """Return the joints of other robots that are measured whole turns from their last commands, with errors about
        them. These robots get no commands while joints of another one move: they would be held at the measured
        positions, and turn by those turns if their drivers wrap. Their last commands are remembered.

        Raises:
            FeedbackLostError: There is such a joint of a robot that moves, or of no robot.
        """
        turned = {joint: error for joint, error in self._turned().items() if joint not in moving}
        for joint, error in turned.items():
            if self._stream.robot_of(joint) in {"", *map(self._stream.robot_of, moving)}:
                raise error
        return turned

    def _turned(self) -> dict[str, FeedbackLostError]:
        """Return errors about the joints that are held, but measured whole turns from their last commands."""
        commanded, found = self._stream.commanded, {}
        for joint in sorted(self._stream.held.intersection(commanded).difference(self._passive)):
            measured = self._feedback.get(joint)
            if measured is not None:
                at, last = measured.position, commanded[joint]
                found[joint] = self._feedback.wraparound.turned(joint, at, last, self._start_tolerance)
        return {joint: error for joint, error in found.items() if error is not None}

    def forget(self) -> None:
        """Forget the commands of all joints, since robots may be moved by other means."""
        self._forget(tuple(self._stream.commanded))

    def _forget(self, joints: Sequence[str]) -> None:
        """Forget the commands of joints; also notes where grippers are whose commands the stream has forgotten."""
        self._stream.forget(joints)
        measured = self._feedback.positions()
        self._left_at = {
            last: self._left_at.get(last, measured.get(joint, math.nan))
            for joint, last in self._stream.forgotten.items()
        }

    def unsettled(self) -> frozenset[str]:
        """Return the joints of `of_others` whose measurements are late, or that still move. Lost ones are not among
        them: their robot may be switched off for long. Nor are those that are measured whole turns from their commands,
        which are not held there."""
        positions, old = self.of_others()
        late = [joint for joint, age in old.items() if age.value <= self._timeouts.lost_after]
        measured = positions.keys() - old.keys() - self._passive - self._turned().keys()
        return frozenset(late).union(joint for joint in measured if self._feedback.stood_for((joint,)) < STOOD)

    def present(self, joints: Sequence[str], positions: Array) -> Array:
        """Return where joints are: at positions (dof,), such as their last commands, unless they are measured elsewhere
        [rad or m]."""
        measured = self._feedback.positions()
        at = zip(joints, positions.tolist(), strict=True)
        return np.array(
            [
                position
                if joint in self._passive or self._is_at(measured.get(joint, position), position)
                else measured[joint]
                for joint, position in at
            ]
        )

    def away_from(self, positions: Mapping[str, float], units: Mapping[str, str]) -> TrajectoryStartError | None:
        """Return the error for the first joint that is measured away from its position [rad or m]; None if none is.
        units: of joints, as far as they are known."""
        for joint, position in positions.items():
            measured = self._feedback.get(joint)
            if measured is not None and joint not in self._passive and not self._is_at(measured.position, position):
                return moved_away(
                    joint, abs(measured.position - position), self._start_tolerance, units.get(joint, ANY_JOINT)
                )
        return None

    def _too_old(self, joints: Iterable[str], limit: float) -> dict[str, Value]:
        """Return the ages of measurements of joints above a limit [s]."""
        now = time.monotonic()
        ages = {joint: self._feedback.age((joint,), now) for joint in joints}
        return {name: Value(f"age of {name}", age, limit, "s") for name, age in ages.items() if age > limit}

    def _is_at(self, position: float, commanded: float | None) -> bool:
        return commanded is not None and abs(commanded - position) <= self._start_tolerance

    def hold_between_motions(self, joints: Sequence[str]) -> None:
        """Hold each robot where it is measured now, if the stream is to hold it and has no positions yet.

        All joints of a robot are held from the same time on: it is not held as long as measurements of one are missing,
        one moves, or another node publishes commands.

        Args:
            joints: Those of every command; without any, all that were measured.
        """
        if not self._stream.holds:
            return
        positions, commanded = self._feedback.positions(), self._stream.commanded
        reasons: list[str] = []
        for robot, members in self._by_robot(joints or tuple(positions)).items():
            known = [joint in commanded for joint in members]
            if (all(known) if joints else any(known)) or not set(members) <= set(positions):
                self._near.pop(robot, None)
                continue
            if reason := self._reason_not_to_hold(members, self._timeouts.silence):
                self._near.pop(robot, None)
                reasons.append(f"{_subject(robot)} is not held between motions: {reason}")
            elif self._rests(robot, {joint: positions[joint] for joint in members}):
                gripping = self.gripping
                self._stream.hold_at({joint: gripping.get(joint, positions[joint]) for joint in members})
        if reasons:
            self._node.get_logger().warning("; ".join(reasons), throttle_duration_sec=REPORT_PERIOD)

    def _rests(self, robot: str, positions: Mapping[str, float]) -> bool:
        """Return whether the joints of a robot rest at measured positions [rad or m].

        Joints whose measurements are too noisy to show it have to stay within the start tolerance until measurements
        would count as lost.
        """
        active = {joint: position for joint, position in positions.items() if joint not in self._passive}
        if self._feedback.stood_for(tuple(active)) >= STOOD:
            return True
        now = time.monotonic()
        since, near = self._near.get(robot, (now, active))
        if not all(self._is_at(position, near.get(joint)) for joint, position in active.items()):
            since, near = now, active
        self._near[robot] = since, near
        return now - since >= self._timeouts.lost_after

    def release_lost(self) -> None:
        """Command no robot any longer that stands while another one moves, if its measurements are lost: it would jump
        to its last command when it is back."""
        held = self._stream.held
        for robot, members in self._by_robot(self._stream.commanded).items():
            active = [joint for joint in members if joint not in self._passive]
            old = self._too_old(active, self._timeouts.lost_after) if held.issuperset(members) else {}
            if old:
                text = f"joint_states are too old: {', '.join(map(str, old.values()))}"
                self._node.get_logger().warning(f"{_subject(robot)} gets no commands any longer: {text}")
                self._forget(members)

    def check(self) -> None:
        """End the hold between motions if another node publishes commands, which the robots would execute in turns with
        those of the hold. End that of a robot whose measurements are lost: it would jump to its last command when it is
        back."""
        if not self._stream.holds:
            return
        for robot, members in self._by_robot(tuple(self._stream.commanded)).items():
            active = [joint for joint in members if joint not in self._passive]
            if reason := self._reason_not_to_hold(active, self._timeouts.lost_after):
                self._node.get_logger().warning(f"{_subject(robot)} is no longer held between motions: {reason}")
                self._forget(members)

    def _by_robot(self, joints: Iterable[str]) -> dict[str, list[str]]:
        robots: dict[str, list[str]] = {}
        for joint in joints:
            robots.setdefault(self._stream.robot_of(joint), []).append(joint)
        return robots

    def _reason_not_to_hold(self, joints: Iterable[str], max_age: float) -> str:
        """Return why joints must not be held between motions: old measurements [s], or other publishers; "" if they
        may be."""
        old = self._too_old(joints, max_age)
        if old:
            return f"joint_states are too old: {', '.join(map(str, old.values()))}"
        try:
            self._stream.check_alone()
        except ExecutionError as error:
            return str(error)
        return ""


def _subject(robot: str) -> str:
    return f"robot {robot.removesuffix('/')}" if robot else "the robot"


def moved_away(joint: str, away: float, tolerance: float, unit: str = ANY_JOINT) -> TrajectoryStartError:
    """Return the error for a joint that was moved since the start of its motion was set; distances in its unit."""
    values = (Value(f"distance of {joint}", away, tolerance, unit),)
    text = f"{joint} has moved away from the start of the trajectory"
    return TrajectoryStartError(text, stage="execution", subjects=(joint,), values=values)
