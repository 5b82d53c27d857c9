"""The server that workers are forked from, started before its owner has imported what it needs itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing import forkserver, resource_tracker

PRELOAD = ("robot_cell_planner.planning.workers.preload",)  # imported by the server, before workers are forked


def start_server() -> None:
    """Start the server of this process, unless it runs. It imports what workers need meanwhile."""
    # The server is to import what this process does, not what lies in the present folder.
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
