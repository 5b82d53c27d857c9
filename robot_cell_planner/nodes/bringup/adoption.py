"""Processes that end with the supervisor, and those that it adopts (prctl(2))."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h

if sys.platform != "linux":
    raise ImportError("the supervisor needs Linux, whose kernel ends the nodes with it")

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent, of this number, ends."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has already ended
        os._exit(1)


@contextmanager
def adopting() -> Iterator[None]:
    """Be the new parent of descendants whose parent ends within this block."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        _prctl(PR_SET_CHILD_SUBREAPER, 0)
