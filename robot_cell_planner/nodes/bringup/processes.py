"""A process of a session, in its own process group, which never outlives the session."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from functools import partial

from .adoption import end_with
from .prepared import PreparedProcess
from .program import Program


class Process:
    """A running program."""

    def __init__(
        self, program: Program, environment: Mapping[str, str], prepared: PreparedProcess | None = None
    ) -> None:
        """Start it, by a fork of the prepared process if it has an entry point there.

        Raises:
            OSError: It cannot be started.
        """
        self.program = program
        forked = prepared.fork(program) if prepared is not None and program.entry else None
        self._popen = forked or _started(program, environment)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def pipes(self) -> list[int]:
        """Return the file descriptors of its standard output and error; none if it owns the terminal."""
        return [pipe.fileno() for pipe in (self._popen.stdout, self._popen.stderr) if pipe is not None]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process; to its whole group if it is SIGKILL."""
        if self._popen.returncode is None:
            (os.killpg if number == signal.SIGKILL else os.kill)(self.pid, number)

    def ended(self) -> int | None:
        """Return its exit status if it has ended, negative for a signal; its child processes are then killed."""
        if self._popen.returncode is None:
            # The process ID, also that of the group, cannot be reused before the process is reaped.
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return None
            os.killpg(self.pid, signal.SIGKILL)
            self._popen.wait()
        return self._popen.returncode

    def kill(self) -> None:
        """Kill it with its child processes, and wait for its end."""
        self.send(signal.SIGKILL)
        self._popen.wait()
        self.close()

    def close(self) -> None:
        """Close its pipes."""
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()


def describe(status: int) -> str:
    """Return an exit status of `Process.ended` as text."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:  # most real-time signals have no name
        return f"signal {-status}"


def _started(program: Program, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    stream = None if program.owns_terminal else subprocess.PIPE
    # Output of nodes must not be buffered in the pipe.
    prompt = {} if program.owns_terminal else {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        list(program.command),
        stdin=subprocess.DEVNULL,
        stdout=stream,
        stderr=stream,
        env={**environment, **prompt, **program.variables},
        # Safe, since the supervisor has one thread.
        preexec_fn=partial(_before_start, os.getpid(), program.holds_interrupt),
        # Ctrl-C in a terminal only reaches the supervisor, which ends all processes in order.
        start_new_session=True,
    )


def _before_start(parent: int, holds_interrupt: bool) -> None:
    """Prepare a child before it executes its program: the kernel kills it when its parent ends."""
    end_with(parent)
    if holds_interrupt:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
