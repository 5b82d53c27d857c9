"""The journal of a scene: every accepted change is in the file before anyone is told of it.

One line a record: the CRC-32 of the text in hexadecimal, a space, the text as JSON. The first record is the whole
scene; those after it are changes. A line that a kill or a power loss cut short at the end of the file never counted,
since its change was not yet acknowledged; it is cut off when the journal is opened. Damage anywhere else is an error.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from ..errors import JournalError
from .difference import SceneDifference, apply_difference
from .revisions import AcceptedChange
from .scene import Scene
from .serialisation import from_json, to_json

FORMAT = "robot_cell_journal/2"


class WholeScene(msgspec.Struct, frozen=True, tag="scene", tag_field="record"):
    """The first record: a scene at a revision. cell_revision: of the last change to its models."""

    format: str
    revision: int
    cell_revision: int
    scene: Scene


class ChangeRecord(msgspec.Struct, frozen=True, tag="change", tag_field="record"):
    """A step to the next revision."""

    previous: int
    revision: int
    difference: SceneDifference
    digest: str


class Restored(msgspec.Struct, frozen=True):
    """What a journal held."""

    scene: Scene
    revision: int
    cell_revision: int


class Journal:
    """An open journal file.

    path: the file; it is made if it is not there. fsync: also survive a loss of power, at the price of waiting for the
    disk. compact_after: changes after which the file is written anew with the whole scene.

    Raises:
        JournalError: the file cannot be opened, is open in another process, or is damaged in other places than its end.
    """

    def __init__(self, path: str | Path, *, fsync: bool = False, compact_after: int = 1000) -> None:
        self.path = Path(path)
        self._fsync = fsync
        self._compact_after = compact_after
        self._changes = 0
        self._cell_revision = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = open(self.path, "a+b")  # noqa: SIM115 - it stays open
            _lock(self._file)
        except BlockingIOError as error:
            self._file.close()
            raise JournalError(f"{self.path} is open in another process", subjects=(str(self.path),)) from error
        except OSError as error:
            raise JournalError(f"{self.path}: {error.strerror}", subjects=(str(self.path),)) from error
        self.restored = self._read()

    def append(self, scene: Scene, change: AcceptedChange) -> None:
        """Keep a change that led to `scene`.

        Raises:
            JournalError: it could not be written; the change must not count then.
        """
        if change.difference.changes_models:
            self._cell_revision = change.revision
        try:
            if self._changes == 0 or self._changes >= self._compact_after:
                self._rewrite(scene, change.revision)
                return
            record = ChangeRecord(change.previous, change.revision, change.difference, change.digest)
            self._write(self._file, record)
            self._changes += 1
        except OSError as error:
            raise JournalError(f"{self.path}: {error.strerror}", subjects=(str(self.path),)) from error

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, file: BinaryIO, record: WholeScene | ChangeRecord) -> None:
        text = to_json(record)
        start = file.seek(0, os.SEEK_END)
        try:
            file.write(b"%08x %s\n" % (zlib.crc32(text), text))
            file.flush()
            if self._fsync:
                os.fsync(file.fileno())
        except OSError:
            file.truncate(start)
            raise

    def _rewrite(self, scene: Scene, revision: int) -> None:
        """The file anew, with the whole scene alone; a reader finds the old file or the new one, never a part."""
        fresh = self.path.with_name(self.path.name + ".new")
        file: BinaryIO = open(fresh, "w+b")  # noqa: SIM115 - it takes the place of the old one
        try:
            _lock(file)
            self._write(file, WholeScene(FORMAT, revision, self._cell_revision, scene))
            os.fsync(file.fileno())
            os.replace(fresh, self.path)
            self._sync_folder()
        except OSError:
            file.close()
            raise
        self._file.close()
        self._file = file
        self._changes = 1

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _read(self) -> Restored | None:
        self._file.seek(0)
        good, number, restored = 0, 0, None
        for number, line in enumerate(self._file, start=1):
            record = self._record(line)
            if record is None:
                if self._file.read(1):
                    raise JournalError(f"{self.path}, line {number}: damaged", subjects=(str(self.path),))
                break
            restored = self._next(restored, record, number)
            good += len(line)
            self._changes += 1
        self._file.truncate(good)
        if restored is not None:
            self._cell_revision = restored.cell_revision
        return restored

    def _record(self, line: bytes) -> WholeScene | ChangeRecord | None:
        """The record of a line, or None if the line is cut short or damaged."""
        checksum, _, text = line.rstrip(b"\n").partition(b" ")
        if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
            return None
        return from_json(text, WholeScene | ChangeRecord)  # type: ignore[arg-type]

    def _next(self, before: Restored | None, record: WholeScene | ChangeRecord, number: int) -> Restored:
        place = f"{self.path}, line {number}"
        if isinstance(record, WholeScene):
            if record.format != FORMAT:
                raise JournalError(f"{place}: format is {record.format!r}, expected {FORMAT!r}")
            return Restored(record.scene, record.revision, record.cell_revision)
        if before is None or record.previous != before.revision:
            have = "nothing" if before is None else f"revision {before.revision}"
            raise JournalError(
                f"{place}: revision {record.revision} follows {record.previous}, but the file has {have}"
            )
        scene = apply_difference(before.scene, record.difference)
        if scene.state.digest() != record.digest:
            raise JournalError(f"{place}: revision {record.revision} has another digest than was recorded")
        models = record.revision if record.difference.changes_models else before.cell_revision
        return Restored(scene, record.revision, models)


def _lock(file: BinaryIO) -> None:
    """Keep others from opening the file as a journal, until it is closed or its process ends in whatever way."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
