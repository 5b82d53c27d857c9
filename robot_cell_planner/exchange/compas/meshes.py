"""Meshes of COMPAS: conversion to triangles, and files for them."""

from __future__ import annotations

import hashlib

import numpy as np

from ...errors import FileError
from ...io.common.file_names import file_name
from ...io.mesh.decomposition import obj_text
from ...io.mesh.loading import MeshData
from ..imported_cell import CellFolder
from . import data

FOLDER = "meshes"


def triangles(mesh: data.MeshData, what: str) -> MeshData:
    """Return the triangles of a mesh in its own units. A face with more than four corners is split at its centre, as
    COMPAS does.

    Raises:
        FileError: The mesh has no face, a face has an unknown vertex or fewer than three.
    """
    index = {key: number for number, key in enumerate(mesh.vertex)}
    points = [(p.x, p.y, p.z) for p in mesh.vertex.values()]
    faces: list[tuple[int, int, int]] = []
    for name, corners in mesh.face.items():
        if corners is None:
            continue
        unknown = [corner for corner in corners if str(corner) not in index]
        if unknown or len(corners) < 3:
            reason = f"vertex {unknown[0]}, which does not exist" if unknown else f"{len(corners)} vertices"
            raise FileError(f"face {name[:20]} of {what} has {reason}", stage=data.STAGE, subjects=(what,))
        numbers = [index[str(corner)] for corner in corners]
        if len(numbers) <= 4:
            faces += [(numbers[0], numbers[i], numbers[i + 1]) for i in range(1, len(numbers) - 1)]
        else:
            x, y, z = np.mean([points[number] for number in numbers], axis=0).tolist()
            points.append((x, y, z))
            following = (*numbers[1:], numbers[0])
            faces += [(a, b, len(points) - 1) for a, b in zip(numbers, following, strict=True)]
    if not faces:
        raise FileError(f"{what} has no face", stage=data.STAGE, subjects=(what,))
    return MeshData(np.array(points, dtype=np.float64), np.array(faces, dtype=np.int32))


def joined(meshes: list[data.MeshData], what: str) -> MeshData:
    """Return several meshes as one.

    Raises:
        FileError: As `triangles`.
    """
    parts = [triangles(mesh, what) for mesh in meshes]
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [part.faces + start for part, start in zip(parts, starts, strict=False)]
    return MeshData(np.vstack([part.vertices for part in parts]), np.vstack(faces).astype(np.int32))


def mesh_of(mesh: MeshData) -> dict[str, object]:
    """Return triangles as fields of a COMPAS mesh."""
    return {
        "dtype": "compas.datastructures/Mesh",
        "attributes": {},
        "default_vertex_attributes": {"x": 0.0, "y": 0.0, "z": 0.0},
        "default_edge_attributes": {},
        "default_face_attributes": {},
        "vertex": {str(i): {"x": x, "y": y, "z": z} for i, (x, y, z) in enumerate(mesh.vertices.tolist())},
        "face": {str(i): corners for i, corners in enumerate(mesh.faces.tolist())},
        "facedata": {},
        "edgedata": {},
        "max_vertex": len(mesh.vertices) - 1,
        "max_face": len(mesh.faces) - 1,
    }


class MeshFiles:
    """Writes meshes to a folder; equal meshes get one file."""

    def __init__(self, folder: CellFolder) -> None:
        self.folder = folder
        self._names: dict[str, str] = {}

    def file(self, mesh: MeshData, name: str) -> str:
        """Write a mesh and return its name relative to the folder. `name`: Text that the name of the file begins with.

        Raises:
            FileError: It cannot be written.
        """
        digest = hashlib.sha256(mesh.vertices.tobytes() + mesh.faces.tobytes()).hexdigest()
        if digest not in self._names:
            stem = f"{FOLDER}/{file_name(name[:80], 'mesh')}"
            taken, number, path = set(self._names.values()), 1, f"{stem}.obj"
            while path in taken:
                number += 1
                path = f"{stem}_{number}.obj"
            self.folder.write(path, obj_text(mesh.vertices, mesh.faces))
            self._names[digest] = path
        return self._names[digest]
