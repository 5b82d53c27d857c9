"""Detection of jumps of the clock, for nodes that run on simulated time."""

from __future__ import annotations

from ...errors import StoppedError, Value

CLOCK = "clock"  # stage of the error
CLOCK_STEP = 1_000_000_000  # [ns] minimum jump; a simulation may run faster or slower than real time
CLOCK_SKEW = 5_000_000_000  # [ns] maximum delay of stamps; longer ones are of another clock


class ClockMonitor:
    """Compares a clock with the steady clock. A clock that does not advance, as before the first message on /clock, is
    no error; the pause counts when it continues."""

    def __init__(self) -> None:
        self._last: tuple[int, float] | None = None

    def check(self, stamp: int, now: float) -> StoppedError | None:
        """Return an error that stops motions if the clock has jumped since the last call; else None.

        stamp: time of the clock [ns], 0 before it is set for the first time; now: steady clock [s].
        """
        last = self._last
        if stamp == 0 or (last is not None and stamp == last[0]):
            return None
        self._last = stamp, now
        if last is None:
            return None
        passed = stamp - last[0]
        ahead = passed - int((now - last[1]) * 1e9)
        if passed >= -CLOCK_STEP and ahead <= CLOCK_STEP:
            return None
        way, value = clock_jump(passed, ahead)
        return StoppedError(f"the clock of this node, /clock, was set {way}", stage=CLOCK, values=(value,))


def clock_jump(passed: int, ahead: int) -> tuple[str, Value]:
    """Return the direction ("back" or "ahead") and the size of a jump.

    passed: difference of two stamps [ns]; ahead: the same minus the time on the steady clock [ns].
    """
    way, size = ("back", -passed) if passed < 0 else ("ahead", ahead)
    return way, Value(f"set {way} by", size * 1e-9, unit="s")
