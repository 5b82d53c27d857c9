"""A subscription that is polled by its owner, instead of waking the node for every message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

M = TypeVar("M")
# [bytes] of a message of any topic that a robot needs: some thousand joints or transforms, read in some 30 ms. A larger
# one would keep a node from everything else for seconds.
MAX_SIZE = 500_000
REPORT_PERIOD = 10.0  # [s] between warnings of messages that are too large


class _ExecutedOnce(CallbackGroup):
    """The executor ignores its entities, except for one message after `waits` was set."""

    waits = False

    def can_execute(self, entity: Any) -> bool:
        return self.waits

    def beginning_execution(self, entity: Any) -> bool:
        waits, self.waits = self.waits, False
        return waits

    def ending_execution(self, entity: Any) -> None:
        """Nothing to do."""


class PolledSubscription(Generic[M]):
    """Keeps messages, up to the depth of its quality of service, until they are taken.

    Taking returns at most as many messages as are kept: a publisher that sends faster than its messages are handled
    would otherwise keep the owner from everything else.

    Waking an executor of rclpy for one message takes as long as reading ten of them.
    """

    def __init__(
        self,
        node: Node,
        kind: type[M],
        topic: str,
        quality: QoSProfile,
        *,
        raw: bool = False,
        max_size: int | None = None,
        on_message: Callable[[], None] | None = None,
    ) -> None:
        """raw: use `take_raw` or `take_received` instead of `take`. max_size: of serialized messages [bytes]; larger
        ones are refused before they are converted, reported and counted. on_message: see `wait_for_message`."""
        self._node = node
        self._kind, self._converts = kind, max_size is not None and not raw
        self._max_size = max_size
        self.refused = 0  # messages that were too large
        self._group = _ExecutedOnce()
        self._first: list[tuple[Any, Any]] = []  # the message that was waited for
        self._on_message = on_message
        self._depth = quality.depth
        self._subscription = node.create_subscription(
            kind, topic, self._keep_first, quality, callback_group=self._group, raw=raw or self._converts
        )

    def wait_for_message(self) -> None:
        """Let the next message wake the executor, which then calls `on_message`. Call it in the executor."""
        self._group.waits = True

    def _keep_first(self, message: Any, info: Any) -> None:
        self._first.append((message, info))
        if self._on_message is not None:
            self._on_message()

    def take(self) -> Iterator[M]:
        """Return the messages received since the last call, oldest first."""
        if self._converts:
            return (deserialize_message(message, self._kind) for message, _ in self._taken())
        return (message for message, _ in self._taken())

    def take_raw(self) -> Iterator[bytes]:
        """Return the serialized messages received since the last call, oldest first."""
        return (message for message, _ in self._taken())

    def take_received(self) -> Iterator[tuple[bytes, int]]:
        """Return the serialized messages received since the last call, oldest first, with the times at which they were
        received [ns since 1970]."""
        return ((message, info["received_timestamp"]) for message, info in self._taken())

    @property
    def publishers(self) -> int:
        """Number of publishers of the topic."""
        # rclpy does not apply the rules that rename topics to the name that is counted.
        return self._node.count_publishers(self._subscription.topic_name)

    def destroy(self) -> None:
        """Destroy the subscription."""
        self._node.destroy_subscription(self._subscription)

    def _taken(self) -> Iterator[tuple[Any, Any]]:
        first, self._first = self._first, []
        yield from (each for each in first if not self._is_refused(each[0]))
        subscription = self._subscription
        with subscription.handle:
            for _ in range(self._depth):
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    return
                if not self._is_refused(taken[0]):
                    yield taken

    def _is_refused(self, message: Any) -> bool:
        """Return whether a message is too large, and report it."""
        if self._max_size is None or len(message) <= self._max_size:
            return False
        self.refused += 1
        report_too_large(self._node, self._subscription.topic_name, len(message), self._max_size)
        return True


def report_too_large(node: Node, topic: str, size: int, limit: int) -> None:
    """Warn that a message is ignored, since it is larger than a limit [bytes]."""
    text = f"a message of {topic} is ignored: it has {size} bytes, expected at most {limit}"
    node.get_logger().warning(text, throttle_duration_sec=REPORT_PERIOD)
