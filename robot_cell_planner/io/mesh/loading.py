"""Meshes: files are checked when referenced, parsed on demand, and cached by content."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError
from ...model.arguments import public
from ...model.geometry import Geometry, Mesh, MeshUse, Triangles
from ...model.value import Vector3
from ..common.resources import NO_ROOTS, ResourceRoots, resolve
from .cache import Arrays, cached_or_computed, is_cached
from .content import content_digest, mesh_content
from .formats import FORMATS, STAGE
from .planar_faces import MAX_NEIGHBOURS, max_neighbours, with_zigzags
from .process import parse_mesh
from .structure import check_structure

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

MAX_EXTENT = 1e5  # [m]
HULLS = b"1 "  # version of the method of convex hulls
THICK = 1e-4  # a mesh with at least this relative thickness always has a hull

Vertices = NDArray[np.float64]
Faces = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MeshData:
    """Mesh data, read-only.

    Attributes:
        vertices: (n, 3) [m].
        faces: (m, 3) vertex indices, counter-clockwise seen from outside.
    """

    vertices: Vertices
    faces: Faces

    def __post_init__(self) -> None:
        self.vertices.setflags(write=False)
        self.faces.setflags(write=False)


@public
def mesh_reference(
    uri: str,
    folder: str = "",
    roots: ResourceRoots = NO_ROOTS,
    scale: Vector3 = (1.0, 1.0, 1.0),
    use: MeshUse = MeshUse.HULL,
) -> Mesh:
    """Create a reference to the mesh file of a URI. The content is hashed but not parsed; `load_mesh` parses it on
    demand.

    Raises:
        ResourceError: The file does not exist or is outside the roots.
        GeometryError: The format is not supported (STL, OBJ, DAE, GLB, GLTF, PLY are).
        FileError, LimitExceededError: The file is not readable, or too large.
        ValueError: The scale is zero or not finite.
    """
    path = resolve(uri, folder, roots)
    _format(path)
    return Mesh(uri, str(path), content_digest(path, roots.mesh_bytes), scale, use)


def _format(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        text = f"{path} ends in {suffix or 'nothing'}, expected one of {', '.join(sorted(FORMATS))}"
        raise GeometryError(text, stage=STAGE, subjects=(str(path),))
    return FORMATS[suffix]


def check_collision_geometry(geometry: Geometry) -> None:
    """Check that a mesh is valid for collision checks, so that errors are found when a cell is read.

    Raises:
        GeometryError: The mesh cannot be parsed, is empty, not finite or too large, or is flat and used with its hull.
        FileError, LimitExceededError: The file is not readable, or too large.
    """
    if not isinstance(geometry, Mesh):
        return
    vertices = load_mesh(geometry).vertices
    if geometry.use is MeshUse.HULL and _thickness(vertices) < THICK:
        hull(geometry)


def check_visual_mesh(mesh: Mesh) -> None:
    """Check that a file to show has the structure of its mesh format (see `check_structure`).

    Raises:
        GeometryError: It has not, or has no faces.
        FileError, LimitExceededError: The file is not readable, or too large.
    """
    if not is_cached(mesh.digest, "mesh"):
        _check_version(mesh.path, mesh.digest)


@lru_cache(maxsize=20_000)
def _check_version(path: str, digest: str) -> None:
    check_structure(mesh_content(path), _format(Path(path)), path)


def is_flat(mesh: Mesh | Triangles) -> bool:
    """Return whether a mesh has no volume, so that it has no convex hull.

    Raises:
        GeometryError: The mesh cannot be parsed, is empty, not finite or too large.
    """
    if _thickness(load_mesh(mesh).vertices) >= THICK:
        return False
    try:
        hull(mesh)
    except GeometryError:
        return True
    return False


def _thickness(vertices: Vertices) -> float:
    """Return the smallest standard deviation of points along a principal axis, relative to the largest."""
    values = np.linalg.eigvalsh(np.cov(vertices.T))
    return math.sqrt(max(float(values[0]), 0.0) / float(values[-1])) if values[-1] > 0.0 else 0.0


@public
def load_mesh(mesh: Mesh | Triangles) -> MeshData:
    """Return vertices and faces of a mesh, scaled to metres, from a cache.

    See `formats.parse_mesh` for which parts of a file are used. If the scale mirrors the mesh, the face orientation is
    reversed, so that the normals still point outwards.

    Raises:
        GeometryError: The mesh cannot be parsed, is empty, not finite or too large, or changed since the cell was read.
    """
    if isinstance(mesh, Triangles):
        return _from_triangles(mesh)
    return _scaled(mesh.path, mesh.digest, mesh.scale)


@lru_cache(maxsize=64)
def _from_triangles(mesh: Triangles) -> MeshData:
    return MeshData(np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int32))


@lru_cache(maxsize=512)
def _scaled(path: str, digest: str, scale: Vector3) -> MeshData:
    data = _from_file(path, digest)
    if scale == (1.0, 1.0, 1.0):
        return data
    vertices = data.vertices * np.array(scale)
    if float(np.abs(vertices).max()) > MAX_EXTENT:
        raise GeometryError(f"{path} scaled by {list(scale)} is larger than {MAX_EXTENT:g} m", subjects=(path,))
    faces = data.faces if math.prod(scale) > 0.0 else np.ascontiguousarray(data.faces[:, ::-1])
    return MeshData(vertices, faces)


@lru_cache(maxsize=512)
def _from_file(path: str, digest: str) -> MeshData:
    return cached_or_computed(digest, "mesh", lambda arrays: MeshData(*arrays), partial(_parsed, path, digest))


def _parsed(path: str, digest: str) -> tuple[MeshData, Arrays]:
    content = mesh_content(path)
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise GeometryError(f"{path} has changed since the cell was read; load the cell again", subjects=(path,))
    data = MeshData(*parse_mesh(content, _format(Path(path)), path))
    return data, (data.vertices, data.faces)


@lru_cache(maxsize=512)
def hull(mesh: Mesh | Triangles) -> MeshData:
    """Return the convex hull of a mesh, with outward faces, from a cache.

    Raises:
        GeometryError: The mesh is flat or has too few points, or more than 255 edges of the hull meet in a point.
    """
    vertices = load_mesh(mesh).vertices

    def compute() -> tuple[MeshData, Arrays]:
        found = convex_hull(vertices, mesh.uri if isinstance(mesh, Mesh) else "a mesh")
        return found, (found.vertices, found.faces)

    # Reading a stored hull takes less than importing the library that computes one.
    digest = hashlib.sha256(HULLS + vertices.tobytes()).hexdigest()
    return cached_or_computed(digest, "hull", lambda arrays: MeshData(*arrays), compute)


def convex_hull(vertices: NDArray[np.float64], name: str) -> MeshData:
    """Compute the convex hull of points (n, 3), with outward faces (Barber et al., Quickhull, 1996).

    name: of the mesh that they belong to, for errors.

    Raises:
        GeometryError: The points are in a plane or too few, or more than 255 edges of the hull meet in a point.
    """
    result = quickhull(vertices, name)
    points = vertices[result.vertices]
    faces = np.searchsorted(result.vertices, result.simplices, sorter=np.argsort(result.vertices))
    faces, equations = np.argsort(result.vertices)[faces], result.equations
    if max_neighbours(faces) > MAX_NEIGHBOURS:
        faces, equations = with_zigzags(points, faces, equations)
    if (count := max_neighbours(faces)) > MAX_NEIGHBOURS:
        text = f"the convex hull of {name} has a corner with {count} edges, expected at most {MAX_NEIGHBOURS}"
        text = f"{text}; use a coarser mesh, its decomposition or its triangles (use: exact)"
        raise GeometryError(text, stage="convex hull", subjects=(name,))
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = np.einsum("ij,ij->i", normals, equations[:, :3]) < 0.0
    faces[inwards] = faces[inwards][:, ::-1]
    return MeshData(np.ascontiguousarray(points), np.ascontiguousarray(faces, dtype=np.int32))


def quickhull(vertices: NDArray[np.float64], name: str) -> ConvexHull:
    """Return the hull of points (n, 3) as scipy computes it. name: as of `convex_hull`.

    Raises:
        GeometryError: The points are in a plane or too few.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(vertices)
    except QhullError as error:
        text = f"{name} is flat or too small for a convex hull; use its triangles (use: exact)"
        raise GeometryError(text, stage="convex hull", subjects=(name,)) from error
