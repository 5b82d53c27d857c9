"""Forks of a process that has loaded the client library of ROS, whose tracing by LTTng has threads.

LTTng holds its locks during a fork, and starts its threads again in the child, if it is notified of both. Its
`liblttng-ust-fork.so` does so at each fork by the C library (lttng-ust(3)); this does so for nodes alone. Their other
children do not use ROS: they need no tracing, and close its descriptors.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path

from ...errors import NotSupportedError

SIGNAL_SET = 128  # bytes of sigset_t, in which LTTng keeps the signals that were blocked before a fork
PREFIXES = ("lttng_ust", "ust")  # of its functions: since version 2.13, and before
_LIBRARY = re.compile(r"/\S*/liblttng-ust(?:-[0-9a-f]{8})?\.so\S*$", re.MULTILINE)  # wheels add a digest to the name


class TracedForks:
    """Functions to call at a fork, which do nothing as long as there is no tracing."""

    def __init__(self) -> None:
        self._call: Callable[[str], object] = lambda moment: None

    def import_forkable(self, load: Callable[[], object]) -> None:
        """Call what loads the client library of ROS, in a process that is forked later.

        Raises:
            NotSupportedError: It has started threads that do not know of forks.
        """
        before = _threads()
        load()
        call = _functions()
        if call is not None:
            self._call = call
        elif _threads() > before:
            text = (
                f"the client library of ROS has started {_threads() - before} threads, with which it cannot be forked"
            )
            raise NotSupportedError(text, stage="start")

    def before(self) -> None:
        """Call it before a fork."""
        self._call("before_fork")

    def in_parent(self) -> None:
        """Call it after a fork."""
        self._call("after_fork_parent")

    def in_child(self) -> None:
        """Call it in the child, or a child of it, when it has the descriptors that it will have."""
        self._call("after_fork_child")


def _functions() -> Callable[[str], object] | None:
    """Return what calls a function of LTTng by its name; None if it is not loaded, or does not have them."""
    path = _LIBRARY.search(Path("/proc/self/maps").read_text())
    if path is None:
        return None
    library = ctypes.CDLL(path.group())
    prefix = next((each for each in PREFIXES if hasattr(library, f"{each}_before_fork")), None)
    blocked = ctypes.create_string_buffer(SIGNAL_SET)
    return None if prefix is None else lambda moment: getattr(library, f"{prefix}_{moment}")(blocked)


def _threads() -> int:
    """Return the number of threads of this process, also of those that Python does not know."""
    return len(os.listdir("/proc/self/task"))


traced_forks = TracedForks()  # of this process
