"""Time limit of a clean-up that a library may block for ever."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager

STANDARD_ERROR = 2  # file descriptor
REPORT_BEFORE = 0.5  # [s] before the end


@contextmanager
def end_process_after(seconds: float) -> Iterator[None]:
    """End this process by SIGALRM if the block takes longer than `seconds` (> 0.5). The traceback is written to the
    standard error stream shortly before. Main thread only.

    The kernel ends the process: a library that does not return may hold Python's global lock, and then neither threads
    nor signal handlers of Python run.
    """
    before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.dump_traceback_later(seconds - REPORT_BEFORE, file=STANDARD_ERROR)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)
