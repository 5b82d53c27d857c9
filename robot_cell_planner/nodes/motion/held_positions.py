"""Positions at which joints are held: those of other robots while one moves, and all between motions."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from ...errors import ExecutionError, FeedbackLostError, Value
from ..common.node import CellNode
from .command_stream import CommandStream
from .joint_feedback import JointFeedback

SILENCE = 0.25  # [s] default of joint_state_timeout
REPORT_PERIOD = 10.0  # [s] between warnings that the robot is not held


class HeldPositions:
    """Positions to hold, which are measured or were commanded.

    A measurement older than `silence` [s] is not commanded: the robot may have been moved since, and would jump to it.

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
        silence: float = SILENCE,
    ) -> None:
        self._node = node
        self._stream = stream
        self._feedback = feedback
        self._start_tolerance = start_tolerance
        self._passive = frozenset(passive)
        self._silence = silence

    def of_others(self) -> tuple[dict[str, float], dict[str, Value]]:
        """Return the positions at which joints are held that a new motion does not move, and the ages of measurements
        that are too old.

        Joints are held where they are measured, if that differs from their commands. Without a recent measurement, the
        position of a joint is unknown (NaN): it may have been moved since its last command, too.
        """
        commanded, now = self._stream.commanded, time.monotonic()
        held, old = {}, {}
        for joint, position in self._feedback.positions().items():
            last = commanded.get(joint)
            if last is not None and joint in self._passive:
                continue
            age = self._feedback.age((joint,), now)
            if age > self._silence:
                held[joint], old[joint] = math.nan, Value(f"age of {joint}", age, self._silence, "s")
            elif last is None or abs(last - position) > self._start_tolerance:
                held[joint] = position
        return held, old

    def hold_between_motions(self, joints: Sequence[str]) -> None:
        """Hold the robot where it is measured now, if the stream is to hold it and has no positions yet.

        All joints are held from the same time on: nothing is held as long as measurements of one are missing, or
        another node publishes commands.

        Args:
            joints: Those of every command; without any, all that were measured.
        """
        names = self._feedback.names
        joints = joints or names
        if not (self._stream.wants_positions and joints and set(joints) <= set(names)):
            return
        try:
            self._stream.check_alone()
            measured = self._feedback.fresh(joints, time.monotonic(), self._silence)
        except (ExecutionError, FeedbackLostError) as error:
            text = f"the robot is not held between motions: {error}"
            self._node.get_logger().warning(text, throttle_duration_sec=REPORT_PERIOD)
            return
        self._stream.hold_at({joint: found.position for joint, found in measured.items()})

    def end_if_shared(self) -> None:
        """End the hold between motions if another node publishes commands: the robot would execute both in turns."""
        commanded = self._stream.commanded
        if not (self._stream.holds and commanded):
            return
        try:
            self._stream.check_alone()
        except ExecutionError as error:
            self._node.get_logger().warning(f"the robot is no longer held between motions: {error}")
            self._stream.forget(tuple(commanded))
