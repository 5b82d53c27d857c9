"""Detection of jumps of the clock, for nodes that run on simulated time."""

from __future__ import annotations

from ...errors import StoppedError, Value
from .clock_rate import ClockRate

CLOCK = "clock"  # stage of the error
CLOCK_STEP = 1_000_000_000  # [ns] minimum jump, beyond what the rate of the clock explains
MAX_LAG = 1.0  # [s] by which a fast clock may be late and catch up, on the steady clock
CLOCK_SKEW = 5_000_000_000  # [ns] maximum delay of stamps; longer ones are of another clock


class ClockMonitor:
    """Compares a clock with the steady clock. A clock that does not advance, as before the first message on /clock, is
    no error; the pause counts when it continues. Nor is one that runs faster, at the rate that it had so far."""

    def __init__(self) -> None:
        self._last: tuple[int, float] | None = None
        self._rate = ClockRate()
        self._lag = 0.0  # [s] by which the clock was late, on the steady clock

    def check(self, stamp: int, now: float) -> StoppedError | None:
        """Return an error that stops motions if the clock has jumped since the last call; else None.

        stamp: time of the clock [ns], 0 before it is set for the first time; now: steady clock [s].
        """
        last = self._last
        if stamp == 0 or (last is not None and stamp == last[0]):
            return None
        self._last, rate = (stamp, now), self._rate.value
        self._rate.note(stamp, now)
        if last is None:
            return None
        passed, elapsed = stamp - last[0], now - last[1]
        ahead = passed - int(rate * elapsed * 1e9)
        lag, self._lag = self._lag, min(max(self._lag - 1e-9 * ahead / rate, 0.0), MAX_LAG)
        if passed >= -CLOCK_STEP and ahead <= max_step_ahead(rate, elapsed + lag):
            return None
        self._lag = 0.0
        way, value = clock_jump(passed, ahead)
        return StoppedError(f"the clock of this node, /clock, was set {way}", stage=CLOCK, values=(value,))


def max_step_ahead(rate: float, elapsed: float) -> int:
    """Return by how much a clock may be ahead of its rate without having been set [ns]: the faster it is, the more its
    delays count. elapsed: on the steady clock, and the delay before [s]."""
    return CLOCK_STEP + int((rate - 1.0) * elapsed * 1e9)


def clock_jump(passed: int, ahead: int) -> tuple[str, Value]:
    """Return the direction ("back" or "ahead") and the size of a jump.

    passed: difference of two stamps [ns]; ahead: the same minus what passed at the rate of the clock [ns].
    """
    way, size = ("back", -passed) if passed < 0 else ("ahead", ahead)
    return way, Value(f"set {way} by", size * 1e-9, unit="s")
