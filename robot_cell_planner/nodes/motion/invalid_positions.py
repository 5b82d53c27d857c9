"""Joints that are received without a valid position: they may be anywhere, unlike those that nobody publishes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...model.name_suggestions import listed
from ..common.joint_states import MAX_JOINTS, Measurement

REPORT_PERIOD = 10.0  # [s] between warnings about messages whose positions do not belong to names
RECENT = 5.0  # [s] after such a message in which diagnostics report it


class Invalid(NamedTuple):
    """What was received in place of the position of a joint, and when on the steady clock [s]."""

    value: str
    arrival: float


class InvalidPositions:
    """What was received of joints since their latest valid positions."""

    def __init__(self) -> None:
        self._found: dict[str, Invalid] = {}
        self._recovered: set[str] = set()  # joints that had valid positions after invalid ones
        self._malformed = Invalid("", -math.inf)
        self._reported_at = -math.inf

    def note(self, name: str, value: str, now: float) -> None:
        """Note a joint whose position is not valid. now: steady clock [s]."""
        self._found[name] = Invalid(value, now)
        if len(self._found) > MAX_JOINTS:
            del self._found[next(iter(self._found))]

    def note_malformed(self, names: Sequence[str], count: int, now: float) -> None:
        """Note a message with another number of positions than of names."""
        value = f"missing (the message has {len(names)} names and {count} positions)"
        for name in names:
            self.note(name, value, now)
        self._malformed = Invalid(f"a message has {len(names)} names and {count} positions: {listed(names)}", now)

    def note_valid(self, name: str) -> None:
        """Note a joint with a valid position."""
        if self._found.pop(name, None) is not None:
            self._recovered.add(name)

    def forget(self, name: str) -> None:
        """Forget that a joint has had valid positions again."""
        self._recovered.discard(name)

    def of(self, joints: Collection[str]) -> tuple[str, ...]:
        """Return those of some joints that are received without a valid position, in alphabetical order."""
        return tuple(sorted(self._found.keys() & set(joints)))

    def has_recovered(self, name: str) -> bool:
        """Return whether a joint had valid positions after invalid ones, as of two publishers."""
        return name in self._recovered

    def text(self, names: Iterable[str]) -> str:
        """Return the end of an error about joints, "" if none of them is received."""
        invalid = [f"{name} is {self._found[name].value}" for name in names if name in self._found]
        return f"; they are received, but the position of {listed(invalid)}" if invalid else ""

    def text_with_times(self, names: Iterable[str], latest: Mapping[str, Measurement], now: float) -> str:
        """As `text`, with when that was received, and the latest valid position of each joint."""
        details = []
        for name in names:
            (value, arrival), valid = self._found[name], latest[name]
            valid_text = f"the last valid one is {valid.position:.4g}, {now - valid.arrival:.2f} s ago"
            details.append(f"{name} is {value}, received {now - arrival:.2f} s ago ({valid_text})")
        return f"; they are received, but the position of {listed(details)}"

    def problem(self, now: float) -> str:
        """Return the malformed message that was received recently, "" without one."""
        return f"joint_states: {self._malformed.value}" if now - self._malformed.arrival <= RECENT else ""

    def take_problem(self, now: float) -> str:
        """As `problem`, at most once per REPORT_PERIOD."""
        problem = self.problem(now) if now - self._reported_at >= REPORT_PERIOD else ""
        if problem:
            self._reported_at = now
        return problem
