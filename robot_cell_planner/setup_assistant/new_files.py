"""Files of a new cell, which are removed again if the cell cannot be completed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..errors import FileError
from ..system.private_files import SHARED_FOLDER_MODE, make_folder


class NewFiles:
    """Folder that a new cell is written to.

    If the block ends with an exception, files and folders that did not exist before are removed, so that the next
    attempt does not find them.

    Raises:
        FileError: The folder cannot be made.
    """

    def __init__(self, folder: Path, stage: str) -> None:
        self._folder = folder
        self._stage = stage
        self._made: list[Path] = []

    def __enter__(self) -> NewFiles:
        missing = [path for path in (self._folder, *self._folder.parents) if not path.exists()]
        try:
            make_folder(self._folder, SHARED_FOLDER_MODE)
        except OSError as error:
            raise FileError.of(self._folder, error, self._stage) from error
        self._parents = missing
        return self

    def will_write(self, *names: str) -> None:
        """Announce files and folders, relative to the folder, before they are written."""
        self._made += [path for path in (self._folder / name for name in names) if not path.exists()]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is None:
            return
        for path in self._made:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()
        for path in self._parents:
            with suppress(OSError):  # not empty
                path.rmdir()
