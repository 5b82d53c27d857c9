"""File system operations of a journal: locked, private files that are created and replaced atomically."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from ..system.durable_files import sync_folder
from ..system.private_files import FILE_MODE, make_folder

FAMILY = b"robot_cell_journal/"  # files that begin with this may be overwritten
PREVIOUS = "previous"


def open_locked(path: Path, flags: int = 0) -> int:
    """Open a regular file and lock it against other processes until it is closed.

    flags: os.O_CREAT creates a missing file with mode 0600.

    Raises:
        BlockingIOError: The file is locked by another process.
        OSError: The file cannot be opened, or is not a regular file.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | flags, FILE_MODE)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "is not a regular file")
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(status, os.stat(path)):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the file was replaced before it was locked


def write_all(handle: int, data: bytes, offset: int) -> None:
    """Write all bytes at an offset, without buffering.

    Raises:
        OSError: Not all bytes could be written; some of them may be.
    """
    rest = memoryview(data)
    while rest:
        count = os.pwrite(handle, rest, offset)
        if count == 0:
            raise OSError(errno.EIO, "nothing was written")
        rest, offset = rest[count:], offset + count


def create(path: Path, content: bytes) -> None:
    """Create a file atomically, and missing folders. A file created by another process in the meantime is not replaced.

    Raises:
        OSError: The file cannot be created.
    """
    make_folder(path.parent)
    handle, temporary = _write_beside(path, content)
    try:
        if path.exists():  # created by a process that held the lock of the temporary file before
            os.unlink(temporary)
        else:
            os.rename(temporary, path)
        sync_folder(path.parent)
    finally:
        os.close(handle)


def replace(path: Path, content: bytes, retained_as: str) -> tuple[int, Path]:
    """Replace an open journal atomically: readers find either the old or the new file, never a part.

    Returns:
        The locked handle of the new file, and the name under which the old file is retained.

    Raises:
        OSError: The file cannot be written, or the old one not retained; the old file is then still in place.
    """
    handle, temporary = _write_beside(path, content)
    try:
        retained = _retain(path, retained_as)
        os.replace(temporary, path)
    except BaseException:
        os.close(handle)
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return handle, retained


def _write_beside(path: Path, content: bytes) -> tuple[int, Path]:
    """Write a locked file in the folder of `path` to disk; return its handle and name.

    A file left by a process that was killed at this point is overwritten.
    """
    temporary = path.with_name(f".{path.name}-new")
    handle = open_locked(temporary, os.O_CREAT)
    try:
        if not FAMILY.startswith(os.pread(handle, len(FAMILY), 0)):
            raise OSError(errno.EEXIST, f"{temporary} is no journal, and is not written over")
        os.ftruncate(handle, 0)
        write_all(handle, content, 0)
        os.fsync(handle)
    except BaseException:
        if os.fstat(handle).st_size == 0 or _is_journal(temporary):
            os.unlink(temporary)
        os.close(handle)
        raise
    return handle, temporary


def _retain(path: Path, suffix: str) -> Path:
    """Give a file a second name: with the suffix, and a number if that name must not be overwritten."""
    target = path.with_name(f"{path.name}.{suffix}")
    number = 1
    while suffix != PREVIOUS and target.exists():
        number += 1
        target = path.with_name(f"{path.name}.{suffix}.{number}")
    if target.exists() and not _is_journal(target):
        raise OSError(errno.EEXIST, f"{target} is no journal, and is not written over")
    second = path.with_name(f".{path.name}-kept")
    with suppress(FileNotFoundError):
        os.unlink(second)
    try:
        os.link(path, second)
    except OSError:  # the file system has no hard links
        shutil.copyfile(path, second)
        os.chmod(second, FILE_MODE)
    os.replace(second, target)
    with suppress(FileNotFoundError):  # rename leaves it in place if both names refer to the same file
        os.unlink(second)
    return target


def _is_journal(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(FAMILY)) == FAMILY
