"""A bounded cache for what is built from immutable values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class IdentityCache(Generic[V]):
    """Least recently used cache, keyed by the identity of immutable values and by small hashable extras.

    Comparing or hashing a whole cell costs more than many an answer about it, so entries are found by the objects
    themselves. The cache holds them, hence an id cannot come to mean another object. Equal values that are not the
    same object only miss. Safe to use from several threads; two of them may build the same entry, and one is kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[tuple[object, ...], tuple[tuple[object, ...], V]] = OrderedDict()
        self._lock = Lock()

    def get(self, objects: tuple[object, ...], extras: tuple[object, ...], build: Callable[[], V]) -> V:
        """The entry of these objects and extras; `build` makes it if it is not there."""
        key = (*map(id, objects), *extras)
        entry = self._entries.get(key)
        if entry is not None:
            with self._lock:
                if key in self._entries:
                    self._entries.move_to_end(key)
            return entry[1]
        value = build()
        with self._lock:
            self._entries[key] = (objects, value)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return value
