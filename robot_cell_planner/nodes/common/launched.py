"""Nodes that a launch file has started end when `launch` does: it ends without them on SIGTERM, and if it is killed."""

from __future__ import annotations

import os
import select
import signal
import threading

LAUNCH_ENDED = threading.Event()  # set when the end of `launch` has interrupted this process
LAUNCH_PROCESS = "ROBOT_CELL_LAUNCH_PROCESS"  # variable of the environment of a node: the number of its launch process


def launch_variables() -> dict[str, str]:
    """Return the environment of nodes that this process starts and that end with it."""
    return {LAUNCH_PROCESS: str(os.getpid())}


def end_with_launch() -> None:
    """Interrupt this process, as Ctrl-C does, when the launch process ends that has started it.

    A node with a program between them, such as a debugger of the argument `launch-prefix`, is left to that program.
    Does nothing where there are no descriptors of processes (before Linux 5.3, and in some builds of Python).
    """
    launch = os.environ.pop(LAUNCH_PROCESS, "")  # processes that this one starts end with it in other ways
    if launch != str(os.getppid()):
        return
    # Not by PR_SET_PDEATHSIG, whose signal comes for each thread of the parent that ends: a second one ends the
    # execution node without waiting for the robot to stop.
    try:
        process = os.pidfd_open(int(launch))
    except ProcessLookupError:  # it has just ended
        _interrupt()
    except (AttributeError, OSError):
        return
    else:
        threading.Thread(target=_interrupt_after, args=(process,), name="end with launch", daemon=True).start()


def _interrupt_after(process: int) -> None:
    """Interrupt this process after the one of a descriptor."""
    end = select.poll()
    end.register(process, select.POLLIN)
    end.poll()
    _interrupt()


def _interrupt() -> None:
    LAUNCH_ENDED.set()
    os.kill(os.getpid(), signal.SIGINT)
