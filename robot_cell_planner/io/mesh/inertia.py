"""Mass, centre of mass and inertia of shapes with uniform density.

Volumes and second moments of meshes are computed from the signed tetrahedra of their triangles and the origin (Mirtich,
Fast and Accurate Computation of Polyhedral Mass Properties, 1996).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError, InvalidValueError
from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, MeshUse, Shape, Sphere, Triangles
from ...model.mechanism import Inertial
from ...model.pose import Pose
from .loading import MeshData, hull, load_mesh

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Moments:
    """Moments of a shape.

    Attributes:
        volume: [m3].
        centre: (3,) [m].
        second: (3, 3) integral of x x^T about the centre [m5].
    """

    volume: float
    centre: Array
    second: Array


def uniform_inertial(shapes: Sequence[Shape], density: float | None = None, mass: float | None = None) -> Inertial:
    """Compute mass, centre of mass and inertia of shapes with uniform density. Overlaps are counted for each shape.

    Exactly one of density [kg/m3] and mass [kg] has to be given. A mesh is replaced by its convex hull if its use is
    HULL or if it is not closed.

    Raises:
        InvalidValueError: Not exactly one of density and mass is given, it is not above zero, or there are no shapes.
        GeometryError: A mesh cannot be read or has no volume.
    """
    if (density is None) == (mass is None):
        raise InvalidValueError("give either a mass or a density")
    given = mass if density is None else density
    if given is None or not (math.isfinite(given) and given > 0.0):
        raise InvalidValueError(f"{'density' if mass is None else 'mass'} is {given}, expected a finite number above 0")
    if not shapes:
        raise InvalidValueError("mass or density needs shapes to spread over")
    total = _sum([_placed(_moments(shape.geometry), shape.pose) for shape in shapes])
    factor = given if mass is None else given / total.volume
    inertia = factor * (np.trace(total.second) * np.eye(3) - total.second)
    return _inertial(given if density is None else float(density * total.volume), total.centre, inertia)


def sum_of_inertials(parts: Sequence[Inertial]) -> Inertial:
    """Combine several inertials; the axes of the result are parallel to the common frame.

    Raises:
        InvalidValueError: The list is empty, or the total mass is zero.
    """
    mass = sum(part.mass for part in parts)
    if not mass > 0.0:
        raise InvalidValueError("masses to be summed are zero")
    centre = sum((part.mass * np.array(part.pose.position) for part in parts), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for part in parts:
        rotation, (xx, xy, xz, yy, yz, zz) = part.pose.matrix[:3, :3], part.inertia
        offset = np.array(part.pose.position) - centre
        total += rotation @ np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))) @ rotation.T
        total += part.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    return _inertial(mass, centre, total)


def _inertial(mass: float, centre: Array, inertia: Array) -> Inertial:
    x, y, z = (float(value) for value in centre)
    xx, xy, xz, yy, yz, zz = (float(inertia[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return Inertial(mass, Pose((x, y, z)), (xx, xy, xz, yy, yz, zz))


def _sum(parts: list[_Moments]) -> _Moments:
    volume = sum(part.volume for part in parts)
    centre = sum((part.volume * part.centre for part in parts), np.zeros(3)) / volume
    second = np.zeros((3, 3))
    for part in parts:
        offset = part.centre - centre
        second += part.second + part.volume * np.outer(offset, offset)
    return _Moments(volume, centre, second)


def _placed(part: _Moments, pose: Pose) -> _Moments:
    matrix = pose.matrix
    rotation = matrix[:3, :3]
    return _Moments(part.volume, rotation @ part.centre + matrix[:3, 3], rotation @ part.second @ rotation.T)


def _about_axis(volume: float, radial: float, axial: float, height: float = 0.0) -> _Moments:
    """Moments of a shape about the z axis; `radial`, `axial`: mean squares of x (and y) and of z about the centre at
    `height`."""
    return _Moments(volume, np.array((0.0, 0.0, height)), volume * np.diag((radial, radial, axial)))


def _moments(geometry: Geometry) -> _Moments:
    if isinstance(geometry, Box):
        x, y, z = geometry.size
        return _Moments(x * y * z, np.zeros(3), x * y * z / 12.0 * np.diag((x * x, y * y, z * z)))
    if isinstance(geometry, Sphere):
        r = geometry.radius
        return _about_axis(4.0 / 3.0 * math.pi * r**3, r * r / 5.0, r * r / 5.0)
    if isinstance(geometry, Cylinder):
        r, h = geometry.radius, geometry.length
        return _about_axis(math.pi * r * r * h, r * r / 4.0, h * h / 12.0)
    if isinstance(geometry, Cone):
        r, h = geometry.radius, geometry.length
        return _about_axis(math.pi * r * r * h / 3.0, 3.0 / 20.0 * r * r, 3.0 / 80.0 * h * h, height=-h / 4.0)
    if isinstance(geometry, Capsule):
        return _capsule(geometry.radius, geometry.length)
    return _mesh(geometry)


def _capsule(r: float, h: float) -> _Moments:
    """Return the moments of a cylinder with two hemispheres, whose centres of mass are 3/8 r beyond its ends."""
    half = 2.0 / 3.0 * math.pi * r**3
    cap = _about_axis(half, r * r / 5.0, r * r / 5.0 - (3.0 / 8.0 * r) ** 2)
    offset = np.array((0.0, 0.0, h / 2.0 + 3.0 / 8.0 * r))
    body = _about_axis(math.pi * r * r * h, r * r / 4.0, h * h / 12.0)
    return _sum([body, _Moments(half, offset, cap.second), _Moments(half, -offset, cap.second)])


def _mesh(geometry: Mesh | Triangles) -> _Moments:
    data = hull(geometry) if geometry.use is MeshUse.HULL else load_mesh(geometry)
    if not _closed(data):
        data = hull(geometry)
    corners = data.vertices[data.faces]
    middle = data.vertices.mean(axis=0)
    a, b, c = (corners[:, i] - middle for i in range(3))
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    volume = float(volumes.sum())
    if not volume > 0.0:
        name = geometry.uri if isinstance(geometry, Mesh) else "a mesh"
        raise GeometryError(f"{name} has volume {volume:.3g}; its faces point inwards", subjects=(name,))
    sums = a + b + c
    centre = (volumes[:, None] * sums).sum(axis=0) / (4.0 * volume)
    second = np.zeros((3, 3))
    for corner in (a, b, c, sums):
        second += np.einsum("i,ij,ik->jk", volumes / 20.0, corner, corner)
    return _Moments(volume, centre + middle, second - volume * np.outer(centre, centre))


def _closed(data: MeshData) -> bool:
    """Return whether every edge is used once in each direction."""
    edges = np.concatenate([data.faces[:, (0, 1)], data.faces[:, (1, 2)], data.faces[:, (2, 0)]]).astype(np.int64)
    count = np.int64(len(data.vertices))
    forward, backward = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
    return bool(np.array_equal(np.sort(forward), np.sort(backward)))
