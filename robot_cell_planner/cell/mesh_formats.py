"""Mesh files parsed: STL, OBJ, DAE, GLB, PLY. trimesh does the reading; nothing but the file itself is opened."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from ..errors import GeometryError

STAGE = "read mesh"
MAX_COUNT = 4_000_000  # of vertices, and of faces
# File endings by the format that trimesh knows.
FORMATS = {".stl": "stl", ".obj": "obj", ".dae": "dae", ".glb": "glb", ".ply": "ply"}
# What of a COLLADA file says where triangles are. Materials, lights, cameras and animations are left out before it is
# parsed, because a fault in one of them would cost the geometry that it belongs to.
COLLADA_PARTS = frozenset(("asset", "library_geometries", "library_nodes", "library_visual_scenes", "scene"))
COLLADA_LOOKS = frozenset(("bind_material", "instance_camera", "instance_light", "extra"))

Vertices = NDArray[np.float64]
Indices = NDArray[np.int64]


def parse_mesh(content: bytes, kind: str, path: str) -> tuple[Vertices, NDArray[np.int32]]:
    """Vertices (n, 3) in units of the file, and faces (m, 3), of a mesh file's content.

    kind: one of the values of FORMATS. Nodes of a scene (DAE, GLB) are placed and joined, identical vertices merged,
    faces without area left out. A DAE file's unit counts and its up axis does not, as in RViz and Gazebo.

    Raises:
        GeometryError: not parseable, empty, not finite or too large.
    """
    import trimesh  # takes seconds, and is needed for files that are not in the cache only

    try:
        # Without a resolver no other file is read: no materials, textures or buffers.
        if kind == "dae":
            content, unit = _bare_collada(content)
            scene = trimesh.load_scene(BytesIO(content), file_type=kind, process=False, ignore_broken=False)
        else:
            scene, unit = trimesh.load_scene(BytesIO(content), file_type=kind, process=False), 1.0
        mesh = scene.to_mesh()
        vertices, faces = unit * np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    except Exception as error:  # parsers of third parties on hostile input: anything can come, all of it means this
        reason = " ".join(str(error).split())[:200]
        text = f"{path} is not a readable {kind.upper()} mesh: {type(error).__name__}: {reason}"
        raise GeometryError(text, stage=STAGE, subjects=(path,)) from error
    return _checked(vertices, faces, path)


def _bare_collada(content: bytes) -> tuple[bytes, float]:
    """The file with its geometry alone, and its unit [m]."""
    if b"<!ENTITY" in content or b"\0" in content:  # zero bytes: UTF-16, in which the word would go unseen
        raise ValueError("declares an XML entity, or is no UTF-8 text")
    # Long texts are usual here, and the size of the file is bounded.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    root = etree.fromstring(content, parser)
    for part in list(root):
        if _local_name(part) not in COLLADA_PARTS:
            root.remove(part)
    for element in [e for e in root.iter() if _local_name(e) in COLLADA_LOOKS]:
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    unit = root.find("{*}asset/{*}unit")
    return etree.tostring(root), 1.0 if unit is None else float(unit.get("meter", "1"))


def _local_name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _checked(vertices: Vertices, faces: Indices, path: str) -> tuple[Vertices, NDArray[np.int32]]:
    def refused(text: str) -> GeometryError:
        return GeometryError(f"{path} {text}", stage=STAGE, subjects=(path,))

    if vertices.ndim != 2 or vertices.shape[1:] != (3,) or faces.ndim != 2 or faces.shape[1:] != (3,):
        raise refused(f"has vertices of shape {vertices.shape} and faces of shape {faces.shape}")
    if not len(faces):
        raise refused("has no triangles")
    if max(len(vertices), len(faces)) > MAX_COUNT:
        raise refused(f"has {len(vertices)} vertices and {len(faces)} faces, expected at most {MAX_COUNT}")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise refused(f"has faces of vertices {faces.min()} to {faces.max()}, expected 0 to {len(vertices) - 1}")
    corners = vertices[faces.ravel()]
    if not np.isfinite(corners).all():
        raise refused("has vertices that are not finite")
    unique, inverse = _merged(corners)
    merged = inverse.reshape(-1, 3)
    whole = (merged[:, 0] != merged[:, 1]) & (merged[:, 1] != merged[:, 2]) & (merged[:, 2] != merged[:, 0])
    if not whole.any():
        raise refused("has only triangles without area")
    return unique, np.ascontiguousarray(merged[whole])


def _merged(points: Vertices) -> tuple[Vertices, NDArray[np.int32]]:
    """The different rows of points in ascending order, and for each point the index of its row."""
    points = points + 0.0  # -0.0 becomes 0.0
    order = np.lexsort((points[:, 2], points[:, 1], points[:, 0]))
    ordered = points[order]
    first = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    inverse = np.empty(len(points), dtype=np.int32)
    inverse[order] = np.cumsum(first) - 1
    return np.ascontiguousarray(ordered[first]), inverse
