"""Shapes of the fingertips of a hand: where they are, and how far apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..errors import RobotCellError
from ..io.mesh.loading import load_mesh
from ..kinematics.transforms import WorldTransforms
from ..model.cell import RobotCell
from ..model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Sphere, Triangles
from ..model.geometry import Mesh as MeshGeometry
from ..model.mechanism import JointKind, Mechanism
from ..model.pose import IDENTITY, Pose
from ..model.robot import Robot
from .kinematic_tree import Hand

Floats = NDArray[np.float64]


def fingertips(mechanism: Mechanism, hand: Hand) -> tuple[str, ...]:
    """Return the last links of the fingers that a joint moves; links that are fixed to them belong to them."""
    parents = {joint.parent for joint in hand.joints}
    moved = (joint.child for joint in hand.joints)
    return tuple(link for link in moved if parents.isdisjoint(fixed_below(mechanism, link)))


def fixed_below(mechanism: Mechanism, link: str) -> dict[str, Pose]:
    """Return a link and those that are fixed to it below, with their poses in it."""
    found = {link: IDENTITY}
    for joint in mechanism.tree_order:
        if joint.kind is JointKind.FIXED and joint.parent in found:
            found[joint.child] = found[joint.parent] @ joint.origin
    return found


def points_of(robot: Robot, link: str) -> Floats:
    """Return points (n, 3) of the shapes of a link, and of those fixed to it below, in its frame; its origin if there
    are none.

    Raises:
        GeometryError: A collision mesh cannot be read.
    """
    links = robot.mechanism.links
    parts = fixed_below(robot.mechanism, link)
    shaped = [part for part in parts if links[part].collisions]
    rows = [np.zeros((1, 3))]
    for part in shaped or parts:
        for shape in links[part].collisions or links[part].visuals:
            try:
                points = _geometry_points(shape.geometry)
            except RobotCellError:
                continue  # a visual mesh that changed or went; the other shapes remain
            matrix = (parts[part] @ shape.pose).matrix
            rows.append(points @ matrix[:3, :3].T + matrix[:3, 3])
    return np.vstack(rows[1:] or rows)


def _geometry_points(geometry: Geometry) -> Floats:
    if isinstance(geometry, (MeshGeometry, Triangles)):
        return np.asarray(load_mesh(geometry).vertices)
    if isinstance(geometry, Box):
        half = 0.5 * np.array(geometry.size)
    elif isinstance(geometry, Sphere):
        half = np.full(3, geometry.radius)
    else:
        length = geometry.length + (2.0 * geometry.radius if isinstance(geometry, Capsule) else 0.0)
        assert isinstance(geometry, (Cylinder, Capsule, Cone))
        half = np.array([geometry.radius, geometry.radius, 0.5 * length])
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    return np.asarray(signs * half)


def in_base(robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]) -> dict[str, Floats]:
    """Return the points of fingertips in the frame of the hand's base."""
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: robot}))
    transforms = WorldTransforms(cell, cell.default_state().with_configuration(values))
    result = {}
    for link, rows in points.items():
        matrix = transforms.matrix(link, base)
        result[link] = rows @ matrix[:3, :3].T + matrix[:3, 3]
    return result


def mean_spread(robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]) -> float:
    """Return the mean distance of the centres of the fingertips; the distance of the end of a single one from the jaw
    that is a part of the base."""
    located = in_base(robot, base, points, values)
    if len(located) == 1:
        ((tip, rows),) = located.items()
        return _distance_from_base(robot, base, rows[int(np.argmax(np.linalg.norm(points[tip], axis=1)))])
    centres = [centre_of(rows) for rows in located.values()]
    pairs = [(i, j) for i in range(len(centres)) for j in range(i)]
    return float(np.mean([np.linalg.norm(centres[i] - centres[j]) for i, j in pairs])) if pairs else 0.0


def _distance_from_base(robot: Robot, base: str, point: Floats) -> float:
    """Return the distance of a point from the shapes of the base; from its z axis if it has none."""
    link = robot.mechanism.links[base]
    if not (link.collisions or link.visuals):
        return float(np.linalg.norm(point[:2]))
    return float(np.linalg.norm(points_of(robot, base) - point, axis=1).min())


def mean_reach(robot: Robot, base: str, points: Mapping[str, Floats], values: Mapping[str, float]) -> float:
    """Return the mean distance of the centres of the fingertips from the base."""
    located = in_base(robot, base, points, values).values()
    return float(np.mean([np.linalg.norm(centre_of(rows)) for rows in located]))


def centre_of(points: Floats) -> Floats:
    return np.asarray(0.5 * (points.min(axis=0) + points.max(axis=0)))
