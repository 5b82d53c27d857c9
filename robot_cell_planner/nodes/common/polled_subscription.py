"""A subscription that is looked at when its owner has time for it, instead of waking the node for every message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile

M = TypeVar("M")


class _NeverExecuted(CallbackGroup):
    """Its entities are no business of the executor's."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing was begun."""


class PolledSubscription(Generic[M]):
    """Keeps messages, as many as the depth of its quality of service, until they are taken.

    An executor of rclpy takes as long to wake up for a message as it takes to read ten of them.
    """

    def __init__(self, node: Node, kind: type[M], topic: str, quality: QoSProfile, *, raw: bool = False) -> None:
        """raw: for `take_raw` instead of `take`."""
        self._subscription = node.create_subscription(
            kind, topic, lambda _: None, quality, callback_group=_NeverExecuted(), raw=raw
        )

    def take(self) -> Iterator[M]:
        """All messages that have come since, oldest first."""
        yield from self._taken()

    def take_raw(self) -> Iterator[bytes]:
        """All messages that have come since, as they were serialized, oldest first."""
        yield from self._taken()

    def _taken(self) -> Iterator[Any]:
        subscription = self._subscription
        with subscription.handle:
            while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
                yield taken[0]
