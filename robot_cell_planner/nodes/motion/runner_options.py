"""Options of the execution of goals."""

from __future__ import annotations

from dataclasses import dataclass

from .path_return import FeedbackTimeouts


@dataclass(frozen=True)
class RunnerOptions:
    """start_tolerance: maximum distance of a joint from its last command to count as being there [rad or m]. timeouts:
    for missing joint states. joints: those of every command, if fixed. passive: joints whose measured positions may
    differ from their commands (a gripper that holds an object). sends_efforts: whether commands have efforts."""

    start_tolerance: float
    timeouts: FeedbackTimeouts
    joints: tuple[str, ...] = ()
    passive: tuple[str, ...] = ()
    sends_efforts: bool = False
