"""Real-time priority of threads, if the system permits it."""

from __future__ import annotations

import os

from ...errors import NotSupportedError


def set_realtime_priority(priority: int) -> None:
    """Set first-in-first-out scheduling (SCHED_FIFO) for the calling thread.

    priority: 1 to 99, as for the loop of `ros2_control`. The thread must run briefly at a time, since it blocks all
    others of its processor.

    Raises:
        NotSupportedError: The system does not permit it.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        raise NotSupportedError(f"real-time priority {priority} is not permitted: {error}") from error
