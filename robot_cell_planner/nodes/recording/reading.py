"""The messages of a bag of rosbag2, also of one that was not finished."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from rosbags.rosbag2 import Reader

from ...errors import FileError, RobotCellError
from ...errors.remedies import GIVE_BAG, MISSING_FILE
from ...io.common.resources import read_text
from ...io.common.yaml_reader import parse_yaml
from .compression import ZSTD_MAGIC, expand_file, expanded_message
from .mcap import BagMessage, McapError, McapFile, Memory, has_end, merged

STAGE = "read record"
METADATA = "metadata.yaml"
VERSION = 9  # of the metadata, the newest that is known
MODES = ("", "none", "storage", "message", "file")
NO_BAG, BEGINNING = "is no bag that can be read", "cannot be read from the beginning"


@dataclass(frozen=True)
class _Content:
    """files: of a bag, in the order of time. mode: of compression, one of MODES. has_metadata: whether they exist.
    topics: that they list."""

    files: tuple[Path, ...]
    mode: str
    has_metadata: bool
    topics: frozenset[str] = frozenset()


class BagReader:
    """Reads a bag: a folder, or one of its files.

    Attributes:
        warnings: What is missing of a bag that was not finished.
        topics: Names of its topics; none if they are only in the messages, as in an SQLite file without metadata.

    Raises:
        FileError: The path does not exist, or a file of the bag cannot be read or is damaged before its end.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            text = f"{path} {NO_BAG}: {os.strerror(errno.ENOENT)}"
            raise FileError(text, stage=STAGE, subjects=(str(path),), remedy=MISSING_FILE)
        self._path = path
        self._content = _content_of(path)
        files = [file for file in self._content.files if file.suffix == ".mcap"]
        is_finished = self._content.has_metadata and all(map(_has_end, files))
        self._files = [_opened(file, is_finished) for file in files]
        self.warnings = () if is_finished else tuple(map(_warning, self._files))
        self.topics = self._content.topics.union(*(file.topics for file in self._files))

    def messages(self) -> Iterator[BagMessage]:
        """Yield the messages in the order of time.

        Raises:
            FileError: The path is no bag, or is damaged; names the file and the last message before, or what declares
                too much content.
        """
        count = last = 0
        try:
            for message in self._messages():
                yield message
                count, last = count + 1, message.time
        except RobotCellError:  # names a file of the bag
            raise
        except OSError as error:
            raise FileError.of(error.filename or self._path, error, STAGE) from error
        except Exception as error:  # rosbags also raises what its reading of damaged data meets: struct.error, KeyError
            is_bag = count or isinstance(error, McapError)
            what = f"is damaged after message {count}, at {_text(last)}" if count else BEGINNING if is_bag else NO_BAG
            text = f"{self._path} {what}: {' '.join(str(error).split()) or type(error).__name__}"
            raise FileError(
                text, stage=STAGE, subjects=(str(self._path),), remedy="" if is_bag else GIVE_BAG
            ) from error

    def _messages(self) -> Iterator[BagMessage]:
        mode, memory = self._content.mode, Memory()
        messages = merged([(file.first, file.messages(memory)) for file in self._files])
        for message in chain(messages, *map(self._of_other, self._content.files)):
            # Recorders write the mode at their end only.
            marked = not self._content.has_metadata and message.data.startswith(ZSTD_MAGIC)
            is_compressed = marked or mode == "message"
            yield replace(message, data=expanded_message(message.data)) if is_compressed else message

    def _of_other(self, file: Path) -> Iterator[BagMessage]:
        """Yield the messages of a file that is not MCAP, or is compressed MCAP."""
        if self._content.mode == "file" and file.suffix == ".zstd":
            with TemporaryDirectory(prefix="robot_bag_") as folder:
                yield from _stored(_expanded(file, Path(folder)))
        elif file.suffix != ".mcap":
            yield from _stored(file)


def _content_of(path: Path) -> _Content:
    """Return what a bag consists of.

    Raises:
        FileError: It is no bag, or its metadata cannot be read.
    """
    metadata = path / METADATA
    if not metadata.is_file():
        files = tuple(file for file in sorted(path.glob("*.mcap")) if file.is_file()) if path.is_dir() else (path,)
        if not files:
            raise _no_bag(path, f"it has neither {METADATA} nor an MCAP file")
        return _Content(files, "", path.is_file())
    content = parse_yaml(read_text(metadata, STAGE), str(metadata), STAGE)
    information = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(information, dict):
        raise _no_bag(path, f"{METADATA} has no information on a bag")
    version, names = information.get("version"), information.get("relative_file_paths")
    if not isinstance(version, int) or version > VERSION:
        raise _no_bag(path, f"{METADATA} has the version {version}, expected at most {VERSION}")
    if not isinstance(names, list) or not all(isinstance(name, str) and Path(name).name for name in names):
        raise _no_bag(path, f"{METADATA} has no list of the files")
    mode, kind = (str(information.get(key) or "").lower() for key in ("compression_mode", "compression_format"))
    if mode not in MODES or (mode not in ("", "none") and kind != "zstd"):
        raise _no_bag(path, f"compression of the mode {mode!r} and the format {kind!r} is not supported")
    files = tuple(path / Path(name).name for name in names)
    return _Content(files, mode, True, _topics_of(information.get("topics_with_message_count")))


def _topics_of(entries: object) -> frozenset[str]:
    """Return the names of topics in metadata."""
    listed = entries if isinstance(entries, list) else []
    topics = [entry.get("topic_metadata") for entry in listed if isinstance(entry, dict)]
    names = [topic.get("name") for topic in topics if isinstance(topic, dict)]
    return frozenset(name for name in names if isinstance(name, str))


def _no_bag(path: Path, reason: str) -> FileError:
    return FileError(f"{path} {NO_BAG}: {reason}", stage=STAGE, subjects=(str(path),), remedy=GIVE_BAG)


def _has_end(file: Path) -> bool:
    try:
        return has_end(file)
    except OSError as error:
        raise FileError.of(file, error, STAGE) from error


def _opened(file: Path, is_finished: bool) -> McapFile:
    try:
        return McapFile(file, is_finished)
    except OSError as error:
        raise FileError.of(file, error, STAGE) from error
    except McapError as error:
        raise FileError(str(error), stage=STAGE, subjects=(str(file),)) from error


def _expanded(file: Path, folder: Path) -> Path:
    """Expand a compressed file into a folder, and return the path of the result."""
    expanded = folder / file.stem
    try:
        expand_file(file, expanded)
    except OSError as error:
        raise FileError.of(file, error, STAGE) from error
    except ValueError as error:
        raise FileError(f"{file}: {error}", stage=STAGE, subjects=(str(file),)) from error
    return expanded


def _stored(file: Path) -> Iterator[BagMessage]:
    """Yield the messages of a file that is not compressed. ValueError: It has another format."""
    if file.suffix == ".mcap":
        yield from _opened(file, _has_end(file)).messages(Memory())
    elif file.suffix == ".db3" and file.is_file():
        with Reader(file) as reader:
            for connection, time, data in reader.messages():
                yield BagMessage(connection.topic, connection.msgtype, time, bytes(data))
    else:
        raise ValueError(f"{file.name} is no file of the formats MCAP or SQLite (.mcap, .db3)")


def _warning(file: McapFile) -> str:
    what = f"{file.count} messages, the last at {_text(file.last)}" if file.count else "no message"
    rest = file.size - file.complete
    cut = f"; the {rest} bytes after the last complete record are not read" if rest else ""
    return f"{file.path} was not finished, its recorder was killed or still runs: it has {what}{cut}"


def _text(time: int) -> str:
    """Return a time [ns since 1970] as text."""
    try:
        return f"{datetime.fromtimestamp(time * 1e-9, timezone.utc):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
    except (ValueError, OverflowError, OSError):
        return f"{time} ns"
