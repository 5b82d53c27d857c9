"""Bounds of the commands that wait: each joint has its own, so that a flood of one joint costs no other a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, MutableSequence
from typing import Generic, TypeVar

MessageT = TypeVar("MessageT")


class Quotas(Generic[MessageT]):
    """Bounds how many waiting messages each joint has; beyond it, the first one with this joint loses it.

    Args:
        waiting: Messages that wait, which the owner adds and removes.
        capacity: Maximum number of waiting messages of each joint.
        joints_of: Returns the joints of a message; none for one that is always kept.
        without: Returns a message without some of its joints.

    Attributes:
        thinned: Number of messages that lost joints so far.
    """

    def __init__(
        self,
        waiting: MutableSequence[MessageT],
        capacity: int,
        joints_of: Callable[[MessageT], frozenset[str]],
        without: Callable[[MessageT, frozenset[str]], MessageT],
    ) -> None:
        self._waiting, self._capacity = waiting, capacity
        self._joints_of, self._without = joints_of, without
        self._counts: Counter[str] = Counter()
        self.thinned = 0

    def added(self, message: MessageT) -> int:
        """Count a message that was added; return how many were removed, because they have no joint any more."""
        joints = self._joints_of(message)
        self._counts.update(joints)
        excessive = frozenset(joint for joint in joints if self._counts[joint] > self._capacity)
        return self._thin(excessive) if excessive else 0

    def removed(self, message: MessageT) -> None:
        """Count a message that was removed."""
        self._counts.subtract(self._joints_of(message))

    def clear(self) -> None:
        """Count no message, because all were removed."""
        self._counts.clear()

    def _thin(self, excessive: frozenset[str]) -> int:
        """Remove each of the joints from the first message that has it; return how many messages were removed."""
        index = removed = 0
        while excessive:
            joints = self._joints_of(self._waiting[index])
            lost = joints & excessive
            if lost == joints != frozenset():
                del self._waiting[index]
                removed += 1
            else:
                if lost:
                    self._waiting[index] = self._without(self._waiting[index], lost)
                index += 1
            self._counts.subtract(lost)
            self.thinned += bool(lost)
            excessive -= lost
        return removed
