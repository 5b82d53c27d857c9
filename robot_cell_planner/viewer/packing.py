"""Arrays for the page: numbers side by side in one block, which is compressed and written as text."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import NDArray

# Types of the page's typed arrays, by the numpy type they are written with.
KINDS = {"float32": "<f4", "uint16": "<u2", "uint32": "<u4"}


class Block:
    """Collects arrays; `add` returns what the page needs to find one again."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: NDArray[np.generic], kind: str) -> dict[str, object]:
        """Append an array, rounded to a kind: "float32", "uint16" or "uint32"."""
        data = np.ascontiguousarray(values, dtype=KINDS[kind]).tobytes()
        place = {"kind": kind, "offset": self._size, "count": int(values.size)}
        padding = -len(data) % 4  # typed arrays start at multiples of their size
        self._parts.append(data + bytes(padding))
        self._size += len(data) + padding
        return place

    def text(self) -> str:
        """The whole block: zlib, then base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def unpack(text: str, place: dict[str, object]) -> NDArray[np.generic]:
    """The array at a place of a block's text, flat."""
    data = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(data, KINDS[str(place["kind"])], int(str(place["count"])), int(str(place["offset"])))
