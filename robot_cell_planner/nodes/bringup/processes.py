"""One process of a session: started in a process group of its own, and never left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .respawn import RespawnRule

PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class Program:
    """What to start.

    Attributes:
        name: stands in front of its output.
        command: program and arguments.
        owns_terminal: its output goes to the supervisor's own streams as it is, without its name.
        respawn: it is started again when it ends, as the rule says; None: its end is the end of the session.
        holds_interrupt: it starts with SIGINT blocked, and unblocks it itself once it can end in good order.
        variables: of its environment, besides those of the session.
    """

    name: str
    command: Sequence[str]
    owns_terminal: bool = False
    respawn: RespawnRule | None = None
    holds_interrupt: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


class Process:
    """A running program."""

    def __init__(self, program: Program, environment: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self.program = program
        stream = None if program.owns_terminal else subprocess.PIPE
        # What a node prints is to be seen at once, though it writes to a pipe.
        prompt = {} if program.owns_terminal else {"PYTHONUNBUFFERED": "1"}
        self._popen = subprocess.Popen(
            list(program.command),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={**environment, **prompt, **program.variables},
            # The supervisor has one thread, so that a function may run before the program.
            preexec_fn=_before_start(os.getpid(), program.holds_interrupt),
            # Ctrl-C in a terminal goes to the supervisor alone, which ends all in order.
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def pipes(self) -> list[int]:
        """File descriptors of its standard output and error; none if it owns the terminal."""
        return [pipe.fileno() for pipe in (self._popen.stdout, self._popen.stderr) if pipe is not None]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process; to its whole group if it is SIGKILL."""
        if self._popen.returncode is None:
            (os.killpg if number == signal.SIGKILL else os.kill)(self.pid, number)

    def ended(self) -> int | None:
        """Its exit status if it has ended, negative for a signal. What it started itself is then killed too."""
        if self._popen.returncode is None:
            # Before the process is reaped its number, which is its group's too, cannot be anyone else's.
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return None
            os.killpg(self.pid, signal.SIGKILL)
            self._popen.wait()
        return self._popen.returncode

    def kill(self) -> None:
        """Kill it and all that it started, and wait for its end."""
        self.send(signal.SIGKILL)
        self._popen.wait()
        self.close()

    def close(self) -> None:
        """Close its pipes."""
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()


def describe(status: int) -> str:
    """An exit status in words, as `Process.ended` gives it."""
    if status >= 0:
        return f"exit status {status}"
    return f"signal {signal.Signals(-status).name}"


def _before_start(parent: int, holds_interrupt: bool) -> Callable[[], None]:
    """What a child does before it starts its program: above all, ask the kernel to be killed when its parent ends."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def prepare() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the request
            os._exit(1)
        if holds_interrupt:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    return prepare


if sys.platform != "linux":
    raise ImportError("the supervisor needs Linux, whose kernel ends the nodes with it")
