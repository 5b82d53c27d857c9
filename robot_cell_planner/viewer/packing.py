"""Packing of arrays for the replay page in one compressed block of text."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import NDArray

# JavaScript typed array types by numpy type.
KINDS = {"float32": "<f4", "uint16": "<u2", "uint32": "<u4"}


class Block:
    """Collects arrays; `add` returns the location of an array for the page."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: NDArray[np.generic], kind: str) -> dict[str, object]:
        """Append an array, converted to "float32", "uint16" or "uint32"."""
        data = np.ascontiguousarray(values, dtype=KINDS[kind]).tobytes()
        block_range = {"kind": kind, "offset": self._size, "count": int(values.size)}
        padding = -len(data) % 4  # typed arrays must be aligned to their element size
        self._parts.append(data + bytes(padding))
        self._size += len(data) + padding
        return block_range

    def text(self) -> str:
        """Return the block, compressed by zlib and encoded in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def unpack(text: str, block_range: dict[str, object]) -> NDArray[np.generic]:
    """Return the flat array at a location in the text of a block."""
    data = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(
        data, KINDS[str(block_range["kind"])], int(str(block_range["count"])), int(str(block_range["offset"]))
    )
