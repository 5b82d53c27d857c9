"""A subscription that is polled by its owner, instead of waking the node for every message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile

M = TypeVar("M")


class _NeverExecuted(CallbackGroup):
    """The executor ignores its entities."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing to do."""


class PolledSubscription(Generic[M]):
    """Keeps messages, up to the depth of its quality of service, until they are taken.

    Waking an executor of rclpy for one message takes as long as reading ten of them.
    """

    def __init__(self, node: Node, kind: type[M], topic: str, quality: QoSProfile, *, raw: bool = False) -> None:
        """raw: use `take_raw` or `take_received` instead of `take`."""
        self._node = node
        self._subscription = node.create_subscription(
            kind, topic, lambda _: None, quality, callback_group=_NeverExecuted(), raw=raw
        )

    def take(self) -> Iterator[M]:
        """Return the messages received since the last call, oldest first."""
        return (message for message, _ in self._taken())

    def take_raw(self) -> Iterator[bytes]:
        """Return the serialized messages received since the last call, oldest first."""
        return (message for message, _ in self._taken())

    def take_received(self) -> Iterator[tuple[bytes, int]]:
        """Return the serialized messages received since the last call, oldest first, with the times at which they were
        received [ns since 1970]."""
        return ((message, info["received_timestamp"]) for message, info in self._taken())

    def destroy(self) -> None:
        """Destroy the subscription."""
        self._node.destroy_subscription(self._subscription)

    def _taken(self) -> Iterator[tuple[Any, Any]]:
        subscription = self._subscription
        with subscription.handle:
            while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
                yield taken
