"""Decompression of bags with a bound: a few kilobytes of a damaged or hostile bag expand to gigabytes.

rosbags decompresses whatever a file contains: chunks of MCAP (mode "storage"), messages (mode "message"), and files
(mode "file"). https://github.com/ros2/rosbag2#recording-with-compression
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Protocol

from backports.zstd import ZstdDecompressor, ZstdError
from lz4.frame import LZ4FrameDecompressor
from rosbags.rosbag2.storage_mcap import DECOMPRESSORS

MAX_CONTENT = 256 * 2**20  # [bytes] of a chunk or a message; recorders end a chunk after one message or some megabytes
READ_SIZE = 2**20  # [bytes]
DISK_SHARE = 0.5  # of the free space in the folder for temporary files


class Decompressor(Protocol):
    """What decompressors of the libraries have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> Any: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def check_content_size(packed: int, size: int) -> None:
    """Check the size that compressed data declare for their content. ValueError: It is more than MAX_CONTENT."""
    if size > MAX_CONTENT:
        raise ValueError(f"a chunk of {packed} bytes declares {size} bytes of content, expected at most {MAX_CONTENT}")


def expanded(data: bytes, kind: type[Decompressor], limit: int) -> bytes:
    """Return the content of one or more frames of compressed data.

    Raises:
        ValueError: It is longer than a limit [bytes], or the data end within a frame.
    """
    parts: list[bytes] = []
    left, rest = limit, bytes(data)
    while rest:
        frame = kind()
        while not frame.eof:
            parts.append(frame.decompress(rest, left + 1))
            rest, left = b"", left - len(parts[-1])
            if left < 0:
                raise ValueError(f"{len(data)} compressed bytes have more content than {limit} bytes")
            if not frame.eof and frame.needs_input:
                raise ValueError("the compressed data are not complete")
        rest = bytes(frame.unused_data or b"")
    return b"".join(parts)


def expanded_message(data: bytes) -> bytes:
    """Return the content of a message of a bag with the compression mode "message".

    Raises:
        ValueError: It is longer than MAX_CONTENT, or the data are damaged.
    """
    try:
        return expanded(data, ZstdDecompressor, MAX_CONTENT)
    except ZstdError as error:
        raise ValueError(f"a compressed message is damaged: {error}") from error


def expand_file(path: Path, target: Path) -> None:
    """Write the content of a file of a bag with the compression mode "file" to another file.

    Raises:
        ValueError: It is longer than half of the free space there, or the data are damaged.
        OSError: A file cannot be read or written.
    """
    limit = left = int(DISK_SHARE * shutil.disk_usage(target.parent).free)
    with path.open("rb") as source, target.open("wb") as out:
        frame = ZstdDecompressor()
        data = source.read(READ_SIZE)
        while data or not (frame.eof or frame.needs_input):
            frame = ZstdDecompressor() if frame.eof else frame
            try:
                content = frame.decompress(data, READ_SIZE)
            except ZstdError as error:
                raise ValueError(f"it is damaged: {error}") from error
            left -= len(content)
            if left < 0:
                text = f"it has more content than {limit} bytes, half of the free space in {target.parent}"
                raise ValueError(f"{text}; the variable TMPDIR chooses another folder")
            out.write(content)
            data = frame.unused_data if frame.eof else b""
            if not data and (frame.eof or frame.needs_input):
                data = source.read(READ_SIZE)
    if not frame.eof:
        raise ValueError("it is not complete")


def _of_chunk(kind: type[Decompressor], data: bytes, size: int) -> bytes:
    check_content_size(len(data), size)
    return expanded(data, kind, size)


# rosbags gives its decompressors the size that the index of the file declares, and ignores it. The index may declare
# another one than the chunk, so that only this is a bound.
DECOMPRESSORS["zstd"] = lambda data, size: _of_chunk(ZstdDecompressor, data, size)
DECOMPRESSORS["lz4"] = lambda data, size: _of_chunk(LZ4FrameDecompressor, data, size)
