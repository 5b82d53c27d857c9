"""The measured joints over the time of a record, as differences, since there are many of them."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Mapping
from itertools import islice

BLOCK = 256  # states that are stored as differences from the one before


class MeasuredHistory:
    """The latest states of the measured joints: positions by joint [rad or m], each with its oldest stamp [ns].

    Attributes:
        dropped: Newest of the stamps that are not kept any more [ns]; -1 without any.
    """

    def __init__(self, limit: int) -> None:
        """limit: number of states that are kept at least; at most BLOCK more are."""
        self._limit = limit
        self._count = 0
        self._blocks: deque[_Block] = deque()
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}  # so that equal names are stored once
        self.dropped = -1

    def __len__(self) -> int:
        return self._count

    def add(self, stamp: int, values: Mapping[str, float]) -> None:
        """Add a state."""
        if not self._blocks or len(self._blocks[-1].stamps) == BLOCK:
            self._blocks.append(_Block(values))
        self._blocks[-1].add(stamp, values, self._names)
        self._count += 1
        if self._count - len(self._blocks[0].stamps) >= self._limit:
            block = self._blocks.popleft()
            self._count -= len(block.stamps)
            self.dropped = max(self.dropped, *block.stamps)

    def matching(self, stamp: int, count: int) -> list[dict[str, float]]:
        """Return the last states with a stamp [ns], at most `count`, in the order in which they were added."""
        found: list[dict[str, float]] = []
        for block in reversed(self._blocks):
            if len(found) < count and stamp in block.stamps:
                found = block.matching(stamp) + found
        return found[-count:]


class _Block:
    """States, as differences from the first one. A joint that is no longer measured has the position NaN."""

    def __init__(self, first: Mapping[str, float]) -> None:
        self._first = dict(first)
        self._last = dict(first)
        self._changes: list[tuple[tuple[str, ...], array[float]]] = []
        self.stamps = array("q")

    def add(self, stamp: int, values: Mapping[str, float], names: dict[tuple[str, ...], tuple[str, ...]]) -> None:
        last = self._last
        changed = [name for name, value in values.items() if not _is_same(last.get(name, math.nan), value)]
        changed += [name for name in last if name not in values]
        key = tuple(changed)
        self._changes.append((names.setdefault(key, key), array("d", (values.get(name, math.nan) for name in key))))
        self.stamps.append(stamp)
        _apply(last, *self._changes[-1])

    def matching(self, stamp: int) -> list[dict[str, float]]:
        values, found = dict(self._first), []
        end = len(self.stamps) - self.stamps[::-1].index(stamp)
        for each, change in zip(self.stamps, islice(self._changes, end), strict=False):
            _apply(values, *change)
            if each == stamp:
                found.append(dict(values))
        return found


def _is_same(first: float, second: float) -> bool:
    """Return whether two numbers are equal, also in the sign of zero, which the digest of a state contains."""
    return first == second and math.copysign(1.0, first) == math.copysign(1.0, second)


def _apply(values: dict[str, float], names: tuple[str, ...], positions: array[float]) -> None:
    for name, position in zip(names, positions, strict=True):
        if math.isnan(position):
            del values[name]
        else:
            values[name] = position
