"""What a journal does with the file system: locked, private files that are created and replaced as a whole."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from ..system.private_files import FILE_MODE, make_folder

FAMILY = b"robot_cell_journal/"  # what a kept file begins with that may be written over
PREVIOUS = "previous"


def open_locked(path: Path, flags: int = 0) -> int:
    """A handle of a regular file that no other process can open like this, until it is closed. flags: os.O_CREAT makes
    it with mode 0600 if it is not there.

    Raises:
        BlockingIOError: it is open in another process.
        OSError: it cannot be opened, or is no regular file.
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
        os.close(handle)  # it was replaced before it was locked


def write_all(handle: int, data: bytes, offset: int) -> None:
    """Write all bytes at an offset, without a buffer.

    Raises:
        OSError: not all could be written; a part of them may be.
    """
    rest = memoryview(data)
    while rest:
        count = os.pwrite(handle, rest, offset)
        if count == 0:
            raise OSError(errno.EIO, "nothing was written")
        rest, offset = rest[count:], offset + count


def create(path: Path, content: bytes) -> None:
    """Create a file as a whole, and the folders it lacks; one that another process has created meanwhile stays.

    Raises:
        OSError: it cannot be created.
    """
    make_folder(path.parent)
    handle, temporary = _write_beside(path, content)
    try:
        if path.exists():  # made by one that had the lock of the temporary file before
            os.unlink(temporary)
        else:
            os.rename(temporary, path)
        sync_folder(path.parent)
    finally:
        os.close(handle)


def replace(path: Path, content: bytes, kept_as: str) -> tuple[int, Path]:
    """Put a new file in the place of an open journal: a reader finds the old one or the new one, never a part.

    Returns the locked handle of the new file, and the name under which the old one is kept.

    Raises:
        OSError: it cannot be written, or the old one not be kept; then the old one is still in its place.
    """
    handle, temporary = _write_beside(path, content)
    try:
        kept = _keep(path, kept_as)
        os.replace(temporary, path)
    except BaseException:
        os.close(handle)
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return handle, kept


def sync_folder(folder: Path) -> None:
    """Wait until the names of the files in a folder are on the disk.

    Raises:
        OSError: they could not be written.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_beside(path: Path, content: bytes) -> tuple[int, Path]:
    """Handle and name of a locked file in the folder of `path`, with a content that is on the disk. What a process left
    there that was killed at this point is written over."""
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


def _keep(path: Path, suffix: str) -> Path:
    """Give a file a second name: that with the suffix, or with a number after it for what may not be written over."""
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
    except OSError:  # a file system without hard links
        shutil.copyfile(path, second)
        os.chmod(second, FILE_MODE)
    os.replace(second, target)
    with suppress(FileNotFoundError):  # it stays where both names were of the same file already
        os.unlink(second)
    return target


def _is_journal(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(FAMILY)) == FAMILY
