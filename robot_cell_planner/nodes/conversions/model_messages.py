"""Models of a cell as messages."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point, Vector3
from shape_msgs.msg import Mesh as TrianglesMessage
from shape_msgs.msg import MeshTriangle
from std_msgs.msg import ColorRGBA

from robot_cell_planner.msg import (
    BodyModel,
    CompositeGroup,
    IgnoreGroup,
    ModelFile,
    NamedFrame,
    RobotModel,
    SafetyMargin,
    ToolModel,
)
from robot_cell_planner.msg import CollisionSettings as SettingsMessage
from robot_cell_planner.msg import Geometry as GeometryMessage
from robot_cell_planner.msg import Inertial as InertialMessage
from robot_cell_planner.msg import RobotCell as CellMessage
from robot_cell_planner.msg import Shape as ShapeMessage

from ...io.robot_description.loading import (
    mesh_use_of,
)
from ...model.bodies import CollisionSettings, RigidBody, Tool
from ...model.bodies import NamedFrame as Frame
from ...model.cell import RobotCell
from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, Shape, Sphere, Triangles
from ...model.mechanism import Inertial
from ...model.robot import Robot
from ...model.sources import ModelSources
from ...model.value import WORLD
from .basic import (
    pose_to_message,
    vector_to_message,
)
from .cached_messages import CachedMessages
from .models import MESH_USES

PRIMITIVES = {Box: 0, Sphere: 1, Cylinder: 2, Capsule: 3, Cone: 4}
RIGID_LINK = "body"


def cell_to_message(cell: RobotCell) -> CellMessage:
    return CellWriter().message(cell)


class CellWriter:
    """Converts successive cells to messages; only changed models are converted again."""

    def __init__(self) -> None:
        self._robots: CachedMessages[Robot, RobotModel] = CachedMessages(lambda _, robot: _robot_to_message(robot))
        self._tools: CachedMessages[Tool, ToolModel] = CachedMessages(lambda _, tool: _tool_to_message(tool))
        self._bodies: CachedMessages[RigidBody, BodyModel] = CachedMessages(lambda _, body: body_to_message(body))

    def message(self, cell: RobotCell) -> CellMessage:
        return CellMessage(
            name=cell.name,
            robots=self._robots.messages(cell.robots),
            tools=self._tools.messages(cell.tools),
            bodies=self._bodies.messages(cell.bodies),
            frames=[_frame_to_message(frame) for frame in cell.frames.values()],
            collision=settings_to_message(cell.collision),
            groups=[CompositeGroup(name=group.name, groups=list(group.groups)) for group in cell.groups.values()],
        )


def _shape_to_message(shape: Shape) -> ShapeMessage:
    r, g, b, a = shape.rgba or (0.0, 0.0, 0.0, 0.0)
    return ShapeMessage(
        name=shape.name,
        geometry=geometry_to_message(shape.geometry),
        pose=pose_to_message(shape.pose),
        rgba=ColorRGBA(r=r, g=g, b=b, a=a),
        material=shape.material,
        texture=shape.texture,
    )


def geometry_to_message(geometry: Geometry) -> GeometryMessage:
    if isinstance(geometry, Mesh):
        return GeometryMessage(
            type=GeometryMessage.MESH,
            mesh_uri=geometry.uri,
            mesh_path=geometry.path,
            mesh_digest=geometry.digest,
            mesh_scale=vector_to_message(geometry.scale),
            mesh_use=MESH_USES[geometry.use],
        )
    if isinstance(geometry, Triangles):
        vertices = [Point(x=x, y=y, z=z) for x, y, z in geometry.vertices]
        triangles = [MeshTriangle(vertex_indices=list(face)) for face in geometry.faces]
        mesh = TrianglesMessage(vertices=vertices, triangles=triangles)
        return GeometryMessage(
            type=GeometryMessage.MESH, mesh=mesh, mesh_scale=Vector3(), mesh_use=MESH_USES[geometry.use]
        )
    if isinstance(geometry, Box):
        size = list(geometry.size)
    elif isinstance(geometry, Sphere):
        size = [geometry.radius]
    else:
        size = [geometry.radius, geometry.length]
    return GeometryMessage(type=PRIMITIVES[type(geometry)], dimensions=size)


def _inertial_to_message(inertial: Inertial | None) -> list[InertialMessage]:
    if inertial is None:
        return []
    return [InertialMessage(mass=inertial.mass, pose=pose_to_message(inertial.pose), inertia=list(inertial.inertia))]


def _pairs_to_message(pairs: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=value) for key, value in pairs.items()]


def _urdf_to_message(sources: ModelSources) -> ModelFile:
    return ModelFile(
        text=sources.urdf,
        uri=sources.urdf_uri,
        folder=sources.folder,
        xacro_arguments=_pairs_to_message(sources.xacro_arguments),
        mesh_uses=_pairs_to_message({uri: use.value for uri, use in sources.mesh_uses.items()}),
        files=_pairs_to_message(sources.files),
        warnings=list(sources.warnings),
    )


def _robot_to_message(robot: Robot) -> RobotModel:
    return RobotModel(
        name=robot.name,
        prefix=robot.prefix,
        attached_to=robot.attached_to,
        urdf=_urdf_to_message(robot.sources),
        srdf=ModelFile(text=robot.sources.srdf, uri=robot.sources.srdf_uri),
        limits=ModelFile(text=robot.sources.limits, uri=robot.sources.limits_uri),
        mesh_use=MESH_USES[mesh_use_of(robot.mechanism, robot.sources)],
    )


def _tool_to_message(tool: Tool) -> ToolModel:
    message = ToolModel(name=tool.name, tcp_link=tool.tcp_link, tcp=pose_to_message(tool.tcp))
    if tool.sources.urdf:
        message.urdf = _urdf_to_message(tool.sources)
        message.limits = ModelFile(text=tool.sources.limits, uri=tool.sources.limits_uri)
        message.mesh_use = MESH_USES[mesh_use_of(tool.mechanism, tool.sources)]
        return message
    link = tool.mechanism.links[RIGID_LINK]
    message.visual = [_shape_to_message(shape) for shape in link.visuals]
    message.collision = [_shape_to_message(shape) for shape in link.collisions]
    message.inertial = _inertial_to_message(link.inertial)
    return message


def body_to_message(body: RigidBody) -> BodyModel:
    return BodyModel(
        name=body.name,
        visual=[_shape_to_message(shape) for shape in body.visuals],
        collision=[_shape_to_message(shape) for shape in body.collisions],
        inertial=_inertial_to_message(body.inertial),
    )


def _frame_to_message(frame: Frame) -> NamedFrame:
    attached_to = "" if frame.attached_to == WORLD else frame.attached_to
    return NamedFrame(name=frame.name, attached_to=attached_to, pose=pose_to_message(frame.pose))


def settings_to_message(settings: CollisionSettings) -> SettingsMessage:
    margins = [
        SafetyMargin(name="" if name == "*" else name, margin=margin) for name, margin in settings.margins.items()
    ]
    margins += [SafetyMargin(name=p.first, other=p.second, margin=p.margin) for p in settings.pair_margins]
    groups = [IgnoreGroup(name=n, members=list(members)) for n, members in settings.ignore_groups.items()]
    return SettingsMessage(ignore_groups=groups, margins=margins)
