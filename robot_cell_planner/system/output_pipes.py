"""Output of a process whose reader may stop reading, as a supervisor does that is suspended (Ctrl-Z, SIGSTOP)."""

from __future__ import annotations

import fcntl
import io
import os
import stat
import sys
from contextlib import suppress
from typing import TextIO

CAPACITY = 2**20  # [bytes] of a pipe, if the system allows it; 64 KiB are usual


def do_not_wait_for_readers() -> None:
    """Let the standard output and error streams lose lines, instead of waiting, while they are pipes that are full.

    A log line is written with the interpreter lock held: all threads would wait with it, also one that streams
    commands. Lines up to PIPE_BUF (4096 bytes) are lost or written as a whole, and the pipe takes lines again once it
    is read. Other outputs, such as terminals and files, are not changed.
    """
    sys.stdout = _not_waiting(sys.stdout, 1)
    do_not_wait_for_reader_of_errors()


def do_not_wait_for_reader_of_errors() -> None:
    """As `do_not_wait_for_readers`, of the standard error stream alone: for a command whose output is its result."""
    sys.stderr = _not_waiting(sys.stderr, 2)


def _not_waiting(stream: TextIO, number: int) -> TextIO:
    """Return the stream of a standard file descriptor, which does not wait from now on if it is a pipe."""
    with suppress(OSError):  # it is closed, has no reader, belongs to another user, or there is no /proc
        if stat.S_ISFIFO(os.fstat(number).st_mode):
            stream.flush()
            # Opened anew: other processes that have the same pipe still wait.
            own = os.open(f"/proc/self/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
            os.dup2(own, number)
            os.close(own)
            with suppress(OSError):  # too much for this user
                fcntl.fcntl(number, fcntl.F_SETPIPE_SZ, CAPACITY)
            # Without a buffer, which would raise BlockingIOError.
            raw = io.FileIO(number, "w", closefd=False)
            return io.TextIOWrapper(raw, encoding=stream.encoding, errors=stream.errors, line_buffering=True)
    return stream
