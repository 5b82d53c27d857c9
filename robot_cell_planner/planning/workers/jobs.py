"""Jobs of worker processes: task, callbacks, and the end of jobs that wait for a worker."""

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
    """Wakes a pool thread that waits for its worker. Each thread has one instance for all of its jobs."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # file descriptor to wait for

    def set(self) -> None:
        os.eventfd_write(self.descriptor, 1)

    def clear(self) -> None:
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return  # not set

    def close(self) -> None:
        os.close(self.descriptor)


class Job:
    """Request to run.

    `on_done` is called once with a result or an error, in the thread that ends the job. A job that has ended holds no
    references to its request or callbacks.

    Args:
        task: Task as "module:function".
        time_limit: Time limit from now on [s]; 0 for none.
        prepared: Whether the worker has to be prepared for the cell.
        explanation_time: Time in which a task that has reached its time limit may end with an error of its own [s].
    """

    def __init__(
        self,
        task: str,
        scene: Scene,
        request: Any,
        time_limit: float,
        on_progress: Callable[[Any], None],
        on_done: Done,
        prepared: bool = True,
        explanation_time: float = 0.0,
    ) -> None:
        self.prepared = prepared
        self.explanation_time = explanation_time
        self.task = task
        self.scene = scene
        self.request = request
        self.time_limit = time_limit
        self.on_progress = on_progress
        self.started = time.monotonic()
        self._on_done = on_done
        self._lock = threading.Lock()
        self._wake: Wake | None = None  # of the thread that runs the job
        self._alarm: tuple[Alarm, Entry] | None = None
        self._ended = False

    @property
    def deadline(self) -> float:
        """Deadline as `time.monotonic`; infinite without a time limit."""
        return self.started + self.time_limit if self.time_limit else float("inf")

    def restart_clock(self) -> None:
        """Restart the time limit, unless a worker has started the job."""
        with self._lock:
            if self._wake is None:
                self.started = time.monotonic()

    def set_alarm(self, alarm: Alarm) -> None:
        """Let an alarm end the job at its time limit while it waits for a worker."""
        with self._lock:
            if self.time_limit and self._wake is None and not self._ended:
                self._alarm = alarm, alarm.at(self.deadline, self.expire)

    def cancel(self) -> None:
        """Cancel the job: `on_done` gets a CancelledError unless the job is done. A job that waits for a worker ends
        immediately.
        """
        if self._end_waiting(CancelledError("the request was cancelled while it waited for a worker")):
            return
        with self._lock:
            if self._wake is not None and not self._ended:
                self._wake.set()

    def expire(self) -> None:
        """End the job because of its time limit, if it waits for a worker."""
        self._end_waiting(self.timed_out("while it waited for a worker"))

    def timed_out(self, when: str = "") -> TimedOutError:
        """Return the error for the time limit."""
        numbers = (Value("time", time.monotonic() - self.started, self.time_limit, "s"),)
        text = "the time limit of the request was reached"
        return TimedOutError(f"{text} {when}" if when else text, values=numbers)

    @property
    def waits(self) -> bool:
        """Whether no worker has started the job, and it has not ended."""
        with self._lock:
            return self._wake is None and not self._ended

    def take(self, wake: Wake) -> bool:
        """Start the job in a worker; from now on, cancellation sets `wake`. Return False if the job has ended."""
        with self._lock:
            if self._ended:
                return False
            wake.clear()
            self._wake = wake
            self._cancel_alarm()
            return True

    def finish(self, result: Any, error: RobotCellError | None) -> None:
        """Report the end of the job. Has no effect if it has ended before."""
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
        """Release all references; return the callback."""
        self._ended = True
        self._wake = None
        self._cancel_alarm()
        on_done, self._on_done = self._on_done, _ignore
        self.on_progress = _ignore
        self.request = None
        return on_done

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            alarm, entry = self._alarm
            self._alarm = None
            alarm.call_off(entry)


def _ignore(*_: Any) -> None:
    """Callback of a job that has ended."""
