"""The messages of a bag of rosbag2, also of one that was not finished."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from rosbags.rosbag2 import Reader

from ...errors import FileError
from ...errors.remedies import GIVE_BAG, MISSING_FILE
from .unfinished import STAGE, BagMessage, UnfinishedFile, check_chunks, has_end, merged

METADATA = "metadata.yaml"
NO_BAG = "is no bag that can be read"


class BagReader:
    """Reads a bag: a folder, or one of its MCAP files.

    Attributes:
        warnings: What is missing of a bag that was not finished.

    Raises:
        FileError: The path does not exist, or a file of the bag cannot be read or is damaged before its end.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            text = f"{path} {NO_BAG}: {os.strerror(errno.ENOENT)}"
            raise FileError(text, stage=STAGE, subjects=(str(path),), remedy=MISSING_FILE)
        self._path = path
        files = sorted(path.glob("*.mcap")) if path.is_dir() else [path] if path.suffix == ".mcap" else []
        self._files = [file for file in files if file.is_file()]
        ended = [path.is_file() or (path / METADATA).exists(), *map(has_end, self._files)]
        self._unfinished = [] if all(ended) or not files else [UnfinishedFile(file) for file in files]
        self.warnings = tuple(map(_warning, self._unfinished))

    def messages(self) -> Iterator[BagMessage]:
        """Yield the messages in the order of time.

        Raises:
            FileError: The path is no bag, or is damaged; names the file and the last message before, or a chunk that
                declares too much content.
        """
        if self._unfinished:
            yield from merged([(0, file.messages()) for file in self._unfinished])
        else:
            yield from self._finished()

    def _finished(self) -> Iterator[BagMessage]:
        for file in self._files:
            check_chunks(file)
        count = last = 0
        try:
            with Reader(self._path) as reader:
                for connection, time, data in reader.messages():
                    yield BagMessage(connection.topic, connection.msgtype, time, bytes(data))
                    count, last = count + 1, time
        except Exception as error:  # rosbags also raises what its reading of damaged data meets: struct.error, KeyError
            what = f"is damaged after message {count}, at {_text(last)}" if count else NO_BAG
            text = f"{self._path} {what}: {' '.join(str(error).split()) or type(error).__name__}"
            raise FileError(text, stage=STAGE, subjects=(str(self._path),), remedy="" if count else GIVE_BAG) from error


def _warning(file: UnfinishedFile) -> str:
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
