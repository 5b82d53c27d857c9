"""Time of motions that follows a simulated clock, without steps and without running ahead of it."""

from __future__ import annotations

import math
from collections import deque
from statistics import median_low

from ..common.clock_monitor import CLOCK_STEP
from ..common.clock_rate import MAX_RATE

ESTIMATES = 9  # whose median counts, so that neither a jump nor a short pause changes it
MIN_INTERVAL = 0.04  # [s] of an estimate of the rate: readings are late by some milliseconds
MAX_INTERVAL = 0.5  # [s] of the same: the clock has stood in a longer one
TIME_CONSTANT = 0.1  # [s] in which a deviation from the clock decays
MAX_CORRECTION = 0.05  # by which time goes faster or slower than the clock for that
AHEAD = 2.0  # multiple of the usual step between two readings by which time may be ahead of the last one
MAX_AHEAD = 0.2  # [s] the same, at most
# [s] on the steady clock, in addition to a usual step, by which time may be behind before it catches up at once.
MAX_LAG = 0.004
MAX_STEP = 1e-9 * CLOCK_STEP  # [s] by which the clock may go on or back without having been set
GAPS = 2.0  # maximum gaps by which time goes on after a longer one
STANDING = 1.0  # [s] without a reading, after which a clock stands
LATE = 3.0  # multiple of the usual interval between readings, after which it does, if that is longer


class ClockFollower:
    """Follows a clock by its readings; all times of the steady clock in calls must not decrease.

    Between two readings, time advances by the estimated rate of the clock, but for a small correction, and no further
    beyond the last reading than AHEAD usual steps: it stands with the clock, and continues where it stood. What it has
    missed while readings were late, or the clock was faster, it makes up for at once: a duration of this time is one of
    the clock. It does not follow a clock that is set by more than MAX_STEP. If time stood before for longer than
    `max_gap` [s], since the clock stood or readings were missing, it goes on by twice as much then: after such a gap,
    motions continue from rest.

    Attributes:
        time: Time of motions [s], 0 at the first reading; it never decreases.
        rate: Seconds of the clock per second of the steady clock.
        started: Whether there was a reading.
    """

    def __init__(self, max_gap: float) -> None:
        self.time = 0.0
        self.rate = 1.0
        self.started = False
        self._max_gap = max_gap
        self._base = 0  # [ns] the first reading
        self._offset = 0.0  # [s] time on the clock since that, minus `time`
        self._reading, self._read_at = 0.0, math.nan  # [s] since the first one, and on the steady clock
        self._called_at = self._advanced_at = math.nan
        self._stood = 0.0
        self._begin = 0.0, 0.0  # reading and steady clock of the present estimate of the rate [s]
        self._rates: deque[float] = deque(maxlen=ESTIMATES)
        self._steps: deque[float] = deque(maxlen=ESTIMATES)
        self._intervals: deque[float] = deque(maxlen=ESTIMATES)

    @property
    def stamp(self) -> int:
        """`time` on the clock [ns]; 0 without a reading."""
        return max(self._base + round(1e9 * (self.time + self._offset)), 0) if self.started else 0

    def note(self, stamp: int, now: float) -> None:
        """Take a reading of the clock [ns] at a time of the steady clock [s]; the same one again changes nothing."""
        if not self.started:
            self.started, self._base = True, stamp
            self._read_at = self._called_at = self._advanced_at = now
            self._begin = 0.0, now
            return
        reading = 1e-9 * (stamp - self._base)
        step, interval = reading - self._reading, now - self._read_at
        if step == 0.0:
            return
        self._reading, self._read_at = reading, now
        if step > 0.0:
            self._steps.append(step)
            self._intervals.append(interval)
        self._estimate_rate(reading, now, is_broken=step < 0.0 or interval > MAX_INTERVAL)

    def _estimate_rate(self, reading: float, now: float, *, is_broken: bool) -> None:
        elapsed = now - self._begin[1]
        if is_broken:
            self._begin = reading, now
        elif elapsed >= MIN_INTERVAL:
            self._rates.append((reading - self._begin[0]) / elapsed)
            self._begin = reading, now
            self.rate = min(max(median_low(self._rates), 0.0), MAX_RATE)

    @property
    def _ahead(self) -> float:
        """By how much time may be ahead of the last reading [s]."""
        return min(AHEAD * median_low(self._steps), MAX_AHEAD) if self._steps else 0.0

    def advance(self, now: float) -> None:
        """Let time go on until a time of the steady clock [s]."""
        elapsed, stood = now - self._called_at, self.rate * (self._called_at - self._advanced_at)
        if not (self.started and elapsed > 0.0):
            return
        self._called_at = now
        ahead, present, step = self._ahead, self.time + self._offset, self.rate * elapsed
        estimate = self._reading + min(self.rate * (now - self._read_at), ahead)
        room, lag = self._reading + ahead - present, estimate - present - step
        max_lag = ahead / AHEAD + MAX_LAG * max(self.rate, 1.0)
        if lag > MAX_STEP or room < -MAX_STEP:  # the clock was set
            passed = GAPS * self._max_gap if stood > self._max_gap else min(step, ahead)
            self._offset += estimate - present - passed
        elif lag > max_lag:
            passed = estimate - present
        else:
            limit = MAX_CORRECTION * step
            correction = min(max(lag * min(elapsed / TIME_CONSTANT, 1.0), -limit), limit)
            passed = min(step + correction, max(room, 0.0))
        if passed > 0.0:
            self.time += passed
            self._stood += max(now - self._advanced_at - passed, 0.0)
            self._advanced_at = now

    def stood(self, now: float) -> float:
        """Return for how long time has stood, or was slower than the steady clock, in total [s]."""
        return self._stood + (now - self._advanced_at) if self.started else 0.0

    def stands(self, now: float) -> bool:
        """Return whether the clock has stood for some time."""
        usual = median_low(self._intervals) if self._intervals else 0.0
        return self.started and now - self._read_at > max(STANDING, LATE * usual)
