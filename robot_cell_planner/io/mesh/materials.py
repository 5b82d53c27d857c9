"""Parts of a mesh file with the colours of their materials."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from ...model.geometry import Rgba
from .collada import prepare_collada
from .counts import as_utf8, bare_glb, check_collada, check_header, parsed_xml, without_cameras
from .gltf import glb_of_gltf

Part = tuple[NDArray[np.float64], NDArray[np.int32], Rgba | None]


def painted_parts(content: bytes, kind: str) -> list[Part]:
    """Return vertices (n, 3), faces (m, 3) and colour of each part of a mesh file, in the frame of the file.

    Raises:
        Exception: Any exception of a third-party parser; the file is checked by `formats.parse_mesh`.
    """
    import trimesh

    check_header(content, kind)
    if kind == "dae":
        root = parsed_xml(content)
        prepare_collada(root)
        check_collada(root)
        content = etree.tostring(root)
    if kind == "gltf":
        content, kind = glb_of_gltf(content, "the file"), "glb"
    if kind == "glb":
        bare_glb(content)  # checks the size
        content = without_cameras(content)
    scene = trimesh.load_scene(BytesIO(as_utf8(content, kind)), file_type=kind, process=False)
    parts: list[Part] = []
    for node in scene.graph.nodes_geometry:
        world_T_part, name = scene.graph[node]
        part = scene.geometry[name]
        if isinstance(part, trimesh.Trimesh) and len(part.faces):
            vertices = part.vertices @ world_T_part[:3, :3].T + world_T_part[:3, 3]
            parts.append((np.asarray(vertices), np.asarray(part.faces, dtype=np.int32), _main_colour(part)))
    return parts


def _main_colour(part: Any) -> Rgba | None:
    visual = getattr(part, "visual", None)
    material = getattr(visual, "material", None)
    colour = getattr(material if material is not None else visual, "main_color", None)
    if colour is None or not getattr(visual, "defined", False):
        return None
    red, green, blue, alpha = (float(value) / 255.0 for value in np.asarray(colour)[:4])
    return red, green, blue, alpha
