"""Private files and folders of a user's cell: readable by their owner only, regardless of the umask."""

from __future__ import annotations

import errno
import logging
import os
import stat
import tempfile
from pathlib import Path
from typing import IO

from .durable_files import DurableText, durable_file, sync_folder

FILE_MODE = 0o600
FOLDER_MODE = 0o700
SHARED_FOLDER_MODE = 0o777  # of folders without secrets; the umask reduces it
log = logging.getLogger(__name__)
PRIVATE_UMASK = 0o077  # umask of nodes, for files written by libraries: logs, lock files


def make_folder(path: str | Path, mode: int = FOLDER_MODE) -> Path:
    """Create a folder and missing parent folders, so that they survive a loss of power. Existing folders are unchanged.

    Raises:
        OSError: The folder cannot be created, or the path is not a folder.
    """
    folder = Path(path)
    for part in reversed(_missing(folder)):
        part.mkdir(mode=mode, exist_ok=True)
        sync_folder(part.parent)
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error
    return folder


def fresh_folder(path: str | Path) -> Path:
    """Create a folder that did not exist, and return it: the path, or else the first of path_2, path_3 and so on, also
    if several processes do so at once.

    Raises:
        OSError: The folder cannot be created.
    """
    first = Path(path)
    make_folder(first.absolute().parent)
    folder, number = first, 1
    while True:
        try:
            folder.mkdir(mode=FOLDER_MODE)
            return folder
        except FileExistsError:
            number += 1
            folder = first.with_name(f"{first.name}_{number}")


def make_output_folder(file: str | Path) -> None:
    """Create the missing folders of a file that a user names, as `make_folder`, and name them in a warning: a path may
    be misspelt. None is created in the root of the file system.

    Raises:
        OSError: A folder cannot be created, or would be in the root of the file system.
    """
    folder = Path(file).absolute().parent
    if _missing_below_root(folder):
        make_folder(folder)
        log.warning("the folder %s did not exist and is created", folder)


def check_output(file: str | Path) -> None:
    """Check that a file can be written, and replaced if it is there, before the work for its content begins. Nothing
    is changed.

    Raises:
        OSError: It is a folder or a device, or no file can be made in its folder, or in the parent of missing ones.
    """
    target = Path(os.path.realpath(file))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a regular file", str(file))
    missing = _missing_below_root(target.parent)
    with tempfile.TemporaryFile(dir=missing[-1].parent if missing else target.parent):
        pass


def _missing_below_root(folder: Path) -> list[Path]:
    """Return a folder and its parents that do not exist, the innermost first.

    Raises:
        FileNotFoundError: One of them would be in the root of the file system.
    """
    missing = _missing(folder)
    if missing and missing[-1].parent == Path(folder.anchor):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    return missing


def _missing(folder: Path) -> list[Path]:
    """Return a folder and its parents that do not exist, the innermost first."""
    parts = [folder, *folder.parents]
    return parts[: next((i for i, part in enumerate(parts) if part.exists()), len(parts))]


def private_log(path: str | Path) -> IO[str]:
    """Open a UTF-8 file to append to, with mode 0600, and create missing folders with mode 0700. What was written is on
    the disk after `flush`.

    Raises:
        OSError: It cannot be opened, or is not a regular file, such as a device, whose mode would change for all users.
    """
    target = Path(path)
    make_folder(target.parent)
    handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, FILE_MODE)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", str(target))
        os.fchmod(handle, FILE_MODE)
        sync_folder(target.parent)
        return DurableText(handle, target)
    except BaseException:
        os.close(handle)
        raise


def write_private_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 file with mode 0600 as `durable_file`, and create missing folders with mode 0700. An existing file
    is replaced, the target of a symbolic link instead of the link.

    Raises:
        OSError: The file cannot be written.
    """
    write_private_bytes(path, text.encode("utf-8"))


def write_private_bytes(path: str | Path, content: bytes) -> None:
    """As `write_private_text`, for a file with any content.

    Raises:
        OSError: The file cannot be written.
    """
    target = Path(os.path.realpath(path))
    make_folder(target.parent)
    with durable_file(target, FILE_MODE) as file:
        file.write(content)
