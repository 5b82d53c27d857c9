"""Bounded cache of objects that are built from immutable values.

Functions of small values, such as a shape, are cached by `functools.lru_cache`. Everything that is built from a cell or
another large value is cached by `IdentityCache`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import RLock
from typing import Generic, TypeVar

V = TypeVar("V")
MAX_OWNERS = 16  # max number of cells or cell models that own entries


class _Entry(Generic[V]):
    """Cache entry: the value, and the objects that identify it."""

    __slots__ = ("objects", "value")

    def __init__(self, objects: tuple[object, ...], value: V) -> None:
        self.objects, self.value = objects, value


class IdentityCache(Generic[V]):
    """Cache keyed by object identity and small hashable extras, with eviction of what was not used for longest.

    Entries are looked up by identity because comparing or hashing a whole cell costs more than many queries about it.
    The cache holds references to the objects, so an id cannot be reused. An equal value that is not the same object is
    a miss. Old cells are large: at most `owners` cells, or objects derived from them, are retained. An owner is the
    first key object of its entries; an owner and its entries are evicted together. Thread-safe; if two threads build
    the same entry, one of the two is retained.
    """

    def __init__(self, size: int, owners: int = MAX_OWNERS) -> None:
        self._size = size
        self._max_owners = owners
        # Both from the least recently used to the most recently used one. The keys of an entry are there before it and
        # after it, so that an exception at any time, such as KeyboardInterrupt, leaves no entry without them.
        self._entries: OrderedDict[tuple[object, ...], _Entry[V]] = OrderedDict()
        self._keys_of: OrderedDict[object, dict[tuple[object, ...], None]] = OrderedDict()
        # Reentrant: garbage collection and handlers of signals may call the cache while their thread holds the lock.
        self._lock = RLock()

    def get(self, objects: tuple[object, ...], extras: tuple[object, ...], build: Callable[[], V]) -> V:
        """Return the entry of these objects and extras, created by `build` if missing.

        The first object is the owner of the entry.
        """
        key = (*map(id, objects), *extras)
        entry = self._used(key)
        if entry is not None:
            return entry.value
        value = build()
        with self._lock:
            self._keys_of.setdefault(key[0], {})[key] = None
            self._entries[key] = _Entry(objects, value)
            self._mark_used(key)
            dropped = [*self._drop_entries(), *self._drop_owners()]
        del dropped  # large values: not while others wait
        return value

    def find(self, objects: tuple[object, ...], extras: tuple[object, ...]) -> V | None:
        """Return the entry of these objects and extras, or None if it is missing."""
        entry = self._used((*map(id, objects), *extras))
        return None if entry is None else entry.value

    def _used(self, key: tuple[object, ...]) -> _Entry[V] | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._mark_used(key)
            return entry

    def _mark_used(self, key: tuple[object, ...]) -> None:
        self._entries.move_to_end(key)
        self._keys_of.move_to_end(key[0])

    def _drop_entries(self) -> Iterator[_Entry[V]]:
        """Drop entries until there are no more than allowed, and yield them."""
        while len(self._entries) > self._size:
            oldest, entry = self._entries.popitem(last=False)
            keys = self._keys_of[oldest[0]]
            del keys[oldest]
            if not keys:
                del self._keys_of[oldest[0]]
            yield entry

    def _drop_owners(self) -> Iterator[_Entry[V]]:
        """Drop owners until there are no more than allowed, and yield their entries."""
        while len(self._keys_of) > self._max_owners:
            owner, keys = next(iter(self._keys_of.items()))
            yield from [self._entries.pop(key) for key in keys if key in self._entries]
            del self._keys_of[owner]
