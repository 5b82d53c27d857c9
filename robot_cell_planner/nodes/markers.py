"""Markers of tools and bodies for RViz."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ..cell.changes import Scene
from ..cell.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere, Triangles
from ..cell.meshes import load_mesh
from ..cell.pose import IDENTITY, Pose
from .conversions.basic import pose_to_message, vector_to_message

GREY = (0.7, 0.7, 0.72, 1.0)


def scene_markers(scene: Scene, stamp: Time, frame_prefix: str = "") -> MarkerArray:
    """One marker a shape, each in the frame of its body or tool link, after one that clears those before."""
    array = MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
    for name, body in scene.cell.bodies.items():
        if not scene.state.bodies[name].hidden:
            _add(array, "bodies", frame_prefix + name, body.visuals or body.collisions, stamp)
    for name, tool in scene.cell.tools.items():
        if scene.state.tools[name].hidden:
            continue
        for link in tool.mechanism.links.values():
            _add(array, "tools", frame_prefix + tool.frame_of(link.name), link.visuals or link.collisions, stamp)
    return array


def _add(array: MarkerArray, namespace: str, frame: str, shapes: tuple[Shape, ...], stamp: Time) -> None:
    for shape in shapes:
        for marker in _markers(shape):
            marker.header.frame_id = frame
            marker.header.stamp = stamp
            marker.ns = namespace
            marker.id = len(array.markers)
            marker.frame_locked = True
            r, g, b, a = shape.rgba or GREY
            marker.color = ColorRGBA(r=r, g=g, b=b, a=a)
            array.markers.append(marker)


def _markers(shape: Shape) -> list[Marker]:
    geometry, pose = shape.geometry, shape.pose
    if isinstance(geometry, Box):
        return [_marker(Marker.CUBE, pose, geometry.size)]
    if isinstance(geometry, Sphere):
        return [_ball(pose, geometry.radius)]
    if isinstance(geometry, Cylinder):
        return [_rod(pose, geometry.radius, geometry.length)]
    if isinstance(geometry, Capsule):
        ends = [pose @ Pose((0.0, 0.0, sign * geometry.length / 2)) for sign in (-1.0, 1.0)]
        return [_rod(pose, geometry.radius, geometry.length), *(_ball(end, geometry.radius) for end in ends)]
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


def _ball(pose: Pose, radius: float) -> Marker:
    return _marker(Marker.SPHERE, pose, (2 * radius, 2 * radius, 2 * radius))


def _rod(pose: Pose, radius: float, length: float) -> Marker:
    return _marker(Marker.CYLINDER, pose, (2 * radius, 2 * radius, length))


def _cone(pose: Pose, cone: Cone) -> Marker:
    """An arrow that is all head: RViz has no cone."""
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
