"""Whether a file descriptor of any number can be read from or written to."""

from __future__ import annotations

import select
from typing import Protocol

# select(2) supports lower numbers only. It waits for times in microseconds, poll(2) in whole milliseconds.
SELECTABLE = 1024


class HasDescriptor(Protocol):
    """A file, socket or connection."""

    def fileno(self) -> int:
        """Return the number of its file descriptor."""


def wait_readable(source: HasDescriptor, seconds: float | None = None) -> bool:
    """Wait until data can be read or the other end is closed, at most `seconds` [s]; return whether it is so."""
    number = source.fileno()
    if number < SELECTABLE:
        return bool(select.select((number,), (), (), seconds)[0])
    return _polled(number, select.POLLIN, seconds)


def wait_writable(target: HasDescriptor, seconds: float | None = None) -> bool:
    """Wait until data can be written or the other end is closed, at most `seconds` [s]; return whether it is so."""
    number = target.fileno()
    if number < SELECTABLE:
        return bool(select.select((), (number,), (), seconds)[1])
    return _polled(number, select.POLLOUT, seconds)


def _polled(number: int, event: int, seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(number, event)
    return bool(poll.poll(None if seconds is None else 1e3 * seconds))
