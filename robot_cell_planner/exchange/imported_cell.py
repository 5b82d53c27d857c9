"""Result of an import: a folder with a cell file, and what was left out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from ..errors import FileError, RobotCellError
from ..io.cell_file.cell_file import load_cell, save_cell
from ..io.common.resources import NO_ROOTS, ResourceRoots, write_text
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..system.durable_files import sync_folder
from ..system.private_files import SHARED_FOLDER_MODE, make_folder

CELL_FILE = "cell.yaml"
STAGE = "import"


@dataclass(frozen=True)
class ImportedCell:
    """A cell that was read from files of another program and written to a folder.

    Attributes:
        folder: Folder of the files.
        files: Names of the files that were written, relative to the folder; the cell file first.
        cell, state: What the cell file contains.
        left_out: What the other program's files have and the cell has not, or has in another form, one line each.
        warnings: Defects of those files and of the request, such as unknown arguments of xacro, that `load_cell` does
            not find in the written files any more, one line each.
    """

    folder: Path
    files: tuple[str, ...]
    cell: RobotCell
    state: RobotCellState
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class CellFolder:
    """Folder that an import writes to: files are written beside it, and moved there when all are complete.

    Errors about the files that are removed then name them as converted files of `source`.

    Raises:
        FileError: It has a cell file that must not be overwritten, or cannot be made.
    """

    def __init__(
        self, folder: str | Path, roots: ResourceRoots = NO_ROOTS, *, overwrite: bool = False, source: str | Path = ""
    ) -> None:
        self.source = source
        self.target = Path(folder).absolute()
        self.roots = roots
        self.overwrite = overwrite
        self._refuse_existing((CELL_FILE,))
        _make(self.target.parent)
        try:
            self._staging = TemporaryDirectory(dir=self.target.parent, prefix=f".{self.target.name}-")
        except OSError as error:
            raise FileError.of(self.target, error, STAGE) from error

    @property
    def path(self) -> Path:
        """Folder of the files while they are written."""
        return Path(self._staging.name)

    def __enter__(self) -> CellFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._staging.cleanup()
        if isinstance(error, RobotCellError):
            text = error.message
            for folder in (self.path, self.path.resolve()):
                text = text.replace(f"{folder}{os.sep}", f"{self.source}: converted ")
            if text != error.message:
                raise error.with_message(text) from error

    def write(self, name: str, text: str) -> Path:
        """Write a file; `name` is relative to the folder. Return its path.

        Raises:
            FileError: It cannot be written, or its name is a path outside the folder.
        """
        path = self.path / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise FileError(f"{name!r} is outside the folder", stage=STAGE, subjects=(name,))
        _make(path.parent)
        write_text(path, text, STAGE, True, mode=0o644)
        return path

    def finish(
        self, cell: RobotCell, state: RobotCellState, left_out: tuple[str, ...], warnings: tuple[str, ...] = ()
    ) -> ImportedCell:
        """Write the cell file, move all files to their places, load the cell again, and return the result.

        Raises:
            FileError: A file exists and must not be overwritten, or cannot be written.
            RobotCellError: As `load_cell`.
        """
        cell.check_state(state)
        save_cell(self.path / CELL_FILE, cell, state, self.roots)
        written = sorted(str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file())
        others = [name for name in written if name != CELL_FILE]
        names = (CELL_FILE, *others)
        self._refuse_existing(names)
        for name in (*others, CELL_FILE):  # the cell file last
            _make((self.target / name).parent)
            try:
                os.replace(self.path / name, self.target / name)
            except OSError as error:
                raise FileError.of(self.target / name, error, STAGE) from error
        for folder in {(self.target / name).parent for name in names}:
            _sync(folder)
        cell, state = load_cell(self.target / CELL_FILE, self.roots)
        return ImportedCell(self.target, names, cell, state, left_out, warnings)

    def _refuse_existing(self, names: Iterable[str]) -> None:
        for name in names:
            if not self.overwrite and (self.target / name).exists():
                raise FileError.existing(self.target / name, STAGE)


def _make(folder: Path) -> None:
    try:
        make_folder(folder, SHARED_FOLDER_MODE)
    except OSError as error:
        raise FileError.of(folder, error, STAGE) from error


def _sync(folder: Path) -> None:
    try:
        sync_folder(folder)
    except OSError as error:
        raise FileError.of(folder, error, STAGE) from error
