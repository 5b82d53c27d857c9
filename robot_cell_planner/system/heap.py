"""Return of freed memory to the operating system.

Requests of very different sizes fragment the heap of the C library: a process that holds the same data all the time
grows by tens of megabytes an hour. glibc returns free pages inside the heap only on request.
"""

from __future__ import annotations

import ctypes
import threading
import time

PERIOD = 60.0  # [s] between two returns of memory; shorter after the start, when most is freed
FIRST_PERIOD = 4.0  # [s]; each is twice as long as the one before


def return_free_memory() -> bool:
    """Return free pages of the heap to the operating system; takes about 1 ms. False if pages were not returned: none
    are free, or the C library is not glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and bool(trim(0))


def keep_heap_small() -> None:
    """Return free memory periodically, in a daemon thread, for the rest of the process. Not for a process that streams
    commands: an allocation waits meanwhile."""

    def run() -> None:
        period = FIRST_PERIOD
        while True:
            time.sleep(period)
            return_free_memory()
            period = min(2.0 * period, PERIOD)

    threading.Thread(target=run, name="heap", daemon=True).start()
