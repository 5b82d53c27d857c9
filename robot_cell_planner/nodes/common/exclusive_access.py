"""Exclusive access of clients: each part, such as a robot of the cell, belongs to one client at a time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import MotionBusyError, RobotCellError
from .cancellation import CancellationToken, outcome
from .waiting import Waiters

if TYPE_CHECKING:
    from collections.abc import Callable

    from .node import CellNode

WHOLE: frozenset[str] = frozenset({""})  # of what is not divided into parts


@dataclass(eq=False)
class Claim:
    """A client, the token that cancels its work, and the parts that it has exclusive access to."""

    owner: str
    token: CancellationToken
    parts: frozenset[str]


class ExclusiveAccess:
    """The clients with exclusive access. No part belongs to two claims. what: what clients do, for messages.

    on_change is called when access is acquired, handed over and released. Parts are prefixes of robots, such as
    `left/`; "" represents all that has no prefix.
    """

    def __init__(self, what: str, on_change: Callable[[], None]) -> None:
        self._what = what
        self._on_change = on_change
        self._waiting = Waiters()
        self.claims: tuple[Claim, ...] = ()
        self.queue: tuple[Claim, ...] = ()  # of clients that wait to take over from others, which end

    @property
    def owner(self) -> str:
        """Names of the clients with access, separated by commas; empty without any."""
        return ", ".join(dict.fromkeys(claim.owner for claim in self.claims))

    def of(self, parts: Collection[str]) -> tuple[Claim, ...]:
        """Return the claims to any of the parts."""
        return tuple(claim for claim in self.claims if not claim.parts.isdisjoint(parts))

    def cancel(self, error: RobotCellError) -> None:
        """Cancel the work of all clients with access."""
        for claim in self.claims:
            claim.token.set(error)

    def cancel_all(self, error: RobotCellError) -> None:
        """Cancel the work of all clients, also of those that wait for access."""
        for claim in (*self.claims, *self.queue):
            claim.token.set(error)

    def check_free(self, parts: Collection[str], besides: Collection[Claim] = ()) -> None:
        """Raise MotionBusyError if another claim than some has one of the parts; it names client and robot."""
        others = [claim for claim in self.of(parts) if claim not in besides]
        if not others:
            return
        shared = {claim: _names(claim.parts.intersection(parts)) for claim in others}
        texts = [f"client {claim.owner!r} {self._what}{_of_robots(shared[claim])}" for claim in others]
        subjects = dict.fromkeys(name for claim in others for name in (claim.owner, *shared[claim]))
        raise MotionBusyError("; ".join(texts), subjects=tuple(subjects))

    @contextmanager
    def acquired_by(self, owner: str, token: CancellationToken, parts: frozenset[str] = WHOLE) -> Iterator[Claim]:
        """Context with exclusive access to parts.

        Raises:
            MotionBusyError: another client has access to one of them.
        """
        self.check_free(parts)
        with self._claimed(Claim(owner, token, parts), ()) as claim:
            yield claim

    @contextmanager
    def handed_over_to(
        self, owner: str, token: CancellationToken, previous: Collection[Claim], parts: frozenset[str]
    ) -> Iterator[Claim]:
        """Context with exclusive access to parts and to those of previous claims, which end.

        Raises:
            MotionBusyError: another client has access to one of the parts.
        """
        parts = parts.union(*(claim.parts for claim in previous))
        self.check_free(parts, previous)
        with self._claimed(Claim(owner, token, parts), previous) as claim:
            yield claim

    @contextmanager
    def queued(self, owner: str, token: CancellationToken, parts: frozenset[str] = WHOLE) -> Iterator[None]:
        """Context in which a client waits for access, so that a stop of the clients with access applies to it, too."""
        claim = Claim(owner, token, parts)
        self.queue = (*self.queue, claim)
        try:
            yield
        finally:
            self.queue = tuple(other for other in self.queue if other is not claim)

    def give_back(self, claim: Claim, previous: Collection[Claim]) -> None:
        """Give access back to claims from which it was handed over to another one, whose client does not need it."""
        if claim in self.claims:
            self.claims = (*(other for other in self.claims if other is not claim), *previous)
            self._on_change()
            self._waiting.wake()

    def widen(self, claim: Claim, parts: frozenset[str]) -> None:
        """Add parts to a claim.

        Raises:
            MotionBusyError: another client has access to one of them.
        """
        if not parts <= claim.parts:
            self.check_free(parts, (claim,))
            claim.parts |= parts
            self._on_change()

    @contextmanager
    def _claimed(self, claim: Claim, previous: Collection[Claim]) -> Iterator[Claim]:
        """Context of a claim, in place of previous ones; it is released at the end unless it was handed over."""
        self.claims = (*(other for other in self.claims if other not in previous), claim)
        self._on_change()
        try:
            yield claim
        finally:
            if claim in self.claims:  # access has not been handed over
                self.claims = tuple(other for other in self.claims if other is not claim)
                self._on_change()
                self._waiting.wake()

    async def released(self, node: CellNode, token: CancellationToken, claims: Collection[Claim]) -> None:
        """Wait until claims are released; other clients may then have the parts."""
        while not set(claims).isdisjoint(self.claims):
            await outcome(node, self._waiting.future(), token, math.inf, self._what)


def _names(parts: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(part.rstrip("/") for part in parts if part))


def _of_robots(names: Collection[str]) -> str:
    return f" of robot {' and '.join(names)}" if names else ""
