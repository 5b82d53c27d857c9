"""Jobs for worker processes: what to run, who is told, and how they end while they wait for a worker."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ...errors import CancelledError, RobotCellError, TimedOutError, Value
from ...scene.scene import Scene
from ...system.alarm import Alarm, Entry

Done = Callable[[Any, RobotCellError | None], None]


class Wake:
    """Wakes the thread of the pool that waits for a worker. Each thread has one, for all of its jobs."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # what to wait for

    def set(self) -> None:
        os.eventfd_write(self.descriptor, 1)

    def clear(self) -> None:
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return  # it was not set

    def close(self) -> None:
        os.close(self.descriptor)


class Job:
    """A request to run. task: "module:function" of a task. time_limit [s]: from now on; 0 for none.

    `on_done` is called once, with a result or an error, in the thread of whoever ends the job. A job that has ended
    holds neither its request nor anything of the system.
    """

    def __init__(
        self,
        task: str,
        scene: Scene,
        request: Any,
        time_limit: float,
        on_progress: Callable[[Any], None],
        on_done: Done,
    ) -> None:
        self.task = task
        self.scene = scene
        self.request = request
        self.time_limit = time_limit
        self.on_progress = on_progress
        self.started = time.monotonic()
        self._on_done = on_done
        self._lock = threading.Lock()
        self._wake: Wake | None = None  # of the thread that has begun it
        self._alarm: tuple[Alarm, Entry] | None = None
        self._ended = False

    @property
    def deadline(self) -> float:
        """By the clock of `time.monotonic`; infinite without a time limit."""
        return self.started + self.time_limit if self.time_limit else float("inf")

    def restart_clock(self) -> None:
        """Count the time limit from now on, unless a worker has begun the job."""
        with self._lock:
            if self._wake is None:
                self.started = time.monotonic()

    def watch(self, alarm: Alarm) -> None:
        """Let an alarm end the job at its time limit while it waits for a worker."""
        with self._lock:
            if self.time_limit and self._wake is None and not self._ended:
                self._alarm = alarm, alarm.at(self.deadline, self.expire)

    def cancel(self) -> None:
        """Ask the job to end; its `on_done` gets a CancelledError unless it is done already. One that still waits for a
        worker ends at once."""
        if self._end_waiting(CancelledError("the request was cancelled while it waited for a worker")):
            return
        with self._lock:
            if self._wake is not None and not self._ended:
                self._wake.set()

    def expire(self) -> None:
        """End the job if it still waits for a worker: its time limit has passed."""
        self._end_waiting(self.timed_out("while it waited for a worker"))

    def timed_out(self, when: str = "") -> TimedOutError:
        """The error for a time limit that has passed."""
        numbers = (Value("time", time.monotonic() - self.started, self.time_limit, "s"),)
        text = "the time limit of the request ended it"
        return TimedOutError(f"{text} {when}" if when else text, values=numbers)

    @property
    def waits(self) -> bool:
        """Whether no worker has begun it, and it has not ended."""
        with self._lock:
            return self._wake is None and not self._ended

    def take(self, wake: Wake) -> bool:
        """Begin the job in a worker; a cancellation sets `wake` from now on. False: it has ended while it waited."""
        with self._lock:
            if self._ended:
                return False
            wake.clear()
            self._wake = wake
            self._leave_alarm()
            return True

    def finish(self, result: Any, error: RobotCellError | None) -> None:
        """Tell how the job ended; nothing happens if it has ended before."""
        with self._lock:
            if self._ended:
                return
            on_done = self._end()
        on_done(result, error)

    def _end_waiting(self, error: RobotCellError) -> bool:
        with self._lock:
            if self._wake is not None or self._ended:
                return False
            on_done = self._end()
        on_done(None, error)
        return True

    def _end(self) -> Done:
        """Let go of everything; returns who is to be told."""
        self._ended = True
        self._wake = None
        self._leave_alarm()
        on_done, self._on_done = self._on_done, _forget
        self.on_progress = _forget
        self.request = None
        return on_done

    def _leave_alarm(self) -> None:
        if self._alarm is not None:
            alarm, entry = self._alarm
            self._alarm = None
            alarm.call_off(entry)


def _forget(*_: Any) -> None:
    """Told in place of whom an ended job has let go of."""
