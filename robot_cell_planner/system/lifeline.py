"""Ends a process with the one that it works for, even while a native library holds the interpreter."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys

if sys.platform != "linux":
    raise ImportError("worker processes need Linux, whose kernel ends them with the process that they work for")


def end_when_closed(descriptor: int) -> None:
    """Kill this process as soon as the other end of a pipe is closed, by its owner or by the owner's death.

    descriptor: the reading end of a pipe through which nothing is ever sent. The kernel sends the signal (fcntl(2),
    F_SETSIG), so that no thread of this process has to run for it.
    """
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(descriptor, 0)  # hang-ups are reported in any case
    if poll.poll(0):  # it was closed before the kernel was asked
        os._exit(1)
