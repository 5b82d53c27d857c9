"""Command line of a process that was forked, as `ps` and /proc show it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

ROOM = " " * 4096  # last argument of a program whose forks show a command line of their own
START, END = 45, 46  # fields after the name in /proc/self/stat: addresses of the arguments (proc(5))
MAX_NAME = 15  # bytes of the name of a thread


def set_command_line(words: Sequence[str | bytes]) -> None:
    """Show another command line for this process, as far as the arguments that it was started with have room."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[START]), int(fields[END])
    if not 0 < start < end:  # unknown to this process
        return
    size = end - start
    text = b"\0".join(map(os.fsencode, words))[: size - 1]
    ctypes.memmove(start, text.ljust(size, b"\0"), size)
    Path("/proc/self/comm").write_bytes(os.path.basename(os.fsencode(words[0]))[:MAX_NAME])
