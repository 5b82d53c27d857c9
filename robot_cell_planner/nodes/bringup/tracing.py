"""Forks of a process that has loaded the client library of ROS, whose tracing by LTTng has threads.

LTTng holds its locks during a fork, and starts its threads again in the child, if it is told of both. Its
`liblttng-ust-fork.so` does so for forks by the C library (lttng-ust(3)), and this for those by Python.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

from ...errors import NotSupportedError

SIGNAL_SET = 128  # bytes of sigset_t, in which LTTng keeps the signals that were blocked before a fork
PREFIXES = ("lttng_ust", "ust")  # of its functions: since version 2.13, and before
_LIBRARY = re.compile(r"/\S*/liblttng-ust(?:-[0-9a-f]{8})?\.so\S*$", re.MULTILINE)  # wheels add a digest to the name


def import_forkable(load: Callable[[], object]) -> None:
    """Call what loads the client library of ROS in a process that is forked later.

    Raises:
        NotSupportedError: It has started threads that do not know of forks.
    """
    before = _threads()
    load()
    if not _fork_with_tracing() and _threads() > before:
        text = f"the client library of ROS has started {_threads() - before} threads, without which it cannot be forked"
        raise NotSupportedError(text, stage="start")


def _fork_with_tracing() -> bool:
    """Let LTTng know of all further forks of this process and its descendants; return whether it does."""
    path = _LIBRARY.search(Path("/proc/self/maps").read_text())
    if path is None:
        return False
    library = ctypes.CDLL(path.group())
    prefix = next((each for each in PREFIXES if hasattr(library, f"{each}_before_fork")), None)
    if prefix is None:
        return False
    local = threading.local()

    def before() -> None:
        local.blocked = ctypes.create_string_buffer(SIGNAL_SET)
        getattr(library, f"{prefix}_before_fork")(local.blocked)

    def after(where: str) -> None:
        getattr(library, f"{prefix}_after_fork_{where}")(local.blocked)

    os.register_at_fork(before=before, after_in_parent=lambda: after("parent"), after_in_child=lambda: after("child"))
    return True


def _threads() -> int:
    """Return the number of threads of this process, also of those that Python does not know."""
    return len(os.listdir("/proc/self/task"))
