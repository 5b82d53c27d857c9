"""Exit statuses of nodes, which decide whether the supervisor and launch start them again (`bringup.respawn`)."""

from __future__ import annotations

COULD_NOT_START = 1
FAILED_WHILE_RUNNING = 4  # a node that had started
