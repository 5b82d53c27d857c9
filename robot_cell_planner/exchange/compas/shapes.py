"""Shapes of links and bodies as shapes and meshes of COMPAS."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...io.mesh.decomposition import convex_pieces
from ...io.mesh.loading import MeshData, is_flat, load_mesh
from ...model.bodies import RigidBody
from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, MeshUse, Rgba, Shape, Sphere, Triangles
from ...model.pose import IDENTITY, Pose
from .meshes import mesh_of

SECTIONS = 64  # of round shapes
Fields = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """Visual or collision element of a link."""

    shape: Fields
    pose: Pose
    name: str
    rgba: Rgba | None
    material: str


def link_items(link: str, shapes: tuple[Shape, ...], left_out: list[str], checked: bool = False) -> list[Item]:
    """Return the elements of a link.

    checked: The shapes are checked for collision: a mesh that is decomposed gets one element for each convex piece,
        because compas_fab checks hulls.
    """
    items: list[Item] = []
    for shape in shapes:
        for geometry in _geometries(shape.geometry, link, left_out, checked):
            items.append(Item(geometry, shape.pose, shape.name, shape.rgba, shape.material))
    return items


def _geometries(geometry: Geometry, owner: str, left_out: list[str], checked: bool) -> list[Fields]:
    frame = {"point": [0.0, 0.0, 0.0], "xaxis": [1.0, 0.0, 0.0], "yaxis": [0.0, 1.0, 0.0]}
    if isinstance(geometry, Box):
        x, y, z = geometry.size
        return [{"dtype": "compas.geometry/Box", "xsize": x, "ysize": y, "zsize": z, "frame": frame}]
    if isinstance(geometry, Sphere):
        return [{"dtype": "compas.geometry/Sphere", "radius": geometry.radius, "frame": frame}]
    if isinstance(geometry, Cylinder | Capsule):
        dtype = f"compas.geometry/{type(geometry).__name__}"
        return [{"dtype": dtype, "radius": geometry.radius, "height": geometry.length, "frame": frame}]
    return [_descriptor(mesh) for mesh in _meshes(geometry, owner, left_out, checked)]


def _descriptor(mesh: MeshData) -> Fields:
    return {
        "dtype": "compas_robots.model/MeshDescriptor",
        "filename": "",
        "scale": [1.0, 1.0, 1.0],
        "attr": {},
        "meshes": [mesh_of(mesh)],
    }


def body_meshes(body: RigidBody, left_out: list[str]) -> Fields:
    """Return the meshes of a body in its frame; round shapes are enclosed by polyhedra."""
    result: Fields = {}
    for key, shapes in (("visual_meshes", body.visuals or body.collisions), ("collision_meshes", body.collisions)):
        meshes = []
        for shape in shapes:
            for mesh in _meshes(shape.geometry, body.name, left_out, key == "collision_meshes"):
                meshes.append(mesh_of(_placed(mesh, shape.pose)))
        result[key] = meshes
    return result


def _placed(mesh: MeshData, pose: Pose) -> MeshData:
    if pose == IDENTITY:
        return mesh
    matrix = pose.matrix
    return MeshData(mesh.vertices @ matrix[:3, :3].T + matrix[:3, 3], mesh.faces)


def _meshes(geometry: Geometry, owner: str, left_out: list[str], checked: bool) -> list[MeshData]:
    if isinstance(geometry, Mesh | Triangles):
        if checked and geometry.use is MeshUse.DECOMPOSITION:
            return list(convex_pieces(geometry))
        if checked and geometry.use is MeshUse.EXACT and not _is_flat(geometry):
            left_out.append(f"{owner} is checked with the triangles of its mesh; in compas_fab with the hull")
        return [load_mesh(geometry)]
    if not isinstance(geometry, Box):
        left_out.append(f"{owner} is round; in compas_fab a polyhedron around it with {SECTIONS} sections")
    return [_polyhedron(geometry)]


def _is_flat(geometry: Mesh | Triangles) -> bool:
    return isinstance(geometry, Mesh) and is_flat(geometry)


def _polyhedron(geometry: Box | Sphere | Cylinder | Capsule | Cone) -> MeshData:
    """Return a polyhedron that encloses a shape, and is a box for a box."""
    import trimesh

    wider = 1.0 / math.cos(math.pi / SECTIONS)
    if isinstance(geometry, Box):
        mesh = trimesh.creation.box(geometry.size)
    elif isinstance(geometry, Cylinder):
        mesh = trimesh.creation.cylinder(geometry.radius * wider, geometry.length, sections=SECTIONS)
    elif isinstance(geometry, Cone):
        mesh = trimesh.creation.cone(geometry.radius * wider, geometry.length, sections=SECTIONS)
        mesh.apply_translation((0.0, 0.0, -0.5 * geometry.length))
    else:
        mesh = trimesh.creation.icosphere(subdivisions=4, radius=geometry.radius)
        nearest = float(np.abs(np.einsum("ij,ij->i", mesh.face_normals, mesh.triangles[:, 0])).min())
        mesh.apply_scale(geometry.radius / nearest)
        if isinstance(geometry, Capsule):
            return _stretched(mesh, 0.5 * geometry.length)
    return MeshData(np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int32))


def _stretched(sphere: Any, half: float) -> MeshData:
    """Return the convex hull of a sphere at both ends of a segment along z."""
    import trimesh

    points = np.vstack([sphere.vertices + np.array((0.0, 0.0, z)) for z in (-half, half)])
    hull = trimesh.convex.convex_hull(points)
    return MeshData(np.array(hull.vertices, dtype=np.float64), np.array(hull.faces, dtype=np.int32))
