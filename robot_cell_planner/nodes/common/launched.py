"""Nodes that a launch file has started end when `launch` does: it ends without them on SIGTERM, and if it is killed."""

from __future__ import annotations

import os
import select
import signal
import threading

SEPARATOR = "/"
LAUNCH_ENDED = threading.Event()  # set when the end of `launch` has interrupted this process
# Variable of the environment of a node: the launch process that starts it, as `_name` writes it.
LAUNCH_PROCESS = "ROBOT_CELL_LAUNCH_PROCESS"


def launch_variables() -> dict[str, str]:
    """Return the environment of nodes that this process starts and that end with it."""
    return {LAUNCH_PROCESS: _name(os.getpid())}


def end_with_launch() -> None:
    """Interrupt this process, as Ctrl-C does, when the launch process ends that has started it, or now if it has ended.

    A node with a program between them, such as a debugger of the argument `launch-prefix`, is left to that program
    while launch runs. Does nothing where there are no descriptors of processes (before Linux 5.3, and in some builds of
    Python), and in a container that launch is not in.
    """
    launch = os.environ.pop(LAUNCH_PROCESS, "")  # processes that this one starts end with it in other ways
    number = launch.rpartition(SEPARATOR)[2]
    if not number.isdecimal() or launch != _name(int(number)):
        return
    # Not by PR_SET_PDEATHSIG, whose signal comes for each thread of the parent that ends: a second one ends the
    # execution node without waiting for the robot to stop.
    try:
        process = os.pidfd_open(int(number))
    except ProcessLookupError:  # it has ended while this process started
        _interrupt()
    except (AttributeError, OSError):
        return
    else:
        if int(number) != os.getppid() and not _ended(process, 0):
            os.close(process)
            return
        threading.Thread(target=_interrupt_after, args=(process,), name="end with launch", daemon=True).start()


def _name(number: int) -> str:
    """Return a process by the namespace of this one, since other containers have other numbers, and its number."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{namespace}{SEPARATOR}{number}"


def _interrupt_after(process: int) -> None:
    """Interrupt this process after the one of a descriptor."""
    _ended(process)
    _interrupt()


def _ended(process: int, time: int | None = None) -> bool:
    """Return whether the process of a descriptor ends within a time [ms], without one after its end."""
    end = select.poll()
    end.register(process, select.POLLIN)
    return bool(end.poll(time))


def _interrupt() -> None:
    LAUNCH_ENDED.set()
    os.kill(os.getpid(), signal.SIGINT)
