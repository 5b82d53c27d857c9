"""Fork server of the workers, started before its owner imports its own modules."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing import forkserver, resource_tracker

PRELOAD = ("robot_cell_planner.planning.workers.preload",)  # modules imported by the server


def start_server() -> None:
    """Start the fork server of this process, unless it is running. It imports modules in the background."""
    # The server must not import modules from the current folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    # The tracker is started first, because its start unblocks SIGINT.
    resource_tracker.ensure_running()
    # Ctrl-C in a terminal is for the process that owns the server.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        multiprocessing.get_context("forkserver").set_forkserver_preload(list(PRELOAD))
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
