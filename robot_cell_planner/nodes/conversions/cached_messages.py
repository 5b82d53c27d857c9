"""Cache of messages by the identity of the immutable values that they were created from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")
M = TypeVar("M")


class CachedMessages(Generic[V, M]):
    """Cached messages of values, by name. They are shared and must not be modified.

    make: creates the message of a name and its value.
    """

    def __init__(self, make: Callable[[str, V], M]) -> None:
        self._make = make
        self._cached: dict[str, tuple[V, M]] = {}

    def messages(self, values: Mapping[str, V]) -> list[M]:
        """Return one message per value, in their order; messages of removed names are dropped."""
        before = self._cached
        cached: dict[str, tuple[V, M]] = {}
        for name, value in values.items():
            entry = before.get(name)
            cached[name] = entry if entry is not None and entry[0] is value else (value, self._make(name, value))
        self._cached = cached
        return [message for _, message in cached.values()]
