"""Pool of worker processes: requests do not block each other, and a crash affects only its own request.

Workers cache cells, so that most requests send only states. They are forked from a server process that has imported all
modules, so that replacing one is fast. Time limits and cancellations are enforced: a task that does not end within a
grace period is killed with its worker. Before, a task that has reached its time limit may have some time for an error
that says more than the one of the pool, see `explanation_time`.

Before a worker runs a job for a new cell, it is prepared for that cell. The job counts as waiting until then, so that
its cancellation and time limit end it immediately, without killing the worker.

A job for an idle worker is sent in the thread of the caller: a thread of the pool would have to wait for the lock of
the interpreter, which the caller holds for a while.

The pools of concurrent.futures and Pebble do not suffice: they have no preparation of workers for a cell, no reports of
progress from running tasks, and no cancellation that lets a task end by itself before its worker is killed.
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

from ...errors import CancelledError, InternalError, RobotCellError, TimedOutError, WorkerCrashedError
from ...scene.scene import Scene
from ...system.alarm import Alarm
from .handle import NoWorkerError, Worker, start_worker
from .job_queue import JobQueue, Slot
from .jobs import Job, Wake
from .preparation_turns import TURNS
from .process import End

MAIN_LOOP = f"{__package__}.process"  # of a worker; the fork server imports it
GRACE_PERIOD = 0.02  # [s] time for a task to end after a cancellation
EXPLANATION_TIME = 0.2  # [s] that suffices to find what may have closed passages in a large cell, see coarse_spheres.py
POLL_PERIOD = 0.1  # [s] between checks whether the pool is closing, while a worker prepares
IDLE_POLL_PERIOD = 1.0  # [s] between checks whether an idle worker is alive
MAX_WAIT = 3600.0  # [s] max duration of one system call
MAX_PREPARATION = 120.0  # [s] time limit for the preparation of a worker
SHUTDOWN_TIMEOUT = 2.0  # [s] for all threads of the pool; a thread whose worker is still starting is abandoned


class _Closing(Exception):
    """The pool is closing."""


class WorkerPool:
    """Fixed number of worker processes with a queue of jobs.

    Callbacks of jobs run in threads of the pool.

    Args:
        preload: Modules that the workers import in advance, besides those of their main loop.
        niceness: Added to the niceness of the process for requests, so that planning yields to streaming and
            simulation.
        preparation: Task, without a request, that prepares a worker for a cell; its errors are ignored and occur
            again in jobs.
    """

    def __init__(self, size: int, preload: tuple[str, ...] = (), niceness: int = 0, preparation: str = "") -> None:
        self._context: Any = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([MAIN_LOOP, *preload])
        self._niceness = niceness
        self._preparation = preparation
        self._latest: Scene | None = None  # scene that idle workers prepare for
        self._jobs = JobQueue()
        self._closing = False
        self._no_worker = ""  # reason of the last failed start
        self._alarm = Alarm()
        self._lock = threading.Lock()
        self._running: set[Job] = set()
        self._prepared_for: dict[str, str] = {}  # digest of the latest cell, by thread
        self._unstarted: list[Job] | None = []  # jobs submitted before any worker was ready; None afterwards
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
        prepared: bool = True,
        explanation_time: float = 0.0,
    ) -> Job:
        """Queue a job.

        prepared: prepare the worker for the scene's cell before, if it is not prepared. explanation_time: time after
        the time limit in which the task may end with a TimedOutError of its own, which says what it was doing and what
        may help [s].

        Its time limit starts now, or when the first worker is ready, which may have to compile kernels that later ones
        load from disk.

        Raises:
            LimitExceededError: 1000 jobs are waiting.
        """
        job = Job(task, scene, request, time_limit, on_progress, on_done, prepared, explanation_time)
        slot = self._jobs.put(job)
        if slot is not None:
            slot.handed_over.put((job, self._is_sent(job, slot)))
        else:
            TURNS.look_again()
            if self._closing:
                self._cancel_waiting()
        with self._lock:
            if self._unstarted is not None:
                self._unstarted.append(job)
                return job
        job.set_alarm(self._alarm)
        return job

    def _is_sent(self, job: Job, slot: Slot) -> bool:
        """Send a job to an idle worker and return True, unless the worker has to be replaced, prepared or sent the cell
        first, or the caller would have to wait for it."""
        worker, digest = slot.worker, job.scene.cell.digest_with_places()
        if worker is None or digest not in worker.cells or not worker.alive:
            return False
        if job.prepared and self._preparation and digest not in worker.prepared:
            return False
        try:
            if not worker.send_at_once(job.task, job.scene, job.request):
                return False
        except Exception:  # the thread of the slot sends it again, and reports the error
            return False
        job.take(slot.wake)
        self._note_running(job)
        if job.prepared:
            self._latest = job.scene
        return True

    def _note_running(self, job: Job) -> None:
        """Note a job that a worker has; `close` cancels it."""
        with self._lock:
            self._running.add(job)
        if self._closing:  # `close` may have cancelled the running jobs before
            job.cancel()

    def prepare(self, scene: Scene) -> None:
        """Let idle workers prepare for a scene's cell, and later their replacements."""
        with self._lock:
            self._latest = scene
        self._jobs.wake_all()

    def workers_prepared(self, digest: str) -> tuple[int, int]:
        """Return how many workers are prepared for the cell of a digest, and how many there are."""
        return list(self._prepared_for.values()).count(digest), len(self._threads)

    def _start_clocks(self) -> None:
        """Start the clocks of jobs that were submitted before any worker was ready."""
        with self._lock:
            unstarted, self._unstarted = self._unstarted, None
        for job in unstarted or ():
            job.restart_clock()
            job.set_alarm(self._alarm)

    def run(self, task: str, scene: Scene, request: Any, time_limit: float = 0.0) -> Any:
        """Submit a job and wait for its result; raise its error."""
        done: queue.Queue[tuple[Any, RobotCellError | None]] = queue.Queue()
        self.submit(task, scene, request, time_limit=time_limit, on_done=lambda *end: done.put(end))
        result, error = done.get()
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End all workers; running and waiting jobs end as cancelled. Workers that are still starting end later."""
        self._closing = True
        self._jobs.wake_all()
        with self._lock:
            running = list(self._running)
        for job in running:
            job.cancel()
        deadline = time.monotonic() + SHUTDOWN_TIMEOUT
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        self._alarm.close()
        self._cancel_waiting()

    def _cancel_waiting(self) -> None:
        for job in self._jobs.take_all():
            job.finish(None, CancelledError("the pool of workers is closing"))

    def _start(self) -> Worker | None:
        """Start a worker; None on failure, or if the pool is closing. The next job triggers another attempt."""
        if self._closing:
            return None
        try:
            return self._fork()
        except NoWorkerError as error:
            self._no_worker = str(error)
            return None

    def _fork(self) -> Worker:
        return start_worker(self._context, self._niceness, self._preparation)

    def _serve(self) -> None:
        # Ctrl-C in a terminal is for the process that owns the pool; server and workers inherit the mask.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        slot = self._jobs.new_slot()
        slot.worker = self._start()
        self._start_clocks()
        try:
            while True:
                slot.worker = self._prepared_ahead(slot)
                slot.worker = self._serve_next(slot)
        except _Closing:
            if slot.worker is not None:
                slot.worker.end()
            slot.wake.close()

    def _serve_next(self, slot: Slot) -> Worker | None:
        """Wait for the next job and run it; return the worker that remains.

        Raises:
            _Closing: The pool is closing.
        """
        if self._closing:
            raise _Closing
        job, is_sent = self._jobs.get(slot, IDLE_POLL_PERIOD)
        if job is None:
            return self._alive_worker(slot.worker) if slot.worker is not None else None
        if self._closing:
            job.cancel()
        if is_sent and slot.worker is not None:
            return self._run(slot.worker, job, slot.wake)
        return self._take(slot, job)

    def _take(self, slot: Slot, job: Job) -> Worker | None:
        """Run a job that was not sent to the worker; return the worker that remains."""
        if not job.waits:
            return slot.worker
        worker = self._alive_worker(slot.worker)
        if job.prepared:
            self._latest = job.scene
            with TURNS.for_job():
                worker = self._prepared(worker, job.scene)
        if self._closing:
            job.cancel()
        if not job.take(slot.wake):
            return worker
        if worker is None:
            text = f"no worker can be started: {self._no_worker}"
            job.finish(None, WorkerCrashedError(text, subjects=(job.task,)))
            return None
        self._note_running(job)
        return self._run(worker, job, slot.wake, must_send=True)

    def _alive_worker(self, worker: Worker | None) -> Worker | None:
        """Return the worker if it is alive, otherwise a new one."""
        if worker is not None:
            if worker.alive:
                return worker
            worker.end()
        return self._start()

    def _prepared_ahead(self, slot: Slot) -> Worker | None:
        """Prepare a worker for the latest scene, in its turn among those of all pools, and return it; before, if a job
        waits that no other worker takes after its preparation."""
        worker = slot.worker
        while worker is not None and self._must_prepare(worker, self._latest):
            if self._closing or self._jobs.has_unclaimed:
                return worker
            with TURNS.ahead(POLL_PERIOD, lambda: self._jobs.has_unclaimed) as begins:
                if begins:
                    slot.claims = True
                    return self._prepared(worker, self._latest)
        return self._prepared(worker, self._latest)

    def _must_prepare(self, worker: Worker, scene: Scene | None) -> bool:
        return bool(self._preparation) and scene is not None and scene.cell.digest_with_places() not in worker.prepared

    def _prepared(self, worker: Worker | None, scene: Scene | None) -> Worker | None:
        """Prepare a worker for a scene's cell, if it is not prepared, and return it.

        If the preparation fails, a new worker replaces it and counts as prepared; jobs report the error.
        """
        if worker is None or scene is None or not self._preparation:
            return worker
        if self._must_prepare(worker, scene) and not self._prepare(worker, scene):
            worker.end()
            worker = self._start()
        if worker is not None:
            worker.note_prepared(scene)
            self._prepared_for[threading.current_thread().name] = scene.cell.digest_with_places()
        return worker

    def _prepare(self, worker: Worker, scene: Scene) -> bool:
        """Return whether a worker completes its preparation."""
        deadline = time.monotonic() + MAX_PREPARATION
        try:
            worker.send(self._preparation, scene, None)
            while not self._closing and time.monotonic() < deadline:
                if worker.pipe.poll(POLL_PERIOD) and worker.pipe.recv()[0] != "progress":
                    return True
        except (EOFError, OSError):
            worker.status()
        return False

    def _run(self, worker: Worker, job: Job, wake: Wake, must_send: bool = False) -> Worker | None:
        """Run a job; return the worker that remains, possibly a new one or None."""
        task = job.task
        try:
            if must_send:
                worker.send(job.task, job.scene, job.request)
            failure = self._follow(worker, job, wake)
            if failure is None:
                return worker
        except (EOFError, OSError) as error:
            text = f"the worker that ran {task.rpartition(':')[2]} {worker.ending()}"
            failure = WorkerCrashedError(text, subjects=(task,))
            failure.__cause__ = error
        except Exception as error:
            # A request that cannot be sent, or a callback that raises, affects only its own job.
            failure = InternalError(f"{type(error).__name__}: {error}", stage=task)
            failure.__cause__ = error
        finally:
            with self._lock:
                self._running.discard(job)
        job.finish(None, failure)
        worker.end()
        return self._start()

    def _follow(self, worker: Worker, job: Job, wake: Wake) -> RobotCellError | None:
        """Wait for the end of a job that was sent.

        Returns:
            None if the job has ended; otherwise the reason to kill the worker.

        Raises:
            EOFError, OSError: The worker has ended.
        """
        failure: RobotCellError | None = None
        deadline, must_end = job.deadline, False
        while True:
            left = min(max(deadline - time.monotonic(), 0.0), MAX_WAIT)
            ready = connection.wait([worker.pipe, wake.descriptor], left)
            if worker.pipe in ready:
                try:
                    kind, content = worker.pipe.recv()
                except (EOFError, OSError):
                    if failure is None:
                        raise
                    return failure
                if kind != "progress":
                    _finish(job, failure, kind, content)
                    return None
                job.on_progress(content)
            if wake.descriptor in ready:
                wake.clear()
                if must_end:
                    continue
                failure = failure or CancelledError("the request was cancelled")
            elif time.monotonic() < deadline:
                continue
            elif must_end:
                return failure
            elif failure is None and job.explanation_time:
                failure = job.timed_out()
                worker.ask_to_end(End.TIME_LIMIT)
                deadline = time.monotonic() + job.explanation_time
                continue
            failure = failure or job.timed_out()
            worker.ask_to_end()
            deadline, must_end = time.monotonic() + GRACE_PERIOD, True


def _finish(job: Job, failure: RobotCellError | None, kind: str, content: Any) -> None:
    """Report the result of a worker, or the reason why the job was ended, with its partial result.

    The worker's own error for the time limit says more than that of the pool, except for the time, which includes that
    before the task began.
    """
    if isinstance(failure, TimedOutError) and isinstance(content, TimedOutError):
        job.finish(None, content.changed(content.message, values=failure.values))
    elif failure is not None:
        if isinstance(content, RobotCellError):
            failure.partial = content.partial
        job.finish(None, failure)
    elif kind == "result":
        job.finish(content, None)
    else:
        job.finish(None, content)
