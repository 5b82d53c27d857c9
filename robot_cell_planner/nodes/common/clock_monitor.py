"""Whether the clock of a node that runs on simulated time goes on, or was set."""

from __future__ import annotations

from ...errors import StoppedError, Value

CLOCK = "clock"  # stage of the error if it was set
CLOCK_STEP = 1_000_000_000  # [ns] by which it must be off; a simulation may well run faster or slower than the world


class ClockMonitor:
    """Compares a clock with the steady one. A clock that stands still, as before the first message on /clock, is no
    error; the time that it stood counts when it continues."""

    def __init__(self) -> None:
        self._last: tuple[int, float] | None = None

    def check(self, stamp: int, now: float) -> StoppedError | None:
        """The error for motions that run, if the clock was set since this was last called.

        stamp: what the clock says [ns], 0 before it was set for the first time; now: steady clock [s].
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
        way, by = ("back", -passed) if passed < 0 else ("ahead", ahead)
        values = (Value(f"set {way} by", by * 1e-9, unit="s"),)
        return StoppedError(f"the clock of this node, /clock, was set {way}", stage=CLOCK, values=values)
