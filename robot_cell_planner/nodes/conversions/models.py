"""Models of a cell from messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Protocol, TypeVar

import msgspec
from diagnostic_msgs.msg import KeyValue
from frozendict import frozendict

from robot_cell_planner.msg import BodyModel, ModelFile, RobotModel, ToolModel
from robot_cell_planner.msg import CollisionSettings as SettingsMessage
from robot_cell_planner.msg import Geometry as GeometryMessage
from robot_cell_planner.msg import RobotCell as CellMessage
from robot_cell_planner.msg import Shape as ShapeMessage

from ...errors import InvalidRequestError, RobotCellError
from ...io.common.resources import ResourceRoots, resolve_below
from ...io.mesh.inertia import uniform_inertial
from ...io.mesh.loading import check_collision_geometry, mesh_reference
from ...io.robot_description.loading import (
    read_sources,
    robot_from_sources,
    sources_roots,
    tool_from_sources,
)
from ...model.bodies import CollisionSettings, NamedFrame, PairMargin, RigidBody, Tool, rigid_tool
from ...model.cell import RobotCell
from ...model.geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, MeshUse, Shape, Sphere, Triangles
from ...model.mechanism import Inertial
from ...model.robot import CompositeGroup, Robot
from ...model.sources import ModelSources
from ...model.value import WORLD
from ...scene.model_changes import AddFrame
from .basic import (
    check_count,
    names_from_message,
    pose_from_message,
    position_from_message,
)
from .units import model_in_metres

MESH_USES = {MeshUse.HULL: 0, MeshUse.EXACT: 1, MeshUse.DECOMPOSITION: 2}
_USES = {number: use for use, number in MESH_USES.items()}


class _Named(Protocol):
    name: str


N = TypeVar("N", bound=_Named)


def reads_files(cell: CellMessage) -> bool:
    """Return whether the models of a message name files, or robots and tools, whose texts may name some: to read and
    parse them can take many seconds."""
    shapes = (shape for body in cell.bodies for shape in (*body.collision, *body.visual))
    return bool(cell.robots or cell.tools) or any(shape.geometry.type == GeometryMessage.MESH for shape in shapes)


class ModelReader:
    """Converts messages to models. roots: folders that files may be read from, and maximum sizes.

    trusted: for messages of the scene node, which has checked every file and gives its path and digest.
    """

    def __init__(
        self, roots: ResourceRoots, max_models: int = 20_000, max_shapes: int = 10_000, *, trusted: bool = False
    ) -> None:
        self._roots = roots
        self._trusted = trusted
        self._max_models = max_models
        self._max_shapes = max_shapes

    def trusted(self) -> ModelReader:
        """Return the same reader for messages of the scene node."""
        return ModelReader(self._roots, self._max_models, self._max_shapes, trusted=True)

    def cell(self, message: CellMessage, field: str) -> RobotCell:
        """Return the cell; frames relative to other frames have poses in these (see `split_frames`).

        Raises:
            LimitExceededError: Too many models or shapes.
            RobotCellError: A malformed model; the message names the field.
        """
        for part in ("robots", "tools", "bodies", "frames", "groups"):
            check_count(len(getattr(message, part)), self._max_models, f"{field}.{part}", "entries")
        robots = [self._robot(entry, f"{field}.robots") for entry in self._once(message.robots, f"{field}.robots")]
        tools = [self._tool(entry, f"{field}.tools") for entry in self._once(message.tools, f"{field}.tools")]
        bodies = [self._body(entry, f"{field}.bodies") for entry in self._once(message.bodies, f"{field}.bodies")]
        frames = [
            NamedFrame(entry.name, entry.attached_to or WORLD, pose_from_message(entry.pose, f"{field}.frames"))
            for entry in self._once(message.frames, f"{field}.frames")
        ]
        groups = [
            CompositeGroup(entry.name, names_from_message(entry.groups, f"{field}.groups"))
            for entry in self._once(message.groups, f"{field}.groups")
        ]
        try:
            return RobotCell(
                name=message.name or "cell",
                robots=frozendict((robot.name, robot) for robot in robots),
                tools=frozendict((tool.name, tool) for tool in tools),
                bodies=frozendict((body.name, body) for body in bodies),
                frames=frozendict((frame.name, frame) for frame in frames),
                collision=self._settings(message.collision, f"{field}.collision"),
                groups=frozendict((group.name, group) for group in groups),
            )
        except ValueError as error:
            raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error

    def split_frames(self, message: CellMessage, cell: RobotCell) -> tuple[RobotCell, list[AddFrame]]:
        """Return the cell without frames relative to other frames, and the changes that add those."""
        related = {entry.name: entry.relative_to for entry in message.frames if entry.relative_to}
        if not related:
            return cell, []
        plain = frozendict((name, frame) for name, frame in cell.frames.items() if name not in related)
        added = [
            AddFrame(name, cell.frames[name].attached_to, cell.frames[name].pose, reference)
            for name, reference in related.items()
        ]
        return RobotCell(cell.name, cell.robots, cell.tools, cell.bodies, plain, cell.collision, cell.groups), added

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
        robot = _placed(place, lambda: _cached_robot(message.name, sources, message.prefix, roots, use))
        return msgspec.structs.replace(robot, attached_to=message.attached_to) if message.attached_to else robot

    def _tool(self, message: ToolModel, field: str) -> Tool:
        place = f"{field}[{message.name}]"
        message = model_in_metres(message, place)
        tcp = pose_from_message(message.tcp, f"{place}.tcp")
        if not (message.urdf.text or message.urdf.uri):
            collisions = self._shapes(message.collision, f"{place}.collision")
            visuals = self._shapes(message.visual, f"{place}.visual")
            inertial = self._inertial(message, f"{place}.inertial", collisions)
            return _placed(place, lambda: rigid_tool(message.name, collisions, visuals, inertial, tcp))
        if message.visual or message.collision or message.inertial:
            raise InvalidRequestError(f"{place} has a URDF, so shapes and inertial must be empty", subjects=(place,))
        sources = self._sources(message.urdf, ModelFile(), message.limits, place)
        use, roots = _mesh_use(message.mesh_use, place), self._roots_of(sources)
        return _placed(place, lambda: tool_from_sources(message.name, sources, tcp, message.tcp_link, roots, use))

    def _body(self, message: BodyModel, field: str) -> RigidBody:
        place = f"{field}[{message.name}]"
        message = model_in_metres(message, place)
        collisions = self._shapes(message.collision, f"{place}.collision")
        visuals = self._shapes(message.visual, f"{place}.visual")
        inertial = self._inertial(message, f"{place}.inertial", collisions)
        return _placed(place, lambda: RigidBody(message.name, collisions, visuals, inertial))

    def _sources(self, urdf: ModelFile, srdf: ModelFile, limits: ModelFile, place: str) -> ModelSources:
        """Return given texts, and URIs of those to read."""
        arguments = frozendict((entry.key, entry.value) for entry in urdf.xacro_arguments)
        read = ModelSources()
        if not urdf.text:
            read = _placed(
                place, lambda: read_sources(urdf.uri, srdf.uri, limits.uri, arguments, urdf.folder, self._roots)
            )
        elif (srdf.uri and not srdf.text) or (limits.uri and not limits.text):
            raise InvalidRequestError(f"{place}: the URDF is given as text, so SRDF and limits must be texts")
        return ModelSources(
            urdf=urdf.text or read.urdf,
            srdf=srdf.text or read.srdf,
            limits=limits.text or read.limits,
            folder=urdf.folder or read.folder,
            urdf_uri=urdf.uri if urdf.text else read.urdf_uri,
            srdf_uri=srdf.uri if srdf.text else read.srdf_uri,
            limits_uri=limits.uri if limits.text else read.limits_uri,
            xacro_arguments=arguments,
            mesh_uses=_mesh_uses(urdf.mesh_uses, place),
            files=frozendict((entry.key, entry.value) for entry in urdf.files) if self._trusted else frozendict(),
            warnings=tuple(urdf.warnings) if self._trusted else read.warnings,
        )

    def _roots_of(self, sources: ModelSources) -> ResourceRoots:
        return sources_roots(sources, self._roots) if self._trusted and sources.folder else self._roots

    def _shapes(self, messages: list[ShapeMessage], field: str) -> tuple[Shape, ...]:
        check_count(len(messages), self._max_shapes, field, "entries")
        shapes = tuple(self._shape(message, f"{field}[{index}]") for index, message in enumerate(messages))
        if field.endswith(".collision") and not self._trusted:
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
            raise InvalidRequestError(f"unknown geometry type {message.type}, expected 0 to 5")
        if len(size) != counts[message.type]:
            name = ("BOX", "SPHERE", "CYLINDER", "CAPSULE", "CONE")[message.type]
            text = f"geometry of type {name} has {len(size)} dimensions, expected {counts[message.type]}"
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
        if self._trusted:
            return Mesh(message.mesh_uri, message.mesh_path, message.mesh_digest, scale, use)
        path = message.mesh_path or str(resolve_below(message.mesh_uri, self._roots))
        mesh = mesh_reference(path, "", self._roots, scale, use)
        mesh = Mesh(message.mesh_uri, mesh.path, mesh.digest, mesh.scale, mesh.use)
        if message.mesh_digest and mesh.digest != message.mesh_digest:
            text = f"the content of mesh {mesh.uri} differs from its digest in the message"
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

    def _settings(self, message: SettingsMessage, field: str) -> CollisionSettings:
        groups = {g.name: names_from_message(g.members, f"{field}.ignore_groups") for g in message.ignore_groups}
        single = {entry.name or "*": entry.margin for entry in message.margins if not entry.other}
        pairs = tuple(PairMargin(e.name, e.other, e.margin) for e in message.margins if e.other)
        return _placed(field, lambda: CollisionSettings(frozendict(groups), frozendict(single), pairs))


T = TypeVar("T")


def _placed(field: str, make: Callable[[], T]) -> T:
    """Return the result of `make`; its errors name the field."""
    try:
        return make()
    except ValueError as error:  # includes errors of the values themselves
        raise InvalidRequestError(f"{field}: {error}", subjects=(field,)) from error
    except RobotCellError as error:
        error.message = f"{field}: {error.message}"
        raise


@lru_cache(maxsize=16)
def _cached_robot(name: str, sources: ModelSources, prefix: str, roots: ResourceRoots, use: MeshUse) -> Robot:
    return robot_from_sources(name, sources, prefix, roots, use)


def _mesh_uses(entries: Iterable[KeyValue], place: str) -> frozendict[str, MeshUse]:
    found: dict[str, MeshUse] = {}
    for entry in entries:
        if entry.value not in list(MeshUse):
            expected = ", ".join(MeshUse)
            text = f"{place}.mesh_uses[{entry.key}] is {entry.value!r}, expected one of {expected}"
            raise InvalidRequestError(text, subjects=(place, entry.key))
        found[entry.key] = MeshUse(entry.value)
    return frozendict(found)


def _mesh_use(number: int, place: str = "") -> MeshUse:
    if number not in _USES:
        text = f"unknown mesh_use {number}, expected 0 to {len(_USES) - 1}"
        raise InvalidRequestError(f"{place}: {text}" if place else text)
    return _USES[number]
