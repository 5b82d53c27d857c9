"""The entry point of the planning node. Importing it starts the server of the workers, which takes longest, before the
node's own libraries are imported beside it."""

from __future__ import annotations

from contextlib import suppress

from ...planning.workers.server import start_server

with suppress(OSError):  # the pool of workers tries again, and tells what is wrong
    start_server()

from .node import main

__all__ = ["main"]
