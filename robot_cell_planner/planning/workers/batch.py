"""Many planning requests at once, on any `concurrent.futures.Executor`: the processors of a computer, or a cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import forkserver
from typing import NamedTuple, TypeAlias

from ...errors import CancelledError, InternalError, InvalidRequestError, RobotCellError, WorkerCrashedError
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.shown_values import show
from ...model.state import RobotCellState
from ...scene.scene import Scene
from ...system.lifeline import end_with_parent
from ..cartesian.planner import CartesianRequest, plan_cartesian
from ..joint_space.planner import plan_motion
from ..problem.plan import Plan
from ..problem.request import MotionRequest
from ..problem.steps import MultistepRequest
from ..sequence import plan_multistep
from .scene_transfer import MAX_CELLS, RecentStates
from .server import PRELOAD, safe_start
from .stop_flags import SharedFlags, StopFlag, new_stop_flag, shared_flags, use_flags

Request: TypeAlias = MotionRequest | CartesianRequest | MultistepRequest
SentRequest: TypeAlias = tuple[str, RobotCellState, Request]  # with the digest of the cell
OnProgress: TypeAlias = Callable[[int], None]
STAGE = "batch"
MAX_CHUNK = 10_000
MAX_PENDING = 256  # chunks that are submitted and not yet returned
MAX_ATTEMPTS = 3  # of a chunk whose process ends; in the last one, each of its requests has a process of its own
MAX_WORKERS = 1024


class PlanningJob(NamedTuple):
    """A request with the cell and the state that it refers to."""

    cell: RobotCell
    state: RobotCellState
    request: Request


@dataclass(frozen=True)
class PlanningOutcome:
    """Result of one request of a batch.

    Attributes:
        plans: The plan; one for each step of a sequence; empty if the request failed.
        error: Error of the request; None if it succeeded.
    """

    plans: tuple[Plan, ...] = ()
    error: RobotCellError | None = None

    @property
    def plan(self) -> Plan:
        """The plan, of a sequence that of the first step.

        Raises:
            RobotCellError: The error of the request.
        """
        if self.error is not None:
            raise self.error
        return self.plans[0]


@public
def plan_many(
    jobs: Iterable[PlanningJob],
    executor: Executor | None = None,
    *,
    chunk: int = 8,
    on_progress: OnProgress = lambda done: None,
) -> Iterator[PlanningOutcome]:
    """Plan many requests and yield their outcomes in the order of the jobs.

    Each outcome equals that of the request alone, except for times. A failed request does not affect others. Jobs are
    read as they are needed, so they may be generated.

    If the iterator is closed early, or an exception ends it, jobs that have not begun are cancelled, and running ones
    are stopped; it does not wait for them. Jobs in other processes than those of `local_executor` run to their end.

    Args:
        jobs: Cells, states and requests. Each process reads a cell once, so jobs of one cell should follow each other.
        executor: Runs the work, for example a `ProcessPoolExecutor`, or `Client(...).get_executor()` of
            dask.distributed. None: one process for each processor (`local_executor`); if one of them is killed, its
            requests are planned again by others.
        chunk: Number of requests in one task of the executor.
        on_progress: Called with the number of outcomes so far, before each is yielded.

    Raises:
        InvalidRequestError: `chunk` is not within 1 to 10,000.

    ```python
    jobs = (PlanningJob(cell, state, MotionRequest(goals)) for goals in many_goals)
    for outcome in plan_many(jobs):
        print(outcome.error or outcome.plan.duration)
    ```
    """
    if not 1 <= chunk <= MAX_CHUNK:
        raise InvalidRequestError(f"chunk is {chunk}, expected 1 to {MAX_CHUNK}", stage=STAGE, subjects=("chunk",))
    return _outcomes(iter(jobs), _Runner(executor), chunk, on_progress)


@public
def local_executor(workers: int | None = None) -> ProcessPoolExecutor:
    """Return an executor of processes that have loaded all kernels.

    workers: Number of processes, 1 to 1024; None: one for each processor that may be used.

    Raises:
        InvalidRequestError: `workers` is out of range.
    """
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        text = f"workers is {workers}, expected 1 to {MAX_WORKERS}, or None for all processors"
        raise InvalidRequestError(text, stage=STAGE, subjects=("workers",))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOAD))
    with safe_start():
        forkserver.ensure_running()
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    return ProcessPoolExecutor(count, mp_context=context, initializer=_begin_worker, initargs=(shared_flags(),))


def _begin_worker(flags: SharedFlags) -> None:
    end_with_parent()
    use_flags(flags)


class _Chunk(NamedTuple):
    """Requests as they are sent: cells as pickled bytes by digest, for each request its cell, state and request, and
    the flag that tells them to stop."""

    cells: dict[str, bytes]
    requests: tuple[SentRequest, ...]
    stop: StopFlag


class _Sent:
    """A chunk that was submitted."""

    def __init__(self, chunk: _Chunk, future: Future[list[PlanningOutcome]]) -> None:
        self.chunk, self.future, self.attempts = chunk, future, 1


class _Runner:
    """Submits chunks to an executor, and replaces its own executor if one of its processes was killed."""

    def __init__(self, executor: Executor | None) -> None:
        self._given = executor
        self._own: ProcessPoolExecutor | None = None
        self.stop = new_stop_flag()

    @property
    def _executor(self) -> Executor:
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = local_executor()
        return self._own

    def submit(self, chunk: _Chunk) -> _Sent:
        return _Sent(chunk, self._submitted(chunk))

    def _submitted(self, chunk: _Chunk) -> Future[list[PlanningOutcome]]:
        try:
            return self._executor.submit(run_chunk, chunk)
        except BrokenExecutor as error:
            failed: Future[list[PlanningOutcome]] = Future()
            failed.set_exception(error)
            return failed

    def result(self, sent: _Sent, waiting: Sequence[_Sent]) -> list[PlanningOutcome]:
        """Return the outcomes of a chunk. waiting: chunks that are submitted again with it if a process was killed."""
        while True:
            try:
                return list(sent.future.result())
            except BrokenExecutor as error:
                if self._given is not None:
                    return _failed(sent.chunk, WorkerCrashedError(f"a process of the executor ended: {error}"))
                sent.attempts += 1
                if sent.attempts == MAX_ATTEMPTS:
                    self._restart(waiting)
                    return _one_by_one(sent.chunk)
                self._restart((sent, *waiting))
            except Exception:
                # Such as the end of a cluster's workers: one request of this chunk, or of another, may have ended them.
                return self._as_tasks_of_their_own(sent.chunk)

    def _as_tasks_of_their_own(self, chunk: _Chunk) -> list[PlanningOutcome]:
        """Return the outcomes of the requests of a chunk, each submitted alone. Whatever the executor raises affects
        only its request."""
        alone = [_alone(chunk, request) for request in chunk.requests]
        outcomes: list[PlanningOutcome] = []
        for each, future in zip(alone, [self._submitted(each) for each in alone], strict=True):
            try:
                outcomes += future.result()
            except Exception as error:
                text = f"the executor failed, also with no other request: {type(error).__name__}: {error}"
                outcomes += _failed(each, WorkerCrashedError(text))
        return outcomes

    def _restart(self, chunks: Iterable[_Sent]) -> None:
        """Submit the chunks that were lost to a new executor."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None
        for sent in chunks:
            if not sent.future.done() or sent.future.cancelled() or sent.future.exception() is not None:
                sent.future = self._submitted(sent.chunk)

    def close(self, pending: Sequence[_Sent]) -> None:
        """End the processes. pending: chunks that are not needed any more; none of them is waited for."""
        self.stop.set()
        for sent in pending:
            sent.future.cancel()
        if self._own is not None:
            running = any(not sent.future.done() for sent in pending)
            self._own.shutdown(wait=not running, cancel_futures=True)


def _one_by_one(chunk: _Chunk) -> list[PlanningOutcome]:
    """Return the outcomes of the requests of a chunk, each planned by a process that plans nothing else meanwhile.

    A request whose process ends then is what ended it; those that were planned beside it are not affected.
    """
    outcomes: list[PlanningOutcome] = []
    executor: ProcessPoolExecutor | None = None
    try:
        for request in chunk.requests:
            executor = executor or local_executor(1)
            alone = _alone(chunk, request)
            try:
                outcomes += executor.submit(run_chunk, alone).result()
            except BrokenExecutor as error:
                executor.shutdown(wait=False)
                executor = None
                text = f"the process that planned this request ended, also with no other request: {error}"
                outcomes += _failed(alone, WorkerCrashedError(text))
    finally:
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
    return outcomes


def _alone(chunk: _Chunk, request: SentRequest) -> _Chunk:
    """Return a request of a chunk as a chunk."""
    digest = request[0]
    return chunk._replace(cells={digest: chunk.cells[digest]}, requests=(request,))


def _failed(chunk: _Chunk, error: RobotCellError) -> list[PlanningOutcome]:
    return [PlanningOutcome(error=error) for _ in chunk.requests]


def _outcomes(
    jobs: Iterator[PlanningJob], runner: _Runner, size: int, on_progress: OnProgress
) -> Iterator[PlanningOutcome]:
    pending: deque[_Sent] = deque()
    pickled: OrderedDict[str, bytes] = OrderedDict()
    read = done = 0
    try:
        while True:
            while len(pending) < MAX_PENDING and (part := list(islice(jobs, size))):
                pending.append(runner.submit(_packed(part, read, pickled, runner.stop)))
                read += len(part)
            if not pending:
                return
            outcomes = runner.result(pending[0], tuple(pending)[1:])
            pending.popleft()
            for outcome in outcomes:
                done += 1
                on_progress(done)
                yield outcome
    finally:
        runner.close(pending)


def _packed(jobs: Sequence[PlanningJob], first: int, pickled: OrderedDict[str, bytes], stop: StopFlag) -> _Chunk:
    """Return jobs as a chunk. first: Number of the first one, from 0, for errors."""
    for number, job in enumerate(jobs, first):
        _check_job(number, job)
    requests = tuple((job.cell.digest_with_places(), job.state, job.request) for job in jobs)
    for digest, job in zip((digest for digest, _, _ in requests), jobs, strict=True):
        if digest not in pickled:
            pickled[digest] = pickle.dumps(job.cell)
        pickled.move_to_end(digest)
    cells = {digest: pickled[digest] for digest, _, _ in requests}
    while len(pickled) > MAX_CELLS:
        pickled.popitem(last=False)
    return _Chunk(cells, requests, stop)


def _check_job(number: int, job: PlanningJob) -> None:
    """Check the types of a job, which a generator may have made.

    Raises:
        InvalidRequestError: It has another type.
    """
    if not isinstance(job, PlanningJob):
        text = f"job {number} is {show(job)}, expected a PlanningJob"
        raise InvalidRequestError(text, stage=STAGE)
    requests = (MotionRequest, CartesianRequest, MultistepRequest)
    kinds: tuple[tuple[type, ...], ...] = ((RobotCell,), (RobotCellState,), requests)
    for name, value, kind in zip(job._fields, job, kinds, strict=True):
        if not isinstance(value, kind):
            names = " or ".join(each.__name__ for each in kind)
            text = f"{name} of job {number} is {show(value)}, expected a {names}"
            raise InvalidRequestError(text, stage=STAGE, subjects=(name,))


class _Received:
    """Cells and parts of states that a process has received: what is cached for them is found by identity."""

    def __init__(self) -> None:
        self._cells: OrderedDict[str, RobotCell] = OrderedDict()
        self._states = RecentStates()

    def scene(self, digest: str, cells: dict[str, bytes], state: RobotCellState) -> Scene:
        if digest not in self._cells:
            self._cells[digest] = pickle.loads(cells[digest])
            while len(self._cells) > MAX_CELLS:
                self._cells.popitem(last=False)
        self._cells.move_to_end(digest)
        return Scene(self._cells[digest], self._states.shared(state))


_received = _Received()


def run_chunk(chunk: _Chunk) -> list[PlanningOutcome]:
    """Plan the requests of a chunk, in the process that received it."""
    outcomes: list[PlanningOutcome] = []
    for digest, state, request in chunk.requests:
        if chunk.stop.is_set():  # nobody reads the outcomes
            return [*outcomes, *_failed(chunk, CancelledError("the batch was left"))[len(outcomes) :]]
        outcomes.append(_outcome(_received.scene(digest, chunk.cells, state), request, chunk.stop.is_set))
    return outcomes


def _outcome(scene: Scene, request: Request, cancelled: Callable[[], bool]) -> PlanningOutcome:
    cell, state = scene.cell, scene.state
    try:
        if isinstance(request, MotionRequest):
            return PlanningOutcome((plan_motion(cell, state, request, cancelled=cancelled),))
        if isinstance(request, CartesianRequest):
            return PlanningOutcome((plan_cartesian(cell, state, request, cancelled=cancelled),))
        return PlanningOutcome(plan_multistep(cell, state, request, cancelled=cancelled))
    except RobotCellError as error:
        return PlanningOutcome(error=error)
    except Exception as error:
        # An unexpected exception affects only its own request.
        return PlanningOutcome(error=InternalError(f"{type(error).__name__}: {error}", stage=STAGE))
