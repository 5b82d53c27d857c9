"""A bounded cache for what is built from immutable values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")
OWNERS = 16  # cells, or models of cells, that a cache holds


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
    same object only miss. Old cells are large: no more than `owners` of them, or of what was made of them, are held.
    Each one owns the entries that begin with it, and they go together. Safe to use from several threads; two of them
    may build the same entry, and one is kept.
    """

    def __init__(self, size: int, owners: int = OWNERS) -> None:
        self._size = size
        self._most_owners = owners
        self._entries: OrderedDict[tuple[object, ...], _Entry[V]] = OrderedDict()
        self._keys_of: OrderedDict[object, dict[tuple[object, ...], None]] = OrderedDict()
        self._lock = Lock()

    def get(self, objects: tuple[object, ...], extras: tuple[object, ...], build: Callable[[], V]) -> V:
        """The entry of these objects and extras; `build` makes it if it is not there. The first of the objects owns the
        entry."""
        key = (*map(id, objects), *extras)
        entry = self._entries.get(key)
        if entry is not None:
            entry.used = True
            return entry.value
        value = build()
        with self._lock:
            self._entries[key] = _Entry(objects, value)
            self._keys_of.setdefault(key[0], {})[key] = None
            self._drop_entries()
            self._drop_owners()
        return value

    def _drop_entries(self) -> None:
        while len(self._entries) > self._size:
            oldest, entry = self._entries.popitem(last=False)
            if entry.used:
                entry.used = False
                self._entries[oldest] = entry
            else:
                keys = self._keys_of[oldest[0]]
                del keys[oldest]
                if not keys:
                    del self._keys_of[oldest[0]]

    def _drop_owners(self) -> None:
        while len(self._keys_of) > self._most_owners:
            oldest, keys = self._keys_of.popitem(last=False)
            entries = [entry for key in keys if (entry := self._entries[key]).used]
            if entries:
                for entry in entries:
                    entry.used = False
                self._keys_of[oldest] = keys
            else:
                for key in keys:
                    del self._entries[key]
