"""A process that is forked before its owner has threads, and becomes a program of the library when one is started.

It has the modules that its owner has imported by then, and shares their memory.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Sequence
from importlib import import_module

from .command_line import set_command_line
from .forked_process import ForkedProcess, close_others, run_to_end
from .private_files import PRIVATE_UMASK

MAX_NAME = 1000  # bytes of the name of a module
MAX_DESCRIPTORS = 8

_reserved: list[tuple[ForkedProcess, socket.socket]] = []


def reserve_process() -> None:
    """Fork a process for a program to be started later. Only for a process without other threads.

    Raises:
        OSError: It cannot be forked.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        run_to_end(lambda: _serve(theirs))
    theirs.close()
    _reserved.append((ForkedProcess(pid), ours))


def start_reserved(module: str, descriptors: Sequence[int]) -> ForkedProcess | None:
    """Let the reserved process run `main` of a module with copies of these file descriptors, whose numbers are its
    arguments; None if there is no such process (any more)."""
    if not _reserved:
        return None
    process, connection = _reserved.pop()
    with connection:
        try:
            socket.send_fds(connection, [module.encode()], descriptors)
        except OSError:  # it has ended
            process.wait()
            return None
    return process


def _serve(connection: socket.socket) -> None:
    name, descriptors, _, _ = socket.recv_fds(connection, MAX_NAME, MAX_DESCRIPTORS)
    if not name:  # its owner has ended
        return
    connection.detach()
    close_others(descriptors)
    os.setsid()
    os.umask(PRIVATE_UMASK)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.argv = [name.decode(), *map(str, descriptors)]
    set_command_line([sys.executable, "-m", *sys.argv])
    import_module(name.decode()).main()
