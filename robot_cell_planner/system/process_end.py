"""Wait for the end of a process without looking for it periodically."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress


def wait_for_end(pid: int, timeout: float) -> float:
    """Wait until a child process has ended, at most `timeout` [s]; return the time that is left [s]. The status of the
    process is still to be read.

    `subprocess.Popen.wait` with a timeout looks up to 50 ms after the end. Returns at once where the kernel has no
    descriptors of processes (before Linux 5.3).
    """
    until = time.monotonic() + timeout
    with suppress(AttributeError, OSError):
        descriptor = os.pidfd_open(pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(1e3 * timeout)
        finally:
            os.close(descriptor)
    return max(until - time.monotonic(), 0.0)
