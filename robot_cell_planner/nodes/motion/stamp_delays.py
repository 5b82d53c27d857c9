"""Delays of the stamps of joint states, and by how much these lag behind the quickest ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LEAK = 0.05  # by which the least delay of stamps is taken to grow with time: clocks drift, and delays change
# [s] of the steady clock for which a lag stays the same, after which the stamps are those of another clock: this node's
# was set, or ran faster for a while. It may grow by what LEAK allows for meanwhile; that of a driver that lags more and
# more does by more.
CONSTANT_FOR = 30.0
SAME = LEAK * CONSTANT_FOR  # [s] within which delays are the same
SHOWN = 0.5  # [s] lag from which on it is worth a warning that it does not count any more


@dataclass(slots=True)
class _Delays:
    """The delays of one joint [s]: the latest, the least that counts, and the least and largest for `since` seconds of
    the steady clock."""

    latest: float
    least: float
    low: float
    high: float
    since: float = 0.0


class StampDelays:
    """Compares the delays of stamps of joints with the least ones, all on the clock of the stamps [s]."""

    def __init__(self) -> None:
        self._joints: dict[str, _Delays] = {}
        self._accepted: dict[str, float] = {}  # lags that do not count any more, by joint

    def note(self, joint: str, delay: float, elapsed: float, rate: float) -> None:
        """Take the delay of a stamp [s]. elapsed: on the steady clock since the last message with the joint [s]; rate:
        of the clock of the stamps. A delay grows by the product while stamps stand, and by more if a clock was set."""
        found = self._joints.get(joint)
        if found is None:
            self._joints[joint] = _Delays(delay, delay, delay, delay)
            return
        interval = rate * elapsed
        was_set_by = max(delay - found.latest - interval, 0.0)
        found.latest, found.least = delay, min(found.least + LEAK * interval + was_set_by, delay)
        found.low, found.high, found.since = min(found.low, delay), max(found.high, delay), found.since + elapsed
        if found.high - found.low > SAME:
            found.low, found.high, found.since = delay, delay, 0.0
        elif found.since >= CONSTANT_FOR:
            if found.low - found.least > SHOWN:
                self._accepted[joint] = found.low - found.least
            found.least = max(found.least, found.low)
            found.low, found.high, found.since = delay, delay, 0.0

    def forget(self, joint: str) -> None:
        """Forget the delays of a joint, as after its clock was set."""
        self._joints.pop(joint, None)

    def lag(self, joints: Iterable[str]) -> float:
        """Return by how much the latest stamps of joints come later than their quickest ones [s]."""
        known = (self._joints[joint] for joint in joints if joint in self._joints)
        return max((found.latest - found.least for found in known), default=0.0)

    def take_accepted(self) -> dict[str, float]:
        """Return the lags [s] that count no longer since the last call, by joint."""
        accepted, self._accepted = self._accepted, {}
        return accepted
