"""Start of worker programs of this package that serve a connection and end with their owner."""

from __future__ import annotations

import os
import subprocess
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from ..errors import WorkerCrashedError
from .forked_process import ForkedProcess
from .module_start import module_command, module_environment
from .reserved_process import start_reserved

if TYPE_CHECKING:  # connections are not generic at run time
    AnyConnection = Connection[Any, Any]


def start_worker(module: str, stage: str) -> tuple[AnyConnection, int, subprocess.Popen[bytes] | ForkedProcess]:
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
