"""Conversions of the models of a cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Protocol, TypeVar

from diagnostic_msgs.msg import KeyValue
from frozendict import frozendict
from geometry_msgs.msg import Point, Vector3
from shape_msgs.msg import Mesh as TrianglesMessage
from shape_msgs.msg import MeshTriangle
from std_msgs.msg import ColorRGBA

from robot_cell_planner.msg import BodyModel, IgnoreGroup, ModelFile, NamedFrame, RobotModel, SafetyMargin, ToolModel
from robot_cell_planner.msg import CollisionSettings as SettingsMessage
from robot_cell_planner.msg import Geometry as GeometryMessage
from robot_cell_planner.msg import Inertial as InertialMessage
from robot_cell_planner.msg import RobotCell as CellMessage
from robot_cell_planner.msg import Shape as ShapeMessage

from ...errors import InvalidRequestError, RobotCellError
from ...io.common.resources import ResourceRoots, resolve_below
from ...io.mesh.inertia import uniform_inertial
from ...io.mesh.loading import check_collision_geometry, mesh_reference
from ...io.robot_description.loading import (
    mesh_use_of,
    read_sources,
    robot_from_sources,
    sources_roots,
    tool_from_sources,
)
from ...model import bodies as things
from ...model.cell import RobotCell
from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, MeshUse, Shape, Sphere, Triangles
from ...model.mechanism import Inertial
from ...model.robot import Robot
from ...model.sources import ModelSources
from ...model.value import WORLD
from ...scene.model_changes import AddFrame
from .basic import (
    check_count,
    names_from_message,
    pose_from_message,
    pose_to_message,
    position_from_message,
    vector_to_message,
)
from .cached_messages import CachedMessages

PRIMITIVES = {Box: 0, Sphere: 1, Cylinder: 2, Capsule: 3, Cone: 4}
MESH_USES = {MeshUse.HULL: 0, MeshUse.EXACT: 1, MeshUse.DECOMPOSITION: 2}
_USES = {number: use for use, number in MESH_USES.items()}
RIGID_LINK = "body"


def cell_to_message(cell: RobotCell) -> CellMessage:
    return CellWriter().message(cell)


class CellWriter:
    """Turns cells that follow each other into messages, and makes anew what has changed alone."""

    def __init__(self) -> None:
        self._robots: CachedMessages[Robot, RobotModel] = CachedMessages(lambda _, robot: _robot_to_message(robot))
        self._tools: CachedMessages[things.Tool, ToolModel] = CachedMessages(lambda _, tool: _tool_to_message(tool))
        self._bodies: CachedMessages[things.RigidBody, BodyModel] = CachedMessages(
            lambda _, body: _body_to_message(body)
        )

    def message(self, cell: RobotCell) -> CellMessage:
        return CellMessage(
            name=cell.name,
            robots=self._robots.messages(cell.robots),
            tools=self._tools.messages(cell.tools),
            bodies=self._bodies.messages(cell.bodies),
            frames=[_frame_to_message(frame) for frame in cell.frames.values()],
            collision=settings_to_message(cell.collision),
        )


class _Named(Protocol):
    name: str


N = TypeVar("N", bound=_Named)


class ModelReader:
    """Reads models from messages, with the folders it may read files from and the sizes it accepts.

    owner: the messages come from the scene node, which has checked every file and names it by path and digest.
    """

    def __init__(
        self, roots: ResourceRoots, max_models: int = 20_000, max_shapes: int = 10_000, *, owner: bool = False
    ) -> None:
        self._roots = roots
        self._trusting = owner
        self._max_models = max_models
        self._max_shapes = max_shapes

    def trusting(self) -> ModelReader:
        """The same reader for messages of the scene node."""
        return ModelReader(self._roots, self._max_models, self._max_shapes, owner=True)

    def cell(self, message: CellMessage, field: str) -> RobotCell:
        """The cell; frames that are written relative to another frame are refused here (see `split_frames`).

        Raises:
            LimitExceededError: too many models or shapes.
            RobotCellError: a malformed model; the message names the field.
        """
        for part in ("robots", "tools", "bodies", "frames"):
            check_count(len(getattr(message, part)), self._max_models, f"{field}.{part}", "entries")
        robots = [self._robot(entry, f"{field}.robots") for entry in self._once(message.robots, f"{field}.robots")]
        tools = [self._tool(entry, f"{field}.tools") for entry in self._once(message.tools, f"{field}.tools")]
        bodies = [self._body(entry, f"{field}.bodies") for entry in self._once(message.bodies, f"{field}.bodies")]
        frames = [
            things.NamedFrame(entry.name, entry.attached_to or WORLD, pose_from_message(entry.pose, f"{field}.frames"))
            for entry in self._once(message.frames, f"{field}.frames")
        ]
        try:
            return RobotCell(
                name=message.name or "cell",
                robots=frozendict((robot.name, robot) for robot in robots),
                tools=frozendict((tool.name, tool) for tool in tools),
                bodies=frozendict((body.name, body) for body in bodies),
                frames=frozendict((frame.name, frame) for frame in frames),
                collision=self._settings(message.collision, f"{field}.collision"),
            )
        except ValueError as error:
            raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error

    def split_frames(self, message: CellMessage, cell: RobotCell) -> tuple[RobotCell, list[AddFrame]]:
        """The cell without the frames that are written relative to others, and the changes that add those."""
        related = {entry.name: entry.relative_to for entry in message.frames if entry.relative_to}
        if not related:
            return cell, []
        plain = frozendict((name, frame) for name, frame in cell.frames.items() if name not in related)
        added = [
            AddFrame(name, cell.frames[name].attached_to, cell.frames[name].pose, reference)
            for name, reference in related.items()
        ]
        return RobotCell(cell.name, cell.robots, cell.tools, cell.bodies, plain, cell.collision), added

    def _once(self, entries: Iterable[N], field: str) -> list[N]:
        result: dict[str, N] = {}
        for entry in entries:
            if entry.name in result:
                raise InvalidRequestError(f"{field} lists {entry.name!r} twice", subjects=(field, entry.name))
            result[entry.name] = entry
        return list(result.values())

    def _robot(self, message: RobotModel, field: str) -> Robot:
        place = f"{field}[{message.name}]"
        sources = self._sources(message.urdf, message.srdf, message.limits, place)
        use, roots = _mesh_use(message.mesh_use, place), self._roots_of(sources)
        return _placed(place, lambda: _cached_robot(message.name, sources, message.prefix, roots, use))

    def _tool(self, message: ToolModel, field: str) -> things.Tool:
        place = f"{field}[{message.name}]"
        tcp = pose_from_message(message.tcp, f"{place}.tcp")
        if not (message.urdf.text or message.urdf.uri):
            collisions = self._shapes(message.collision, f"{place}.collision")
            visuals = self._shapes(message.visual, f"{place}.visual")
            inertial = self._inertial(message, f"{place}.inertial", collisions)
            return _placed(place, lambda: things.rigid_tool(message.name, collisions, visuals, inertial, tcp))
        if message.visual or message.collision or message.inertial:
            raise InvalidRequestError(f"{place} has a URDF, so it takes no shapes and no inertial", subjects=(place,))
        sources = self._sources(message.urdf, ModelFile(), message.limits, place)
        use, roots = _mesh_use(message.mesh_use, place), self._roots_of(sources)
        return _placed(place, lambda: tool_from_sources(message.name, sources, tcp, message.tcp_link, roots, use))

    def _body(self, message: BodyModel, field: str) -> things.RigidBody:
        place = f"{field}[{message.name}]"
        collisions = self._shapes(message.collision, f"{place}.collision")
        visuals = self._shapes(message.visual, f"{place}.visual")
        inertial = self._inertial(message, f"{place}.inertial", collisions)
        return _placed(place, lambda: things.RigidBody(message.name, collisions, visuals, inertial))

    def _sources(self, urdf: ModelFile, srdf: ModelFile, limits: ModelFile, place: str) -> ModelSources:
        """Texts that are given, and those that must be read."""
        arguments = frozendict((entry.key, entry.value) for entry in urdf.xacro_arguments)
        read = ModelSources()
        if not urdf.text:
            read = _placed(
                place, lambda: read_sources(urdf.uri, srdf.uri, limits.uri, arguments, urdf.folder, self._roots)
            )
        elif (srdf.uri and not srdf.text) or (limits.uri and not limits.text):
            raise InvalidRequestError(f"{place}: the URDF is a text, so SRDF and limits must be texts too")
        return ModelSources(
            urdf=urdf.text or read.urdf,
            srdf=srdf.text or read.srdf,
            limits=limits.text or read.limits,
            folder=urdf.folder or read.folder,
            urdf_uri=urdf.uri if urdf.text else read.urdf_uri,
            srdf_uri=srdf.uri if srdf.text else read.srdf_uri,
            limits_uri=limits.uri if limits.text else read.limits_uri,
            xacro_arguments=arguments,
        )

    def _roots_of(self, sources: ModelSources) -> ResourceRoots:
        return sources_roots(sources, self._roots) if self._trusting and sources.folder else self._roots

    def _shapes(self, messages: list[ShapeMessage], field: str) -> tuple[Shape, ...]:
        check_count(len(messages), self._max_shapes, field, "entries")
        shapes = tuple(self._shape(message, f"{field}[{index}]") for index, message in enumerate(messages))
        if field.endswith(".collision") and not self._trusting:
            for index, shape in enumerate(shapes):
                _placed(f"{field}[{index}]", partial(check_collision_geometry, shape.geometry))
        return shapes

    def _shape(self, message: ShapeMessage, field: str) -> Shape:
        geometry = _placed(field, lambda: self._geometry(message.geometry))
        color = (message.rgba.r, message.rgba.g, message.rgba.b, message.rgba.a)
        pose = pose_from_message(message.pose, f"{field}.pose")
        rgba = color if any(color) else None
        return _placed(field, lambda: Shape(geometry, pose, message.name, rgba, message.material, message.texture))

    def _geometry(self, message: GeometryMessage) -> Geometry:
        size = tuple(message.dimensions)
        if message.type == GeometryMessage.MESH:
            return self._mesh(message)
        counts = {0: 3, 1: 1, 2: 2, 3: 2, 4: 2}
        if message.type not in counts:
            raise InvalidRequestError(f"geometry type {message.type} is none of 0 to 5")
        if len(size) != counts[message.type]:
            text = f"geometry type {message.type} has {len(size)} dimensions, expected {counts[message.type]}"
            raise InvalidRequestError(text)
        if message.type == GeometryMessage.BOX:
            return Box((size[0], size[1], size[2]))
        if message.type == GeometryMessage.SPHERE:
            return Sphere(size[0])
        rounds: dict[int, type[Cylinder | Capsule | Cone]] = {2: Cylinder, 3: Capsule, 4: Cone}
        return rounds[message.type](size[0], size[1])

    def _mesh(self, message: GeometryMessage) -> Geometry:
        use = _mesh_use(message.mesh_use)
        if not message.mesh_uri:
            vertices = tuple((v.x, v.y, v.z) for v in message.mesh.vertices)
            faces = tuple(tuple(int(i) for i in t.vertex_indices) for t in message.mesh.triangles)
            return Triangles(vertices, faces, use)  # type: ignore[arg-type]
        scale = position_from_message(message.mesh_scale)
        scale = scale if any(scale) else (1.0, 1.0, 1.0)
        if self._trusting:
            return Mesh(message.mesh_uri, message.mesh_path, message.mesh_digest, scale, use)
        path = message.mesh_path or str(resolve_below(message.mesh_uri, self._roots))
        mesh = mesh_reference(path, "", self._roots, scale, use)
        mesh = Mesh(message.mesh_uri, mesh.path, mesh.digest, mesh.scale, mesh.use)
        if message.mesh_digest and mesh.digest != message.mesh_digest:
            text = f"mesh {mesh.uri} has another content than the one that was meant"
            raise InvalidRequestError(text, subjects=(mesh.uri, mesh.path))
        return mesh

    def _inertial(self, message: BodyModel | ToolModel, field: str, shapes: tuple[Shape, ...]) -> Inertial | None:
        if len(message.inertial) > 1:
            raise InvalidRequestError(
                f"{field} has {len(message.inertial)} entries, expected 0 or 1", subjects=(field,)
            )
        if message.inertial:
            entry = message.inertial[0]
            pose = pose_from_message(entry.pose, f"{field}.pose")
            return _placed(field, lambda: Inertial(entry.mass, pose, tuple(float(value) for value in entry.inertia)))  # type: ignore[arg-type]
        if math.isnan(message.density) or message.density < 0.0 or math.isinf(message.density):
            raise InvalidRequestError(f"{field}: density is {message.density}, expected 0 or more", subjects=(field,))
        if message.density == 0.0:
            return None
        return _placed(field, lambda: uniform_inertial(shapes, density=message.density))

    def _settings(self, message: SettingsMessage, field: str) -> things.CollisionSettings:
        groups = {g.name: names_from_message(g.members, f"{field}.ignore_groups") for g in message.ignore_groups}
        single = {entry.name or "*": entry.margin for entry in message.margins if not entry.other}
        pairs = tuple(things.PairMargin(e.name, e.other, e.margin) for e in message.margins if e.other)
        return _placed(field, lambda: things.CollisionSettings(frozendict(groups), frozendict(single), pairs))


T = TypeVar("T")


def _placed(field: str, make: Callable[[], T]) -> T:
    """What `make` returns; its errors name the field."""
    try:
        return make()
    except ValueError as error:  # also those of values, which are errors of this package
        raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error
    except RobotCellError as error:
        error.message = f"{field}: {error.message}"
        raise


@lru_cache(maxsize=16)
def _cached_robot(name: str, sources: ModelSources, prefix: str, roots: ResourceRoots, use: MeshUse) -> Robot:
    return robot_from_sources(name, sources, prefix, roots, use)


def _mesh_use(number: int, place: str = "") -> MeshUse:
    if number not in _USES:
        text = f"mesh_use {number} is none of 0 to {len(_USES) - 1}"
        raise InvalidRequestError(f"{place}: {text}" if place else text)
    return _USES[number]


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


def _file_to_message(text: str, uri: str = "", folder: str = "", arguments: dict[str, str] | None = None) -> ModelFile:
    pairs = [KeyValue(key=key, value=value) for key, value in (arguments or {}).items()]
    return ModelFile(text=text, uri=uri, folder=folder, xacro_arguments=pairs)


def _urdf_to_message(sources: ModelSources) -> ModelFile:
    return _file_to_message(sources.urdf, sources.urdf_uri, sources.folder, dict(sources.xacro_arguments))


def _robot_to_message(robot: Robot) -> RobotModel:
    return RobotModel(
        name=robot.name,
        prefix=robot.prefix,
        urdf=_urdf_to_message(robot.sources),
        srdf=_file_to_message(robot.sources.srdf, robot.sources.srdf_uri),
        limits=_file_to_message(robot.sources.limits, robot.sources.limits_uri),
        mesh_use=MESH_USES[mesh_use_of(robot.mechanism)],
    )


def _tool_to_message(tool: things.Tool) -> ToolModel:
    message = ToolModel(name=tool.name, tcp_link=tool.tcp_link, tcp=pose_to_message(tool.tcp))
    if tool.sources.urdf:
        message.urdf = _urdf_to_message(tool.sources)
        message.limits = _file_to_message(tool.sources.limits, tool.sources.limits_uri)
        message.mesh_use = MESH_USES[mesh_use_of(tool.mechanism)]
        return message
    link = tool.mechanism.links[RIGID_LINK]
    message.visual = [_shape_to_message(shape) for shape in link.visuals]
    message.collision = [_shape_to_message(shape) for shape in link.collisions]
    message.inertial = _inertial_to_message(link.inertial)
    return message


def _body_to_message(body: things.RigidBody) -> BodyModel:
    return BodyModel(
        name=body.name,
        visual=[_shape_to_message(shape) for shape in body.visuals],
        collision=[_shape_to_message(shape) for shape in body.collisions],
        inertial=_inertial_to_message(body.inertial),
    )


def _frame_to_message(frame: things.NamedFrame) -> NamedFrame:
    attached_to = "" if frame.attached_to == WORLD else frame.attached_to
    return NamedFrame(name=frame.name, attached_to=attached_to, pose=pose_to_message(frame.pose))


def settings_to_message(settings: things.CollisionSettings) -> SettingsMessage:
    margins = [
        SafetyMargin(name="" if name == "*" else name, margin=margin) for name, margin in settings.margins.items()
    ]
    margins += [SafetyMargin(name=p.first, other=p.second, margin=p.margin) for p in settings.pair_margins]
    groups = [IgnoreGroup(name=n, members=list(members)) for n, members in settings.ignore_groups.items()]
    return SettingsMessage(ignore_groups=groups, margins=margins)
