"""Parsers of mesh files (STL, OBJ, DAE, GLB, GLTF, PLY), based on trimesh. No other files are opened.

`process.parse_mesh` runs this in a sandboxed process; only binary STL is parsed in the caller's process.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from ...errors import GeometryError
from ..common.file_kinds import MESHES
from .collada import prepare_collada
from .counts import MAX_COUNT, as_utf8, bare_glb, check_collada, check_header, parsed_xml
from .gltf import glb_of_gltf
from .incomplete import STAGE as STAGE
from .incomplete import stl_bytes, stl_triangles

MAX_QUICK_STL = 500_000  # max triangles of a binary STL file that is parsed in the caller's process
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
# Formats of trimesh by file extension.
FORMATS = {suffix: suffix.removeprefix(".") for suffix in MESHES}
# Elements of a COLLADA file that define triangles. Materials, lights, cameras and animations are removed before
# parsing, because an error in one of them would discard the geometry that uses it.
COLLADA_PARTS = frozenset(("asset", "library_geometries", "library_nodes", "library_visual_scenes", "scene"))
COLLADA_APPEARANCE = frozenset(("bind_material", "instance_camera", "instance_light", "extra"))

Vertices = NDArray[np.float64]
Indices = NDArray[np.int64]


def parse_mesh(content: bytes, kind: str, path: str) -> tuple[Vertices, NDArray[np.int32]]:
    """Parse the content of a mesh file; return vertices (n, 3) in file units and faces (m, 3).

    Nodes of a scene (DAE, GLB, GLTF) are transformed and joined, identical vertices merged, and faces without area
    removed.
    The unit of a DAE file is applied and its up axis is ignored, as in RViz and Gazebo. Text that is not UTF-8 is
    interpreted as ISO 8859-1.

    kind: One of the values of FORMATS.

    Raises:
        GeometryError: The content cannot be parsed, or is empty, not finite or too large, or is in several files.
    """
    import trimesh  # slow import, needed only for files that are not in the cache

    try:
        check_header(content, kind)
        unit = 1.0
        # Without a resolver no other files are read: no materials, textures or buffers.
        if kind == "gltf":
            content, kind = glb_of_gltf(content, path), "glb"
        if kind == "dae":
            content, unit = _bare_collada(content)
            scene = trimesh.load_scene(BytesIO(content), file_type=kind, process=False, ignore_broken=False)
        else:
            content = bare_glb(content) if kind == "glb" else as_utf8(content, kind)
            scene = trimesh.load_scene(BytesIO(content), file_type=kind, process=False)
        mesh = scene.to_mesh()
        vertices, faces = unit * np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    except GeometryError:
        raise
    except Exception as error:  # third-party parsers on untrusted input may raise any exception
        reason = " ".join(str(error).split())[:200]
        text = f"{path} is not a readable {kind.upper()} mesh: {type(error).__name__}: {reason}"
        raise GeometryError(text, stage=STAGE, subjects=(path,)) from error
    return checked_mesh(vertices, faces, path)


def parse_binary_stl(content: bytes, path: str) -> tuple[Vertices, NDArray[np.int32]] | None:
    """Parse a binary STL file as `parse_mesh` does; return None for other content.

    The format contains only numbers, and their count is known before they are read.
    """
    count = stl_triangles(content)
    if not stl_bytes(content) or count > MAX_QUICK_STL:
        return None
    triangles = np.frombuffer(content, dtype=STL_TRIANGLE, count=count, offset=84)["corners"]
    vertices = triangles.reshape(-1, 3).astype(np.float64)
    return checked_mesh(vertices, np.arange(3 * count, dtype=np.int64).reshape(-1, 3), path)


def _bare_collada(content: bytes) -> tuple[bytes, float]:
    """Return the file reduced to its geometry, and its unit [m]."""
    root = parsed_xml(content)
    for part in list(root):
        if _local_name(part) not in COLLADA_PARTS:
            root.remove(part)
    for element in [e for e in root.iter() if _local_name(e) in COLLADA_APPEARANCE]:
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    prepare_collada(root)
    check_collada(root)
    unit = root.find("{*}asset/{*}unit")
    return etree.tostring(root), 1.0 if unit is None else float(unit.get("meter", "1"))


def _local_name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def checked_mesh(vertices: Vertices, faces: Indices, path: str) -> tuple[Vertices, NDArray[np.int32]]:
    """Return the mesh with identical vertices merged and faces without area removed.

    Raises:
        GeometryError: The mesh is empty, not finite or too large, or faces refer to vertices that do not exist.
    """

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
    has_area = (merged[:, 0] != merged[:, 1]) & (merged[:, 1] != merged[:, 2]) & (merged[:, 2] != merged[:, 0])
    if not has_area.any():
        raise refused("has only triangles without area")
    return unique, np.ascontiguousarray(merged[has_area])


def _merged(points: Vertices) -> tuple[Vertices, NDArray[np.int32]]:
    """Return the distinct rows of points in ascending order, and for each point the index of its row."""
    points = points + 0.0  # -0.0 becomes 0.0
    order = np.lexsort((points[:, 2], points[:, 1], points[:, 0]))
    ordered = points[order]
    first = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    inverse = np.empty(len(points), dtype=np.int32)
    inverse[order] = np.cumsum(first) - 1
    return np.ascontiguousarray(ordered[first]), inverse
