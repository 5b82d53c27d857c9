"""Convex decomposition of meshes by V-HACD (Mamou and Ghorbel, 2009), cached on disk by content.

The pieces are fitted to the mesh (`piece_fitting`): they contain its surface. They can fill hollows to a few hundredths
of the mesh size.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError
from ...model.geometry import Mesh, Triangles
from ...system.module_start import module_command, module_environment
from ...system.physics import has_physics
from .cache import Arrays, cached_or_computed
from .loading import MeshData, is_flat, load_mesh
from .piece_fitting import fitted_pieces
from .thin_plates import plate_scaling

STAGE = "convex decomposition"
MAX_FACES = 200_000
TIMEOUT = 600.0  # [s]
WORKER = "robot_cell_planner.io.mesh.decomposition_worker"

Vertices = NDArray[np.float64]
Faces = NDArray[np.int32]


@lru_cache(maxsize=128)
def convex_pieces(mesh: Mesh | Triangles) -> tuple[MeshData, ...]:
    """Return convex meshes that together contain the surface of a mesh.

    Raises:
        GeometryError: The mesh is flat or has too many faces, or V-HACD fails or takes too long.
    """
    data = load_mesh(mesh)
    data = _of_faces(data.vertices, data.faces)
    if len(data.faces) > MAX_FACES:
        text = f"{_name(mesh)} has {len(data.faces)} faces, expected at most {MAX_FACES} to be decomposed"
        raise GeometryError(text, stage=STAGE, subjects=(_name(mesh),))
    if is_flat(mesh):  # V-HACD does not end
        text = f"{_name(mesh)} is flat and has no convex pieces; use its triangles (use: exact)"
        raise GeometryError(text, stage=STAGE, subjects=(_name(mesh),))
    digest = hashlib.sha256(data.vertices.tobytes() + data.faces.tobytes()).hexdigest()

    scaling = plate_scaling(data.vertices)

    def decompose() -> tuple[tuple[MeshData, ...], Arrays]:
        pieces = fitted_pieces(_pieces(data, scaling, _name(mesh)), data)
        return pieces, _joined(pieces)

    kind = "covering-pieces" if has_physics() else "covering-pieces-vhacdx"
    if scaling is not None:
        kind = f"{kind}-of-plate"
    return cached_or_computed(digest, kind, lambda arrays: _split(*arrays), decompose)


def _name(mesh: Mesh | Triangles) -> str:
    return mesh.uri if isinstance(mesh, Mesh) else "a mesh of triangles"


def _pieces(data: MeshData, scaling: Vertices | None, name: str) -> tuple[MeshData, ...]:
    """Return the pieces of V-HACD; scaling: Map (3, 3) under which it decomposes the mesh."""
    if scaling is None:
        return _split(*_decompose(data, name))
    vertices, faces = _decompose(MeshData(data.vertices @ scaling, data.faces), name)
    return _split(vertices @ np.linalg.inv(scaling), faces)


def _decompose(data: MeshData, name: str) -> tuple[Vertices, Faces]:
    """Return the concatenated vertices and faces of all pieces.

    V-HACD runs in its own process, because it prints, and so that a crash does not end the caller.
    """
    with tempfile.TemporaryDirectory(prefix="decomposition-") as folder:
        source, target = Path(folder, "in.obj"), Path(folder, "out.obj")
        source.write_text(obj_text(data.vertices, data.faces))
        command = module_command(WORKER, str(source), str(target), str(Path(folder, "log.txt")))
        try:
            result = subprocess.run(
                command, capture_output=True, timeout=TIMEOUT, check=False, env=module_environment()
            )
        except subprocess.TimeoutExpired as error:
            text = f"{name}: V-HACD did not end within {TIMEOUT:g} s"
            raise GeometryError(text, stage=STAGE, subjects=(name,)) from error
        if result.returncode != 0 or not target.exists():
            last = result.stderr.decode(errors="replace").strip()[-200:]
            text = f"{name}: V-HACD failed with status {result.returncode}: {last}"
            raise GeometryError(text, stage=STAGE, subjects=(name,))
        return _read_obj(target.read_text(), name)


def obj_text(vertices: Vertices, faces: Faces) -> str:
    """Format a mesh as Wavefront OBJ with exact numbers."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()]
    return "\n".join([*lines, ""])


def _read_obj(text: str, name: str) -> tuple[Vertices, Faces]:
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for line in text.splitlines():
        parts = line.split()
        if parts[:1] == ["v"]:
            vertices.append([float(value) for value in parts[1:4]])
        elif parts[:1] == ["f"]:
            faces.append([int(value.split("/")[0]) - 1 for value in parts[1:4]])
    if not faces:
        raise GeometryError(f"{name}: V-HACD found no solid part", stage=STAGE, subjects=(name,))
    return np.array(vertices, dtype=np.float64), np.array(faces, dtype=np.int32)


def _joined(pieces: tuple[MeshData, ...]) -> Arrays:
    """Return the concatenated vertices and faces of pieces."""
    starts = np.cumsum([0, *(len(piece.vertices) for piece in pieces[:-1])])
    faces = [piece.faces + np.int32(start) for piece, start in zip(pieces, starts, strict=True)]
    return np.concatenate([piece.vertices for piece in pieces]), np.concatenate(faces)


def _split(vertices: Vertices, faces: Faces) -> tuple[MeshData, ...]:
    """Split the pieces: each has consecutive vertices, which its faces connect, in any order."""
    low, high = faces.min(axis=1), faces.max(axis=1)
    spans = np.zeros(len(vertices) + 1, dtype=np.intp)  # number of faces with corners before a vertex and from it on
    np.add.at(spans, low + 1, 1)
    np.add.at(spans, high + 1, -1)
    owners = np.cumsum(np.cumsum(spans)[:-1] == 0)[low]  # a piece begins where no face spans
    pieces: list[MeshData] = []
    for owner in np.unique(owners):
        pieces.append(_of_faces(vertices, faces[owners == owner]))
    return tuple(pieces)


def _of_faces(vertices: Vertices, faces: Faces) -> MeshData:
    """Return the mesh of faces, without vertices that none of them has: V-HACD can crash if these are far away."""
    used, local = np.unique(faces, return_inverse=True)
    return MeshData(vertices[used], local.reshape(-1, 3).astype(np.int32))
