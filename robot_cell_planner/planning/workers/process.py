"""Main loop of a worker process: runs tasks one at a time, and caches cells."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ...errors import InternalError, LimitExceededError, RobotCellError, drop_tracebacks
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...scene.scene import Scene
from ...system.heap import keep_heap_small
from ...system.lifeline import end_with_parent
from ..problem.progress import Progress, ProgressMonitor
from .scene_transfer import ReceivedCells, ReceivedStates

REPORT_PERIOD = 0.05  # [s]
READY = "ready"  # first message of a worker


class End(IntEnum):
    """Why a task should end: its time limit has passed, and it has some time to say what it was doing, or at once."""

    NOT_YET = 0
    TIME_LIMIT = 1
    AT_ONCE = 2


class TaskControl:
    """Interface of a running task to its caller: progress reports, cancellation and the time limit."""

    def __init__(self, report: Callable[[Any], None], requested_end: Callable[[], int]) -> None:
        self.progress = report
        self._requested_end = requested_end

    def cancelled(self) -> bool:
        """Return whether the task should end, for whatever reason."""
        return self._requested_end() != End.NOT_YET

    def monitor(self, time_limit: float) -> ProgressMonitor:
        """Return the monitor of a request. Its time limit [s] is the one that the caller measures, or its own."""
        return ProgressMonitor(
            time_limit,
            self.progress,
            cancelled=lambda: self._requested_end() == End.AT_ONCE,
            timed_out=lambda: self._requested_end() == End.TIME_LIMIT,
        )


class _Reports:
    """Sends the progress of a task: at each new step of a request, and otherwise every REPORT_PERIOD at most, so that
    the reports of a short request do not take longer than itself."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._step = 0
        self._next = time.monotonic() + REPORT_PERIOD

    def __call__(self, progress: Any) -> None:
        if isinstance(progress, Progress):
            now = time.monotonic()
            if now < self._next and progress.step == self._step:
                return
            self._step, self._next = progress.step, now + REPORT_PERIOD
        self._pipe.send(("progress", progress))


Task = Callable[[Scene, Any, TaskControl], Any]


def work(pipe: Any, flag: Any, niceness: int, preparation: str = "") -> None:
    """Run the tasks received through a pipe until it is closed.

    Args:
        flag: An `End`, the requested end of the current task.
        niceness: Added at the first task other than the preparation. The preparation runs at normal priority,
            because a request may be waiting for it.
    """
    end_with_parent()
    keep_heap_small()
    pipe.send(READY)
    cells, states = ReceivedCells(), ReceivedStates()
    while True:
        try:
            task, digest, cell, state, request = pipe.recv()
        except (EOFError, OSError):
            return
        if task != preparation and niceness:
            os.nice(niceness)
            niceness = 0
        pipe.send(_answer(task, cells.cell(digest, cell), states.state(state), request, pipe, flag))


def _answer(task: str, cell: RobotCell, state: RobotCellState, request: Any, pipe: Any, flag: Any) -> tuple[str, Any]:
    control = TaskControl(_Reports(pipe), lambda: int(flag.value))
    try:
        module, _, function = task.partition(":")
        run: Task = getattr(importlib.import_module(module), function)
        return "result", run(Scene(cell, state), request, control)
    except RobotCellError as error:
        drop_tracebacks(error)
        return "error", error
    except MemoryError:
        text = "the worker ran out of memory (ulimit -v, or the limit of a container); raise it, or reduce the request"
        return "error", LimitExceededError(text, stage="worker", subjects=(task,))
    except Exception as error:
        # Any exception of a task affects only its own request.
        return "error", InternalError(f"{type(error).__name__}: {error}", stage=task)
