"""A bounded cache for what is built from immutable values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class _Entry(Generic[V]):
    """A value, the objects whose identity it is found by, and whether it was asked for since it was last looked at."""

    __slots__ = ("objects", "used", "value")

    def __init__(self, objects: tuple[object, ...], value: V) -> None:
        self.objects, self.value, self.used = objects, value, False


class IdentityCache(Generic[V]):
    """A cache keyed by the identity of immutable values and by small hashable extras, that drops what was not asked for
    lately (the second-chance rule).

    Comparing or hashing a whole cell costs more than many an answer about it, so entries are found by the objects
    themselves. The cache holds them, hence an id cannot come to mean another object. Equal values that are not the
    same object only miss. Safe to use from several threads; two of them may build the same entry, and one is kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[tuple[object, ...], _Entry[V]] = OrderedDict()
        self._lock = Lock()

    def get(self, objects: tuple[object, ...], extras: tuple[object, ...], build: Callable[[], V]) -> V:
        """The entry of these objects and extras; `build` makes it if it is not there."""
        key = (*map(id, objects), *extras)
        entry = self._entries.get(key)
        if entry is not None:
            entry.used = True
            return entry.value
        value = build()
        with self._lock:
            self._entries[key] = _Entry(objects, value)
            while len(self._entries) > self._size:
                oldest, entry = self._entries.popitem(last=False)
                if entry.used:
                    entry.used = False
                    self._entries[oldest] = entry
        return value
