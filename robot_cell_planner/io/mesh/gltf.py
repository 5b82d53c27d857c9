"""Text files of glTF (.gltf): their numbers are in the text, as base64, and become those of a GLB file.

`content.mesh_content` embeds buffers that are in other files of the same folder; others are refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from typing import Any

from ...errors import GeometryError
from .incomplete import STAGE

GLB_JSON, GLB_BINARY = 0x4E4F534A, 0x004E4942
EMBEDDED = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,")
BUFFERS = re.compile(rb'"buffers"\s*:\s*\[([^\]]*)')
EXTERNAL = re.compile(rb'"uri"\s*:\s*"(?!data:)([^"]{0,200})')
# Materials keep their colours; images are in other files, or not needed.
PICTURES = ("images", "textures", "samplers")
TEXTURES = re.compile(r".*Texture$")


def require_embedded(content: bytes, path: str) -> None:
    """Check by a text search that no buffer of a text file of glTF is in another file.

    Raises:
        GeometryError: One is.
    """
    uri = external_buffer(content)
    if uri is not None:
        raise external(uri, path)


def external_buffer(content: bytes) -> str | None:
    """Return the URI of the first buffer of a text file of glTF that is in another file, by a text search."""
    buffers = BUFFERS.search(content)
    found = None if buffers is None else EXTERNAL.search(buffers[1])
    return None if found is None else found[1].decode(errors="replace")


def external(uri: str, path: str, reason: str = "which is not read") -> GeometryError:
    """Return the error about a buffer in another file."""
    text = f"{path} has its numbers in another file, {uri[:200]!r}, {reason}"
    remedy = "Export the mesh as .glb, which is one file, or put its buffers into the folder of the mesh."
    return GeometryError(text, stage=STAGE, subjects=(path,), remedy=remedy)


def glb_of_gltf(content: bytes, path: str) -> bytes:
    """Convert a text file of glTF to a GLB file without images.

    Raises:
        GeometryError: A buffer is in another file.
        ValueError: The file is malformed.
    """
    document = json.loads(content.decode("utf-8-sig"))
    if not isinstance(document, dict):
        raise ValueError("has no JSON object")
    offsets, binary = [], b""
    for buffer in _objects(document, "buffers"):
        offsets.append(len(binary))
        numbers = _numbers(buffer, path)
        binary += numbers + bytes(-len(numbers) % 4)
    for view in _objects(document, "bufferViews"):
        index = view.get("buffer")
        if not isinstance(index, int) or not 0 <= index < len(offsets):
            raise ValueError(f"has a view of buffer {index!r}, expected 0 to {len(offsets) - 1}")
        view["byteOffset"] = int(view.get("byteOffset", 0)) + offsets[index]
        view["buffer"] = 0
    document["buffers"] = [{"byteLength": len(binary)}] if binary else []
    text = json.dumps(_without_pictures(document)).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), GLB_JSON) + text
    chunks += struct.pack("<II", len(binary), GLB_BINARY) + binary if binary else b""
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def _objects(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = document.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"has {key} that are no list of objects")
    return entries


def _numbers(buffer: dict[str, Any], path: str) -> bytes:
    uri, length = buffer.get("uri"), buffer.get("byteLength")
    if not isinstance(uri, str):
        raise ValueError("has a buffer without numbers")
    found = EMBEDDED.match(uri)
    if found is None and not uri.startswith("data:"):
        raise external(uri, path)
    try:
        numbers = base64.b64decode(uri[found.end() :], validate=True) if found is not None else b""
    except binascii.Error as error:
        raise ValueError(f"has a buffer that is no base64: {error}") from error
    if not isinstance(length, int) or not 0 < length <= len(numbers):
        raise ValueError(f"has a buffer with {len(numbers)} bytes of base64, expected {length!r}")
    return numbers[:length]


def _without_pictures(value: Any) -> Any:
    """Return the document without images, and without the textures of materials."""
    if isinstance(value, list):
        return [_without_pictures(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_pictures(item)
        for key, item in value.items()
        if key not in PICTURES and not (TEXTURES.match(key) and isinstance(item, dict))
    }
