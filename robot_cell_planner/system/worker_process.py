"""Start of worker programs of this package that serve a connection and end with their owner."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from ..errors import WorkerCrashedError
from .forked_process import ForkedProcess
from .module_start import module_command, module_environment
from .process_end import wait_for_end
from .reserved_process import start_reserved

if TYPE_CHECKING:  # connections are not generic at run time
    AnyConnection = Connection[Any, Any]
    AnyProcess = subprocess.Popen[bytes] | ForkedProcess

KILL_TIME = 5.0  # [s] in which a killed process ends, unless the kernel holds it


def start_worker(module: str, stage: str) -> tuple[AnyConnection, int, AnyProcess]:
    """Start a module as a program whose arguments are the descriptors of a connection and of a pipe for
    `lifeline.end_when_closed`.

    Returns:
        The other end of the connection, the end of the pipe whose closing ends the process, and the process.

    Raises:
        WorkerCrashedError: The process cannot be started; `stage` is that of the error.
    """
    ours, theirs = Pipe()
    watched, lifeline = os.pipe()
    command = module_command(module, str(theirs.fileno()), str(watched))
    try:
        reserved = start_reserved(module, (theirs.fileno(), watched))
        if reserved is not None:
            return ours, lifeline, reserved
        # A separate session does not receive a terminal's Ctrl-C: the process ends with this process or at its request.
        process = subprocess.Popen(
            command, pass_fds=(theirs.fileno(), watched), env=module_environment(), start_new_session=True
        )
    except OSError as error:
        ours.close()
        os.close(lifeline)
        raise WorkerCrashedError(f"process {module} cannot be started: {error}", stage=stage) from error
    finally:
        theirs.close()
        os.close(watched)
    return ours, lifeline, process


def wait_or_kill(process: AnyProcess, seconds: float) -> str:
    """Wait for the end of a worker that is to end or has closed its connection; it is killed after `seconds` [s].

    Returns:
        What it did, for an error.
    """
    left = wait_for_end(process.pid, seconds) if process.poll() is None else 0.0
    try:
        return f"ended with status {process.wait(left)}"
    except subprocess.TimeoutExpired:
        kill(process)
        return f"closed its connection, did not end within {seconds:g} s and was killed"


def kill(process: AnyProcess) -> None:
    """Kill a worker, and wait for its end for up to KILL_TIME."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILL_TIME)


@contextmanager
def ended_on_error(connection: AnyConnection, lifeline: int, process: AnyProcess) -> Iterator[ExitStack]:
    """End a worker of `start_worker` if the block raises: kill it, and close its connection and lifeline.

    Yields:
        A stack of what is to be undone before that.
    """
    with ExitStack() as on_error:
        on_error.callback(os.close, lifeline)
        on_error.callback(connection.close)
        on_error.callback(kill, process)
        yield on_error
        on_error.pop_all()


def disconnect(connection: AnyConnection) -> None:
    """Let all threads that read from or write to a connection go on: they find it closed by the other end."""
    with socket.socket(fileno=os.dup(connection.fileno())) as opened, suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)
