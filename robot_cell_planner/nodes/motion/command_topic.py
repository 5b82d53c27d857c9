"""Checks of the command topic: other publishers, and the time of a command."""

from __future__ import annotations

import math
from collections.abc import Callable

from rclpy.node import Node
from rclpy.time import Time

from ...errors import ExecutionError
from ..common.other_publishers import other_publishers

OTHER_PUBLISHER = "command topic"  # stage of the error if another node publishes commands
# [s] that may pass between reading the time of trajectories and that of messages; so often it is tried to do better.
READING, READINGS = 2e-5, 5


def check_alone(node: Node, topic: str) -> None:
    """Raise ExecutionError if a topic has a publisher besides a node."""
    others = other_publishers(node, topic)
    if others:
        text = f"{topic} has other publishers, whose commands the robot would also execute: {', '.join(others)}"
        raise ExecutionError(text, stage=OTHER_PUBLISHER, subjects=(topic, *others))


def moment(clock: Callable[[], float], node: Node) -> tuple[float, Time]:
    """Return the present time on a clock [s] and on the clock of a node's messages, read as simultaneously as possible:
    another thread may run between the two reads."""
    shortest, best = math.inf, (math.nan, Time())
    for _ in range(READINGS):
        before = clock()
        stamp = node.get_clock().now()
        after = clock()
        if after - before < shortest:
            shortest, best = after - before, (0.5 * (before + after), stamp)
        if shortest <= READING:
            break
    return best
