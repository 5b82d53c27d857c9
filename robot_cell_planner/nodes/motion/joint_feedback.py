"""Measurements of the robot from `joint_states`, and the detection of faults in them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...errors import FeedbackLostError, InvalidRequestError, UnknownNameError, Value
from ..common.joint_states import CLOCK_STEP, JointStates, Measurement

LONGEST_PAUSE = 0.05  # [s] between two looks; beyond that this process, or the whole computer, stood still
# Joint states that come so many times later than the ones before them, and later than that, show that their publisher
# stood still.
LATE = 3.0
MAX_JUMPS = 4.0  # times the largest step between messages, at most
STILL = 1e-3  # [rad or m] that a joint which stands may move


class JointFeedback:
    """The latest measurement of every joint, merged from any number of publishers.

    A value that is not finite, or not newer than what is known, is skipped and counted. What must end a motion (not
    finite, jumped, a clock that was set back or ahead) is kept until it is taken. jump: the largest step of a joint
    from one message to the next [rad or m]; some times that, in proportion, where they are far apart.

    Age is silence while somebody listened: that of a computer which stood still as a whole is not the robot's.
    paused_at: when the last pause ended, of this process or of a publisher's, on the steady clock [s].
    """

    def __init__(self, jump: float) -> None:
        self._jump = jump
        self._polled_at = math.inf
        self._paused = 0.0
        self._states = JointStates(repeats=False)
        self._held_up: dict[str, int] = {}  # [ns] for how long the latest measurements may have waited to be looked at
        self._faults: list[FeedbackLostError] = []
        self._intervals: dict[str, float] = {}
        self._anchors: dict[str, tuple[float, float]] = {}
        self.paused_at = -math.inf

    def start_poll(self, now: float) -> None:
        """To be called before messages are looked for; now: steady clock [s]."""
        if now - self._polled_at > LONGEST_PAUSE:
            self._paused += now - self._polled_at
            self.paused_at = now
        self._polled_at = now

    def listened(self, now: float) -> float:
        """The steady clock [s] less all the time in which nobody looked."""
        unpolled = now - self._polled_at
        return now - self._paused - (unpolled if unpolled > LONGEST_PAUSE else 0.0)

    def update(
        self,
        names: Sequence[str],
        positions: Sequence[float],
        velocities: Sequence[float],
        efforts: Sequence[float],
        stamp: int,
        now: float,
    ) -> None:
        """Merge a message; velocities and efforts may be empty. stamp [ns], now: steady clock [s]."""
        updated = self._states.merge(names, positions, stamp, velocities, efforts, now, self._paused)
        for name, position in self._states.take_invalid():
            self._faults.append(FeedbackLostError(f"joint_states says that {name} is at {position}", subjects=(name,)))
        for name, last, new in updated:
            if last is not None:
                self._check(name, last, new)
                self._note_pause(name, last, new)
            anchor = self._anchors.get(name)
            if anchor is None or abs(new.position - anchor[0]) > STILL:
                self._anchors[name] = new.position, new.arrival

    def _note_pause(self, name: str, last: Measurement, new: Measurement) -> None:
        """Note a pause of the publisher."""
        interval, usual = new.arrival - last.arrival, self._intervals.get(name, math.inf)
        if interval > max(LONGEST_PAUSE, LATE * usual):
            self.paused_at = new.arrival
        self._intervals[name] = interval

    def stood_for(self, names: Sequence[str]) -> float:
        """Time for which the latest measurements of joints show them standing [s]; of measured ones."""
        return min((self._states.latest[name].arrival - self._anchors[name][1] for name in names), default=math.inf)

    def _check(self, name: str, last: Measurement, new: Measurement) -> None:
        """Note that a clock was set, or that the joint jumped."""
        step = abs(new.position - last.position)
        passed = new.stamp - last.stamp
        ahead = passed - int((new.arrival - last.arrival) * 1e9)
        if passed < 0 or ahead > CLOCK_STEP + self._waited(name, last, new, ahead):
            way, by = ("back", -passed) if passed < 0 else ("ahead", ahead)
            text = f"the clock of joint_states was set {way}, seen at {name}"
            values = (Value(f"set {way} by", by * 1e-9, unit="s"),)
            self._faults.append(FeedbackLostError(text, subjects=(name,), values=values))
        elif step > (largest_step := self._jump * min(max(passed * 1e-9 / LONGEST_PAUSE, 1.0), MAX_JUMPS)):
            text, values = f"joint_states says that {name} jumped", (Value("step", step, largest_step),)
            self._faults.append(FeedbackLostError(text, subjects=(name,), values=values))

    def _waited(self, name: str, last: Measurement, new: Measurement, ahead: int) -> int:
        """For how long the measurement before this one may have waited to be sent, or to be looked at [ns]: what queued
        up during a pause, of the publisher or of this process, comes at once after it, and then the stamps seem to leap
        ahead."""
        waited = self._held_up.get(name, 0)
        paused = new.paused > last.paused or ahead < -round(LONGEST_PAUSE * 1e9)
        if waited or paused:
            self._held_up[name] = max(waited - (ahead if paused else max(ahead, 0)), 0)
        return waited

    def take_faults(self) -> list[FeedbackLostError]:
        """What went wrong since this was last asked, joint by joint."""
        faults, self._faults = self._faults, []
        return faults

    def get(self, name: str) -> Measurement | None:
        """The latest measurement of a joint, if there is any."""
        return self._states.latest.get(name)

    @property
    def skipped(self) -> int:
        """Number of values and messages that were skipped."""
        return self._states.skipped

    @property
    def names(self) -> tuple[str, ...]:
        """All joints that were measured so far."""
        return tuple(self._states.latest)

    def positions(self) -> dict[str, float]:
        """The latest positions of all joints [rad or m]."""
        return {name: found.position for name, found in self._states.latest.items()}

    def age(self, names: Sequence[str], now: float) -> float:
        """Time since the oldest among the latest measurements of joints came, less that in which nobody looked [s];
        infinite if one never came."""
        measured = [self._states.latest.get(name) for name in names]
        since = [now - found.arrival + found.paused if found else math.inf for found in measured]
        # A pause may have begun after the last look, and none have come since.
        unpolled = now - self._polled_at
        return max(since, default=math.inf) - self._paused - (unpolled if unpolled > LONGEST_PAUSE else 0.0)

    def arrival(self, names: Sequence[str]) -> float:
        """When the oldest among the latest measurements of joints came, on the steady clock [s]; of measured ones."""
        return min(self._states.latest[name].arrival for name in names)

    def fresh(self, names: Sequence[str], now: float, timeout: float) -> dict[str, Measurement]:
        """The latest measurements of joints.

        Raises:
            FeedbackLostError: one never came, or is older than `timeout` [s].
        """
        missing = tuple(name for name in names if name not in self._states.latest)
        if missing:
            text = f"joint_states never had positions of {', '.join(missing[:6])}"
            raise FeedbackLostError(text, subjects=missing)
        age = self.age(names, now)
        if age > timeout:
            raise lost(age, timeout)
        return {name: self._states.latest[name] for name in names}


def lost(age: float, timeout: float) -> FeedbackLostError:
    """The error for joint states that have stopped."""
    return FeedbackLostError("joint_states stopped arriving", values=(Value("age", age, timeout, "s"),))


def robot_names(names: Sequence[str], known: Sequence[str], field: str) -> tuple[str, ...]:
    """What the robot calls the joints of a goal: by the same name, or without the tool that a cell puts before it.

    Raises:
        UnknownNameError: the robot has no such joint.
        InvalidRequestError: two of the names mean the same joint.
    """
    found = []
    for name in names:
        own = name.rpartition("/")[2]
        if name not in known and own not in known:
            known_names = ", ".join(known) or "none"
            text = f"{field} moves joint {name}, which joint_states does not contain; it contains {known_names}"
            raise UnknownNameError(text, subjects=(name,))
        found.append(name if name in known else own)
    if len(set(found)) != len(found):
        raise InvalidRequestError(f"{field} names a joint twice: {', '.join(names)}", subjects=(field,))
    return tuple(found)
