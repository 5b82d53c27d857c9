"""Measurements of the robot from `joint_states`, and the detection of faults in them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from ...errors import FeedbackLostError, InvalidRequestError, UnknownNameError, Value
from ...model.name_suggestions import listed
from ...trajectory.tracking import lagging, lost
from ..common.clock_monitor import clock_jump, max_step_ahead
from ..common.clock_rate import ClockRate, ClockRates
from ..common.joint_states import JointStates, Measurement
from .invalid_positions import InvalidPositions
from .stamp_delays import CONSTANT_FOR, StampDelays
from .wraparound import REMEDY, Wraparound, turns_away

LONGEST_PAUSE = 0.05  # [s] between two reads; a longer time is a pause of this process or computer
LONGEST_PERIODS = 2.0  # the same, as a multiple of the period of reads, if that is longer
# A publisher has paused if joint states are later than LONGEST_PAUSE and than this multiple of the last interval.
LATE = 3.0
QUEUED = 5e-3  # [s] messages that arrive within less were queued and are read together
SKIPPED = 0.05  # [s] of its lag that a simulation gives up at once; a longer time is a pause of the robot
MAX_LAG = 10.0  # [s] by which stamps may go ahead in addition to CLOCK_STEP after they lagged as much
OWN_JUMP_FOR = 1.0  # [s] after this node's clock was set, in which stamps may show the same
MAX_JUMPS = 4.0  # times the largest step between messages, at most
RECOVERY = 0.1  # [s] after a pause of this process, in which messages come late that waited
STILL = 1e-3  # [rad or m] maximum motion of a joint at rest
STOOD = 0.1  # [s] without measured motion, after which a robot counts as standing
REPEATED = 3  # messages with a joint from which on it counts as published, not as somebody's mistake
INVALID_FOR = 0.25  # [s] with invalid positions only, after which a joint that had both is unknown
SILENT_FOR = 1.0  # [s] by which a joint is older than the newest one from which on nobody publishes it at present
# Remedies: of stamps that jump, and of positions that do.
CLOCKS = (
    "Stop a second publisher of the joint, such as a record that is played or another simulation, or synchronise the "
    "clocks, which `robot_cell doctor` compares."
)
OWN_CLOCK = (
    "The clock of this computer was set, or the computer was suspended: send the motion again when the clock is "
    "synchronised. In simulated time, the simulation was reset, or several nodes publish /clock."
)
UNKNOWN = (
    "Check the driver of these joints: collisions are checked with where they are measured. Motions begin again once a "
    "valid position arrives, or if the request gives it (`state.configuration`)."
)
JUMPS = (
    "Stop a second publisher of the joint, such as a record that is played, or raise `max_joint_step` for its driver."
)


class JointFeedback:
    """The latest measurement of every joint, merged from any number of publishers.

    Values that are not finite, or not newer than the last ones, are skipped and counted. Faults that must end a motion
    (not finite, a jump, a clock that was set) are kept until they are taken. jump: maximum step of a joint between two
    messages [rad or m]; in proportion more if they are far apart, up to MAX_JUMPS times.

    The age of measurements excludes pauses of this process, and time for which a simulation has stood.
    """

    def __init__(self, jump: float, own: Collection[str] = (), wraparound: Wraparound | None = None) -> None:
        """own: joints of the robot, which others never replace, see `JointNames`. wraparound: of measurements."""
        self._own = frozenset(own)
        self.wraparound = wraparound or Wraparound()
        self._jump = jump
        self._polled_at, self._resumed_at = math.inf, -math.inf
        self._longest_interval = LONGEST_PAUSE
        self._paused = 0.0
        self._states = JointStates(repeats=False, own=own, on_removed=self._forget)
        self._delays = StampDelays()
        self._rates = ClockRates()  # of stamps
        self._received_rate = ClockRate()  # of the clock of the stamps, as this node reads it
        self._received: tuple[int, float] | None = None  # that clock [ns] and the steady clock [s] at the last message
        self._own_jump = 0.0, -math.inf  # by how much that clock was set last [s], and when on the steady clock [s]
        self._lags: dict[str, float] = {}  # [s] by how much the latest measurements came later than the quickest ones
        self._faults: list[FeedbackLostError] = []
        self._invalid = InvalidPositions()
        self._counts: dict[str, int] = {}  # of messages, by joint
        self._intervals: dict[str, float] = {}
        self._anchors: dict[str, tuple[float, float]] = {}
        self._paused_at: dict[str, float] = {}  # [s] of publishers, by joint
        self._reads: dict[str, float] = {}  # [s] between messages that were not read together
        self._silent_until: dict[str, float] = {}  # [s] ends of pauses that bursts of messages do not explain

    def start_poll(self, now: float, period: float = 0.0, stood: float = 0.0) -> None:
        """Call this before messages are read; now: steady clock [s]. period: of reads from now on [s]. stood: time
        since the last call for which simulated time has stood [s], which does not count either."""
        pause = self._pause(now)
        if pause > 0.0:
            self._paused += max(pause, stood)
            self._resumed_at = now
        else:
            self._paused += stood
        self._polled_at = now
        self._longest_interval = max(LONGEST_PAUSE, LONGEST_PERIODS * period)

    def _pause(self, now: float) -> float:
        """Return for how long this process has paused since the last read [s].

        Of a process that is late again and again, only the excess counts: each of its reads would have found messages.
        """
        unpolled = now - self._polled_at
        if unpolled <= self._longest_interval:
            return 0.0
        is_late_again = self._polled_at - self._resumed_at < RECOVERY
        return unpolled - self._longest_interval if is_late_again else unpolled

    def listened(self, now: float) -> float:
        """Return the steady clock [s] without pauses of this process."""
        return now - self._paused - self._pause(now)

    def update(
        self,
        names: Sequence[str],
        positions: Sequence[float],
        velocities: Sequence[float],
        efforts: Sequence[float],
        stamp: int,
        now: float,
        received: int = 0,
    ) -> None:
        """Merge a message; velocities and efforts may be empty. stamp [ns], now: steady clock [s]; received: clock of
        the stamps, as this node reads it [ns]; 0: unknown, as simulated time is before its first message."""
        self._faults += self.wraparound.faults(names, positions)
        continued = self.wraparound.continued(names, positions, self._states.latest, now - self._paused)
        updated = self._states.merge(names, continued, stamp, velocities, efforts, now, self._paused)
        if len(positions) and len(positions) != len(names):  # without positions it may contain only efforts
            self._invalid.note_malformed(names, len(positions), now)
        for name, position in self._states.take_invalid():
            self._invalid.note(name, str(position), now)
            text = f"joint_states contains an invalid position of {name}: {position}"
            self._faults.append(FeedbackLostError(text, subjects=(name,)))
        if updated and received:
            self._note_own_clock(received, now)
        for name, last, new in updated:
            self._invalid.note_valid(name)
            self._counts[name] = self._counts.get(name, 0) + 1
            if last is not None:
                self._check(name, last, new)
                self._note_pause(name, last, new)
            if received:
                interval = 0.0 if last is None else new.arrival - last.arrival
                self._delays.note(name, 1e-9 * (received - stamp), interval, self._received_rate.value)
            anchor = self._anchors.get(name)
            if anchor is None or abs(new.position - anchor[0]) > STILL:
                self._anchors[name] = new.position, new.arrival
        for name in self.wraparound.beyond.intersection(names):
            if self.stood_for((name,)) >= STOOD:
                self.wraparound.note_rest(name, self._states.latest[name].position)
        self._rates.note([name for name, _, _ in updated], stamp, now)

    def _note_own_clock(self, received: int, now: float) -> None:
        if self._received is not None:
            last, at = self._received
            passed = 1e-9 * (received - last)
            jump = passed - self._received_rate.value * (now - at)
            if abs(jump) > max_step_ahead(self._received_rate.value, now - at) * 1e-9:
                self._own_jump = jump, now
        self._received = received, now
        self._received_rate.note(received, now)

    def _forget(self, name: str) -> None:
        self._rates.forget(name)
        self._delays.forget(name)
        tables = self._lags, self._counts, self._intervals, self._anchors, self._paused_at, self._reads
        for table in (*tables, self._silent_until):
            table.pop(name, None)
        self._invalid.forget(name)

    def _note_pause(self, name: str, last: Measurement, new: Measurement) -> None:
        """Detect a pause of the publisher."""
        interval, usual = new.arrival - last.arrival, self._intervals.get(name, math.inf)
        if interval > max(LONGEST_PAUSE, LATE * usual):
            self._paused_at[name] = new.arrival
        self._intervals[name] = interval
        if interval > QUEUED:
            if interval > max(LONGEST_PAUSE, LATE * self._reads.get(name, math.inf)):
                self._silent_until[name] = new.arrival
            self._reads[name] = interval

    def lag(self, names: Sequence[str], *, after_pause: bool = False) -> float:
        """Return by how much stamps come later than they used to, on the steady clock [s]: a simulation slower than
        real time lags. after_pause: also directly after a pause of this process, when messages come late that
        waited."""
        if self._polled_at - self._resumed_at < RECOVERY and not after_pause:
            return 0.0
        return self._delays.lag(names) / self._received_rate.value

    def lagging(self, names: Sequence[str], limit: float) -> FeedbackLostError | None:
        """Return the error of stamps that lag by more than a limit [s]; None if they do not."""
        lag = self.lag(names)
        return lagging(lag, limit) if lag > limit else None

    def take_warnings(self, now: float) -> list[str]:
        """Return what the user should know about the measurements, once; now: steady clock [s]."""
        malformed, accepted = self._invalid.take_problem(now), self._delays.take_accepted()
        found = [f"{malformed}; such messages are skipped. {UNKNOWN}"] if malformed else []
        if not accepted:
            return found
        text = (
            f"the stamps of {listed(accepted)} lag by {max(accepted.values()):.2f} s, the same for {CONSTANT_FOR:g} s"
        )
        return [*found, f"{text}: they count as those of another clock. Give their driver and this node the same clock"]

    def paused_at(self, names: Sequence[str]) -> float:
        """Return the end of the last pause of this process or of a publisher of joints, or of the time that their slow
        simulation gave up, on the steady clock [s]; minus infinity without any."""
        return max([self._resumed_at, *(self._paused_at[name] for name in names if name in self._paused_at)])

    def stood_for(self, names: Sequence[str]) -> float:
        """Return the time for which measured joints have been at rest [s]. A pause of the publisher does not count: a
        robot that was suspended while it moved goes on afterwards. The time between bursts of messages is no pause."""
        return min((self._states.latest[name].arrival - self._stands_since(name) for name in names), default=math.inf)

    def _stands_since(self, name: str) -> float:
        return max(self._anchors[name][1], self._silent_until.get(name, -math.inf))

    def _check(self, name: str, last: Measurement, new: Measurement) -> None:
        """Detect a jump of the clock or of the joint. Delays count on the steady clock, by the rate of the stamps."""
        step = abs(new.position - last.position)
        passed, elapsed = new.stamp - last.stamp, new.arrival - last.arrival
        rate, lag = self._rates.value(name), self._lags.get(name, 0.0)
        ahead = passed * 1e-9 / rate - elapsed
        if passed < 0 or (ahead - lag) * rate * 1e9 > max_step_ahead(rate, elapsed):
            way, value = clock_jump(passed, int(ahead * rate * 1e9))
            also, remedy = (" as that of this node,", OWN_CLOCK) if self._is_own(ahead * rate, new) else ("", CLOCKS)
            text = f"the clock of joint_states was set {way},{also} seen at {name}"
            self._faults.append(FeedbackLostError(text, subjects=(name,), values=(value,), remedy=remedy))
            lag = ahead
            self._delays.forget(name)
        elif step > (largest_step := self._jump * min(max(passed * 1e-9 / LONGEST_PAUSE, 1.0), MAX_JUMPS)):
            text, values = f"the position of {name} in joint_states jumped", (Value("step", step, largest_step),)
            remedy = REMEDY if turns_away(step, largest_step) else JUMPS
            self._faults.append(FeedbackLostError(text, subjects=(name,), values=values, remedy=remedy))
        elif min(ahead, lag) > SKIPPED:
            # The robot continues from where it was before the time that was given up.
            self._paused_at[name] = self._silent_until[name] = new.arrival
        # Messages that were queued during a pause arrive together, and a simulation that falls behind gives up the time
        # that it has lost: stamps then go ahead by as much as they lagged before, without a change of the clock.
        self._lags[name] = min(max(lag - ahead, 0.0), MAX_LAG)

    def _is_own(self, jump: float, new: Measurement) -> bool:
        """Return whether this node's clock was set by about the same as that of a measurement [s], just before."""
        own, at = self._own_jump
        return new.arrival - at <= OWN_JUMP_FOR and abs(jump - own) < 0.5 * abs(own)

    def take_faults(self) -> list[FeedbackLostError]:
        """Return the faults since the last call."""
        faults, self._faults = self._faults, []
        return faults

    def get(self, name: str) -> Measurement | None:
        """Return the latest measurement of a joint; None without one."""
        return self._states.latest.get(name)

    def measured(self) -> dict[str, Measurement]:
        """Return the latest measurements of all joints."""
        return dict(self._states.latest)

    def published(self, own: Collection[str] = ()) -> dict[str, Measurement]:
        """Return the latest measurements of the robot's joints, with further ones of its `own`, and of those that were
        in at least REPEATED messages, or in as many as any. Others, which somebody published by mistake, do not show
        how new the measurements of the robot are."""
        counts = self._counts
        enough = min(REPEATED, max(counts.values(), default=0))
        counted = self._own.union(own, (name for name, count in counts.items() if count >= enough))
        return {name: found for name, found in self._states.latest.items() if name in counted}

    def present(self) -> dict[str, Measurement]:
        """Return those of `published` that are published at present: not older by SILENT_FOR than the newest one."""
        published = self.published()
        since = max((found.arrival - found.paused for found in published.values()), default=0.0) - SILENT_FOR
        return {name: found for name, found in published.items() if found.arrival - found.paused >= since}

    @property
    def skipped(self) -> int:
        """Number of values and messages that were skipped."""
        return self._states.skipped

    @property
    def is_full(self) -> bool:
        """Whether further joints replace others, or are skipped: there are MAX_JOINTS already."""
        return self._states.is_full

    @property
    def names(self) -> tuple[str, ...]:
        """Return all joints that were measured."""
        return tuple(self._states.latest)

    def positions(self) -> dict[str, float]:
        """Return the latest positions of all joints [rad or m]."""
        return {name: found.position for name, found in self._states.latest.items()}

    def age(self, names: Sequence[str], now: float) -> float:
        """Return the age of the oldest among the latest measurements of joints, without pauses of this process [s];
        infinite if one was never measured."""
        measured = [self._states.latest.get(name) for name in names]
        since = [now - found.arrival + found.paused if found else math.inf for found in measured]
        return max(since, default=math.inf) - self._paused - self._pause(now)  # which may go on since the last read

    def age_of_published(self, own: Collection[str], now: float) -> float:
        """As `age`, of the joints of `published`."""
        return self.age(tuple(self.published(own)), now)

    def arrival(self, names: Sequence[str]) -> float:
        """Return the arrival of the oldest among the latest measurements of measured joints, on the steady clock
        [s]."""
        return min(self._states.latest[name].arrival for name in names)

    def fresh(self, names: Sequence[str], now: float, timeout: float) -> dict[str, Measurement]:
        """Return the latest measurements of joints.

        Raises:
            FeedbackLostError: One is missing, older than `timeout` [s], or was published beyond one turn although it
                wraps.
        """
        self.wraparound.check(names)
        missing = tuple(name for name in names if name not in self._states.latest)
        if missing:
            text = f"joint_states has not contained positions of {', '.join(missing[:6])} since the node started"
            text += self._invalid.text(missing)
            raise FeedbackLostError(text, subjects=missing)
        age = self.age(names, now)
        if age > timeout:
            old = [name for name in names if self.age((name,), now) > timeout]
            has_others = any(self.age((name,), now) <= timeout for name in self.names)
            raise lost(age, timeout, old if has_others else (), self._invalid.text(old))
        return {name: self._states.latest[name] for name in names}

    def unknown(self, joints: Collection[str], now: float) -> FeedbackLostError | None:
        """Return the error of joints that were measured, and are published with invalid positions since: they may be
        anywhere now, unlike those that nobody publishes any more. None without any.

        A joint that has had valid positions after invalid ones, as of two publishers of which one does not know it, is
        unknown after INVALID_FOR without a valid one. now: steady clock [s].
        """
        latest = self._states.latest
        found = tuple(
            name
            for name in self._invalid.of(joints)
            if name in latest and not (self._invalid.has_recovered(name) and self.age((name,), now) <= INVALID_FOR)
        )
        if not found:
            return None
        text = f"joint_states do not say where {listed(found)} is{self._invalid.text_with_times(found, latest, now)}"
        return FeedbackLostError(text, subjects=found, remedy=UNKNOWN)

    def problem(self, now: float) -> str:
        """Return what is wrong with the messages at present, "" for nothing; now: steady clock [s]."""
        return self._invalid.problem(now)


def published_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names that joints of the cell may have in joint_states: those of a tool with or without its prefix."""
    return frozenset(each for name in names for each in (name, name.rpartition("/")[2]))


def robot_names(names: Sequence[str], known: Sequence[str], field: str) -> tuple[str, ...]:
    """Return the robot's names of the joints of a goal: the same, or without the prefix of the tool.

    A short name does not select a joint that the robot has by its full name only: which tools have such a joint is not
    known before all of them were measured.

    Raises:
        UnknownNameError: The robot does not have a joint.
        InvalidRequestError: Two names refer to the same joint.
    """
    found = []
    for name in names:
        own = name.rpartition("/")[2]
        if name not in known and own not in known:
            full = [each for each in known if each.endswith(f"/{name}")]
            known_names = ", ".join(full or known) or "none"
            text = f"{field} moves joint {name}, which joint_states does not contain; it contains {known_names}"
            raise UnknownNameError(text, subjects=(name,))
        found.append(name if name in known else own)
    if len(set(found)) != len(found):
        raise InvalidRequestError(f"{field} lists a joint twice: {', '.join(names)}", subjects=(field,))
    return tuple(found)
