"""Fork server of the workers, started before its owner imports its own modules."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker, util
from typing import NoReturn

from ...system.command_line import set_command_line

PRELOAD = ("robot_cell_planner.planning.workers.preload",)  # modules imported by the server
STANDARD_STREAMS = 3


def start_server() -> None:
    """Start the fork server of this process, unless it is running. It imports modules in the background.

    In a process that has imported these modules already, it is a fork of this process, which has no other thread yet,
    and shares their memory.
    """
    # The tracker is started first, because its start unblocks SIGINT.
    resource_tracker.ensure_running()
    # Ctrl-C in a terminal is for the process that owns the server.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        multiprocessing.get_context("forkserver").set_forkserver_preload(list(PRELOAD))
        if all(module in sys.modules for module in PRELOAD):
            with _programs_forked():
                forkserver.ensure_running()
        else:
            # The server must not import modules from the current folder.
            os.environ["PYTHONSAFEPATH"] = "1"
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _programs_forked() -> Iterator[None]:
    """Let multiprocessing fork this process where it would start another Python with a program."""
    start = util.spawnv_passfds
    util.spawnv_passfds = _fork
    try:
        yield
    finally:
        util.spawnv_passfds = start


def _fork(path: str | bytes, arguments: Sequence[str], descriptors: Sequence[int]) -> int:
    """As `multiprocessing.util.spawnv_passfds`, for a command line that ends with `-c` and a program."""
    pid = os.fork()
    if pid == 0:
        _run(arguments, set(descriptors))
    return pid


def _run(command: Sequence[str], descriptors: set[int]) -> NoReturn:
    """Run a program with these descriptors and the standard streams only."""
    status = 1
    try:
        for entry in os.listdir("/proc/self/fd"):
            if int(entry) >= STANDARD_STREAMS and int(entry) not in descriptors:
                _close(int(entry))
        set_command_line(command)
        exec(compile(command[-1], "<string>", "exec"), {})
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return  # that of the list itself
