"""Entry point of the simulated robot node. Where it was forked with the libraries, the process of the physics is forked
from it before it has threads of its own."""

from __future__ import annotations

import sys
from contextlib import suppress

from ...simulation.process import WORKER
from ...system.reserved_process import reserve_process

if WORKER in sys.modules:
    with suppress(OSError):  # it is started from its file
        reserve_process()

from .node import main

__all__ = ["main"]
