"""Journal of a scene: a file to which every accepted change is written before it is published.

The format is described in `journal_format`. Opening a journal does not write to it; a file that is not a journal, or a
damaged one, is not modified. Whenever the file is replaced, the previous one is retained: as `<name>.previous` after
compaction, as `<name>.damaged` after a repair.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from types import TracebackType

from ..errors import JournalError
from ..system.durable_files import sync_folder
from .history import AcceptedChange
from .journal_files import PREVIOUS, create, open_locked, replace, write_all
from .journal_format import FORMAT, ChangeRecord, Contents, Restored, WholeScene, header_line, read_journal, record_line
from .scene import Scene

log = logging.getLogger(__name__)


class Journal:
    """Open journal file.

    Args:
        path: File; created if it does not exist.
        fsync: Also survive a power failure, at the cost of waiting for the disk at each change.
        compact_after: Number of records after which the file is rewritten with the whole scene.
        repair: Continue after the last record before the first damage; otherwise a damaged file is refused.

    Attributes:
        restored: Content of the file, None if it was new or empty.
        warning: What was discarded when the file was opened (damage, an incomplete line); "" if nothing.
        broken: Why no more changes are accepted; "" while they are.

    Raises:
        JournalError: The file cannot be opened, is open in another process, is not a journal, or is damaged.
    """

    def __init__(
        self, path: str | Path, *, fsync: bool = False, compact_after: int = 1000, repair: bool = False
    ) -> None:
        self.path = Path(path)
        self.warning = ""
        self.broken = ""
        self._file = Path(os.path.realpath(path))
        self._fsync = fsync
        self._compact_after = compact_after
        try:
            self._handle = self._open()
        except BlockingIOError as error:
            raise JournalError(f"{path} is open in another process", subjects=(str(path),)) from error
        except (OSError, ValueError) as error:
            raise self._error(error) from error
        try:
            self._take(self._read(), repair)
        except BaseException:
            os.close(self._handle)
            raise

    def _open(self) -> int:
        if not self._file.exists():
            retained = self._file.with_name(f"{self._file.name}.{PREVIOUS}")
            if retained.exists():
                raise JournalError(
                    f"{self.path} is missing, but {retained}, the copy made by compaction, exists. "
                    "Rename the copy to continue from it, or remove it to begin a new journal",
                    subjects=(str(self.path), str(retained)),
                )
            create(self._file, header_line(0))
        return open_locked(self._file)

    def _read(self) -> Contents:
        with open(self._handle, "rb", closefd=False) as file:
            return read_journal(file, str(self.path))

    def _take(self, found: Contents, repair: bool) -> None:
        self.restored: Restored | None = found.restored
        self._length, self._records = found.length, found.records
        self._compact_at = self._compact_after
        self._revision = found.restored.revision if found.restored is not None else 0
        self._cell_revision = found.restored.cell_revision if found.restored is not None else 0
        self._must_rewrite = found.is_cut
        if found.damage:
            self._repair(found, repair)
        elif found.is_cut:
            self.warning = f"{self.path}: the last line is incomplete; its change was not acknowledged and is left out"

    def _repair(self, found: Contents, allowed: bool) -> None:
        if found.restored is None:
            text = f"{found.damage}. The file is left as it is; nothing in it can be used"
            raise JournalError(text, subjects=(str(self.path),))
        if not allowed:
            text = (
                f"{found.damage}. The file is left as it is; repair (parameter journal_repair) continues from revision "
                f"{self._revision}, the last complete one"
            )
            raise JournalError(text, subjects=(str(self.path),))
        try:
            retained = self._rewrite(found.restored.scene, "damaged")
        except OSError as error:
            raise self._error(error) from error
        self.warning = (
            f"{found.damage}. The journal continues from revision {self._revision}; the damaged file is {retained}"
        )

    def append(self, scene: Scene, change: AcceptedChange) -> None:
        """Record a change that led to `scene`.

        Raises:
            JournalError: The change could not be written and must not be accepted.
        """
        if self.broken:
            raise JournalError(self.broken, subjects=(str(self.path),))
        cell_revision = change.revision if change.difference.changes_models else self._cell_revision
        record: WholeScene | ChangeRecord
        if self._records == 0:
            record = WholeScene(FORMAT, change.revision, cell_revision, scene)
        else:
            record = ChangeRecord(change.previous, change.revision, change.difference, change.digest)
        line = record_line(record)
        try:
            if self._must_rewrite:
                self._rewrite_cut()
            self._write(line, change.revision)
        except OSError as error:
            raise self._error(error) from error
        self._records += 1
        self._length += len(line)
        self._revision, self._cell_revision = change.revision, cell_revision
        if self._records >= self._compact_at:
            self._compact(scene)

    def close(self) -> None:
        """Close the file, so that another process can open it."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self.broken = -1, self.broken or f"{self.path} is closed"

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, line: bytes, revision: int) -> None:
        """Append a record, then write its revision to the header. On failure the file is restored.

        After a power failure the header may be older than the last record, never newer, because the record is on the
        disk before the header is written.
        """
        try:
            write_all(self._handle, line, self._length)
            if self._fsync:
                os.fsync(self._handle)
            write_all(self._handle, header_line(revision), 0)
        except OSError as error:
            self._take_back(error)
            raise

    def _take_back(self, cause: OSError) -> None:
        try:
            os.ftruncate(self._handle, self._length)
            write_all(self._handle, header_line(self._revision), 0)
            if self._fsync:
                os.fsync(self._handle)
        except OSError as error:
            text = f"a change could not be written ({cause.strerror})"
            reason = f"{text}, and its part could not be removed ({error.strerror})"
            self._break(reason)

    def _rewrite_cut(self) -> None:
        """Rewrite a file that has an incomplete last line or only a header."""
        if self.restored is None:
            os.ftruncate(self._handle, self._length)
            self._must_rewrite = False
            return
        self._rewrite(self.restored.scene, PREVIOUS)

    def _compact(self, scene: Scene) -> None:
        """Rewrite the file with the whole scene. If that fails, the complete old file remains in use."""
        self._compact_at = self._records + self._compact_after
        try:
            self._rewrite(scene, PREVIOUS)
        except OSError as error:
            log.warning("%s could not be compacted; this is tried again later: %s", self.path, error)

    def _rewrite(self, scene: Scene, retained_as: str) -> Path:
        """Rewrite the file with the whole scene only. Readers find either the old or the new file, never a part."""
        record = record_line(WholeScene(FORMAT, self._revision, self._cell_revision, scene))
        content = header_line(self._revision) + record
        fresh, retained = replace(self._file, content, retained_as)
        os.close(self._handle)
        self._handle, self._length, self._records = fresh, len(content), 1
        self._compact_at, self._must_rewrite = self._compact_after, False
        try:
            sync_folder(self._file.parent)
        except OSError as error:
            self._break(f"the folder could not be written to the disk ({error.strerror})")
        return retained

    def _break(self, reason: str) -> None:
        self.broken = f"{self.path}: {reason}. No more changes are taken until the journal is opened anew"
        log.error("%s", self.broken)

    def _error(self, error: OSError | ValueError) -> JournalError:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return JournalError(f"{self.path}: {reason}", subjects=(str(self.path),))
