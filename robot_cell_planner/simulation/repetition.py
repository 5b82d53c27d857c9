"""Samples of a simulation, which its owner repeats by itself at rest: nothing is exchanged until something changes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..system.readiness import wait_readable

if TYPE_CHECKING:
    from ..system.worker_process import AnyConnection

# Max delay of a simulation behind the clock at rest, and of a repeated sample [s]; what is older is left out, and its
# time counts as lost.
MAX_LAG = 1.0
ROUNDING = 1e-5  # [s] above rounding errors of timestamps, below any interval


@dataclass(frozen=True)
class JointSample:
    """Joint states at a time [s], in the order of `process.SimulationProcess.joint_names`.

    lost: Total time that the simulation fell behind the clock and skipped [s].
    """

    moment: float
    positions: list[float]
    velocities: list[float]
    efforts: list[float]
    lost: float


@dataclass(frozen=True)
class Repeats:
    """The simulation is at rest: each sample from now on is the latest one, at another time.

    Attributes:
        begin: Timestamp of the first one [s].
        interval: Between two [s].
        received: Number of messages that the simulation has received; it has to receive the next ones first.
        end: Timestamp of the last one [s], if it is known: the rest has ended.
    """

    begin: float
    interval: float
    received: int
    end: float = math.inf


class Repetition:
    """Repeats samples while a simulation is at rest.

    Args:
        delay: Of the simulation behind its timestamps [s].
        sent: Returns the number of messages that were sent to the simulation, or wait to be sent.
        on_sample: Called with each sample.
    """

    def __init__(self, delay: float, sent: Callable[[], int], on_sample: Callable[[JointSample], None]) -> None:
        self._delay, self._sent, self._on_sample = delay, sent, on_sample
        self._latest: JointSample | None = None
        self._repeats: Repeats | None = None
        self._count = 0  # samples repeated or left out
        self._last = -math.inf  # timestamp of the last repeated sample [s]
        self._lost = 0.0  # time of samples that were left out [s]

    def wait(self, connection: AnyConnection) -> None:
        """Repeat samples when they are due, until there is a message of the simulation."""
        while not wait_readable(connection, self._left()):
            if self._left() is not None:
                self._repeat(time.monotonic() - self._delay)

    def take(self, message: JointSample | Repeats) -> None:
        """Take a message of the simulation."""
        if isinstance(message, Repeats):
            if message.end < math.inf:
                self._repeat(message.end + ROUNDING)
                self._repeats = None
            else:
                self._repeats, self._count = message, 0
        elif message.moment > self._last + ROUNDING:  # otherwise it was repeated before the simulation went on
            self._latest = replace(message, lost=message.lost + self._lost) if self._lost else message
            self._on_sample(self._latest)

    def _left(self) -> float | None:
        """Return the time until the next sample is due [s]; None if none is."""
        if self._repeats is None or self._sent() != self._repeats.received:
            return None
        return max(self._next(self._repeats) + self._delay - time.monotonic(), 0.0)

    def _next(self, repeats: Repeats) -> float:
        return repeats.begin + self._count * repeats.interval

    def _repeat(self, until: float) -> None:
        """Repeat the latest sample up to a timestamp [s]."""
        repeats, latest = self._repeats, self._latest
        if repeats is None or latest is None:
            return
        late = math.floor((until - MAX_LAG - self._next(repeats)) / repeats.interval)
        if late > 0:
            self._count += late
            self._lost += late * repeats.interval
            self._latest = latest = replace(latest, lost=latest.lost + late * repeats.interval)
        while (moment := self._next(repeats)) <= until:
            self._count += 1
            self._last = moment
            self._on_sample(replace(latest, moment=moment))
