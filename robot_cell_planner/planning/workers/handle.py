"""A worker process as its pool sees it: how it is started, spoken to and ended."""

from __future__ import annotations

import errno
import os
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from ...scene.scene import Scene
from .process import CELLS_KEPT, work

ATTEMPTS = 2  # the server that forks workers may have died; the first attempt finds that out, the second replaces it
BETWEEN_ATTEMPTS = 0.1  # [s]
PAGE = os.sysconf("SC_PAGE_SIZE")
CAUSES = {
    errno.EMFILE: "this process has as many files open as it may (ulimit -n)",
    errno.ENFILE: "the computer has as many files open as it may",
    errno.EAGAIN: "no further process or thread is allowed (ulimit -u, or the limit of a container)",
    errno.ENOMEM: "there is not enough memory (ulimit -v, or the limit of a container)",
}


class NoWorkerError(Exception):
    """A worker could not be started; says why, in words."""


class Worker:
    """A process that runs one task after the other.

    cells: digests of those that it has. prepared: the scenes that it was prepared for, by the digests of their cells.
    served: tasks that were sent to it.
    """

    def __init__(self, process: Any, pipe: Any, flag: Any) -> None:
        self.process = process
        self.pipe = pipe
        self._flag = flag
        self.cells: list[str] = []
        self.prepared: OrderedDict[str, Scene] = OrderedDict()
        self.served = 0

    @property
    def alive(self) -> bool:
        return bool(self.process.is_alive())

    @property
    def memory(self) -> int:
        """What it has in memory [bytes]; 0 if it has ended."""
        try:
            return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE
        except (OSError, IndexError):
            return 0

    def send(self, task: str, scene: Scene, request: Any) -> None:
        """Send a task, and the cell with it if the worker does not have it.

        Raises:
            OSError: it has ended.
        """
        digest = scene.cell.digest()
        known = digest in self.cells
        if not known:
            self.cells = [*self.cells[1 - CELLS_KEPT :], digest]
        self._flag.value = 0
        self.served += 1
        self.pipe.send((task, digest, None if known else scene.cell, scene.state, request))

    def ask_to_end(self) -> None:
        """Let the task that it runs know that it should end."""
        self._flag.value = 1

    def note_prepared(self, scene: Scene) -> None:
        self.prepared[scene.cell.digest()] = scene
        while len(self.prepared) > CELLS_KEPT:
            self.prepared.popitem(last=False)

    def status(self) -> int | None:
        """How it ended, once it has."""
        self.process.join(timeout=1.0)
        status = self.process.exitcode
        return None if status is None else int(status)

    def end(self) -> None:
        """Kill it, and give back all that it had."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.process.close()


def start_worker(context: Any, niceness: int, preparation: str = "") -> Worker:
    """A new worker, which listens. See `worker_process.work`.

    Raises:
        NoWorkerError: there can be none.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _fork(context, niceness, preparation)
        except (EOFError, ConnectionError) as error:
            if attempt == ATTEMPTS:
                text = "the server that forks workers ended; no further process or too little memory may be allowed"
                raise NoWorkerError(f"{text} ({_of(error)})") from error
            time.sleep(BETWEEN_ATTEMPTS)
        except MemoryError as error:
            raise NoWorkerError(CAUSES[errno.ENOMEM]) from error
        except (OSError, RuntimeError) as error:
            # RuntimeError: the program that uses the pool is still being imported by its own workers.
            cause = CAUSES.get(error.errno or 0) if isinstance(error, OSError) else None
            raise NoWorkerError(f"{cause} ({_of(error)})" if cause else _of(error)) from error
    raise NoWorkerError("no attempt was made")


def _of(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()}".rstrip(": ")


def _fork(context: Any, niceness: int, preparation: str) -> Worker:
    ours, theirs = context.Pipe()
    try:
        flag = context.RawValue("b", 0)
        process = context.Process(target=work, args=(theirs, flag, niceness, preparation), daemon=True)
        process.start()
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    worker = Worker(process, ours, flag)
    try:
        ours.recv()  # it listens: what is sent from now on does not have to wait for it
    except BaseException:
        worker.end()
        raise
    return worker
