"""Data of COMPAS: the fields that compas_fab 2 writes for a robot cell and its state, as typed values.

COMPAS wraps an object as {"dtype": type, "data": fields, "guid": ...}, in some places and not in others. `decode` takes
the wrappers away, so that the types below have fields only; the names of types remain as the field `dtype`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np

from ...errors import FileError
from ...model.pose import Pose

STAGE = "read compas_fab"
CELL_TYPE, STATE_TYPE = "compas_fab.robots/RobotCell", "compas_fab.robots/RobotCellState"
MAX_DEPTH = 100
Vector = tuple[float, float, float]
T = TypeVar("T")


class Frame(msgspec.Struct):
    """Frame: origin [m] and two axes."""

    point: Vector
    xaxis: Vector
    yaxis: Vector

    def pose(self) -> Pose:
        """Return the pose.

        Raises:
            InvalidValueError: The axes have no direction or are parallel.
        """
        matrix = np.eye(4)
        x = np.array(self.xaxis) / max(float(np.linalg.norm(self.xaxis)), 1e-300)
        z = np.cross(x, self.yaxis)
        z = z / max(float(np.linalg.norm(z)), 1e-300)
        matrix[:3, 0], matrix[:3, 1], matrix[:3, 2], matrix[:3, 3] = x, np.cross(z, x), z, self.point
        return Pose.from_matrix(matrix)

    @classmethod
    def of(cls, pose: Pose) -> Frame:
        """Return the frame of a pose."""
        columns = pose.matrix[:3, :2].T.tolist()
        return cls(pose.position, (*columns[0],), (*columns[1],))


class Point(msgspec.Struct):
    """Vertex of a mesh."""

    x: float
    y: float
    z: float


class MeshData(msgspec.Struct):
    """Mesh with faces of any number of corners; the names of vertices are numbers as text."""

    vertex: dict[str, Point]
    face: dict[str, list[int] | None]
    attributes: dict[str, Any] = {}
    default_vertex_attributes: dict[str, Any] = {}
    default_edge_attributes: dict[str, Any] = {}
    default_face_attributes: dict[str, Any] = {}
    facedata: dict[str, Any] = {}
    edgedata: dict[str, Any] = {}
    max_vertex: int = -1
    max_face: int = -1


class Box(msgspec.Struct, tag="compas.geometry/Box", tag_field="dtype"):
    """Box centred at its frame."""

    xsize: float
    ysize: float
    zsize: float
    frame: Frame | None = None


class Sphere(msgspec.Struct, tag="compas.geometry/Sphere", tag_field="dtype"):
    """Sphere centred at its frame."""

    radius: float
    frame: Frame | None = None


class Cylinder(msgspec.Struct, tag="compas.geometry/Cylinder", tag_field="dtype"):
    """Cylinder along z, centred at its frame."""

    radius: float
    height: float
    frame: Frame | None = None


class Capsule(msgspec.Struct, tag="compas.geometry/Capsule", tag_field="dtype"):
    """Capsule along z, centred at its frame; `height` is that of the cylinder."""

    radius: float
    height: float
    frame: Frame | None = None


class MeshDescriptor(msgspec.Struct, tag="compas_robots.model/MeshDescriptor", tag_field="dtype"):
    """Mesh file of a robot, with its meshes if they were loaded; `scale` applies to these."""

    filename: str
    meshes: list[MeshData] = []
    scale: Vector = (1.0, 1.0, 1.0)
    attr: dict[str, Any] = {}


ShapeData = Box | Sphere | Cylinder | Capsule | MeshDescriptor


class Colour(msgspec.Struct):
    """Colour, components 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0


class Material(msgspec.Struct):
    """Material; without a colour it refers to one of the robot by name."""

    name: str | None = None
    color: Colour | None = None


class Geometry(msgspec.Struct):
    """Holder of a shape."""

    shape: ShapeData
    attr: dict[str, Any] = {}


class Item(msgspec.Struct):
    """Visual or collision element of a link."""

    geometry: Geometry
    origin: Frame | None = None
    name: str | None = None
    material: Material | None = None


class Mass(msgspec.Struct):
    """Mass [kg]."""

    value: float


class Inertia(msgspec.Struct):
    """Inertia about the centre of mass [kg m2]."""

    ixx: float = 0.0
    ixy: float = 0.0
    ixz: float = 0.0
    iyy: float = 0.0
    iyz: float = 0.0
    izz: float = 0.0


class Inertial(msgspec.Struct):
    """Mass properties of a link."""

    origin: Frame | None = None
    mass: Mass | None = None
    inertia: Inertia | None = None


class Link(msgspec.Struct):
    """Link."""

    name: str
    visual: list[Item] = []
    collision: list[Item] = []
    inertial: Inertial | None = None


class LinkName(msgspec.Struct):
    """Parent or child of a joint."""

    link: str


class Axis(msgspec.Struct):
    """Axis of a joint."""

    x: float
    y: float
    z: float


class Limit(msgspec.Struct):
    """Limits of a joint [rad or m]; zero velocity or effort means unknown."""

    effort: float = 0.0
    velocity: float = 0.0
    lower: float = 0.0
    upper: float = 0.0


class Mimic(msgspec.Struct):
    """Mimic coupling."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


class SafetyController(msgspec.Struct):
    """Soft limits of a joint [rad or m]; both zero means that there are none."""

    soft_lower_limit: float = 0.0
    soft_upper_limit: float = 0.0


class Dynamics(msgspec.Struct):
    """Damping and friction of a joint."""

    damping: float = 0.0
    friction: float = 0.0


class Joint(msgspec.Struct):
    """Joint; the names of types are those of URDF."""

    name: str
    type: str
    parent: LinkName
    child: LinkName
    origin: Frame | None = None
    axis: Axis | None = None
    limit: Limit | None = None
    mimic: Mimic | None = None
    dynamics: Dynamics | None = None
    safety_controller: SafetyController | None = None


class Model(msgspec.Struct):
    """Robot, or tool if it has `frame`: the tool centre point in the root link."""

    name: str
    joints: list[Joint] = []
    links: list[Link] = []
    materials: list[Material] = []
    attr: dict[str, Any] = {}
    scale_factor: float = msgspec.field(default=1.0, name="_scale_factor")
    frame: Frame | None = None


class Group(msgspec.Struct):
    """Planning group: links from base to tip, and joints."""

    links: list[str] = []
    joints: list[str] = []


class Semantics(msgspec.Struct):
    """Content of an SRDF."""

    groups: dict[str, Group] = {}
    main_group_name: str | None = None
    passive_joints: list[str] = []
    disabled_collisions: list[tuple[str, str]] = []
    group_states: dict[str, dict[str, dict[str, float | str]]] = {}


class Body(msgspec.Struct):
    """Rigid body; `native_scale` converts its meshes to metres."""

    visual_meshes: list[MeshData] = []
    collision_meshes: list[MeshData] = []
    native_scale: float = 1.0


class Cell(msgspec.Struct):
    """RobotCell."""

    robot_model: Model | None = None
    robot_semantics: Semantics | None = None
    tool_models: dict[str, Model] = {}
    rigid_body_models: dict[str, Body] = {}


class Configuration(msgspec.Struct):
    """Joint values [rad or m] by joint."""

    joint_values: list[float]
    joint_names: list[str] = []


class ToolState(msgspec.Struct):
    """State of a tool: in the world at `frame`, or at `attachment_frame` in the last link of a group."""

    frame: Frame | None = None
    attached_to_group: str | None = None
    touch_links: list[str] = []
    attachment_frame: Frame | None = None
    configuration: Configuration | None = None
    is_hidden: bool = False


class BodyState(msgspec.Struct):
    """State of a rigid body: in the world at `frame`, or at `attachment_frame` in a link or in the tool centre point
    of a tool."""

    frame: Frame | None = None
    attached_to_link: str | None = None
    attached_to_tool: str | None = None
    touch_links: list[str] = []
    touch_bodies: list[str] = []
    attachment_frame: Frame | None = None
    is_hidden: bool = False


class State(msgspec.Struct):
    """RobotCellState."""

    robot_base_frame: Frame | None = None
    robot_configuration: Configuration | None = None
    tool_states: dict[str, ToolState] = {}
    rigid_body_states: dict[str, BodyState] = {}


def decode(text: str | bytes, kind: type[T], dtype: str, source: str) -> T:
    """Read the object of a type from a COMPAS file: the whole file, or an entry of a mapping or list in it.

    Raises:
        FileError: The text is no JSON, has no such object, or a field is missing or of another type; the message
            gives its place.
    """
    try:
        return msgspec.convert(_plain(_object(msgspec.json.decode(text), dtype, source)), kind, strict=False)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
        if type(error) is msgspec.DecodeError:
            reason = f"{reason}; expected a JSON file of compas_fab"
        raise FileError(f"{source}: {reason}", stage=STAGE, subjects=(source,)) from error


def contains(text: str | bytes, dtype: str) -> bool:
    """Return whether a text has an object of a type, at the place where `decode` looks for it."""
    try:
        return bool(_found(msgspec.json.decode(text), dtype))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False


def _found(value: Any, dtype: str) -> list[Any]:
    entries = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [entry for entry in (value, *entries) if isinstance(entry, dict) and entry.get("dtype") == dtype]


def _object(value: Any, dtype: str, source: str) -> Any:
    found = _found(value, dtype)
    if len(found) != 1:
        what = f"{len(found)} objects" if found else "no object"
        there = value.get("dtype") if isinstance(value, dict) else None
        also = f"; its type is {str(there)[:80]}" if there else ""
        raise FileError(f"{source} has {what} of type {dtype}{also}", stage=STAGE, subjects=(source, dtype))
    return found[0]


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value without the wrappers of COMPAS; a wrapped mapping keeps the name of its type as `dtype`."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        if "dtype" in value and "data" in value:
            inner = _plain(value["data"], depth + 1)
            return {**inner, "dtype": value["dtype"]} if isinstance(inner, dict) else inner
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list) and value and not isinstance(value[0], (int, float, str)):
        return [_plain(item, depth + 1) for item in value]
    return value


def encode(value: Any, dtype: str) -> bytes:
    """Return an object with its type, as COMPAS reads it."""
    return msgspec.json.encode({"dtype": dtype, "data": _wrapped(msgspec.to_builtins(value))}) + b"\n"


def _wrapped(value: Any) -> Any:
    """Return a value with wrappers around mappings that have a `dtype`."""
    if isinstance(value, dict):
        inner = {key: _wrapped(item) for key, item in value.items() if key != "dtype"}
        return {"dtype": value["dtype"], "data": inner} if "dtype" in value else inner
    return [_wrapped(item) for item in value] if isinstance(value, list) else value
