"""Triangles of shapes, of their safety margins and of their sphere approximations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..collision.sphere_model.approximation import PROTRUSION
from ..collision.sphere_model.resolution import object_spheres
from ..io.mesh.loading import hull
from ..model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, MeshUse, Shape, Sphere, Triangles
from .appearance import Surface, surfaces

SECTIONS = 32  # of a circle
SPHERE_SUBDIVISIONS = 3


def shape_surfaces(shape: Shape) -> tuple[Surface, ...]:
    """Return the triangles of a shape in the frame of its link or body, one surface for each colour of its file, as
    `appearance.surfaces`."""
    geometry = shape.geometry
    found = surfaces(geometry) if isinstance(geometry, Mesh | Triangles) else (primitive_surface(geometry),)
    pose = shape.pose.matrix
    return tuple(Surface(moved(pose, each.vertices), each.faces, each.rgba) for each in found)


def collision_surfaces(shape: Shape) -> tuple[Surface, ...]:
    """Return the triangles of a collision shape in the frame of its link or body: the convex hull of a mesh that is
    checked as one, else as `shape_surfaces`.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    geometry = shape.geometry
    if not isinstance(geometry, Mesh | Triangles) or geometry.use is not MeshUse.HULL:
        return shape_surfaces(shape)
    data = hull(geometry)
    return (Surface(moved(shape.pose.matrix, data.vertices), data.faces),)


@lru_cache(maxsize=256)
def primitive_surface(geometry: Box | Sphere | Cylinder | Capsule | Cone) -> Surface:
    """Return the triangles of a primitive, in its own frame."""
    import trimesh  # slow import, needed only for pages that are shown

    if isinstance(geometry, Box):
        mesh = trimesh.creation.box(geometry.size)
    elif isinstance(geometry, Sphere):
        mesh = trimesh.creation.icosphere(SPHERE_SUBDIVISIONS, geometry.radius)
    elif isinstance(geometry, Cylinder):
        mesh = trimesh.creation.cylinder(geometry.radius, geometry.length, sections=SECTIONS)
    elif isinstance(geometry, Capsule):
        mesh = trimesh.creation.capsule(geometry.length, geometry.radius, count=(SECTIONS, SECTIONS // 2))
        # trimesh places capsules by their lower end in some versions: centre it, as `Capsule` is.
        mesh.apply_translation(-mesh.bounds.mean(axis=0))
    else:
        mesh = trimesh.creation.cone(geometry.radius, geometry.length, sections=SECTIONS)
        mesh.apply_translation((0.0, 0.0, -0.5 * geometry.length))  # its base is at the origin
    return Surface(np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int32))


def margin_surfaces(shape: Shape, margin: float) -> tuple[Surface, ...]:
    """Return the boundary of all points within `margin` [m] of a collision shape, in the frame of its link or body.

    Convex shapes are enlarged exactly, up to the triangulation of rounded edges. Of a mesh that is checked triangle by
    triangle, the vertices are moved along their normals.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    geometry = shape.geometry
    if isinstance(geometry, Sphere | Capsule):
        return shape_surfaces(_replaced(shape, _inflated(geometry, margin)))
    found = collision_surfaces(shape)
    if isinstance(geometry, Mesh | Triangles) and geometry.use is not MeshUse.HULL:
        return tuple(_along_normals(surface, margin) for surface in found)
    return tuple(_rounded(surface, margin) for surface in found)


def _replaced(shape: Shape, geometry: Geometry) -> Shape:
    return Shape(geometry, shape.pose)


def _inflated(geometry: Sphere | Capsule, margin: float) -> Sphere | Capsule:
    if isinstance(geometry, Sphere):
        return Sphere(geometry.radius + margin)
    return Capsule(geometry.radius + margin, geometry.length)


def _rounded(surface: Surface, margin: float) -> Surface:
    """Return the convex hull of spheres of radius `margin` around the vertices of a convex surface."""
    import trimesh

    sphere = trimesh.creation.icosphere(1, margin).vertices
    points = (surface.vertices[:, None, :] + sphere[None, :, :]).reshape(-1, 3)
    mesh = trimesh.convex.convex_hull(points)
    return Surface(np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int32))


def _along_normals(surface: Surface, margin: float) -> Surface:
    import trimesh

    mesh = trimesh.Trimesh(surface.vertices, surface.faces)
    moved_vertices = np.asarray(mesh.vertices + margin * mesh.vertex_normals, dtype=np.float64)
    return Surface(moved_vertices, np.asarray(mesh.faces, dtype=np.int32))


def sphere_rows(shapes: tuple[Shape, ...], protrusion: float = PROTRUSION) -> NDArray[np.float64]:
    """Return the spheres (n, 4) that approximate collision shapes in certificates: centre and radius [m], in the frame
    of the link or body.

    protrusion: Requested maximum distance of the spheres from the shapes [m].

    Raises:
        GeometryError: A mesh cannot be read.
    """
    return object_spheres(shapes, protrusion).spheres


def moved(transform: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points (n, 3) transformed by (4, 4)."""
    return np.asarray(points @ transform[:3, :3].T + transform[:3, 3])
