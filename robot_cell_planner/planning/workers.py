"""Worker processes for requests that take long: one request blocks no other, and a crash costs only its own.

A worker holds the cells that it has seen, so that only states travel with most requests. It is forked from a server
process that has imported everything already, which makes a replacement quick. The limit in time and a cancellation are
kept whatever the task does: a task that does not end by itself within a grace period is killed with its worker.

Before a worker takes a job about a cell that is new to it, it is prepared for that cell; the job counts as waiting for
a worker until then, so that its cancellation and its time limit end it at once and cost no worker.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any

from ..cell.scene import Scene
from ..errors import (
    CancelledError,
    LimitExceededError,
    RobotCellError,
    Value,
    WorkerCrashedError,
)
from .worker_jobs import Alarm, Job
from .worker_process import CELLS_KEPT, work

GRACE = 0.02  # [s] how long a task may take to notice that it should end
MOST_WAITING = 1000
LOOK = 0.1  # [s] between two looks, while a worker prepares, whether the pool is closing
MOST_PREPARING = 120.0  # [s] after which a worker that prepares for a cell is given up
END_PATIENCE = 2.0  # [s] for a thread of the pool to end; one whose worker is still starting is left behind


@dataclass
class _Worker:
    process: Any
    pipe: Any
    flag: Any
    cells: list[str] = field(default_factory=list)
    prepared: list[str] = field(default_factory=list)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Look:
    """In place of a job: whoever gets it looks at what there is to prepare for."""


class WorkerPool:
    """A fixed number of worker processes and a queue of jobs before them.

    preload: modules that the workers are to have imported. niceness: added to that of the process, so that planning
    gives way to whatever streams or simulates. preparation: the task, without a request, that makes a worker ready for
    a cell; what it raises is left to the jobs to find. Callbacks of jobs run in threads of the pool.
    """

    def __init__(self, size: int, preload: tuple[str, ...] = (), niceness: int = 0, preparation: str = "") -> None:
        self._context: Any = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._niceness = niceness
        self._preparation = preparation
        self._latest: Scene | None = None  # what workers prepare for when they have nothing to do
        self._looks = 0  # that are in the queue
        self._jobs: queue.Queue[Job | _Look | None] = queue.Queue()
        self._closing = False
        self._no_worker = ""  # why the last attempt to start one failed
        self._alarm = Alarm()
        self._lock = threading.Lock()
        self._early: list[Job] | None = []  # submitted before any worker was ready; None: one has been
        self._threads = [threading.Thread(target=self._serve, name=f"worker {i}", daemon=True) for i in range(size)]
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        task: str,
        scene: Scene,
        request: Any,
        *,
        time_limit: float,
        on_done: Callable[[Any, RobotCellError | None], None],
        on_progress: Callable[[Any], None] = lambda progress: None,
    ) -> Job:
        """Queue a job; the clock of its time limit runs from now on, or from when the first of all workers is ready: it
        may have to compile what later ones find on disk.

        Raises:
            LimitExceededError: a thousand jobs wait already.
        """
        waiting = self._jobs.qsize()
        if waiting >= MOST_WAITING:
            numbers = (Value("requests", waiting, MOST_WAITING),)
            raise LimitExceededError("too many requests wait for a worker", stage="worker", values=numbers)
        job = Job(task, scene, request, time_limit, on_progress, on_done)
        self._jobs.put(job)
        with self._lock:
            if self._early is not None:
                self._early.append(job)
                return job
        self._watch(job)
        return job

    def prepare(self, scene: Scene) -> None:
        """Let workers that have nothing to do prepare for a scene's cell, and later those that take their places."""
        with self._lock:
            self._latest = scene
            missing, self._looks = len(self._threads) - self._looks, len(self._threads)
        for _ in range(missing):
            self._jobs.put(_Look())

    def _watch(self, job: Job) -> None:
        if job.time_limit:
            self._alarm.at(job.deadline, job.expire)

    def _begin(self) -> None:
        """A worker is ready: the clocks of jobs that had none to run in start."""
        with self._lock:
            early, self._early = self._early, None
        for job in early or ():
            job.restart_clock()
            self._watch(job)

    def run(self, task: str, scene: Scene, request: Any, time_limit: float = 0.0) -> Any:
        """Submit a job and wait for its result; raises its error."""
        done: queue.Queue[tuple[Any, RobotCellError | None]] = queue.Queue()
        self.submit(task, scene, request, time_limit=time_limit, on_done=lambda *end: done.put(end))
        result, error = done.get()
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End all workers; jobs that run or wait end as cancelled. A worker that is still starting ends by itself."""
        self._closing = True
        for _ in self._threads:
            self._jobs.put(None)
        patience = time.monotonic() + END_PATIENCE
        for thread in self._threads:
            thread.join(max(patience - time.monotonic(), 0.0))
        self._alarm.close()

    def _start(self) -> _Worker | None:
        """A new worker; None if there can be none, as when the server that forks them has ended meanwhile. The next
        attempt starts another."""
        try:
            return self._fork()
        except (EOFError, OSError, RuntimeError) as error:
            # RuntimeError: the program that uses the pool is still being imported by its own workers.
            self._no_worker = f"{type(error).__name__}: {str(error).strip()}"
            return None

    def _fork(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        flag = self._context.RawValue("b", 0)
        process = self._context.Process(target=work, args=(theirs, flag, self._niceness), daemon=True)
        process.start()
        theirs.close()
        ours.recv()  # it listens: what is sent from now on does not have to wait for it
        return _Worker(process, ours, flag)

    def _serve(self) -> None:
        # Ctrl-C in a terminal is for the process that owns the pool; server and workers inherit this.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        worker = self._start()
        self._begin()
        while True:
            worker = self._prepared(worker, self._latest)
            job = self._jobs.get()
            if job is None or self._closing:
                if isinstance(job, Job):
                    job.finish(None, CancelledError("the pool of workers is closing"))
                break
            if isinstance(job, _Look):
                with self._lock:
                    self._looks -= 1
                continue
            if not job.waits:
                continue
            if worker is None or not worker.process.is_alive():
                if worker is not None:
                    worker.end()
                worker = self._start()
            self._latest = job.scene
            worker = self._prepared(worker, job.scene)
            if not job.take():
                continue
            if worker is None:
                text = f"no worker can be started: {self._no_worker}"
                job.finish(None, WorkerCrashedError(text, subjects=(job.task,)))
            else:
                worker = self._run(worker, job)
        if worker is not None:
            worker.end()

    def _prepared(self, worker: _Worker | None, scene: Scene | None) -> _Worker | None:
        """Prepare a worker for a scene's cell, if it is not; returns the worker that is there afterwards. One that does
        not survive it has another in its place, which leaves it to the jobs to tell what is wrong."""
        if worker is None or scene is None or not self._preparation:
            return worker
        digest = scene.cell.digest()
        if digest in worker.prepared:
            return worker
        if not self._prepares(worker, scene):
            worker.end()
            worker = self._start()
        if worker is not None:
            worker.prepared = [*worker.prepared[1 - CELLS_KEPT :], digest]
        return worker

    def _prepares(self, worker: _Worker, scene: Scene) -> bool:
        """Whether a worker comes to the end of its preparation."""
        worker.flag.value = 0
        patience = time.monotonic() + MOST_PREPARING
        try:
            _send(worker, self._preparation, scene, None)
            while not self._closing and time.monotonic() < patience:
                if worker.pipe.poll(LOOK) and worker.pipe.recv()[0] != "progress":
                    return True
        except (EOFError, OSError):
            worker.process.join(timeout=1.0)
        return False

    def _run(self, worker: _Worker, job: Job) -> _Worker | None:
        """Run a job to its end; returns the worker that is there afterwards, which may be a new one, or none."""
        worker.flag.value = 0
        ending: RobotCellError | None = None
        deadline = job.deadline
        try:
            _send(worker, job.task, job.scene, job.request)
            while True:
                left = deadline - time.monotonic()
                ready = connection.wait([worker.pipe, job.wake[0]], None if left == float("inf") else max(left, 0.0))
                if worker.pipe in ready:
                    kind, content = worker.pipe.recv()
                    if kind != "progress":
                        result, error = (content, None) if kind == "result" else (None, content)
                        if ending is not None:
                            result, error = None, _with_partial(ending, content)
                        job.finish(result, error)
                        return worker
                    job.on_progress(content)
                if job.wake[0] in ready:
                    job.wake[0].recv_bytes()
                    if ending is not None:
                        continue
                    ending = CancelledError("the request was cancelled")
                elif time.monotonic() < deadline:
                    continue
                elif ending is not None:
                    break
                else:
                    ending = job.timed_out()
                worker.flag.value = 1
                deadline = time.monotonic() + GRACE
        except (EOFError, OSError) as error:
            worker.process.join(timeout=1.0)
            status = worker.process.exitcode
            ending = ending or WorkerCrashedError(
                f"the worker that ran {job.task} ended with status {status}", subjects=(job.task,)
            )
            ending.__cause__ = error
        job.finish(None, ending)
        worker.end()
        return self._start()


def _with_partial(ending: RobotCellError, content: Any) -> RobotCellError:
    if isinstance(content, RobotCellError):
        ending.partial = content.partial
    return ending


def _send(worker: _Worker, task: str, scene: Scene, request: Any) -> None:
    digest = scene.cell.digest()
    known = digest in worker.cells
    if not known:
        worker.cells = [*worker.cells[1 - CELLS_KEPT :], digest]
    worker.pipe.send((task, digest, None if known else scene.cell, scene.state, request))
