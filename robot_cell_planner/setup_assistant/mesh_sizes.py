"""Collision meshes whose size cannot be right for their robot or tool: most were exported in another unit."""

from __future__ import annotations

import math
from pathlib import PurePath

import numpy as np

from ..collision.geometry.collision_geometry import collision_geometries, local_bounds
from ..errors import RobotCellError
from ..model.geometry import Mesh
from ..model.mechanism import JointKind, Mechanism

MAX_TIMES, MIN_SPAN = 20.0, 1.0  # max size of a mesh, as a multiple of the span of its mechanism, which is at least 1 m
MIN_SIZE = 1e-3  # [m] of a mesh


def odd_meshes(mechanism: Mechanism) -> list[str]:
    """Return a description of each collision mesh that is far larger than its mechanism, or smaller than 1 mm.

    Meshes that cannot be read are left out.
    """
    limit = MAX_TIMES * max(span(mechanism), MIN_SPAN)
    found = []
    for link in mechanism.links.values():
        for shape in link.collisions:
            if not isinstance(shape.geometry, Mesh):
                continue
            try:
                size = _size(shape.geometry)
            except RobotCellError:
                continue
            if not MIN_SIZE <= size <= limit:
                found.append(f"{PurePath(shape.geometry.uri).name} of {link.name} {size:.3g} m")
    return found


def span(mechanism: Mechanism) -> float:
    """Return an upper bound of the distance between two joints [m]: all offsets and strokes together."""
    total = 0.0
    for joint in mechanism.joints.values():
        stroke = max(abs(joint.limits.lower), abs(joint.limits.upper)) if joint.kind is JointKind.PRISMATIC else 0.0
        total += math.hypot(*joint.origin.position) + (stroke if math.isfinite(stroke) else 0.0)
    return total


def _size(mesh: Mesh) -> float:
    """Return the longest edge of the bounding box of a mesh [m].

    Raises:
        GeometryError: The mesh cannot be read, or has no volume.
    """
    corners = np.array([local_bounds(geometry) for geometry in collision_geometries(mesh)])
    return float((corners[:, 1].max(axis=0) - corners[:, 0].min(axis=0)).max())
