"""Signals that end a node."""

from __future__ import annotations

import signal

ENDING_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP  # the last one is of a terminal that is closed


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end this process: SIGINT also if it was ignored, as in background jobs of a shell, and
    SIGHUP unless it was, as by nohup."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return tuple(number for number in ENDING_SIGNALS if not (ignored and number is signal.SIGHUP))


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt in the main thread on signals that end the process.

    rclpy calls this handler of SIGINT and SIGTERM before its own, which wakes the executor first and shuts the context
    down afterwards: an executor that is faster would wait again, and a node without timers would not end. On SIGHUP, a
    node ends when its next timer wakes it.
    """
    for number in ending_signals():
        signal.signal(number, signal.default_int_handler)


def ignore_signals() -> None:
    """Ignore the signals that end the process, which is about to end."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
