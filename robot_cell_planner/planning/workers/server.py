"""Fork server of the workers, started before its owner imports its own modules."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker, util
from typing import Any, cast

from ...system.command_line import set_command_line
from ...system.forked_process import close_others, run_to_end

PRELOAD = ("robot_cell_planner.planning.workers.preload",)  # modules imported by the server


def start_server() -> None:
    """Start the fork server of this process, unless it is running. It imports modules in the background.

    In a process that has imported these modules already, it is a fork of this process, which has no other thread of its
    own yet, and shares their memory.
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
    util.spawnv_passfds = cast("Any", _fork)
    try:
        yield
    finally:
        util.spawnv_passfds = start


def _fork(path: str | bytes, arguments: Sequence[str | bytes], descriptors: Sequence[int]) -> int:
    """As `multiprocessing.util.spawnv_passfds`, for a command line that ends with `-c` and a program."""
    pid = os.fork()
    if pid == 0:
        run_to_end(lambda: _run(arguments, descriptors))
    return pid


def _run(command: Sequence[str | bytes], descriptors: Sequence[int]) -> None:
    """Run a program with these descriptors and the standard streams only."""
    close_others(descriptors)
    set_command_line(command)
    exec(compile(command[-1], "<string>", "exec"), {})
