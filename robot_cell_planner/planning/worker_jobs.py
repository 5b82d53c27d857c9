"""Jobs for worker processes: what to run, who is told, and how they end while they wait for a worker."""

from __future__ import annotations

import heapq
import multiprocessing
import threading
import time
from collections.abc import Callable
from typing import Any

from ..cell.scene import Scene
from ..errors import CancelledError, RobotCellError, TimedOutError, Value

Done = Callable[[Any, RobotCellError | None], None]


class Job:
    """A request to run. task: "module:function" of a task. time_limit [s]: from now on; 0 for none.

    `on_done` is called once, with a result or an error, in the thread of whoever ends the job.
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
        self.wake: tuple[Any, Any] = multiprocessing.Pipe(duplex=False)
        self._on_done = on_done
        self._lock = threading.Lock()
        self._taken = False
        self._ended = False

    @property
    def deadline(self) -> float:
        """By the clock of `time.monotonic`; infinite without a time limit."""
        return self.started + self.time_limit if self.time_limit else float("inf")

    def restart_clock(self) -> None:
        """Count the time limit from now on, unless a worker has begun the job."""
        with self._lock:
            if not self._taken:
                self.started = time.monotonic()

    def cancel(self) -> None:
        """Ask the job to end; its `on_done` gets a CancelledError unless it is done already. One that still waits for a
        worker ends at once."""
        if self._end_waiting(CancelledError("the request was cancelled while it waited for a worker")):
            return
        with self._lock:
            if not self._ended:
                self.wake[1].send_bytes(b"c")

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
            return not (self._taken or self._ended)

    def take(self) -> bool:
        """Begin the job in a worker; False: it has ended while it waited."""
        with self._lock:
            self._taken = not self._ended
            return self._taken

    def finish(self, result: Any, error: RobotCellError | None) -> None:
        """Tell how the job ended."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._on_done(result, error)

    def _end_waiting(self, error: RobotCellError) -> bool:
        with self._lock:
            if self._taken or self._ended:
                return False
            self._ended = True
        self._on_done(None, error)
        return True


class Alarm:
    """Calls functions at their times, in a thread of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="alarm", daemon=True)
        self._thread.start()

    def at(self, moment: float, call: Callable[[], None]) -> None:
        """Call at a moment of `time.monotonic`."""
        with self._changed:
            self._count += 1
            heapq.heappush(self._calls, (moment, self._count, call))
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                left = self._calls[0][0] - time.monotonic() if self._calls else None
                if self._closing:
                    return
                if left is None or left > 0.0:
                    self._changed.wait(left)
                    continue
                call = heapq.heappop(self._calls)[2]
            call()
