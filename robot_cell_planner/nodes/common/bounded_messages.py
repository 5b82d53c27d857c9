"""Subscriptions that refuse messages which are too large before they are converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from .polled_subscription import MAX_SIZE, report_too_large

M = TypeVar("M")


def subscribe_bounded(
    node: Node, kind: type[M], topic: str, on_message: Callable[[M], object], quality: QoSProfile
) -> None:
    """Call `on_message` with the messages of a topic of at most MAX_SIZE bytes; larger ones are reported."""

    def convert(data: Any) -> None:  # bytes: rclpy declares no callbacks of raw messages
        if len(data) > MAX_SIZE:
            report_too_large(node, topic, len(data), MAX_SIZE)
        else:
            on_message(deserialize_message(data, kind))

    node.create_subscription(kind, topic, convert, quality, raw=True)
