"""Checks of the expanded size of a mesh file before parsing, and conversion of its text to UTF-8.

Small files can expand to more triangles than fit in memory, through nested reuse of nodes or through counts in headers.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable
from typing import Any

from lxml import etree

from .incomplete import stl_bytes

MAX_COUNT = 4_000_000  # max number of vertices, and of faces
MAX_INSTANCES = 100_000
MAX_DEPTH = 200
PLY_COUNT = re.compile(rb"^\s*element\s+\S+\s+(\d+)\s*$", re.MULTILINE)
GLB_JSON, GLB_BINARY = 0x4E4F534A, 0x004E4942
# Keys of a glTF document that define triangles. Images, textures, materials and animations are removed.
GLTF_PARTS = frozenset(
    ("accessors", "asset", "buffers", "bufferViews", "extensionsRequired", "meshes", "nodes", "scene", "scenes")
)


class TooLarge(ValueError):
    """The expanded size of a file exceeds the limits."""


def unfolded(uses: Callable[[Any], Iterable[Any]], size: Callable[[Any], int], roots: Iterable[Any]) -> tuple[int, int]:
    """Return the number of nodes, and the sum of their sizes, that a graph of nodes expands to if every use is a copy.

    Each node is visited once, however often it is used.

    uses: Child nodes of a node, once for each use.

    Raises:
        ValueError: A node contains itself.
        TooLarge: The graph is deeper, or has more instances, than allowed.
    """
    counted: dict[Any, tuple[int, int]] = {}
    open_nodes: set[Any] = set()

    def count(node: Any, depth: int) -> tuple[int, int]:
        if node in counted:
            return counted[node]
        if node in open_nodes:
            raise ValueError(f"node {str(node)[:80]!r} holds itself")
        if depth > MAX_DEPTH:
            raise TooLarge(f"nodes are nested deeper than {MAX_DEPTH} levels")
        open_nodes.add(node)
        counted[node] = together(uses(node), 1, size(node), depth)
        open_nodes.discard(node)
        return counted[node]

    def together(nodes: Iterable[Any], number: int, total: int, depth: int) -> tuple[int, int]:
        for node in nodes:
            more, size_of_it = count(node, depth + 1)
            number, total = number + more, total + size_of_it
        if number > MAX_INSTANCES:
            raise TooLarge(f"nodes are used more than {MAX_INSTANCES} times")
        return number, total

    return together(roots, 0, 0, 0)


def check_collada(root: Any) -> None:
    """Check the expanded size of the scene of a COLLADA document.

    Raises:
        ValueError: As for `unfolded`, or more than 3 * MAX_COUNT triangle corners.
    """
    by_id = {
        element.get("id"): element for element in root.iter() if isinstance(element.tag, str) and element.get("id")
    }
    corners = {element: _corners(element) for element in root.iter("{*}geometry")}

    def target(element: Any) -> Any:
        return by_id.get((element.get("url") or "").strip().removeprefix("#"))

    def uses(node: Any) -> list[Any]:
        inner = [child for child in node.iterchildren("{*}node")]
        referred = [target(child) for child in node.iterchildren("{*}instance_node")]
        return [*inner, *(node for node in referred if node is not None)]

    def size(node: Any) -> int:
        return sum(corners.get(target(child), 0) for child in node.iterchildren("{*}instance_geometry"))

    scenes = [target(element) for element in root.iter("{*}instance_visual_scene")]
    roots = [node for scene in scenes if scene is not None for node in scene.iterchildren("{*}node")]
    _check_corners(unfolded(uses, size, roots)[1])


def _corners(geometry: Any) -> int:
    """Return an upper bound of the triangle corners of a geometry: three per listed polygon corner."""
    total = 0
    for primitive in geometry.iterfind("{*}mesh/{*}*"):
        offsets = [int(element.get("offset", "0")) for element in primitive.iterchildren("{*}input")]
        listed = sum(len((element.text or "").split()) for element in primitive.iter("{*}p"))
        # A polygon with n corners becomes n - 2 triangles of 3 corners each.
        total += 3 * (listed // (max(offsets, default=0) + 1))
    return total


def _check_corners(corners: int) -> None:
    if corners > 9 * MAX_COUNT:
        raise TooLarge(f"the scene unfolds to up to {corners // 9} triangles, expected at most {MAX_COUNT}")


def bare_glb(content: bytes) -> bytes:
    """Return a GLB file reduced to its geometry, after checking its size.

    Raises:
        ValueError: The file is malformed, or its expanded size exceeds the limits.
    """
    document, binary = _glb_chunks(content)
    document = {key: value for key, value in document.items() if key in GLTF_PARTS}
    for buffer in _entries(document, "buffers"):
        if "uri" in buffer:
            raise ValueError("names another file or address as a buffer, expected all numbers in the file")
    counts = [int(accessor.get("count", 0)) for accessor in _entries(document, "accessors")]
    if any(not 0 <= count <= 3 * MAX_COUNT for count in counts):
        raise TooLarge(f"an accessor has {max(counts)} entries, expected at most {3 * MAX_COUNT}")
    meshes = _entries(document, "meshes")
    for primitive in (primitive for mesh in meshes for primitive in mesh.get("primitives", [])):
        primitive.pop("material", None)
    nodes = _entries(document, "nodes")
    corners = [sum(_gltf_corners(primitive, counts) for primitive in mesh.get("primitives", [])) for mesh in meshes]
    roots = set(range(len(nodes))) - {child for node in nodes for child in node.get("children", [])}
    if nodes and not roots:
        raise ValueError("each node is inside of another one")
    number = unfolded(
        lambda node: nodes[node].get("children", []),
        lambda node: corners[nodes[node]["mesh"]] if "mesh" in nodes[node] else 0,
        sorted(roots),
    )
    _check_corners(3 * number[1])
    return _glb(document, binary)


def without_cameras(content: bytes) -> bytes:
    """Return a GLB file whose nodes have no cameras; with materials, unlike `bare_glb`.

    Raises:
        ValueError: The file is malformed.
    """
    return _glb(*_glb_chunks(content))


def _glb(document: dict[str, Any], binary: bytes) -> bytes:
    """Return a GLB file of a document without cameras: trimesh drops the mesh and the children of a node with one."""
    for node in _entries(document, "nodes"):
        node.pop("camera", None)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), GLB_JSON) + text
    if binary:
        chunks += struct.pack("<II", len(binary), GLB_BINARY) + binary
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def _glb_chunks(content: bytes) -> tuple[dict[str, Any], bytes]:
    if content[:4] != b"glTF" or len(content) < 20:
        raise ValueError("is no GLB file")
    version, _, length, kind = struct.unpack_from("<IIII", content, 4)
    if version != 2 or kind != GLB_JSON or length > len(content) - 20:
        raise ValueError(f"has GLB version {version} and a first chunk of {length} bytes, expected version 2 and JSON")
    document = json.loads(content[20 : 20 + length].decode("utf-8"))
    if not isinstance(document, dict):
        raise ValueError("has no JSON object")
    rest = content[20 + length :]
    if len(rest) < 8:
        return document, b""
    length, kind = struct.unpack_from("<II", rest)
    return document, rest[8 : 8 + length] if kind == GLB_BINARY else b""


def _entries(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = document.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"has {key} that are no list of objects")
    return entries


def _gltf_corners(primitive: dict[str, Any], counts: list[int]) -> int:
    index = primitive.get("indices", primitive.get("attributes", {}).get("POSITION"))
    return 0 if index is None else counts[index]


def check_header(content: bytes, kind: str) -> None:
    """Check the counts in the header of a PLY file.

    Raises:
        TooLarge: The counts exceed the limits.
    """
    if kind == "ply":
        header = content[: max(content.find(b"end_header"), 0)]
        counts = [int(count) for count in PLY_COUNT.findall(header[:65_536])]
        if any(count > MAX_COUNT for count in counts):
            raise TooLarge(f"its header announces {max(counts)} entries, expected at most {MAX_COUNT}")


def as_utf8(content: bytes, kind: str) -> bytes:
    """Return the content with its text as UTF-8. Text that is not UTF-8 is interpreted as ISO 8859-1, as used by older
    programs.

    Binary data is unchanged; in binary STL and PLY files only the header is text.
    """
    if kind == "obj" or (kind == "stl" and content.lstrip()[:5].lower() == b"solid" and not _is_binary_stl(content)):
        return _decoded(content)
    if kind == "ply":
        end = content.find(b"end_header")
        is_text = re.search(rb"^format\s+ascii", content[: max(end, 0)], re.MULTILINE) is not None
        return _decoded(content) if is_text else _decoded(content[: max(end, 0)]) + content[max(end, 0) :]
    return content


def _is_binary_stl(content: bytes) -> bool:
    return stl_bytes(content) > 0


def _decoded(content: bytes) -> bytes:
    try:
        return content.decode("utf-8-sig").encode()
    except UnicodeDecodeError:
        return content.decode("iso-8859-1").encode()


def parsed_xml(content: bytes) -> Any:
    """Return the root of an XML document without entities.

    Raises:
        ValueError, etree.XMLSyntaxError: The document declares entities, or is malformed.
    """
    if b"\0" in content:  # UTF-16 would hide the next word
        raise ValueError(f"has a zero byte at {content.index(0)}: it is damaged, or no UTF-8 text")
    if b"<!ENTITY" in content:
        raise ValueError("declares an XML entity")
    # Long texts are common in mesh files, and the file size is bounded.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    return etree.fromstring(content, parser)
