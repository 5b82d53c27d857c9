"""Bounds on how fast anything of a cell moves when its joints do, whatever the configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from ..cell.geometry import Shape
from ..collision.checker import CollisionChecker
from ..collision.solids import ConvexSolid, Surface, local_bounds, solids
from ..kinematics.cache import IdentityCache
from ..kinematics.chain import ChainJoint, way_to
from ..kinematics.model import CellModel, cell_model
from ..trajectory.limits import Array

_bounds: IdentityCache[Array] = IdentityCache(size=64)


def speed_bounds(checker: CollisionChecker) -> Array:
    """For each variable of a checker (dof,) the largest speed [m per rad or m] at which it alone moves any point of any
    shape that is checked; infinite where a slide without limits leaves none.

    Two things approach each other no faster than the sum over the variables of bound times joint speed: a joint moves
    either one of the two, or both as one rigid body.

    A point on a link stays within a ball around the origin of each joint below it, whose radius grows from joint to
    joint by the distance of their origins and by how far slides may go; so its distance from an axis is at most that
    of the centre of the next ball, plus its radius.
    """
    model = cell_model(checker.cell, checker.state)
    # Joints that are held matter by their values.
    held = np.delete(model.configuration(checker.state), model.indices(checker.variables))
    key = (checker.variables, held.tobytes())
    return _bounds.get((model, checker.rule_book), key, lambda: _find_bounds(model, checker))


def _find_bounds(model: CellModel, checker: CollisionChecker) -> Array:
    bounds = np.zeros(len(checker.variables))
    columns = {name: index for index, name in enumerate(checker.variables)}
    for owner in checker.rule_book.owners:
        if owner.moves and not owner.hidden:
            speeds = _speeds(model, checker, owner.name, owner.shapes)
            for variable, speed in speeds.items():
                if variable in columns:
                    bounds[columns[variable]] = max(bounds[columns[variable]], speed)
    bounds.setflags(write=False)
    return bounds


def _speeds(model: CellModel, checker: CollisionChecker, frame: str, shapes: Sequence[Shape]) -> dict[str, float]:
    """By variable: bound on the speed of any point of shapes that are fixed in a frame."""
    way = way_to(model, frame)
    points = np.concatenate([_corners(shape) for shape in shapes])
    # In the frame of the last joint, whose axis is its own.
    points = points @ way.tip[:3, :3].T + way.tip[:3, 3]
    speeds: dict[str, float] = {}
    radius = float(np.linalg.norm(points, axis=1).max())
    reach = -1.0
    for place in range(len(way.joints) - 1, -1, -1):
        joint = way.joints[place]
        if reach < 0.0:
            arm = float(np.linalg.norm(_across(points, joint.axis), axis=1).max())
        else:
            offset = way.joints[place + 1].before[:3, 3]
            arm = float(np.linalg.norm(_across(offset, joint.axis))) + radius
            radius += float(np.linalg.norm(offset))
        reach = arm
        if not joint.turns:
            radius += _travel(model, checker, joint)
        speed = abs(joint.multiplier) * (arm if joint.turns else 1.0)
        speeds[joint.variable] = speeds.get(joint.variable, 0.0) + speed
    return speeds


def _corners(shape: Shape) -> Array:
    """Points (n, 3) in the frame that the shape is written in, whose convex hull holds it."""
    found = []
    pose = shape.pose.matrix
    for solid in solids(shape.geometry):
        if isinstance(solid, ConvexSolid | Surface):
            corners = solid.mesh.vertices
        else:
            corners = np.array(list(product(*np.array(local_bounds(solid)).T)))
        found.append(corners @ pose[:3, :3].T + pose[:3, 3])
    return np.concatenate(found)


def _across(points: Array, axis: Array) -> Array:
    """What of vectors (..., 3) is at right angles to an axis."""
    return np.asarray(points - (points @ axis)[..., None] * axis)


def _travel(model: CellModel, checker: CollisionChecker, joint: ChainJoint) -> float:
    """How far a slide can be from its zero [m]."""
    if joint.variable in checker.variables:
        limits = model.variable(joint.variable).limits
        ends = (limits.lower, limits.upper)
    else:
        held = float(model.configuration(checker.state)[model.position[joint.variable]])
        ends = (held, held)
    if not all(math.isfinite(end) for end in ends):
        return math.inf
    return max(abs(joint.multiplier * end + joint.offset) for end in ends)
