"""Private files and folders of a user's cell: readable by their owner only, regardless of the umask."""

from __future__ import annotations

import os
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
PRIVATE_UMASK = 0o077  # umask of nodes, for files written by libraries: logs, lock files


def make_folder(path: str | Path) -> Path:
    """Create a folder and missing parent folders with mode 0700. Existing folders are unchanged.

    Raises:
        OSError: The folder cannot be created, or the path is not a folder.
    """
    folder = Path(path)
    missing = [folder, *folder.parents]
    for part in reversed(missing[: next((i for i, part in enumerate(missing) if part.exists()), len(missing))]):
        part.mkdir(mode=FOLDER_MODE, exist_ok=True)
    folder.mkdir(exist_ok=True)
    return folder


def write_private_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 file with mode 0600, and create missing folders with mode 0700. An existing file is replaced.

    Raises:
        OSError: The file cannot be written.
    """
    write_private_bytes(path, text.encode("utf-8"))


def write_private_bytes(path: str | Path, content: bytes) -> None:
    """As `write_private_text`, for a file with any content.

    Raises:
        OSError: The file cannot be written.
    """
    target = Path(path)
    make_folder(target.parent)
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(file.fileno(), FILE_MODE)
        file.truncate()
        file.write(content)
