"""Folders with the journals of sessions, in the folder for temporary files. A session that is killed leaves its folder;
a later one removes it, once no process uses it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...scene.journal_files import open_locked

PREFIX = "robot_cell_"
OWNER = "owner.lock"  # locked while the session runs
JOURNAL = "scene.journal"  # of a session, if the parameters set none; locked while the scene node runs
OWN_FILES = re.compile(rf"{re.escape(OWNER)}|\.?{re.escape(JOURNAL)}([.-].*)?")


class SessionFolder:
    """The folder of a session of this process; folders that no process uses any more are removed first.

    Attributes:
        path: The folder, which only this user can read.
    """

    def __init__(self) -> None:
        remove_unused(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._owner = -1
        with suppress(OSError):  # without locks, nobody removes the folder of a session that is killed
            unnamed = self.path / f".{OWNER}"  # until it is locked
            self._owner = open_locked(unnamed, os.O_CREAT)
            unnamed.rename(self.path / OWNER)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._owner >= 0:
            os.close(self._owner)
            self._owner = -1


@contextmanager
def session_folder() -> Iterator[Path]:
    """Make the folder of a session for the time of a block."""
    folder = SessionFolder()
    try:
        yield folder.path
    finally:
        folder.remove()


def remove_unused(parent: Path) -> None:
    """Remove the folders of sessions of this user that have ended without removing them."""
    with suppress(OSError):
        for folder in list(parent.glob(f"{PREFIX}*")):
            with suppress(OSError):
                _remove_if_unused(folder)


def _remove_if_unused(folder: Path) -> None:
    """Remove a folder of a session whose files no process has locked; one with other files than those is left.

    Raises:
        OSError: A file is in use, or is no file of this user.
    """
    if not _is_own(folder.lstat(), stat.S_ISDIR):
        return
    files = list(folder.iterdir())
    if folder / OWNER not in files or not all(OWN_FILES.fullmatch(file.name) for file in files):
        return
    with ExitStack() as held:
        for file in files:
            handle = open_locked(file, os.O_NOFOLLOW)
            held.callback(os.close, handle)
            if not _is_own(os.fstat(handle), stat.S_ISREG):
                return
        for file in sorted(files, key=lambda each: each.name == OWNER):  # last, so that what is left is found again
            file.unlink()
        folder.rmdir()


def _is_own(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    return is_kind(status.st_mode) and status.st_uid == os.getuid()
