"""What runs in a worker process: it takes tasks one after the other, and keeps the cells that it has seen."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

from ..cell.cell import RobotCell
from ..cell.scene import Scene
from ..cell.state import RobotCellState
from ..errors import InternalError, RobotCellError

CELLS_KEPT = 4
READY = "ready"  # what a worker says first


class TaskControl:
    """What a running task has of the outside: it says how far it is, and asks whether to go on."""

    def __init__(self, report: Callable[[Any], None], is_cancelled: Callable[[], bool]) -> None:
        self.progress = report
        self.cancelled = is_cancelled


Task = Callable[[Scene, Any, TaskControl], Any]


def work(pipe: Any, flag: Any, niceness: int) -> None:
    """Answer what comes through a pipe until it is closed. flag: set while the task is to end; niceness: to add."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(niceness)
    pipe.send(READY)
    cells: OrderedDict[str, RobotCell] = OrderedDict()
    while True:
        try:
            task, digest, cell, state, request = pipe.recv()
        except (EOFError, OSError):
            return
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
    except Exception as error:
        # The last fence: whatever a task raises costs that request alone, and is told in full.
        return "error", InternalError(f"{type(error).__name__}: {error}", stage=task)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
