"""Precedence of what must be on time over what can wait, as far as the system grants it."""

from __future__ import annotations

import os

from ...errors import NotSupportedError


def set_realtime_priority(priority: int) -> None:
    """Let the calling thread run before all threads of ordinary priority, by first-in-first-out scheduling.

    priority: 1 to 99, as `ros2_control` gives one to its own loop. It must do little at a time: nothing else gets the
    processor meanwhile.

    Raises:
        NotSupportedError: the system does not grant it.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        raise NotSupportedError(f"real-time priority {priority} is not granted: {error}") from error
