"""Jobs that wait for workers, and workers that wait for jobs."""

from __future__ import annotations

import queue
import threading
from collections import deque

from ...errors import LimitExceededError, Value
from .handle import Worker
from .jobs import Job, Wake

MAX_WAITING = 1000


class Slot:
    """Place of a worker in a pool, with the thread that follows it.

    Attributes:
        worker: None if none could be started.
        wake: Wakes the thread while a job runs.
        handed_over: What an idle thread waits for: a job and whether it was sent to the worker, or nothing to do.
        is_woken: Whether `wake_all` was called since the thread requested a job.
        claims: Whether the thread prepares its worker, and requests a job afterwards.
    """

    def __init__(self) -> None:
        self.worker: Worker | None = None
        self.wake = Wake()
        self.handed_over: queue.SimpleQueue[tuple[Job | None, bool]] = queue.SimpleQueue()
        self.is_woken = False
        self.claims = False


class JobQueue:
    """Either jobs wait, in their order, or slots are idle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._slots: list[Slot] = []
        self._idle: list[Slot] = []

    @property
    def has_unclaimed(self) -> bool:
        """Whether more jobs wait than slots that claim one."""
        with self._lock:
            return len(self._waiting) > sum(slot.claims for slot in self._slots)

    def new_slot(self) -> Slot:
        """Return a slot for another worker."""
        slot = Slot()
        with self._lock:
            self._slots.append(slot)
        return slot

    def put(self, job: Job) -> Slot | None:
        """Return an idle slot for a job, to which the caller hands it over; None if the job waits.

        Raises:
            LimitExceededError: 1000 jobs are waiting.
        """
        with self._lock:
            if self._idle:
                return self._idle.pop()  # the last one to work, whose data is in the caches of the processor
            waiting = len(self._waiting)
            if waiting >= MAX_WAITING:
                numbers = (Value("requests", waiting, MAX_WAITING),)
                raise LimitExceededError("too many requests wait for a worker", stage="worker", values=numbers)
            self._waiting.append(job)
            return None

    def get(self, slot: Slot, timeout: float) -> tuple[Job | None, bool]:
        """Return the next job for a slot, and whether it was sent to its worker; None if `wake_all` was called or the
        time is over [s]."""
        with self._lock:
            if slot.is_woken:
                slot.is_woken = False
                return None, False
            slot.claims = False
            if self._waiting:
                return self._waiting.popleft(), False
            self._idle.append(slot)
        try:
            return slot.handed_over.get(timeout=timeout)
        except queue.Empty:
            with self._lock:
                if slot in self._idle:
                    self._idle.remove(slot)
                    return None, False
        return slot.handed_over.get()  # a job is being handed over

    def wake_all(self) -> None:
        """Let the threads of all slots look for other work before their next job."""
        with self._lock:
            for slot in self._slots:
                slot.is_woken = slot not in self._idle
            idle, self._idle = self._idle, []
        for slot in idle:
            slot.handed_over.put((None, False))

    def take_all(self) -> list[Job]:
        """Remove and return the jobs that wait."""
        with self._lock:
            jobs = list(self._waiting)
            self._waiting.clear()
        return jobs
