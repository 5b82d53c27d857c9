"""Tasks for the tests of worker processes."""

import ctypes
import os
import signal
import time
from pathlib import Path

from robot_cell_planner.errors import CancelledError


def echo(scene, request, control):
    return scene.state.configuration, request


def fail(scene, request, control):
    raise ValueError("what a task must not raise")


def crash(scene, request, control):
    os.kill(os.getpid(), 11)


def hang(scene, request, control):
    """As a native library that never returns: it holds the interpreter lock and handles no signal."""
    control.progress("hanging")
    ctypes.PyDLL(None).sleep(600)


def obey(scene, request, control):
    while not control.cancelled():
        time.sleep(0.001)
    raise CancelledError("cancelled", partial="so far")


def search_without_end(scene, request, control):
    """A request whose search ends with its time limit only."""
    from robot_cell_planner.planning.joint_space.path_search import PathSearch
    from robot_cell_planner.planning.workers import tasks

    def first_path(search, goals, hints):
        assert search.context.checks.certifier
        while True:
            search.context.monitor.check()

    found, PathSearch.first_path = PathSearch.first_path, first_path
    try:
        return tasks.plan_motion(scene, request, control)
    finally:
        PathSearch.first_path = found


def explain_without_end(scene, request, control):
    """Does not end after its time limit until it is cancelled."""
    monitor = control.monitor(0.0)
    while not control.cancelled():
        time.sleep(0.001)
    control.progress("explaining")
    while not monitor.is_cancelled:
        time.sleep(0.001)
    raise CancelledError("cancelled", partial="so far")


def chatter(scene, request, control):
    """Reports progress without end, and ignores cancellation."""
    while True:
        control.progress("going on")


PREPARED = []  # digests of cells that this process was prepared for


def prepare(scene, request, control):
    PREPARED.append(scene.cell.digest_with_places())


def prepare_when_continued(scene, request, control):
    """Stopped until it gets SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)
    PREPARED.append(scene.cell.digest_with_places())


def prepare_badly(scene, request, control):
    os.kill(os.getpid(), 11)


def prepared(scene, request, control):
    return os.getpid(), list(PREPARED)


def limited(scene, request, control):
    """As in a shell with `ulimit -v`: it requests more memory than the limit."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (2**34, resource.RLIM_INFINITY))
    return len(bytearray(2**40))


def prepare_and_note_niceness(scene, request, control):
    PREPARED.append(os.nice(0))


def niceness(scene, request, control):
    return PREPARED[0], os.nice(0)


def libraries(scene, request, control):
    """Shared libraries of packages in the memory of the worker, and in that of the fork server."""
    return tuple(
        {line.split()[-1] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "-packages/" in line}
        for pid in (os.getpid(), os.getppid())
    )
