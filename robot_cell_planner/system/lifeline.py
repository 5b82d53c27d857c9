"""Termination of a process with its owner, even while native code holds the interpreter lock."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import select
import signal
import sys

if sys.platform != "linux":
    raise ImportError("worker processes need Linux, whose kernel ends them with the process that they work for")


def end_with_parent() -> None:
    """Kill this process, which was started by multiprocessing, as soon as the one that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        end_when_closed(parent.sentinel)


def end_when_closed(descriptor: int) -> None:
    """Kill this process as soon as the other end of a pipe is closed, explicitly or because its owner died.

    The kernel sends the signal (fcntl(2), F_SETSIG), so that no thread of this process has to run.

    descriptor: Read end of a pipe that is never written to.
    """
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(descriptor, 0)  # hang-ups are always reported
    if poll.poll(0):  # closed before the signal was set up
        os._exit(1)
