"""Child processes that were forked: what `subprocess.Popen` offers for those that run a program of their own."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NoReturn

from .process_end import wait_for_end

FAILED = 1
STANDARD_STREAMS = 3
POLL_PERIOD = 0.01  # [s]


class ForkedProcess:
    """A child of this process.

    Attributes:
        returncode: Exit status, negative for a signal; None until its end was seen.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit status if it has ended."""
        with self._lock:
            if self.returncode is None:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                if ended:
                    self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit status.

        Raises:
            subprocess.TimeoutExpired: It runs longer than `timeout` [s].
        """
        until = None if timeout is None else time.monotonic() + timeout
        if timeout is not None:
            wait_for_end(self.pid, timeout)
        while (status := self.poll()) is None:
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired("forked process", timeout or 0.0)
            time.sleep(POLL_PERIOD)
        return status

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless its end was seen."""
        with self._lock:
            if self.returncode is None:
                os.kill(self.pid, number)


def close_others(descriptors: Collection[int]) -> None:
    """Close all file descriptors except these and the standard streams."""
    for entry in os.listdir("/proc/self/fd"):
        if int(entry) >= STANDARD_STREAMS and int(entry) not in descriptors:
            with suppress(OSError):  # that of the list itself
                os.close(int(entry))


def run_to_end(program: Callable[[], object]) -> NoReturn:
    """Run a program in a forked process and end the process, as Python ends with a program."""
    status = FAILED
    try:
        program()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
