"""The other things of a cell: tools, rigid bodies and named frames."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError, ModelError
from .arguments import check_fields, public
from .geometry import Shape
from .mechanism import Inertial, Link, Mechanism
from .name_suggestions import unknown_name
from .pose import IDENTITY, Pose
from .sources import ModelSources
from .value import WORLD, check_name

TCP = "tcp"


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool: a mechanism whose root frame is the tool frame, and its tool centre point.

    tcp: pose of the tool centre point in `tcp_link` ("" for the root link). Frames of a tool named "gripper" are
    "gripper" (its root), "gripper/<link>" and "gripper/tcp".
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
        """Name in the cell of one of the tool's links."""
        return f"{self.name}/{link}"

    @property
    def tcp_frame(self) -> str:
        return f"{self.name}/{TCP}"


@public
def rigid_tool(
    name: str,
    collisions: tuple[Shape, ...],
    visuals: tuple[Shape, ...] = (),
    inertial: Inertial | None = None,
    tcp: Pose = IDENTITY,
) -> Tool:
    """A tool of one link without joints."""
    link = Link("body", visuals or collisions, collisions, inertial)
    return Tool(name, Mechanism(name, frozendict({"body": link}), frozendict()), tcp)


class RigidBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A thing that does not bend: workpiece, table, wall. visuals: empty means that it looks like its collisions."""

    name: str
    collisions: tuple[Shape, ...] = ()
    visuals: tuple[Shape, ...] = ()
    inertial: Inertial | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "body")
        if not self.collisions and not self.visuals:
            raise InvalidValueError(f"body {self.name} has no shape")


class NamedFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frame with a name: it moves with `attached_to`; pose: in that frame."""

    name: str
    attached_to: str = WORLD
    pose: Pose = IDENTITY

    def __post_init__(self) -> None:
        check_fields(self)
        check_name(self.name, "frame")


class PairMargin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Safety margin [m] between two named things, which overrides the sum of their own."""

    first: str
    second: str
    margin: float

    def __post_init__(self) -> None:
        check_fields(self)


class CollisionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who need not be checked against whom, and what distance to keep.

    ignore_groups: members (links, tools, bodies, robots, or other groups) are not checked against one another.
    margins [m]: by name of a robot, link, tool or body; "*" for all. The margins of both sides of a pair add up.
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
