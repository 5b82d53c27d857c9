"""Shapes of collision objects: MoveIt's messages to shapes of bodies, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Pose as PoseMessage
from moveit_msgs.msg import CollisionObject
from numpy.typing import NDArray
from shape_msgs.msg import Mesh as MeshMessage
from shape_msgs.msg import Plane, SolidPrimitive

from robot_cell_planner.msg import Geometry as GeometryMessage
from robot_cell_planner.msg import Shape as ShapeMessage

from ...errors import InvalidRequestError
from ...io.mesh.loading import load_mesh
from ...model.geometry import Box, Capsule, Cone, Mesh, Shape, Sphere, Triangles
from ...model.placement import rotation_about
from ...model.pose import IDENTITY, Pose
from ..conversions.basic import check_count, pose_from_message, pose_to_message
from ..conversions.model_messages import geometry_to_message
from .regions import primitive_geometry

MAX_SHAPES = 10_000
# A plane becomes a plate around the point of the plane that is nearest to the object's origin.
PLANE_SIZE, PLANE_THICKNESS = 20.0, 0.002  # [m]


def shapes_of(message: CollisionObject, field: str) -> list[tuple[GeometryMessage, Pose]]:
    """Return the shapes of an object with their poses in its frame.

    Raises:
        InvalidRequestError: Another number of poses than of shapes, or a malformed shape or pose.
        NotSupportedError: A type of primitive that MoveIt does not have.
        LimitExceededError: Too many shapes.
    """
    found: list[tuple[GeometryMessage, Pose]] = []
    for kind, poses, convert in (
        ("primitives", "primitive_poses", _primitive),
        ("meshes", "mesh_poses", _mesh),
        ("planes", "plane_poses", _plane),
    ):
        shapes, placed = getattr(message, kind), _poses(getattr(message, poses), len(getattr(message, kind)))
        check_count(len(shapes), MAX_SHAPES, f"{field}.{kind}", "shapes")
        if len(shapes) != len(placed):
            text = f"{field} has {len(shapes)} {kind} and {len(placed)} {poses}, expected as many"
            raise InvalidRequestError(text, subjects=(field,))
        for index, (shape, pose) in enumerate(zip(shapes, placed, strict=True)):
            place = f"{field}.{kind}[{index}]"
            geometry, offset = convert(shape, place)
            found.append((geometry, pose_from_message(pose, place) @ offset))
    return found


def _poses(poses: Sequence[PoseMessage], count: int) -> Sequence[PoseMessage]:
    """Return the poses of shapes: the identity for a single shape without one, as in MoveIt."""
    return [PoseMessage()] if count == 1 and not poses else poses


def _primitive(message: SolidPrimitive, field: str) -> tuple[GeometryMessage, Pose]:
    return geometry_to_message(primitive_geometry(message, field)), IDENTITY


def _mesh(message: MeshMessage, field: str) -> tuple[GeometryMessage, Pose]:
    """Return a mesh that is checked with its triangles, as in MoveIt."""
    return GeometryMessage(type=GeometryMessage.MESH, mesh=message, mesh_use=GeometryMessage.EXACT), IDENTITY


def _plane(message: Plane, field: str) -> tuple[GeometryMessage, Pose]:
    a, b, c, d = (float(value) for value in message.coef)
    length = math.hypot(a, b, c)
    if not all(map(math.isfinite, (a, b, c, d))) or length < 1e-9:
        raise InvalidRequestError(f"{field} has coefficients {[a, b, c, d]}, expected a normal", subjects=(field,))
    normal = np.array((a, b, c)) / length
    x, y, z = (float(value) for value in -d / length * normal)
    plate = Box((PLANE_SIZE, PLANE_SIZE, PLANE_THICKNESS))
    return geometry_to_message(plate), Pose((x, y, z), _turned_to(normal).quaternion)


def _turned_to(normal: NDArray[np.float64]) -> Pose:
    """Return a rotation that turns the z axis to a unit vector."""
    axis = np.cross((0.0, 0.0, 1.0), normal)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        return IDENTITY if normal[2] > 0.0 else rotation_about((1.0, 0.0, 0.0), math.pi)
    x, y, z = (float(value) for value in axis / sine)
    return rotation_about((x, y, z), math.atan2(sine, float(normal[2])))


def shape_message(geometry: GeometryMessage, pose: Pose) -> ShapeMessage:
    """Return a shape of a body."""
    return ShapeMessage(geometry=geometry, pose=pose_to_message(pose))


def add_shape(message: CollisionObject, shape: Shape, placed: Pose = IDENTITY) -> None:
    """Add a shape to a collision object. placed: pose of what the shape belongs to, in the object's frame."""
    geometry, pose = shape.geometry, pose_to_message(placed @ shape.pose)
    if isinstance(geometry, Mesh | Triangles):
        message.meshes.append(mesh_message(geometry))
        message.mesh_poses.append(pose)
        return
    if isinstance(geometry, Box):
        solids = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(geometry.size))]
    elif isinstance(geometry, Sphere):
        solids = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[geometry.radius])]
    elif isinstance(geometry, Cone):
        solids = [SolidPrimitive(type=SolidPrimitive.CONE, dimensions=[geometry.length, geometry.radius])]
    else:
        solids = [SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[geometry.length, geometry.radius])]
    message.primitives += solids
    message.primitive_poses.append(pose)
    if isinstance(geometry, Capsule):  # MoveIt has no capsules: a cylinder with a sphere at each end
        for end in (-geometry.length / 2.0, geometry.length / 2.0):
            message.primitives.append(SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[geometry.radius]))
            message.primitive_poses.append(pose_to_message(placed @ shape.pose @ Pose((0.0, 0.0, end))))


def mesh_message(geometry: Mesh | Triangles) -> MeshMessage:
    """Return the triangles of a mesh."""
    loaded = load_mesh(geometry)
    vertices = tuple((float(x), float(y), float(z)) for x, y, z in loaded.vertices)
    faces = tuple((int(a), int(b), int(c)) for a, b, c in loaded.faces)
    return geometry_to_message(Triangles(vertices, faces)).mesh
