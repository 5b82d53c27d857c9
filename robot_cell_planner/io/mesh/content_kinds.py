"""What a mesh file contains that is not of the format of its name: to be named where it cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ...errors import GeometryError
from .incomplete import STAGE, STL_HEADER, STL_TRIANGLE, stl_bytes

HEAD = 4_096  # [bytes] that are examined
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CONVERT = "Convert it to STL, OBJ, DAE, GLB, GLTF or PLY."
UNPACK = "Unpack it, and use the mesh in it."
NO_MESH = "Use the file of the mesh."
DOWNLOAD = "Get the mesh itself from its source: this is probably the answer of a web server about it."
SWAP = "Save it with numbers in little-endian order, as the format has them: open it in a mesh editor that reads it."


class Content(NamedTuple):
    """What a file contains: as it is called in a sentence, the mesh format that it is if it is one, and what to do."""

    name: str
    kind: str = ""
    remedy: str = ""


BEGINNINGS = (
    (re.compile(rb"\x89PNG\r\n"), Content("a PNG image", remedy=NO_MESH)),
    (re.compile(rb"\xff\xd8\xff"), Content("a JPEG image", remedy=NO_MESH)),
    (re.compile(rb"%PDF-"), Content("a PDF document", remedy=NO_MESH)),
    (re.compile(rb"PK\x03\x04"), Content("a ZIP archive, or a format based on it such as 3MF", remedy=UNPACK)),
    (re.compile(rb"\x1f\x8b"), Content("compressed by gzip", remedy=UNPACK)),
    (re.compile(rb"(\xff\xfe|\xfe\xff)"), Content("text in UTF-16", remedy="Save it as UTF-8.")),
    (re.compile(rb"ISO-10303-21;"), Content("a STEP file", remedy=CONVERT)),
    (re.compile(rb"glTF"), Content("a GLB file", "glb")),
    (re.compile(rb"ply[\r\n]"), Content("a PLY file", "ply")),
    (re.compile(rb"<!doctype\s+html|<html", re.IGNORECASE), Content("a web page", remedy=DOWNLOAD)),
    (re.compile(rb"<[^\0]*<([\w.\-]+:)?COLLADA\b|<([\w.\-]+:)?COLLADA\b"), Content("a COLLADA file", "dae")),
    (re.compile(rb"<\?xml|<[a-z]", re.IGNORECASE), Content("an XML file without COLLADA", remedy=NO_MESH)),
    (re.compile(rb"\{"), Content("a JSON file, as glTF is", "gltf")),
    (re.compile(rb"solid\b[^\0]*\bfacet\b", re.IGNORECASE), Content("a text STL file", "stl")),
    (re.compile(rb"((#|o |g |mtllib |vn |vt )[^\n\0]*\n\s*)*v\s+[-+.\d]"), Content("an OBJ file", "obj")),
)


def content_of(content: bytes) -> Content | None:
    """Return what a file contains, as far as its bytes show it."""
    if not content:
        return Content("empty", remedy="Get the file again from its source.")
    head = content[:HEAD].removeprefix(BYTE_ORDER_MARK).lstrip(b" \t\r\n")
    found = next((each for beginning, each in BEGINNINGS if beginning.match(head)), None)
    if found is None and stl_bytes(content):
        return Content("a binary STL file", "stl")
    if found is None and _is_big_endian(content):
        return Content("an STL file with numbers in big-endian order", remedy=SWAP)
    return found


@contextmanager
def contents_named(content: bytes, kind: str, path: str) -> Iterator[None]:
    """Replace the error about a file that cannot be read by one that says what it contains, if that is something else
    than its mesh format. kind: the format, one of the values of `formats.FORMATS`.

    Raises:
        GeometryError: The file cannot be read.
    """
    try:
        yield
    except GeometryError as error:
        found = content_of(content)
        if found is None or found.kind == kind:
            raise
        remedy = found.remedy or f"Give it a name that ends in .{found.kind}, if it is the mesh that is meant."
        text = f"{path} is not a readable {kind.upper()} mesh: it is {found.name}"
        raise GeometryError(text, stage=STAGE, subjects=(path,), remedy=remedy) from error


def _is_big_endian(content: bytes) -> bool:
    """Return whether the size of a file is that of a binary STL whose count has its most significant byte first."""
    count = int.from_bytes(content[STL_HEADER - 4 : STL_HEADER], "big")
    return count > 0 and len(content) == STL_HEADER + STL_TRIANGLE * count
