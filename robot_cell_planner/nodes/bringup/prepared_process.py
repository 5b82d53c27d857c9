"""Process with the libraries of the nodes, from which `prepared.PreparedProcess` forks them.

Its threads are those of libraries that can be forked with them (`tracing`). What it forks belongs to the supervisor:
the process in between ends at once, and the supervisor adopts its children.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...system.command_line import set_command_line
from ...system.forked_process import close_others, run_to_end
from .adoption import end_with
from .tracing import traced_forks

READY = b"ready"
MAX_REQUEST = 1 << 17  # bytes
STREAMS = 2  # descriptors of a request: standard output and error


def main(arguments: Sequence[str]) -> None:
    """Serve requests until the supervisor ends. arguments: descriptor of the connection, modules to import."""
    connection = socket.socket(fileno=int(arguments[0]))
    _import(arguments[1].split(","))
    supervisor = os.getppid()
    connection.send(READY)
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST, STREAMS)
        if not data:
            return
        request = json.loads(data)
        if "modules" in request:
            _import(request["modules"])
            connection.send(READY)
            continue
        pid = _fork_adopted(partial(_become, connection, request, descriptors), supervisor)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(pid).encode())


def _import(modules: Sequence[str]) -> None:
    gc.disable()  # imports make few cycles, and collections took a quarter of their time
    for module in modules:
        importlib.import_module(module)
    gc.freeze()  # a collection would write to the pages of all these objects, which are then no longer shared
    gc.enable()


def _fork_adopted(run: Callable[[], None], supervisor: int) -> int:
    """Fork a child of the supervisor, in a session of its own; return its number, 0 if it cannot be forked."""
    number_read, number_write = os.pipe()
    adopted_read, adopted_write = os.pipe()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # programs may hold it from their start
    traced_forks.before()
    between = _fork()
    if between == 0:
        # Ends at once; its child waits until the supervisor is its parent.
        if _fork() == 0:
            os.setsid()
            os.write(number_write, str(os.getpid()).encode())
            for descriptor in (number_read, number_write, adopted_write):
                os.close(descriptor)
            os.read(adopted_read, 1)
            end_with(supervisor)
            run()
        os._exit(0)
    traced_forks.in_parent()
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.close(number_write)
    os.close(adopted_read)
    with open(number_read, "rb") as pipe:
        number = int(pipe.read() or b"0")
    if between > 0:
        os.waitpid(between, 0)
    os.close(adopted_write)
    return number


def _fork() -> int:
    """Fork; return the number of the child, 0 in the child, and -1 if that is not possible."""
    try:
        return os.fork()
    except OSError:
        return -1


def _become(connection: socket.socket, request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Run an entry point in this process, as a program that was started with its command line."""
    connection.detach()
    run_to_end(partial(_run, request, descriptors))


def _run(request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *descriptors)):
        os.dup2(descriptor, number)
    close_others(())
    traced_forks.in_child()
    if not request["holds_interrupt"]:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.environ.update(request["variables"])
    sys.argv = list(request["command"])
    set_command_line([sys.executable, *sys.argv])
    module, _, function = request["entry"].partition(":")
    getattr(importlib.import_module(module), function)()


if __name__ == "__main__":
    main(sys.argv[1:])
