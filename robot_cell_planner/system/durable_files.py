"""Files that survive a loss of power once they are reported as written.

The new content is written to a temporary file beside the file, and is on the disk before the file gets its name.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

NAME_IN_TEMPORARY = 40  # characters, so that the name of the temporary file is not too long


@contextmanager
def durable_file(path: Path, mode: int, *, overwrite: bool = True, retain_mode: bool = False) -> Iterator[BinaryIO]:
    """Write a file atomically: others see the old or the new content, also after a loss of power.

    The file is in its place at the end of the context, unless that ends with an exception. A symbolic link is replaced.

    Args:
        mode: Of the file, regardless of the umask.
        retain_mode: An existing file keeps its mode.

    Raises:
        FileExistsError: The file exists and must not be overwritten.
        OSError: It cannot be written, or something that is not a regular file has its name.
    """
    handle, temporary = _temporary(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(handle, _mode_of(path, mode) if retain_mode else mode)
            os.fsync(handle)
        with _naming(path):
            if overwrite:
                _refuse_special(path)
                os.replace(temporary, path)
            else:
                os.link(temporary, path)
        sync_folder(path.parent)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _temporary(path: Path) -> tuple[int, str]:
    with _naming(path):
        return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:NAME_IN_TEMPORARY]}-")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors name the file, and not the temporary one, which the caller does not know."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        del error.filename2
        raise


def _mode_of(path: Path, default: int) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return default


def _refuse_special(path: Path) -> None:
    """Refuse to replace a device or a named pipe, which root could."""
    with suppress(FileNotFoundError):
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind) or stat.S_ISDIR(kind)):
            raise OSError(errno.EINVAL, "is not a regular file", str(path))


class DurableText(io.TextIOWrapper):
    """UTF-8 text file whose content is on the disk after `flush`. Errors name the file.

    Args:
        handle: Descriptor of the file, which is closed with this object.
        path: Of the file.
    """

    def __init__(self, handle: int, path: Path) -> None:
        super().__init__(io.BufferedWriter(io.FileIO(handle, "wb")), encoding="utf-8")
        self._path = path

    def flush(self) -> None:
        """Write what is in memory, and wait until it is on the disk.

        Raises:
            OSError: It cannot be written.
        """
        with _naming(self._path):
            super().flush()
            os.fsync(self.fileno())


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk.

    Raises:
        OSError: It could not be written.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the directory entries of a folder are on the disk.

    Raises:
        OSError: They could not be written.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return  # files can be made in it, but it cannot be read
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system has no such operation
            raise
    finally:
        os.close(handle)
