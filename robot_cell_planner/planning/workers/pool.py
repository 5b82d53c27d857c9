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
from multiprocessing import connection
from typing import Any

from ...errors import CancelledError, InternalError, LimitExceededError, RobotCellError, Value, WorkerCrashedError
from ...scene.scene import Scene
from ...system.alarm import Alarm
from .handle import NoWorkerError, Worker, start_worker
from .jobs import Job, Wake

GRACE = 0.02  # [s] how long a task may take to notice that it should end
MOST_WAITING = 1000
LOOK = 0.1  # [s] between two looks, while a worker prepares, whether the pool is closing
IDLE_LOOK = 1.0  # [s] between two looks, while there is nothing to do, whether the worker is still there
LONGEST_WAIT = 3600.0  # [s] at once; the kernel cannot wait for any number of seconds
MOST_PREPARING = 120.0  # [s] after which a worker that prepares for a cell is given up
END_PATIENCE = 2.0  # [s] for a thread of the pool to end; one whose worker is still starting is left behind


class _Look:
    """In place of a job: whoever gets it looks at what there is to prepare for."""


class _Closing(Exception):
    """The pool is closing."""


class WorkerPool:
    """A fixed number of worker processes and a queue of jobs before them.

    preload: modules that the workers are to have imported. niceness: added to that of the process for requests, so that
    planning gives way to whatever streams or simulates. preparation: the task, without a request, that makes a worker
    ready for a cell; what it raises is left to the jobs to find. Callbacks of jobs run in threads of the pool.
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
        self._running: set[Job] = set()
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
        job.watch(self._alarm)
        return job

    def prepare(self, scene: Scene) -> None:
        """Let workers that have nothing to do prepare for a scene's cell, and later those that take their places."""
        with self._lock:
            self._latest = scene
            missing, self._looks = len(self._threads) - self._looks, len(self._threads)
        for _ in range(missing):
            self._jobs.put(_Look())

    def _begin(self) -> None:
        """A worker is ready: the clocks of jobs that had none to run in start."""
        with self._lock:
            early, self._early = self._early, None
        for job in early or ():
            job.restart_clock()
            job.watch(self._alarm)

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
        with self._lock:
            running = list(self._running)
        for job in running:
            job.cancel()
        patience = time.monotonic() + END_PATIENCE
        for thread in self._threads:
            thread.join(max(patience - time.monotonic(), 0.0))
        self._alarm.close()
        while not self._jobs.empty():
            _end_as_closing(self._jobs.get_nowait())

    def _start(self) -> Worker | None:
        """A new worker; None if there can be none. The next attempt is made for the next job."""
        try:
            return self._fork()
        except NoWorkerError as error:
            self._no_worker = str(error)
            return None

    def _fork(self) -> Worker:
        return start_worker(self._context, self._niceness, self._preparation)

    def _serve(self) -> None:
        # Ctrl-C in a terminal is for the process that owns the pool; server and workers inherit this.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        wake = Wake()
        worker = self._start()
        self._begin()
        try:
            while True:
                worker = self._prepared(worker, self._latest)
                worker = self._serve_next(worker, wake)
        except _Closing:
            if worker is not None:
                worker.end()
            wake.close()

    def _serve_next(self, worker: Worker | None, wake: Wake) -> Worker | None:
        """Wait for something to do, and do it; returns the worker that is there afterwards.

        Raises:
            _Closing: there is nothing more to do.
        """
        try:
            job = self._jobs.get(timeout=IDLE_LOOK)
        except queue.Empty:
            return self._living(worker) if worker is not None else None
        if job is None or self._closing:
            _end_as_closing(job)
            raise _Closing
        if isinstance(job, _Look):
            with self._lock:
                self._looks -= 1
            return worker
        if not job.waits:
            return worker
        self._latest = job.scene
        worker = self._prepared(self._living(worker), job.scene)
        if not job.take(wake):
            return worker
        if worker is None:
            text = f"no worker can be started: {self._no_worker}"
            job.finish(None, WorkerCrashedError(text, subjects=(job.task,)))
            return None
        with self._lock:
            self._running.add(job)
        try:
            return self._run(worker, job, wake)
        finally:
            with self._lock:
                self._running.discard(job)

    def _living(self, worker: Worker | None) -> Worker | None:
        """The worker if it lives, else another in its place."""
        if worker is not None:
            if worker.alive:
                return worker
            worker.end()
        return self._start()

    def _prepared(self, worker: Worker | None, scene: Scene | None) -> Worker | None:
        """Prepare a worker for a scene's cell, if it is not; returns the worker that is there afterwards. One that does
        not survive it has another in its place, which leaves it to the jobs to tell what is wrong."""
        if worker is None or scene is None or not self._preparation:
            return worker
        if scene.cell.digest() in worker.prepared:
            return worker
        if not self._prepares(worker, scene):
            worker.end()
            worker = self._start()
        if worker is not None:
            worker.note_prepared(scene)
        return worker

    def _prepares(self, worker: Worker, scene: Scene) -> bool:
        """Whether a worker comes to the end of its preparation."""
        patience = time.monotonic() + MOST_PREPARING
        try:
            worker.send(self._preparation, scene, None)
            while not self._closing and time.monotonic() < patience:
                if worker.pipe.poll(LOOK) and worker.pipe.recv()[0] != "progress":
                    return True
        except (EOFError, OSError):
            worker.status()
        return False

    def _run(self, worker: Worker, job: Job, wake: Wake) -> Worker | None:
        """Run a job to its end; returns the worker that is there afterwards, which may be a new one, or none."""
        task = job.task
        try:
            ending = self._follow(worker, job, wake)
            if ending is None:
                return worker
        except (EOFError, OSError) as error:
            text = f"the worker that ran {task} ended with status {worker.status()}"
            ending = WorkerCrashedError(text, subjects=(task,))
            ending.__cause__ = error
        except Exception as error:
            # The last fence: a request that cannot be sent, or a caller that fails when told, costs that job alone.
            ending = InternalError(f"{type(error).__name__}: {error}", stage=task)
            ending.__cause__ = error
        job.finish(None, ending)
        worker.end()
        return self._start()

    def _follow(self, worker: Worker, job: Job, wake: Wake) -> RobotCellError | None:
        """Send a job and follow it to its end; returns why it did not come to one, with a worker that is to be killed.

        Raises:
            EOFError, OSError: the worker has ended.
        """
        ending: RobotCellError | None = None
        deadline = job.deadline
        worker.send(job.task, job.scene, job.request)
        while True:
            left = min(max(deadline - time.monotonic(), 0.0), LONGEST_WAIT)
            ready = connection.wait([worker.pipe, wake.descriptor], left)
            if worker.pipe in ready:
                try:
                    kind, content = worker.pipe.recv()
                except (EOFError, OSError):
                    if ending is None:
                        raise
                    return ending
                if kind != "progress":
                    _finish(job, ending, kind, content)
                    return None
                job.on_progress(content)
            if wake.descriptor in ready:
                wake.clear()
                if ending is not None:
                    continue
                ending = CancelledError("the request was cancelled")
            elif time.monotonic() < deadline:
                continue
            elif ending is not None:
                return ending
            else:
                ending = job.timed_out()
            worker.ask_to_end()
            deadline = time.monotonic() + GRACE


def _end_as_closing(job: Job | _Look | None) -> None:
    if isinstance(job, Job):
        job.finish(None, CancelledError("the pool of workers is closing"))


def _finish(job: Job, ending: RobotCellError | None, kind: str, content: Any) -> None:
    """Tell what a worker answered, or why the job was to end before, with what had been reached."""
    if ending is not None:
        if isinstance(content, RobotCellError):
            ending.partial = content.partial
        job.finish(None, ending)
    elif kind == "result":
        job.finish(content, None)
    else:
        job.finish(None, content)
