"""Conversion of geometries for collision engines: primitives, convex geometries, and triangle surfaces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import GeometryError
from ...io.mesh.bounds import Corners, Primitive, primitive_bounds
from ...io.mesh.concavity import mesh_volume
from ...io.mesh.decomposition import convex_pieces
from ...io.mesh.loading import MeshData, hull, load_mesh
from ...model.cell import RobotCell
from ...model.geometry import Geometry, Mesh, MeshUse, Triangles


@dataclass(frozen=True, eq=False)
class ConvexGeometry:
    """A convex polyhedron."""

    mesh: MeshData


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangle surface without interior: an object entirely inside it does not touch it."""

    mesh: MeshData
    source: Mesh | Triangles


CollisionGeometry = Primitive | ConvexGeometry | Surface


@lru_cache(maxsize=4096)
def collision_geometries(geometry: Geometry) -> tuple[CollisionGeometry, ...]:
    """Return the collision geometries of a shape geometry; several for a decomposed mesh.

    Raises:
        GeometryError: A mesh cannot be read, or has no convex hull; or, for an exact mesh, no triangle has an area, or
            the mesh is closed and its normals point inwards.
    """
    if not isinstance(geometry, Mesh | Triangles):
        return (geometry,)
    if geometry.use is MeshUse.HULL:
        return (ConvexGeometry(hull(geometry)),)
    data = load_mesh(geometry)
    _require_sound(data, geometry)
    if geometry.use is MeshUse.EXACT:
        return (Surface(data, geometry),)
    return tuple(ConvexGeometry(piece) for piece in convex_pieces(geometry))


def _require_sound(data: MeshData, geometry: Mesh | Triangles) -> None:
    name = geometry.uri if isinstance(geometry, Mesh) else "a mesh of triangles"
    first, second, third = data.vertices[data.faces].transpose(1, 0, 2)
    if not np.cross(second - first, third - first).any():
        text = f"none of the {len(data.faces)} faces of {name} has an area"
        raise GeometryError(text, stage="triangles", subjects=(name,))
    volume = mesh_volume(data)
    if volume < 0.0 and _is_closed(data):
        text = f"the faces of {name} point inwards, which makes its volume {volume:.3g} m3; reverse them"
        raise GeometryError(text, stage="triangles", subjects=(name,))


def _is_closed(data: MeshData) -> bool:
    import trimesh  # slow to import, and needed for few meshes only

    mesh = trimesh.Trimesh(data.vertices, data.faces)
    return bool(mesh.is_watertight and mesh.is_winding_consistent)


@lru_cache(maxsize=4096)
def local_bounds(geometry: CollisionGeometry) -> tuple[Corners, Corners]:
    """Return the lower and upper corner (3,) of the bounding box of a geometry in its own frame [m]."""
    if isinstance(geometry, ConvexGeometry | Surface):
        return geometry.mesh.vertices.min(axis=0), geometry.mesh.vertices.max(axis=0)
    return primitive_bounds(geometry)


def prepare_geometry(cell: RobotCell) -> None:
    """Build every collision geometry of a cell, so that invalid geometry is rejected when the cell is loaded.

    Raises:
        GeometryError: The first geometry that cannot be built; `subjects` names its link, tool link or body.
    """
    objects = {body.name: body.collisions for body in cell.bodies.values()}
    for robot in cell.robots.values():
        objects.update((name, link.collisions) for name, link in robot.mechanism.links.items())
    for tool in cell.tools.values():
        objects.update((tool.frame_of(name), link.collisions) for name, link in tool.mechanism.links.items())
    for name, shapes in objects.items():
        with naming_object(name):
            for shape in shapes:
                collision_geometries(shape.geometry)


@contextmanager
def naming_object(name: str) -> Iterator[None]:
    """Name the link, tool link or body in errors about its geometry, in the message and as the first subject."""
    try:
        yield
    except GeometryError as error:
        subjects = (name, *error.subjects)
        raise GeometryError(f"{name}: {error.message}", stage=error.stage, subjects=subjects) from error
