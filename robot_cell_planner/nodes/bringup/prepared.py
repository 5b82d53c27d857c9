"""Nodes that are forked from one process which has imported their libraries (`prepared_process`).

They start without importing these libraries each, and share the memory of them. Each is a process like those that are
started from their files: a child of the supervisor in a session of its own, with its own command line and output.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import IO

from ...system.command_line import ROOM
from ...system.forked_process import ForkedProcess
from ...system.module_start import module_command
from ...system.readiness import wait_readable
from .adoption import adopting, end_with
from .prepared_process import MAX_REQUEST, READY
from .program import Program

PROCESS = "robot_cell_planner.nodes.bringup.prepared_process"
FIRST_MODULES = ("robot_cell_planner.nodes.bringup.first_libraries",)
OTHER_MODULES = ("robot_cell_planner.nodes.bringup.libraries",)
MAX_PREPARATION = 600.0  # [s], in which kernels may be compiled
MAX_ANSWER_TIME = 10.0  # [s]
POLL_PERIOD = 0.1  # [s] between checks whether to wait on


class Forked(ForkedProcess):
    """Process that was forked, with its output."""

    def __init__(self, pid: int, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        super().__init__(pid)
        self.stdout, self.stderr = stdout, stderr


class PreparedProcess:
    """Process with imported libraries. If it fails, nodes are started from their files as others are.

    environment: of the nodes. modules: What it imports first; `wait` for them.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, environment: Mapping[str, str], modules: tuple[str, ...] = FIRST_MODULES) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = module_command(PROCESS, str(theirs.fileno()), ",".join(modules), ROOM)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # nodes report again what is missing
                env={**environment, "PYTHONUNBUFFERED": "1"},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                preexec_fn=partial(end_with, os.getpid()),
            )
        except BaseException:
            self._socket.close()
            raise
        finally:
            theirs.close()
        self._usable = True

    def load(self, modules: tuple[str, ...] = OTHER_MODULES) -> None:
        """Import more; `wait` before the next fork."""
        with suppress(OSError):  # it has ended, which `wait` notes
            self._socket.send(json.dumps({"modules": modules}).encode())

    def wait(self, goes_on: Callable[[], bool]) -> None:
        """Wait until its libraries are imported, or it has failed, while `goes_on()`."""
        for _ in range(round(MAX_PREPARATION / POLL_PERIOD) if self._usable else 0):
            if wait_readable(self._socket, POLL_PERIOD):
                with suppress(OSError):
                    self._usable = self._socket.recv(len(READY)) == READY
                self._socket.settimeout(MAX_ANSWER_TIME)
                return
            if not goes_on():
                break
        self._usable = False

    def fork(self, program: Program) -> Forked | None:
        """Start a program that has an entry point; None if it has to be started from its file."""
        request = {
            "entry": program.entry,
            "command": list(program.command),
            "variables": dict(program.variables),
            "holds_interrupt": program.holds_interrupt,
        }
        message = json.dumps(request).encode()
        if not self._usable or len(message) > MAX_REQUEST:
            return None
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        pid = 0
        try:
            with adopting():
                socket.send_fds(self._socket, [message], [out_end, err_end])
                pid = int(self._socket.recv(MAX_REQUEST) or b"0")
        except (OSError, ValueError):
            self._usable = False
        finally:
            os.close(out_end)
            os.close(err_end)
        if not pid:
            os.close(out)
            os.close(err)
            return None
        return Forked(pid, os.fdopen(out, "rb", buffering=0), os.fdopen(err, "rb", buffering=0))

    def close(self) -> None:
        """End it; what was forked from it goes on."""
        self._socket.close()
        self._process.kill()
        self._process.wait()
