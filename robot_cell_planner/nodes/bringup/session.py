"""Runs programs together: when one ends unexpectedly, all are ended."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from ..common.dependencies import INTERRUPTED
from .output import Console, LinePrinter
from .prepared import PreparedProcess
from .processes import Process, describe
from .program import Program
from .respawn import RespawnRule

READ_AT_ONCE = 64 * 1024
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Accepted exit statuses of processes ended by the session; SIGALRM: of a node whose middleware did not close in time;
# INTERRUPTED: of one that had not started yet.
CLEAN = (0, -signal.SIGINT, -signal.SIGTERM, -signal.SIGALRM, INTERRUPTED)
CANNOT_START = 127
RETRY = 2.0  # [s] before another attempt after a program could not be started
EXPLAINED_AFTER = 5.0  # [s] of waiting for libraries, which takes one to two
LIBRARIES_LOAD = (
    "the nodes start when their libraries are loaded; the first time after an installation or a change, numeric "
    "kernels are compiled, which takes a minute or two"
)


@dataclass(frozen=True)
class ShutdownTimeouts:
    """Time limits.

    Attributes:
        interrupt: For processes to end by SIGINT, before they get SIGTERM [s]; see also `Program.ends_within`.
        terminate: For processes to end by SIGTERM, before they are killed [s].
    """

    interrupt: float = 8.0
    terminate: float = 4.0


@dataclass(frozen=True)
class _Member:
    process: Process
    printers: dict[int, LinePrinter]
    started: float
    failures: int
    first: bool


@dataclass(frozen=True)
class _Due:
    """A program to be restarted at a time of `time.monotonic`."""

    moment: float
    program: Program
    failures: int


class Session:
    """Programs that run together.

    Args:
        programs: What to start, in this order; their names differ.
        client: The program whose end ends the session; None: the session runs until it is stopped.
        environment: Variables of all processes.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        client: Program | None,
        environment: Mapping[str, str],
        timeouts: ShutdownTimeouts | None = None,
    ) -> None:
        self._programs = [*programs, *([client] if client else [])]
        self._client = client
        self._environment = environment
        self._timeouts = timeouts or ShutdownTimeouts()
        self._members: dict[str, _Member] = {}
        self._due: list[_Due] = []
        self._prepared: PreparedProcess | None = None
        self._selector = selectors.DefaultSelector()
        self._stops: list[signal.Signals] = []
        self._stops_at_end = 0  # 1: ended by a signal
        self._has_explained = False
        self._console = Console(max(len(program.name) for program in self._programs))

    def run(self) -> int:
        """Run until the client ends, a program ends unexpectedly, or a signal stops the session.

        SIGINT, SIGTERM and SIGHUP stop the session; a second one skips the time limits.

        Returns:
            Exit status: the client's; after a signal 0 without a client, else 128 plus the signal's number; if a
            program ended that should not have, that program's, or 1 if it has none; 1 if one had to be killed.
        """
        with self._signals():
            try:
                status = self._start()
                while status is None:
                    status = self._step()
                self._stops_at_end = min(len(self._stops), 1)
                clean = self._end_all()
                return status if clean or status else 1
            finally:
                self._kill()

    def _start(self) -> int | None:
        """Start all programs; those that are forked, when what they need of the libraries is imported. Returns the exit
        status if one cannot be started."""
        forked = [program for program in self._programs if program.entry]
        if forked:
            with suppress(OSError):  # they are started from their files
                self._prepared = PreparedProcess(self._environment)
        status = self._start_all(program for program in self._programs if not program.entry)
        for first in (True, False):
            due = [program for program in forked if program.forked_first == first]
            if self._prepared is not None and (first or due) and status is None:
                if not first:
                    self._prepared.load()
                self._prepared.wait(partial(self._waits_on, time.monotonic()))
            if status is None and not self._stops:
                status = self._start_all(due)
        return status

    def _waits_on(self, began: float) -> bool:
        """Return whether to wait for libraries still, since `began` [s], and say once why that takes long."""
        if not self._has_explained and time.monotonic() - began > EXPLAINED_AFTER:
            self._has_explained = True
            self._console.say(LIBRARIES_LOAD)
        return not self._stops

    def _start_all(self, programs: Iterable[Program]) -> int | None:
        for program in programs:
            try:
                self._spawn(program, failures=0, first=True)
            except OSError as error:
                self._console.say(f"{program.name} cannot be started: {error}")
                return CANNOT_START
        return None

    def _spawn(self, program: Program, failures: int, first: bool) -> None:
        process = Process(program, self._environment, self._prepared)
        index = self._programs.index(program)
        printers = {}
        for pipe, stream in zip(process.pipes, (sys.stdout, sys.stderr), strict=False):
            os.set_blocking(pipe, False)
            printers[pipe] = LinePrinter(self._console, stream, program.name, index)
            self._selector.register(pipe, selectors.EVENT_READ, printers[pipe])
        self._members[program.name] = _Member(process, printers, time.monotonic(), failures, first)

    def _step(self) -> int | None:
        """Wait for an event; return the exit status once the session must end."""
        next_start = min((due.moment for due in self._due), default=None)
        for member, status in self._wait(None if next_start is None else max(next_start - time.monotonic(), 0.0)):
            outcome = self._handle_end(member, status)
            if outcome is not None:
                return outcome
        if self._stops:
            self._console.say(f"{self._stops[0].name}: ending {', '.join(self._members)}")
            return 128 + self._stops[0] if self._client else 0
        self._start_again()
        return 1 if self._console.closed else None

    def _start_again(self) -> None:
        """Start programs that are due."""
        now = time.monotonic()
        ready = [due for due in self._due if due.moment <= now]
        self._due = [due for due in self._due if due.moment > now]
        for due in ready:
            try:
                self._spawn(due.program, due.failures, first=False)
            except OSError as error:  # a possibly temporary lack of processes or memory
                self._console.say(f"{due.program.name} cannot be started: {error}; trying again in {RETRY:g} s")
                self._due.append(_Due(now + RETRY, due.program, due.failures))

    def _handle_end(self, member: _Member, status: int) -> int | None:
        """Handle the end of a process. Returns the exit status of the session, or None to continue."""
        program = member.process.program
        how = f"{program.name} ended with {describe(status)}"
        if program == self._client:
            if status:
                self._console.say(how)
            return status if status >= 0 else 128 - status
        lasted = time.monotonic() - member.started
        if program.respawn and self._is_started_again(program.respawn, member, how, lasted, status):
            return None
        if program.is_optional:
            self._console.say(f"{how}; the others continue")
            return None
        self._console.say(f"{how}; ending {', '.join(self._members)}" if self._members else how)
        return status if status > 0 else 1

    def _is_started_again(self, rule: RespawnRule, member: _Member, how: str, lasted: float, status: int) -> bool:
        """Schedule the restart of a program, unless its limits are exceeded."""
        name = member.process.program.name
        failures = rule.failures_after(member.failures, lasted, status)
        if rule.gives_up(failures, status, member.first):
            if not member.first:
                self._console.say(f"{name} is not restarted: it ended {failures} times in a row soon after its start")
            return False
        delay = rule.delay(failures)
        self._console.say(f"{how}; restarting it{f' in {delay:g} s' if delay else ''}")
        self._due.append(_Due(time.monotonic() + delay, member.process.program, failures))
        return True

    def _end_all(self) -> bool:
        """End running programs, the client first, then those that end before others. Returns whether all ended by
        themselves, without failure."""
        client = [self._client.name] if self._client and self._client.name in self._members else []
        clean = self._end(client)
        early = [name for name, each in self._members.items() if each.process.program.ends_before_others]
        clean = self._end(early) and clean
        return self._end(list(self._members)) and clean

    def _end(self, names: Sequence[str]) -> bool:
        """End processes by SIGINT, then SIGTERM, then SIGKILL. Returns whether SIGINT was enough, without failure."""
        clean = True
        steps = (
            (signal.SIGINT, self._timeouts.interrupt),
            (signal.SIGTERM, self._timeouts.terminate),
            (signal.SIGKILL, float("inf")),
        )
        for more_stops, (number, wait) in enumerate(steps, self._stops_at_end + 1):
            if number != signal.SIGINT:
                clean = self._wait_for_ends(0.0) and clean  # a signal may have arrived right after an end
            running = [name for name in names if name in self._members]
            if running and number != signal.SIGINT:
                self._console.say(f"{', '.join(running)} did not end: sending {number.name}")
                clean = False
            for name in running:
                self._members[name].process.send(number)
            begun = time.monotonic()
            while running := [name for name in running if name in self._members]:
                if number == signal.SIGKILL:
                    self._wait(None)
                    continue
                if number == signal.SIGINT:
                    wait = max(self._timeouts.interrupt, *(self._ends_within(name) for name in running))
                remaining = begun + wait - time.monotonic()
                if remaining <= 0 or len(self._stops) >= more_stops:
                    break
                clean = self._wait_for_ends(remaining) and clean
        return clean

    def _ends_within(self, name: str) -> float:
        return self._members[name].process.program.ends_within

    def _wait_for_ends(self, timeout: float) -> bool:
        """Wait as `_wait` does while processes are being ended. Returns whether those that ended did so cleanly."""
        failed = [(member, status) for member, status in self._wait(timeout) if status not in CLEAN]
        for member, status in failed:
            self._console.say(f"{member.process.program.name} ended with {describe(status)}")
        return not failed

    def _wait(self, timeout: float | None) -> list[tuple[_Member, int]]:
        """Wait for output, signals or ends, print the output, and remove ended processes."""
        for key, _ in self._selector.select(timeout):
            if isinstance(key.data, LinePrinter):
                self._read(key.fd, key.data)
            else:
                key.data.recv(READ_AT_ONCE)
        ended = []
        for name, member in list(self._members.items()):
            status = member.process.ended()
            if status is not None:
                self._take_out(name)
                ended.append((member, status))
        return ended

    def _read(self, pipe: int, printer: LinePrinter) -> bool:
        """Print the data of a pipe. Returns whether more may follow."""
        try:
            data = os.read(pipe, READ_AT_ONCE)
        except BlockingIOError:
            return False
        if data:
            printer.feed(data)
        else:
            self._selector.unregister(pipe)
        return bool(data)

    def _take_out(self, name: str) -> None:
        """Print the remaining output of a process that has ended, and remove it."""
        member = self._members.pop(name)
        for pipe, printer in member.printers.items():
            while pipe in self._selector.get_map() and self._read(pipe, printer):
                pass
            if pipe in self._selector.get_map():
                self._selector.unregister(pipe)
            printer.close()
        member.process.close()

    def _kill(self) -> None:
        """Kill all remaining processes after any error."""
        for member in self._members.values():
            member.process.kill()
        self._members.clear()
        if self._prepared is not None:
            self._prepared.close()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Record signals that stop the session, and wake it for them and for ended processes."""
        receiver, sender = socket.socketpair()
        receiver.setblocking(False)
        sender.setblocking(False)
        self._selector.register(receiver, selectors.EVENT_READ, receiver)

        def stop(number: int, _frame: object) -> None:
            self._stops.append(signal.Signals(number))

        before = {number: signal.signal(number, stop) for number in STOPS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        wakeup = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._selector.close()
            receiver.close()
            sender.close()
