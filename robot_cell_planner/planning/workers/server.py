"""Fork server of the workers, started before its owner imports its own modules.

multiprocessing starts this server and its tracker of resources by `python -c`, which imports modules from the current
folder first. They get an import path without it, as Python 3.10 has no option for that.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import forkserver, resource_tracker, util
from typing import Any

from ...system.command_line import set_command_line
from ...system.forked_process import close_others, run_to_end

WITHOUT_CURRENT_FOLDER = "import sys; sys.path[:] = filter(None, sys.path); "
_START: Any = util.spawnv_passfds
_START_LOCK = threading.RLock()
PRELOAD = ("robot_cell_planner.planning.workers.preload",)  # modules imported by the server


def start_server() -> None:
    """Start the fork server of this process, unless it is running. It imports modules in the background.

    In a process that has imported these modules already, it is a fork of this process, which has no other thread of its
    own yet, and shares their memory.
    """
    # The tracker is started first, because its start unblocks SIGINT.
    with safe_start():
        resource_tracker.ensure_running()
    # Ctrl-C in a terminal is for the process that owns the server.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        multiprocessing.get_context("forkserver").set_forkserver_preload(list(PRELOAD))
        if all(module in sys.modules for module in PRELOAD):
            with _programs_started_by(_fork):
                forkserver.ensure_running()
        else:
            # Nor must programs that the workers start import modules from the current folder.
            os.environ["PYTHONSAFEPATH"] = "1"
            with safe_start():
                forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def safe_start() -> AbstractContextManager[None]:
    """Return a context in which multiprocessing's fork server and tracker of resources, if it starts them, import no
    modules from the current folder."""
    return _programs_started_by(_without_current_folder)


@contextmanager
def _programs_started_by(start: Any) -> Iterator[None]:
    """Let multiprocessing call a function where it would start another Python with a program."""
    with _START_LOCK:
        before = util.spawnv_passfds
        util.spawnv_passfds = start
        try:
            yield
        finally:
            util.spawnv_passfds = before


def _without_current_folder(path: str | bytes, arguments: Sequence[Any], descriptors: Sequence[int]) -> int:
    """As `multiprocessing.util.spawnv_passfds`, for a command line that ends with `-c` and a program."""
    *options, program = arguments
    return int(_START(path, [*options, WITHOUT_CURRENT_FOLDER + program], descriptors))


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
