"""Rate of a clock that may run faster than the steady clock, as that of a simulation does."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

MAX_RATE = 100.0  # of a simulated clock, see `real_time_factor` of the simulated robot
# Intervals whose median is the rate, so that neither a jump nor a pause changes it: a clock that becomes faster is
# followed soon, one that becomes slower later, since it may only be late.
FEW, MANY = 5, 25
MIN_INTERVAL = 0.01  # [s] of each: messages that have waited are read at once


class ClockRate:
    """Estimates the seconds of a clock per second of the steady clock, from 1 to MAX_RATE.

    A clock that is slower counts as one with rate 1 that is late: it may catch up.

    Attributes:
        value: The rate; 1 before an interval has passed.
    """

    def __init__(self) -> None:
        self.value = 1.0
        self._begin: tuple[int, float] | None = None  # of the present interval
        self._rates: deque[float] = deque(maxlen=MANY)

    def note(self, stamp: int, now: float) -> None:
        """Take a time of the clock [ns], read at a time of the steady clock [s]."""
        if self._begin is None:
            self._begin = stamp, now
            return
        elapsed = now - self._begin[1]
        if elapsed < MIN_INTERVAL:
            return
        self._rates.append(1e-9 * (stamp - self._begin[0]) / elapsed)
        self._begin = stamp, now
        rates = list(self._rates)
        self.value = min(max(_lower_median(rates), _lower_median(rates[-FEW:]), 1.0), MAX_RATE)

    def copy(self) -> ClockRate:
        """Return an estimate that continues from this one."""
        found = ClockRate()
        found.value, found._begin, found._rates = self.value, self._begin, self._rates.copy()
        return found


class _Shared:
    """An estimate, and the number of joints that have it."""

    __slots__ = ("joints", "rate")

    def __init__(self, rate: ClockRate, joints: int) -> None:
        self.rate, self.joints = rate, joints


class ClockRates:
    """Rates of the clocks that stamp the messages of joints, each as `ClockRate` estimates it of the messages with the
    joint. Joints that have always been in the same messages, as those of one publisher are, share an estimate."""

    def __init__(self) -> None:
        self._shared: dict[str, _Shared] = {}

    def value(self, joint: str) -> float:
        """Return the rate for a joint that was in a message."""
        return self._shared[joint].rate.value

    def note(self, joints: Sequence[str], stamp: int, now: float) -> None:
        """Take the stamp of a message [ns] with different joints, read at a time of the steady clock [s]."""
        first = self._shared.get(joints[0]) if joints else None
        if first is None or first.joints != len(joints) or any(self._shared.get(each) is not first for each in joints):
            self._separate(joints)
            for shared in dict.fromkeys(map(self._shared.__getitem__, joints)):
                shared.rate.note(stamp, now)
        else:
            first.rate.note(stamp, now)

    def _separate(self, joints: Sequence[str]) -> None:
        """Let joints share estimates only with each other."""
        together: dict[_Shared | None, list[str]] = {}
        for joint in joints:
            together.setdefault(self._shared.get(joint), []).append(joint)
        for shared, members in together.items():
            if shared is not None and shared.joints == len(members):
                continue
            if shared is not None:
                shared.joints -= len(members)
            own = _Shared(ClockRate() if shared is None else shared.rate.copy(), len(members))
            self._shared.update(dict.fromkeys(members, own))

    def forget(self, joint: str) -> None:
        """Forget a joint that was in a message, if any."""
        shared = self._shared.pop(joint, None)
        if shared is not None:
            shared.joints -= 1


def _lower_median(values: Sequence[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]
