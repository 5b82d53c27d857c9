"""The end of a client in bounded time, although the middleware may block the destruction of a node for good.

Fast DDS does so at times when another process ends meanwhile (its issue 6502).
"""

from __future__ import annotations

import atexit
import faulthandler
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

CLOSED_WITHIN = 10.0  # [s] that `close` waits
# [s] after which the process ends if it could not even report that: rclpy holds Python's lock while it destroys.
ENDED_WITHIN = 15.0
EXIT_WITHIN = 10.0  # [s] that the interpreter takes to end after a client that did not

_not_closed: set[str] = set()  # names of clients


def join_in_time(thread: threading.Thread, name: str) -> None:
    """Wait for the thread that closes a client, and continue without it after CLOSED_WITHIN, with a warning on the
    standard error stream that contains what did not end."""
    with _process_ends_if_blocked():
        thread.join(CLOSED_WITHIN)
    if not thread.is_alive():
        return
    _not_closed.add(name)
    frame = sys._current_frames().get(thread.ident or 0)
    stack = traceback.format_stack(frame) if frame is not None else []
    text = f"{name}: warning: the client is not closed after {CLOSED_WITHIN:g} s, and the program continues without it."
    print(f"{text} What did not end, last call last:\n{''.join(stack)}", end="", file=sys.stderr, flush=True)


@contextmanager
def _process_ends_if_blocked() -> Iterator[None]:
    """End the process by SIGALRM, with tracebacks, if the block takes longer than ENDED_WITHIN, as it does only if
    another thread never releases Python's lock. A timer or a handler of the user is left as it is."""
    if signal.getsignal(signal.SIGALRM) != signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
        yield
        return
    # No function of Python would run; this handler does not need its lock, and then the signal ends the process.
    faulthandler.register(signal.SIGALRM, file=sys.__stderr__ or 2, chain=True)
    signal.setitimer(signal.ITIMER_REAL, ENDED_WITHIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        faulthandler.unregister(signal.SIGALRM)


def _limit_exit() -> None:
    """End the process by SIGALRM if its interpreter does not end in time, since the middleware is blocked: it ends
    after the interpreter, and waits for the same locks."""
    if _not_closed:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, EXIT_WITHIN)


atexit.register(_limit_exit)  # functions that are registered later run before, without this limit
