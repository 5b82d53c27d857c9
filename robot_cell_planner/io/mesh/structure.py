"""Quick check whether the content of a file has the structure of a mesh format, without building the mesh."""

from __future__ import annotations

import re

from ...errors import GeometryError
from .content_kinds import contents_named
from .gltf import require_embedded
from .incomplete import STAGE, require_whole, stl_bytes

OBJ_FACE = re.compile(rb"^[ \t]*f[ \t]+\S+[ \t]+\S+[ \t]+\S+", re.MULTILINE)
TEXT_STL_FACE = re.compile(rb"facet\s+normal\s+\S+\s+\S+\s+\S+\s+outer\s+loop", re.IGNORECASE)
COLLADA_FACES = re.compile(rb"<(?:[\w.\-]+:)?(?:triangles|polylist|polygons)[\s>]")
COLLADA_ENDS = re.compile(rb"<(?:[\w.\-]+:)?COLLADA\b"), re.compile(rb"</(?:[\w.\-]+:)?COLLADA\s*>\s*$")


def check_structure(content: bytes, kind: str, path: str) -> None:
    """Check that a file is of its format and has faces. Parsing can still fail.

    Raises:
        GeometryError: It is not.
    """
    with contents_named(content, kind, path):
        require_whole(content, kind, path)
        if kind == "gltf":
            require_embedded(content, path)
        if _has_faces(content, kind):
            return
        text = f"{path} is not a readable {kind.upper()} mesh: no faces found, or damaged"
        raise GeometryError(text, stage=STAGE, subjects=(path,))


def _has_faces(content: bytes, kind: str) -> bool:
    if kind == "stl":
        return stl_bytes(content) > 0 or TEXT_STL_FACE.search(content) is not None
    if kind == "obj":
        return OBJ_FACE.search(content) is not None
    if kind == "ply":
        return content.startswith(b"ply") and b"element face" in content[:65_536]
    if kind == "gltf":
        return content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and b'"meshes"' in content
    if kind == "glb":
        return content.startswith(b"glTF") and b'"meshes"' in content
    if b"\0" in content:  # damaged, or UTF-16, which is refused
        return False
    begin, end = COLLADA_ENDS
    whole = begin.search(content[:65_536]) is not None and end.search(content[-1_024:]) is not None
    return whole and COLLADA_FACES.search(content) is not None
