"""Pace of a simulation: when its periods are due, and when it gives up time because it cannot keep up."""

from __future__ import annotations

import math
import time

from ..errors import SimulationError
from .process import Schedule
from .repetition import MAX_LAG

# Max delay behind the clock while commands to move wait, which would be skipped, too [s]; well below the delay from
# which on stamps count as those of another clock. At rest it is MAX_LAG.
MAX_MOVING_LAG = 3.0


class Pace:
    """Schedule of the simulation periods, and conversion between simulated time and timestamps.

    period: Between samples, in simulated time [s]. simulated_clock: Whether timestamps are simulated time.
    lost: Time of the clock that was skipped because the simulation could not keep up [s].
    """

    def __init__(self, schedule: Schedule) -> None:
        self.period = 1.0 / schedule.rate
        self._factor = schedule.real_time_factor
        self.simulated_clock = schedule.simulated_clock
        self._delay = schedule.delay
        self._origin = time.monotonic()
        self.lost = 0.0

    @property
    def interval(self) -> float:
        """Time of the clock between samples [s]."""
        return self.period / self._factor

    def wait(self, end: float) -> None:
        """Wait until the simulated time `end` [s] is due."""
        left = -self.lag(end)
        if left > 0.0:
            time.sleep(left)

    def lag(self, end: float, now: float | None = None) -> float:
        """Return for how long the simulated time `end` has been due [s]; negative before. now: None for this moment."""
        now = time.monotonic() if now is None else now
        return now - (self._origin + end / self._factor + self._delay)

    def catch_up(self, end: float) -> None:
        """Skip the time by which the simulation is behind the clock; the simulated time `end` is due now."""
        lag = self.lag(end)
        self._origin += lag
        self.lost += lag

    def periods_to_skip(self, end: float, now: float) -> int:
        """Return how many periods a simulation at rest has to skip to be MAX_LAG behind a time of the clock [s].

        end: Simulated time at which the next one ends [s].
        """
        return max(math.floor((self.lag(end, now) - MAX_LAG) / self.interval), 0)

    def skip(self, periods: int) -> None:
        """Skip periods whose samples the other end has repeated, so that no time is lost."""
        self._origin += periods * self.interval

    def falls_behind(self, end: float, moving: bool) -> bool:
        """Return whether the simulation is too far behind the clock. moving: whether commands to move wait."""
        return self.lag(end) > (MAX_MOVING_LAG if moving and not self.simulated_clock else MAX_LAG)

    def restart(self, simulated: float) -> None:
        """Let a simulated time [s] be now, after a pause."""
        self._origin = time.monotonic() - simulated / self._factor - self._delay

    def set_factor(self, factor: float, simulated: float) -> None:
        """Change the simulated seconds per second of the clock from a simulated time [s] on, which is now.

        Raises:
            SimulationError: Stamps are not in simulated time.
            InvalidRequestError: The factor is out of range.
        """
        if not self.simulated_clock:
            raise SimulationError("the time factor needs stamps in simulated time (publish_clock)")
        Schedule(real_time_factor=factor)  # checks the range
        self._factor = factor
        self.restart(simulated)

    def moment(self, simulated: float) -> float:
        """Return the timestamp of a simulated time."""
        return simulated if self.simulated_clock else self._origin + simulated / self._factor

    def simulated(self, moment: float) -> float:
        """Return the simulated time of a timestamp."""
        return moment if self.simulated_clock else (moment - self._origin) * self._factor
