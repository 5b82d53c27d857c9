"""The end of a command by a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDS = (signal.SIGTERM, signal.SIGHUP)  # of a service manager, and of a terminal that is closed


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, so that a command ends its processes, removes its temporary files
    and brings the robot to rest. Signals that are ignored, as by `nohup`, stay so.

    Compiled kernels that are interrupted raise SystemError, which becomes KeyboardInterrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    changed = [number for number in ENDS if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
