"""Checks of the command topic: other publishers."""

from __future__ import annotations

from rclpy.node import Node

from ...errors import ExecutionError
from ..common.other_publishers import other_publishers

OTHER_PUBLISHER = "command topic"  # stage of the error if another node publishes commands
REMEDY = (
    "Stop the other publisher. If it is a controller of ros2_control, set `mode: controller` of the execution node: "
    "docs/ros2_control.md."
)


def check_alone(node: Node, topic: str) -> None:
    """Raise ExecutionError if a topic has a publisher besides a node."""
    others = other_publishers(node, topic)
    if others:
        text = f"{topic} has other publishers, whose commands the robot would also execute: {', '.join(others)}"
        raise ExecutionError(text, stage=OTHER_PUBLISHER, subjects=(topic, *others), remedy=REMEDY)
