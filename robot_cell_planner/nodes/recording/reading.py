"""The messages of a bag of rosbag2, also of one that was not finished."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

from rosbags.rosbag2 import Reader

from ...errors import FileError, RobotCellError
from ...errors.remedies import GIVE_BAG, MISSING_FILE
from ...io.common.resources import read_text
from ...io.common.yaml_reader import parse_yaml
from .compression import expand_file, expanded_message
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
            for message in self._of_rosbags():
                yield message
                count, last = count + 1, message.time
        except RobotCellError:  # names a file of the bag
            raise
        except Exception as error:  # rosbags also raises what its reading of damaged data meets: struct.error, KeyError
            what = f"is damaged after message {count}, at {_text(last)}" if count else NO_BAG
            text = f"{self._path} {what}: {' '.join(str(error).split()) or type(error).__name__}"
            raise FileError(text, stage=STAGE, subjects=(str(self._path),), remedy="" if count else GIVE_BAG) from error

    def _of_rosbags(self) -> Iterator[BagMessage]:
        """Yield the messages as rosbags reads them, with the bounds of `compression` in all modes."""
        mode, files = _compressed(self._path)
        if mode == "file":
            for file in files:
                yield from _expanded_file(file)
        elif mode == "message":
            for file in files:
                yield from (replace(found, data=expanded_message(found.data)) for found in _stored(file))
        else:
            yield from _stored(self._path)


def _compressed(path: Path) -> tuple[str, list[Path]]:
    """Return the compression mode of a bag, "file", "message" or else "", and its files in the order of time."""
    metadata = path / METADATA
    content = parse_yaml(read_text(metadata, STAGE), str(metadata), STAGE) if metadata.is_file() else {}
    information = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(information, dict) or information.get("compression_format") != "zstd":
        return "", []  # rosbags decompresses zstd only, and says what else is wrong
    mode = str(information.get("compression_mode")).lower()
    if mode not in ("file", "message"):
        return "", []
    return mode, [path / Path(name).name for name in information["relative_file_paths"]]


def _stored(path: Path) -> Iterator[BagMessage]:
    with Reader(path) as reader:
        for connection, time, data in reader.messages():
            yield BagMessage(connection.topic, connection.msgtype, time, bytes(data))


def _expanded_file(file: Path) -> Iterator[BagMessage]:
    """Yield the messages of a compressed file, which is expanded in a temporary folder."""
    with TemporaryDirectory(prefix="robot_bag_") as folder:
        expanded = Path(folder) / file.stem
        try:
            expand_file(file, expanded)
        except OSError as error:
            raise FileError.of(file, error, STAGE) from error
        except ValueError as error:
            raise FileError(f"{file}: {error}", stage=STAGE, subjects=(str(file),)) from error
        if expanded.suffix == ".mcap":
            check_chunks(expanded)
        yield from _stored(expanded)


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
