"""Markers of tools and bodies for RViz."""

from __future__ import annotations

import itertools
import operator

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ...io.mesh.loading import load_mesh
from ...model.bodies import RigidBody, Tool
from ...model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere, Triangles
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...scene.scene import Scene
from ..conversions.basic import pose_to_message, vector_to_message
from ..conversions.cached_messages import CachedMessages

GREY = (0.7, 0.7, 0.72, 1.0)


class SceneMarkers:
    """Return one marker per shape, in the frame of its body or tool link, after one that clears earlier ones.

    A single robot is displayed from robot_description; several robots are included here, since that topic has one only.
    Markers have no stamp, so that they are displayed at the latest pose of their frame. They change only with models
    and hidden objects.
    """

    def __init__(self, frame_prefix: str = "") -> None:
        self._prefix = frame_prefix
        self._next_id = 0
        self._robots: CachedMessages[Robot, list[Marker]] = CachedMessages(self._of_robot)
        self._tools: CachedMessages[Tool, list[Marker]] = CachedMessages(self._of_tool)
        self._bodies: CachedMessages[RigidBody, list[Marker]] = CachedMessages(self._of_body)
        self._shown: list[list[Marker]] | None = None

    def changed(self, scene: Scene) -> MarkerArray | None:
        """Return the markers of a scene; None if they have not changed since the last call."""
        cell, state = scene.cell, scene.state
        hidden = {name for name, body in state.bodies.items() if body.hidden}
        hidden |= {name for name, tool in state.tools.items() if tool.hidden}
        found = [
            *self._bodies.messages({name: body for name, body in cell.bodies.items() if name not in hidden}),
            *self._tools.messages({name: tool for name, tool in cell.tools.items() if name not in hidden}),
            *self._robots.messages(cell.robots if len(cell.robots) > 1 else {}),
        ]
        if self._shown is not None and len(found) == len(self._shown) and all(map(operator.is_, found, self._shown)):
            return None
        self._shown = found
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL), *itertools.chain.from_iterable(found)])

    def _of_robot(self, _: str, robot: Robot) -> list[Marker]:
        links = robot.mechanism.links.values()
        found = [self._placed("robots", link.name, link.visuals or link.collisions) for link in links]
        return list(itertools.chain.from_iterable(found))

    def _of_body(self, name: str, body: RigidBody) -> list[Marker]:
        return self._placed("bodies", name, body.visuals or body.collisions)

    def _of_tool(self, _: str, tool: Tool) -> list[Marker]:
        links = tool.mechanism.links.values()
        found = [self._placed("tools", tool.frame_of(link.name), link.visuals or link.collisions) for link in links]
        return list(itertools.chain.from_iterable(found))

    def _placed(self, namespace: str, frame: str, shapes: tuple[Shape, ...]) -> list[Marker]:
        result = []
        for shape in shapes:
            for marker in _markers(shape):
                marker.header.frame_id = self._prefix + frame
                marker.ns = namespace
                marker.id = self._next_id = (self._next_id + 1) % 2**31
                marker.frame_locked = True
                r, g, b, a = shape.rgba or GREY
                marker.color = ColorRGBA(r=r, g=g, b=b, a=a)
                result.append(marker)
        return result


def _markers(shape: Shape) -> list[Marker]:
    geometry, pose = shape.geometry, shape.pose
    if isinstance(geometry, Box):
        return [_marker(Marker.CUBE, pose, geometry.size)]
    if isinstance(geometry, Sphere):
        return [_sphere(pose, geometry.radius)]
    if isinstance(geometry, Cylinder):
        return [_rod(pose, geometry.radius, geometry.length)]
    if isinstance(geometry, Capsule):
        ends = [pose @ Pose((0.0, 0.0, sign * geometry.length / 2)) for sign in (-1.0, 1.0)]
        return [_rod(pose, geometry.radius, geometry.length), *(_sphere(end, geometry.radius) for end in ends)]
    if isinstance(geometry, Cone):
        return [_cone(pose, geometry)]
    if isinstance(geometry, Mesh):
        marker = _marker(Marker.MESH_RESOURCE, pose, geometry.scale)
        package = geometry.uri.startswith("package://")
        marker.mesh_resource = geometry.uri if package else f"file://{geometry.path}"
        marker.mesh_use_embedded_materials = shape.rgba is None
        return [marker]
    return [_triangles(pose, geometry)]


def _marker(kind: int, pose: Pose, scale: tuple[float, float, float]) -> Marker:
    return Marker(type=kind, action=Marker.ADD, pose=pose_to_message(pose), scale=vector_to_message(scale))


def _sphere(pose: Pose, radius: float) -> Marker:
    return _marker(Marker.SPHERE, pose, (2 * radius, 2 * radius, 2 * radius))


def _rod(pose: Pose, radius: float, length: float) -> Marker:
    return _marker(Marker.CYLINDER, pose, (2 * radius, 2 * radius, length))


def _cone(pose: Pose, cone: Cone) -> Marker:
    """Return a cone as an arrow without shaft, since RViz has no cone."""
    half = cone.length / 2
    tip, base = (pose @ Pose((0.0, 0.0, z)) for z in (half, -half))
    marker = _marker(Marker.ARROW, IDENTITY, (1e-6, 2 * cone.radius, cone.length))
    marker.points = [Point(x=p.position[0], y=p.position[1], z=p.position[2]) for p in (base, tip)]
    return marker


def _triangles(pose: Pose, geometry: Triangles) -> Marker:
    data = load_mesh(geometry)
    marker = _marker(Marker.TRIANGLE_LIST, pose, (1.0, 1.0, 1.0))
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in data.vertices[data.faces.ravel()].tolist()]
    return marker
