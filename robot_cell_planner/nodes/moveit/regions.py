"""Regions of position constraints: solid primitives at poses in a frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

from moveit_msgs.msg import PositionConstraint
from shape_msgs.msg import SolidPrimitive

from ...errors import InvalidRequestError, NotSupportedError
from ...model.geometry import Box, Cone, Cylinder, Geometry, Sphere
from ...model.pose import Pose
from ...model.value import Vector3
from ..conversions.basic import check_count, pose_from_message

MAX_PRIMITIVES = 100
MIN_SIZE = 1e-9  # [m] replaces a size of zero, by which clients mean a point, a line or a plane
PRIMITIVES = {
    SolidPrimitive.BOX: ("a box", 3),
    SolidPrimitive.SPHERE: ("a sphere", 1),
    SolidPrimitive.CYLINDER: ("a cylinder", 2),
    SolidPrimitive.CONE: ("a cone", 2),
}


def primitive_geometry(message: SolidPrimitive, field: str, least: float = 0.0) -> Geometry:
    """Return the geometry of a primitive. least [m]: sizes below are replaced by it.

    Raises:
        NotSupportedError: A prism or an unknown type, neither of which MoveIt has either.
        InvalidRequestError: Wrong number of dimensions, or one that is not positive and finite.
    """
    if message.type not in PRIMITIVES:
        text = f"{field} has type {message.type}, expected a box (1), sphere (2), cylinder (3) or cone (4)"
        raise NotSupportedError(text, subjects=(field,))
    name, count = PRIMITIVES[message.type]
    if len(message.dimensions) != count:
        text = f"{field} is {name} with {len(message.dimensions)} dimensions, expected {count}"
        raise InvalidRequestError(text, subjects=(field,))
    size = tuple(max(float(value), least) if value >= 0.0 else float(value) for value in message.dimensions)
    try:
        if message.type == SolidPrimitive.BOX:
            return Box((size[0], size[1], size[2]))
        if message.type == SolidPrimitive.SPHERE:
            return Sphere(size[0])
        height, radius = size
        return Cylinder(radius, height) if message.type == SolidPrimitive.CYLINDER else Cone(radius, height)
    except ValueError as error:
        raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error


@dataclass(frozen=True)
class Region:
    """A solid in a frame.

    pose: of the solid in `frame`; a cone's is moved to the centre of its inscribed sphere.
    """

    geometry: Geometry
    frame: str
    pose: Pose

    @property
    def inscribed_radius(self) -> float:
        """Return the radius of the sphere around the origin of `pose` that the solid contains [m]."""
        solid = self.geometry
        if isinstance(solid, Sphere):
            return solid.radius
        if isinstance(solid, Box):
            return min(solid.size) / 2.0
        if isinstance(solid, Cylinder):
            return min(solid.radius, solid.length / 2.0)
        assert isinstance(solid, Cone)
        return _cone_radius(solid)

    @property
    def inscribed_box(self) -> Vector3:
        """Return the half sizes of a box around the origin of `pose`, along its axes, that the solid contains [m]."""
        solid = self.geometry
        if isinstance(solid, Box):
            x, y, z = (size / 2.0 for size in solid.size)
            return x, y, z
        if isinstance(solid, Cylinder):
            half = solid.radius / math.sqrt(2.0)
            return half, half, solid.length / 2.0
        half = self.inscribed_radius / math.sqrt(3.0)
        return half, half, half


def _cone_radius(cone: Cone) -> float:
    """Return the radius of the sphere inscribed in a cone: that of the circle inscribed in its triangle."""
    slant = math.hypot(cone.radius, cone.length)
    return cone.radius * cone.length / (cone.radius + slant)


def regions_of(message: PositionConstraint, field: str) -> tuple[Region, ...]:
    """Return the solids of a position constraint; the point may be in any of them.

    Raises:
        InvalidRequestError: No solid, another number of poses than of solids, or malformed ones.
        NotSupportedError: A mesh, or a type of solid that does not exist.
        LimitExceededError: Too many solids.
    """
    region = message.constraint_region
    if region.meshes:
        text = f"{field} has a mesh as constraint_region; use boxes, spheres, cylinders or cones"
        raise NotSupportedError(text, subjects=(field,))
    check_count(len(region.primitives), MAX_PRIMITIVES, field, "primitives")
    if not region.primitives or len(region.primitives) != len(region.primitive_poses):
        solids, poses = len(region.primitives), len(region.primitive_poses)
        text = f"{field} has {solids} primitives and {poses} poses, expected as many of both, at least one"
        raise InvalidRequestError(text, subjects=(field,))
    found: list[Region] = []
    for index, (solid, placed) in enumerate(zip(region.primitives, region.primitive_poses, strict=True)):
        place = f"{field}.constraint_region.primitives[{index}]"
        geometry, pose = primitive_geometry(solid, place, MIN_SIZE), pose_from_message(placed, place)
        if isinstance(geometry, Cone):
            pose = pose @ Pose((0.0, 0.0, _cone_radius(geometry) - geometry.length / 2.0))
        found.append(Region(geometry, message.header.frame_id, pose))
    return tuple(found)
