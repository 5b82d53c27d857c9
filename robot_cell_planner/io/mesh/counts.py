"""What a mesh file would unfold to, counted before anything is unfolded; and its text as UTF-8.

Files of a few lines can stand for more triangles than any memory holds: by nodes that are used several times by nodes
that are used several times, or by numbers in headers.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable
from typing import Any

from lxml import etree

MAX_COUNT = 4_000_000  # of vertices, and of faces
MAX_INSTANCES = 100_000
MAX_DEPTH = 200
PLY_COUNT = re.compile(rb"^\s*element\s+\S+\s+(\d+)\s*$", re.MULTILINE)
GLB_JSON, GLB_BINARY = 0x4E4F534A, 0x004E4942
# Of a glTF scene: what says where triangles are. Images, textures, materials and animations are left out.
GLTF_PARTS = frozenset(
    ("accessors", "asset", "buffers", "bufferViews", "extensionsRequired", "meshes", "nodes", "scene", "scenes")
)


class TooLarge(ValueError):
    """A file stands for more than is read."""


def unfolded(uses: Callable[[Any], Iterable[Any]], size: Callable[[Any], int], roots: Iterable[Any]) -> tuple[int, int]:
    """Nodes, and the sum of their sizes, that a graph of nodes stands for when each use of a node is a copy of it.

    uses: the nodes inside a node, once for each time. Each node is looked at once, however often it is used.

    Raises:
        ValueError: a node holds itself.
        TooLarge: deeper, or more instances, than is read.
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
    """Refuse a COLLADA document whose scene unfolds to too much.

    Raises:
        ValueError: as `unfolded`, or more than 3 * MAX_COUNT corners of triangles.
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
    """Corners of the triangles of a geometry, at most: indices that it lists, by their number at a corner."""
    total = 0
    for primitive in geometry.iterfind("{*}mesh/{*}*"):
        offsets = [int(element.get("offset", "0")) for element in primitive.iterchildren("{*}input")]
        listed = sum(len((element.text or "").split()) for element in primitive.iter("{*}p"))
        # A polygon of n corners becomes n - 2 triangles, of 3 corners each.
        total += 3 * (listed // (max(offsets, default=0) + 1))
    return total


def _check_corners(corners: int) -> None:
    if corners > 9 * MAX_COUNT:
        raise TooLarge(f"the scene unfolds to up to {corners // 9} triangles, expected at most {MAX_COUNT}")


def bare_glb(content: bytes) -> bytes:
    """A GLB file with its geometry alone, counted.

    Raises:
        ValueError: malformed, or it unfolds to too much.
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
    """Refuse a PLY file whose header announces too much.

    Raises:
        TooLarge: it does.
    """
    if kind == "ply":
        header = content[: max(content.find(b"end_header"), 0)]
        counts = [int(count) for count in PLY_COUNT.findall(header[:65_536])]
        if any(count > MAX_COUNT for count in counts):
            raise TooLarge(f"its header announces {max(counts)} entries, expected at most {MAX_COUNT}")


def as_utf8(content: bytes, kind: str) -> bytes:
    """The content, its text as UTF-8: what is not, counts as ISO 8859-1, in which older programs wrote names.

    Binary parts stay: STL and PLY may be binary, of which the text is the header.
    """
    if kind == "obj" or (kind == "stl" and content.lstrip()[:5] == b"solid" and not _is_binary_stl(content)):
        return _decoded(content)
    if kind == "ply":
        end = content.find(b"end_header")
        is_text = re.search(rb"^format\s+ascii", content[: max(end, 0)], re.MULTILINE) is not None
        return _decoded(content) if is_text else _decoded(content[: max(end, 0)]) + content[max(end, 0) :]
    return content


def _is_binary_stl(content: bytes) -> bool:
    return len(content) >= 84 and len(content) == 84 + 50 * int.from_bytes(content[80:84], "little")


def _decoded(content: bytes) -> bytes:
    try:
        return content.decode("utf-8-sig").encode()
    except UnicodeDecodeError:
        return content.decode("iso-8859-1").encode()


def parsed_xml(content: bytes) -> Any:
    """The root of an XML document without entities.

    Raises:
        ValueError, etree.XMLSyntaxError: it declares some, or is malformed.
    """
    if b"<!ENTITY" in content or b"\0" in content:  # zero bytes: UTF-16, in which the word would go unseen
        raise ValueError("declares an XML entity, or is no UTF-8 text")
    # Long texts are usual here, and the size of the file is bounded.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    return etree.fromstring(content, parser)
