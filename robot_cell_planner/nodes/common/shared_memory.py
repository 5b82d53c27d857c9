"""Shared memory files of Fast DDS that a killed process left unfinished.

A participant creates a port as a file in `/dev/shm`, gives it a size, and marks it as initialised (Boost.Interprocess,
`managed_open_or_create_impl`). When it is killed in between, every later participant that uses this port waits for the
mark without end, inside its constructor.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/dev/shm")
PORTS = "fastdds_port*"
SUFFIXES = ("_el", "_sl")  # lock files of a port, which are always empty
INITIALISING = (0, 1)  # values of the first word of a segment that is not ready; 2: initialised, 3: corrupted
WORD = 4  # [bytes]
CREATION = 1.0  # [s] far more than a running process takes to create a port


def remove_unfinished_ports(folder: Path = FOLDER) -> tuple[str, ...]:
    """Remove ports whose creator ended before they were initialised; call it before a participant is made.

    Returns the names of the removed files. Files of other users, and those that cannot be read, are left.
    """
    removed = []
    for path in sorted(folder.glob(PORTS)):
        if path.name.endswith(SUFFIXES):
            continue
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > CREATION and _is_unfinished(path):
                path.unlink()
                removed.append(path.name)
    return tuple(removed)


def _is_unfinished(path: Path) -> bool:
    with path.open("rb") as file:
        word = file.read(WORD)
    return len(word) < WORD or int.from_bytes(word, "little") in INITIALISING
