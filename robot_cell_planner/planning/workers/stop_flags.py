"""Flags that stop jobs of an executor, in memory shared by this process, its threads and its workers."""

from __future__ import annotations

import multiprocessing
import os
import threading
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

MAX_CALLS = 4096  # that run at once


class SharedFlags(NamedTuple):
    """Memory of the flags of one process. Fields: its process, a unique name, and one byte for each call."""

    process: int
    owner: str
    values: Any


class StopFlag(NamedTuple):
    """Flag of one call. It can be sent to other processes."""

    owner: str
    number: int

    def set(self) -> None:
        """Tell the jobs of the call to stop. A process that was forked from that of the call has no effect on it."""
        shared_flags().values[self.number] = 1

    def is_set(self) -> bool:
        """Return whether the job should stop; False where the memory of the flags is not known, as in a cluster."""
        return _shared is not None and _shared.owner == self.owner and bool(_shared.values[self.number])


_shared: SharedFlags | None = None
_lock = threading.Lock()
_calls = count()


def new_stop_flag() -> StopFlag:
    """Return a flag that is not set."""
    shared = shared_flags()
    number = next(_calls) % MAX_CALLS
    shared.values[number] = 0
    return StopFlag(shared.owner, number)


def shared_flags() -> SharedFlags:
    """Return the memory of this process, for `use_flags` in its workers."""
    global _shared
    with _lock:
        # A process that was forked has the memory of its parent, whose flags it must not use for calls of its own.
        if _shared is None or _shared.process != os.getpid():
            values = multiprocessing.get_context("forkserver").RawArray("b", MAX_CALLS)
            _shared = SharedFlags(os.getpid(), uuid4().hex, values)
        return _shared


def use_flags(shared: SharedFlags) -> None:
    """Let the jobs of this process, a worker, see the flags of the process that started it."""
    global _shared
    _shared = shared
