"""Messages that are cached as long as the immutable values that they were made of stay the same objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")
M = TypeVar("M")


class CachedMessages(Generic[V, M]):
    """Messages of values by name. They may be part of several messages at once and must not be changed.

    make: the message of a name and its value.
    """

    def __init__(self, make: Callable[[str, V], M]) -> None:
        self._make = make
        self._cached: dict[str, tuple[V, M]] = {}

    def messages(self, values: Mapping[str, V]) -> list[M]:
        """One message per value, in their order; messages of names that are no longer there are dropped."""
        before = self._cached
        cached: dict[str, tuple[V, M]] = {}
        for name, value in values.items():
            entry = before.get(name)
            cached[name] = entry if entry is not None and entry[0] is value else (value, self._make(name, value))
        self._cached = cached
        return [message for _, message in cached.values()]
