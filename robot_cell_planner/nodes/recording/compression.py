"""Decompression of bags with a bound: a few kilobytes of a damaged or hostile bag expand to gigabytes.

Bags have compressed chunks of MCAP (mode "storage"), messages (mode "message"), or files (mode "file").
https://github.com/ros2/rosbag2#recording-with-compression
"""

from __future__ import annotations

import shutil
import sys
from binascii import crc32
from pathlib import Path
from typing import Any, Protocol

from lz4.frame import LZ4FrameDecompressor

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_CONTENT = 256 * 2**20  # [bytes] of a chunk or a message; recorders end a chunk after one message or some megabytes
READ_SIZE = 2**20  # [bytes]
DISK_FRACTION = 0.5  # of the free space in the folder for temporary files
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # RFC 8878, 3.1.1; a serialized message begins with a byte 0


class Decompressor(Protocol):
    """What decompressors of the libraries have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> Any: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


DECOMPRESSORS: dict[str, type[Decompressor]] = {"zstd": zstd.ZstdDecompressor, "lz4": LZ4FrameDecompressor}


def expanded(data: bytes, kind: type[Decompressor], limit: int) -> bytes:
    """Return the content of one or more frames of compressed data.

    Raises:
        ValueError: It is longer than a limit [bytes], or the data are damaged or end within a frame.
    """
    parts: list[bytes] = []
    left, rest = limit, bytes(data)
    while rest:
        frame = kind()
        while not frame.eof:
            try:
                parts.append(frame.decompress(rest, left + 1))
            except (zstd.ZstdError, RuntimeError) as error:  # RuntimeError: of lz4
                raise ValueError(f"the compressed data are damaged: {error}") from error
            rest, left = b"", left - len(parts[-1])
            if left < 0:
                raise ValueError(f"{len(data)} compressed bytes have more content than {limit} bytes")
            if not frame.eof and frame.needs_input:
                raise ValueError("the compressed data are not complete")
        rest = bytes(frame.unused_data or b"")
    return b"".join(parts)


def expanded_chunk(data: bytes, compression: str, size: int, checksum: int) -> bytes:
    """Return the content of a chunk of MCAP. size: that it declares [bytes]; checksum: CRC-32, or 0 without one.

    Raises:
        ValueError: Its compression is not known, it has another size or checksum, or the data are damaged.
    """
    if compression and compression not in DECOMPRESSORS:
        raise ValueError(f"a chunk has the compression {compression!r}, expected one of {', '.join(DECOMPRESSORS)}")
    content = expanded(data, DECOMPRESSORS[compression], size) if compression else data
    if len(content) != size:
        raise ValueError(f"a chunk declares {size} bytes of content, but has {len(content)}")
    if checksum and crc32(content) != checksum:
        raise ValueError("a chunk has another checksum than it declares")
    return content


def expanded_message(data: bytes) -> bytes:
    """Return the content of a message of a bag with the compression mode "message".

    Raises:
        ValueError: It is longer than MAX_CONTENT, or the data are damaged.
    """
    try:
        return expanded(data, zstd.ZstdDecompressor, MAX_CONTENT)
    except ValueError as error:
        raise ValueError(f"a compressed message cannot be expanded: {error}") from error


def expand_file(path: Path, target: Path) -> None:
    """Write the content of a file of a bag with the compression mode "file" to another file.

    Raises:
        ValueError: It is longer than half of the free space there, or the data are damaged.
        OSError: A file cannot be read or written.
    """
    limit = left = int(DISK_FRACTION * shutil.disk_usage(target.parent).free)
    with path.open("rb") as source, target.open("wb") as out:
        frame = zstd.ZstdDecompressor()
        data = source.read(READ_SIZE)
        while data or not (frame.eof or frame.needs_input):
            frame = zstd.ZstdDecompressor() if frame.eof else frame
            try:
                content = frame.decompress(data, READ_SIZE)
            except zstd.ZstdError as error:
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
