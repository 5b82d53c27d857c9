"""Tools, rigid bodies, named frames and collision settings of a cell."""

from __future__ import annotations

from functools import cached_property

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError, ModelError
from .arguments import check_fields, public
from .digest import canonical, content_of
from .geometry import Mesh, Shape
from .mechanism import Inertial, Link, Mechanism
from .name_suggestions import unknown_name
from .pose import IDENTITY, Pose
from .sources import ModelSources
from .value import WORLD, check_name

TCP = "tcp"


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tool: a mechanism whose root frame is the tool frame, with a tool centre point (TCP).

    The frames of a tool named "gripper" are "gripper" (tool frame), "gripper/<link>" and "gripper/tcp".

    Attributes:
        name: Name of the tool.
        mechanism: Links and joints.
        tcp: Pose of the tool centre point in `tcp_link`.
        tcp_link: Link of the tool centre point; "" for the root link.
        sources: Texts that the model was read from.
    """

    name: str
    mechanism: Mechanism
    tcp: Pose = IDENTITY
    tcp_link: str = ""
    sources: ModelSources = ModelSources()

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "tool")
        if self.tcp_link and self.tcp_link not in self.mechanism.links:
            text = unknown_name(f"link {self.tcp_link!r} of tool {self.name}", self.tcp_link, self.mechanism.links)
            raise ModelError(text, subjects=(self.name, self.tcp_link))

    def frame_of(self, link: str) -> str:
        """Return the frame name of a tool link in the cell."""
        return f"{self.name}/{link}"

    @property
    def tcp_frame(self) -> str:
        """Frame name of the tool centre point in the cell."""
        return f"{self.name}/{TCP}"

    @property
    def frames(self) -> frozenset[str]:
        """Frame names of the tool, its links and its tool centre point in the cell."""
        return frozenset((self.name, self.tcp_frame, *map(self.frame_of, self.mechanism.links)))


@public
def rigid_tool(
    name: str,
    collisions: tuple[Shape, ...],
    visuals: tuple[Shape, ...] = (),
    inertial: Inertial | None = None,
    tcp: Pose = IDENTITY,
) -> Tool:
    """Create a tool with a single link and no joints."""
    link = Link("body", visuals or collisions, collisions, inertial)
    return Tool(name, Mechanism(name, frozendict({"body": link}), frozendict()), tcp)


class RigidBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Rigid body, for example a workpiece, table or wall.

    If `visuals` is empty, the collision geometry is displayed.
    """

    name: str
    collisions: tuple[Shape, ...] = ()
    visuals: tuple[Shape, ...] = ()
    inertial: Inertial | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "body")
        if not self.collisions and not self.visuals:
            raise InvalidValueError(f"body {self.name} has no shape")

    @cached_property
    def content(self) -> msgspec.Raw:
        """The part of `RobotCell.digest` that this body contributes. Cached, because cells share the bodies that did
        not change."""
        has_files = any(isinstance(shape.geometry, Mesh) for shape in (*self.collisions, *self.visuals))
        return content_of(self) if has_files else canonical(self)


class NamedFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Named frame fixed to `attached_to`; `pose` is relative to that frame."""

    name: str
    attached_to: str = WORLD
    pose: Pose = IDENTITY

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "frame")


class PairMargin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Safety margin [m] of a pair of named objects. It overrides the sum of their individual margins."""

    first: str
    second: str
    margin: float

    def __post_init__(self) -> None:
        check_fields(self)


class CollisionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Allowed collisions and safety margins.

    Attributes:
        ignore_groups: Allowed collision groups. Members (links, tools, bodies, robots or other groups) are not checked
            against each other.
        margins: Safety margin [m] by name of a robot, link, tool or body; "*" for all. The margin of a pair is the sum
            of the margins of both objects.
        pair_margins: Margins of individual pairs.
    """

    ignore_groups: frozendict[str, tuple[str, ...]] = frozendict()
    margins: frozendict[str, float] = frozendict()
    pair_margins: tuple[PairMargin, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        named = [*self.margins.items(), *((f"{p.first} - {p.second}", p.margin) for p in self.pair_margins)]
        for name, margin in named:
            if not 0.0 <= margin <= 10.0:
                raise InvalidValueError(f"safety margin of {name} is {margin} m, expected 0 to 10")
