"""Handle of a worker process: start, communication and termination."""

from __future__ import annotations

import errno
import math
import os
import signal
import time
from collections import OrderedDict
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from ...scene.scene import Scene
from .process import End, work
from .scene_transfer import MAX_CELLS, SentCells, SentStates
from .server import safe_start

ATTEMPTS = 2  # the fork server may have died; the first attempt detects it, the second restarts it
RETRY_DELAY = 0.1  # [s]
UNREAD = 64 * 1024  # bytes that a connection holds before its other end reads; Linux lets it hold 208 KiB by default
MAX_REFUSALS = 100  # attempts while a fork server that terminates refuses connections
DESCRIPTORS = 16  # that the start of a server and a worker need, and some more
PAGE = os.sysconf("SC_PAGE_SIZE")
CAUSES = {
    errno.EMFILE: "this process has too many open files (ulimit -n)",
    errno.ENFILE: "the system has too many open files",
    errno.EAGAIN: "no further process or thread is allowed (ulimit -u, or the limit of a container)",
    errno.ENOMEM: "there is not enough memory (ulimit -v, or the limit of a container)",
}


class NoWorkerError(Exception):
    """A worker could not be started; the message gives the reason."""


class Worker:
    """Process that runs one task at a time.

    Attributes:
        cells: Its cached cells, by digest.
        prepared: Scenes that it was prepared for, by the digests of their cells.
        served: Number of tasks sent to it.
    """

    def __init__(self, process: Any, pipe: Any, flag: Any) -> None:
        self.process = process
        self.pipe = pipe
        self._flag = flag
        self._states = SentStates()
        self.cells = SentCells()
        self.prepared: OrderedDict[str, Scene] = OrderedDict()
        self.served = 0

    @property
    def alive(self) -> bool:
        return bool(self.process.is_alive())

    @property
    def memory(self) -> int:
        """Resident memory [bytes]; 0 if the process has ended."""
        try:
            return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE
        except (OSError, IndexError):
            return 0

    def send(self, task: str, scene: Scene, request: Any) -> None:
        """Send a task, with what the worker does not have of the cell and the state.

        Raises:
            OSError: The process has ended.
        """
        self._send(task, scene, request, math.inf)

    def send_at_once(self, task: str, scene: Scene, request: Any) -> bool:
        """Send a task if that does not wait for the worker to read; return whether it was sent.

        Raises:
            OSError: The process has ended.
        """
        return self._send(task, scene, request, UNREAD)

    def _send(self, task: str, scene: Scene, request: Any, most: float) -> bool:
        digest = scene.cell.digest_with_places()
        cell, state = self.cells.message(digest, scene.cell), self._states.message(scene.state)
        content = ForkingPickler.dumps((task, digest, cell, state, request))
        if len(content) > most:
            return False
        self.cells.note(digest, scene.cell)
        self._states.note(scene.state, state)
        self._flag.value = End.NOT_YET
        self.served += 1
        self.pipe.send_bytes(content)
        return True

    def ask_to_end(self, end: End = End.AT_ONCE) -> None:
        """Ask the current task to end."""
        self._flag.value = end

    def note_prepared(self, scene: Scene) -> None:
        self.prepared[scene.cell.digest_with_places()] = scene
        while len(self.prepared) > MAX_CELLS:
            self.prepared.popitem(last=False)

    def status(self) -> int | None:
        """Exit code; None if the process has not ended."""
        self.process.join(timeout=1.0)
        status = self.process.exitcode
        return None if status is None else int(status)

    def ending(self) -> str:
        """Return how the process has ended, for messages."""
        status = self.status()
        if status is None or status >= 0:
            return f"ended with status {status}"
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        memory = ", as the system does if memory is short" if -status == signal.SIGKILL else ""
        return f"ended with status {status}: it was killed by {name}{memory}"

    def end(self) -> None:
        """Kill the process and release its resources."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.process.close()


def start_worker(context: Any, niceness: int, preparation: str = "") -> Worker:
    """Start a worker and wait until it is ready. See `process.work`.

    Raises:
        NoWorkerError: The process cannot be started.
    """
    attempts = refusals = 0
    while True:
        try:
            _require_descriptors()
            return _fork(context, niceness, preparation)
        except (EOFError, ConnectionError) as error:
            if isinstance(error, ConnectionRefusedError):
                refusals += 1
            else:
                attempts += 1
            if attempts >= ATTEMPTS or refusals >= MAX_REFUSALS:
                text = "the fork server of the workers terminated; process or memory limits may be too low"
                raise NoWorkerError(f"{text} ({_describe(error)})") from error
            time.sleep(RETRY_DELAY)
        except MemoryError as error:
            raise NoWorkerError(CAUSES[errno.ENOMEM]) from error
        except (OSError, RuntimeError) as error:
            # RuntimeError: workers import the main program of the pool, which is not protected against it.
            cause = CAUSES.get(error.errno or 0) if isinstance(error, OSError) else None
            raise NoWorkerError(f"{cause} ({_describe(error)})" if cause else _describe(error)) from error


def _require_descriptors() -> None:
    """Raise OSError if there are too few descriptors to start a worker.

    A start that fails after it has connected to the fork server would terminate the server.
    """
    taken: list[int] = []
    try:
        for _ in range(DESCRIPTORS):
            taken.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()}".rstrip(": ")


def _fork(context: Any, niceness: int, preparation: str) -> Worker:
    own_end, worker_end = context.Pipe()
    try:
        flag = context.RawValue("b", 0)
        process = context.Process(target=work, args=(worker_end, flag, niceness, preparation), daemon=True)
        with safe_start():  # the fork server may have to be started too
            process.start()
    except BaseException:
        own_end.close()
        raise
    finally:
        worker_end.close()
    worker = Worker(process, own_end, flag)
    try:
        own_end.recv()  # it is ready; sending does not block from now on
    except BaseException:
        worker.end()
        raise
    return worker
