"""Speed bounds of collision objects: the maximum displacement of their points per unit of each joint."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...model.geometry import Capsule, Geometry, Shape, Sphere
from ..geometry.collision_geometry import ConvexGeometry, Surface, collision_geometries, local_bounds
from ..sphere_model.polytopes import polytope_around
from .joint_tree import Chain, chain_bounds

Floats = NDArray[np.float64]
MAX_CORNERS = 128  # of a collision geometry; those with more are replaced by the corners of their bounding box


@lru_cache(maxsize=1024)
def speed_bounds(shapes: tuple[Shape, ...], pose: bytes, chain: Chain, joints: int) -> Floats:
    """Return the maximum displacement of any point of an object per unit of each joint (joints,) [m per rad, m per m].

    The array is cached and read-only; it does not depend on other objects.

    pose: placement (4, 4) of the object in its joint, bytes of float64. chain: as of `JointTree.chain`.
    """
    found, placement = np.zeros(joints), np.frombuffer(pose).reshape(4, 4)
    corners = np.concatenate([_placed_corners(shape) for shape in shapes])
    points = corners[:, :3] @ placement[:3, :3].T + placement[:3, 3]
    coefficients, _ = chain_bounds(chain, joints, np.ascontiguousarray(points).tobytes())
    for index, revolute, *_ in chain:
        radius = corners[:, 3] if revolute else 0.0
        found[index] = float((coefficients[:, index] + radius).max())
    found.setflags(write=False)
    return found


def _placed_corners(shape: Shape) -> Floats:
    """Return spheres (n, 4), x, y, z and radius [m], whose convex hull contains a shape, in the frame of its object."""
    corners, pose = _corners(shape.geometry), shape.pose.matrix
    return np.column_stack((corners[:, :3] @ pose[:3, :3].T + pose[:3, 3], corners[:, 3]))


@lru_cache(maxsize=4096)
def _corners(geometry: Geometry) -> Floats:
    """Return spheres (n, 4), x, y, z and radius [m], whose convex hull contains a geometry; corners are spheres of
    radius 0."""
    found: list[Floats] = []
    for part in collision_geometries(geometry):
        if isinstance(part, Sphere):
            found.append(np.array([[0.0, 0.0, 0.0, part.radius]]))
        elif isinstance(part, Capsule):
            found.append(np.array([[0.0, 0.0, side * 0.5 * part.length, part.radius] for side in (-1.0, 1.0)]))
        else:
            points = part.mesh.vertices if isinstance(part, ConvexGeometry | Surface) else polytope_around(part).corners
            if len(points) > MAX_CORNERS:
                points = np.array(list(product(*np.array(local_bounds(part)).T)))
            found.append(np.column_stack((points, np.zeros(len(points)))))
    return np.concatenate(found)
