"""Entry point of the planning node. Its import starts the fork server of the workers, which takes longest, before the
libraries of the node are imported in parallel."""

from __future__ import annotations

from contextlib import suppress

from ...planning.workers.server import start_server

with suppress(OSError):  # the worker pool retries, and reports the error
    start_server()

from .node import main

__all__ = ["main"]
