"""Format of journal files, and reading them.

The first line is the header: format, latest acknowledged revision and CRC-32. Its length is constant, because it is
overwritten in place after each record. Each further line is a record: the CRC-32 of its text in hexadecimal, a space,
the text as JSON. The first record is the whole scene; those after it are changes. Changes of earlier versions list all
removals by name alone (see `removals`).

A write interrupted by a kill or a power failure leaves a last line without a newline. Such a line is ignored, and is
not damage unless the header acknowledges its revision. Anything else is damage.
"""

from __future__ import annotations

import re
import zlib
from typing import BinaryIO

import msgspec

from ..errors import JournalError, RobotCellError
from ..io.common.serialisation import from_json, to_json
from .diff import SceneDiff, apply_difference
from .scene import Scene

FORMAT = "robot_cell_journal/3"
HEADER = re.compile(rb"(robot_cell_journal/3 [0-9]{20}) ([0-9a-f]{8})\n")
OTHER_FORMAT = re.compile(rb"robot_cell_journal/[0-9]{1,9}")
LONGEST_HEADER = 4096  # [bytes] read of a first line that is not a header


class WholeScene(msgspec.Struct, frozen=True, tag="scene", tag_field="record"):
    """First record: a scene at a revision. `cell_revision`: revision of the last change to its models."""

    format: str
    revision: int
    cell_revision: int
    scene: Scene


class ChangeRecord(msgspec.Struct, frozen=True, tag="change", tag_field="record"):
    """Transition to the next revision."""

    previous: int
    revision: int
    difference: SceneDiff
    digest: str


class Restored(msgspec.Struct, frozen=True):
    """Content of a journal."""

    scene: Scene
    revision: int
    cell_revision: int


class Contents(msgspec.Struct, frozen=True):
    """Result of reading a journal file.

    Attributes:
        restored: Content, None if the file has no record.
        length: Length of the valid part [bytes].
        records: Number of valid records.
        acknowledged: Revision in the header.
        is_cut: Whether an incomplete line follows.
        damage: Position and kind of the damage after the valid part, or "".
    """

    restored: Restored | None
    length: int
    records: int
    acknowledged: int
    is_cut: bool = False
    damage: str = ""


def header_line(revision: int) -> bytes:
    """Return the header line of a journal with `revision` acknowledged."""
    text = b"%s %020d" % (FORMAT.encode(), revision)
    return b"%s %08x\n" % (text, zlib.crc32(text))


def record_line(record: WholeScene | ChangeRecord) -> bytes:
    """Return the line of a record, including the newline."""
    text = to_json(record)
    return b"%08x %s\n" % (zlib.crc32(text), text)


def read_journal(file: BinaryIO, name: str) -> Contents:
    """Read a journal up to its end or the first damage.

    Raises:
        JournalError: The file is not a journal of this format; the message names the file.
    """
    first = file.readline(LONGEST_HEADER)
    header = HEADER.fullmatch(first)
    if header is not None and b"%08x" % zlib.crc32(header[1]) == header[2]:
        return _read_records(file, name, len(first), int(header[1].split(b" ")[1]))
    found = _read_records(file, name, len(first), 0)
    if found.restored is None:
        raise JournalError(_what_it_is(name, first), subjects=(name,))
    return msgspec.structs.replace(found, damage=f"{name}, line 1: the header is damaged")


def _read_records(file: BinaryIO, name: str, length: int, acknowledged: int) -> Contents:
    restored, records, number, is_cut = None, 0, 1, False
    for number, line in enumerate(file, start=2):
        if not line.endswith(b"\n"):
            is_cut = True
            break
        try:
            restored = _next(restored, _record(line))
        except RobotCellError as error:
            damage = f"{name}, line {number}: {error.message}"
            return Contents(restored, length, records, acknowledged, damage=damage)
        length += len(line)
        records += 1
    damage = ""
    revision = 0 if restored is None else restored.revision
    if revision < acknowledged:
        end = f"line {number} is cut short" if is_cut else f"the file ends after line {number}"
        damage = f"{name}: {end}, at revision {revision}, but revision {acknowledged} was acknowledged"
    return Contents(restored, length, records, acknowledged, is_cut, damage)


def _record(line: bytes) -> WholeScene | ChangeRecord:
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        raise JournalError("damaged, its checksum does not match")
    return from_json(text, WholeScene | ChangeRecord)  # type: ignore[arg-type]


def _next(before: Restored | None, record: WholeScene | ChangeRecord) -> Restored:
    if isinstance(record, WholeScene):
        if before is not None:
            raise JournalError(
                f"the record of revision {record.revision} is a complete scene; only the first record may be one"
            )
        if record.format != FORMAT:
            raise JournalError(f"format is {record.format!r}, expected {FORMAT!r}")
        return Restored(record.scene, record.revision, record.cell_revision)
    if before is None or record.previous != before.revision:
        have = "nothing" if before is None else f"revision {before.revision}"
        raise JournalError(f"revision {record.revision} follows {record.previous}, but the file has {have}")
    scene = apply_difference(before.scene, record.difference)
    if scene.state.digest() != record.digest:
        raise JournalError(f"the digest of revision {record.revision} differs from the recorded one")
    models = record.revision if record.difference.changes_models else before.cell_revision
    return Restored(scene, record.revision, models)


def _what_it_is(name: str, first: bytes) -> str:
    if not first:
        return f"{name} is empty, so it is not a journal. Remove it to begin a new journal"
    other = OTHER_FORMAT.search(first)
    if other is not None and other[0] != FORMAT.encode():
        return f"{name}, line 1: format is {other[0].decode()!r}, expected {FORMAT!r}; the file is left as it is"
    return f"{name}, line 1: the file does not begin like a journal, expected '{FORMAT} ...'; the file is left as it is"
