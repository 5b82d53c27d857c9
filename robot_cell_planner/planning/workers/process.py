"""What runs in a worker process: it takes tasks one after the other, and keeps the cells that it has seen."""

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...errors import InternalError, LimitExceededError, RobotCellError
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...scene.scene import Scene
from ...system.lifeline import end_when_closed

CELLS_KEPT = 4
READY = "ready"  # what a worker says first


class TaskControl:
    """What a running task has of the outside: it says how far it is, and asks whether to go on."""

    def __init__(self, report: Callable[[Any], None], is_cancelled: Callable[[], bool]) -> None:
        self.progress = report
        self.cancelled = is_cancelled


Task = Callable[[Scene, Any, TaskControl], Any]


def work(pipe: Any, flag: Any, niceness: int, preparation: str = "") -> None:
    """Answer what comes through a pipe until it is closed. flag: set while the task is to end.

    niceness: to add with the first task that is not the preparation. For that one somebody may wait already, after
    another worker has died.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        end_when_closed(parent.sentinel)
    pipe.send(READY)
    cells: OrderedDict[str, RobotCell] = OrderedDict()
    while True:
        try:
            task, digest, cell, state, request = pipe.recv()
        except (EOFError, OSError):
            return
        if task != preparation and niceness:
            os.nice(niceness)
            niceness = 0
        if cell is not None:
            cells[digest] = cell
            if len(cells) > CELLS_KEPT:
                cells.popitem(last=False)
        pipe.send(_answer(task, cells[digest], state, request, pipe, flag))


def _answer(task: str, cell: RobotCell, state: RobotCellState, request: Any, pipe: Any, flag: Any) -> tuple[str, Any]:
    control = TaskControl(lambda progress: pipe.send(("progress", progress)), lambda: bool(flag.value))
    try:
        module, _, function = task.partition(":")
        run: Task = getattr(importlib.import_module(module), function)
        return "result", run(Scene(cell, state), request, control)
    except RobotCellError as error:
        return "error", error
    except MemoryError:
        text = "the worker ran out of memory (ulimit -v, or the limit of a container); ask for less, or allow it more"
        return "error", LimitExceededError(text, stage="worker", subjects=(task,))
    except Exception as error:
        # The last fence: whatever a task raises costs that request alone, and is told in full.
        return "error", InternalError(f"{type(error).__name__}: {error}", stage=task)
