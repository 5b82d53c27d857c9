"""Pinocchio models of the mechanisms of a cell: all robots and tools at their base poses and attachments."""

from __future__ import annotations

import threading
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import pinocchio as pin
from frozendict import frozendict
from numpy.typing import NDArray

from ..errors import FrameCycleError, ModelError, UnknownNameError
from ..model.bodies import Tool
from ..model.cell import RobotCell
from ..model.frames import path_to_known
from ..model.mechanism import Inertial, Joint, JointKind, Mechanism, Variable
from ..model.name_suggestions import unknown_name
from ..model.placement import plane_axes
from ..model.pose import Pose
from ..model.robot import Robot
from ..model.state import RobotCellState
from ..model.value import WORLD, Vector3

Array = NDArray[np.float64]
GRAVITY = 9.80665  # [m/s2] standard gravity, along -z of the world
AXES: tuple[Vector3, Vector3, Vector3] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class FramePlacement(NamedTuple):
    """Placement of a frame in the Pinocchio joint that it is fixed to (joint 0: the world)."""

    joint: int
    placement: pin.SE3


class Elementary(NamedTuple):
    """Joint with one degree of freedom: suffix of its name, whether it is revolute, and its unit axis."""

    suffix: str
    revolute: bool
    axis: Vector3


class MimicCoupling(NamedTuple):
    """Mimic coupling of a Pinocchio joint: value = multiplier * variable + offset."""

    variable: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class MechanismModel:
    """Joints of a cell's robots and tools for given bases and tool attachments.

    Bodies and named frames are not part of the model, so states that differ only in those share it, unless a robot is
    attached to them.

    Attributes:
        pin_model: Pinocchio model with one joint for each elementary joint, robots first, each in tree order and after
            the robot that it is attached to.
        variables: Variables by name in the cell; tool variables are named "tool/joint". Their order is that of every
            configuration vector (n,).
        couplings: Mimic coupling of each Pinocchio joint.
        frames: Placements of links, tools and tool centre points.
    """

    pin_model: pin.Model
    variables: frozendict[str, Variable]
    couplings: tuple[MimicCoupling, ...]
    frames: Mapping[str, FramePlacement]
    _local: threading.local = field(default_factory=threading.local, init=False, repr=False)

    def data(self) -> pin.Data:
        """Return Pinocchio's data for `pin_model`: one per thread, created by the first call."""
        data = getattr(self._local, "data", None)
        if data is None:
            data = self._local.data = self.pin_model.createData()
        return data


Attachments = tuple[tuple[str, str, Pose], ...]
Bases = tuple[tuple[str, str, Pose], ...]


def mechanism_model(cell: RobotCell, state: RobotCellState) -> MechanismModel:
    """Return the model of a cell's mechanisms, cached by attachment topology."""
    return _built(cell.robots, cell.tools, bases(cell, state), attachments(state))


def attachments(state: RobotCellState) -> Attachments:
    """Return the group and pose that each tool is attached with, without joint values."""
    return tuple((name, tool.attached_to, tool.pose) for name, tool in state.tools.items())


def bases(cell: RobotCell, state: RobotCellState) -> Bases:
    """Return the robots, each after the one that moves its base, with the link of that robot (or the world) and the
    pose of the base in it.

    Raises:
        FrameCycleError: Robots, bodies and frames are attached in a cycle.
    """
    links = {link: name for name, robot in cell.robots.items() for link in robot.mechanism.links}
    found = {name: _base(cell, state, name, (WORLD, *links)) for name in cell.robots}
    ordered: list[tuple[str, str, Pose]] = []
    placed = {""}  # the world
    while len(ordered) < len(found):
        ready = [(name, *at) for name, at in found.items() if name not in placed and links.get(at[0], "") in placed]
        if not ready:
            left = tuple(name for name in found if name not in placed)
            raise FrameCycleError(f"robots {', '.join(left)} are attached to each other in a cycle", subjects=left)
        ordered += ready
        placed.update(name for name, _, _ in ready)
    return tuple(ordered)


def _base(cell: RobotCell, state: RobotCellState, robot: str, known: Container[str]) -> tuple[str, Pose]:
    """Return the first of the known frames that a robot's base is fixed to, and the pose of the base in it."""
    path, frame = path_to_known(
        cell.robots[robot].attached_to or WORLD, known, lambda name: parent_and_pose(cell, state, name)[0]
    )
    pose = state.base_poses[robot]
    for name in path:
        pose = parent_and_pose(cell, state, name)[1] @ pose
    return frame, pose


def parent_and_pose(cell: RobotCell, state: RobotCellState, name: str) -> tuple[str, Pose]:
    """Return the parent frame of a body or named frame, and its pose in it.

    Raises:
        UnknownNameError: There is no such body or named frame.
    """
    placed = state.bodies.get(name) or cell.frames.get(name)
    if placed is None:
        names = (WORLD, *cell.mechanism_frames, *cell.tools, *state.bodies, *cell.frames)
        raise UnknownNameError(unknown_name(f"frame {name!r}", name, names), subjects=(name,))
    return placed.attached_to or WORLD, placed.pose


@lru_cache(maxsize=32)
def _built(
    robots: frozendict[str, Robot],
    tools: frozendict[str, Tool],
    mounted: Bases,
    attached: Attachments,
) -> MechanismModel:
    key = (robots, tools, mounted, attached)
    found = _in_use.get(key)
    if found is None:
        found = _in_use[key] = _new_model(*key)
    return found


# Models that cell models refer to, which may remain in use for longer than in the cache above.
_in_use: WeakValueDictionary[tuple[object, ...], MechanismModel] = WeakValueDictionary()


def _new_model(
    robots: frozendict[str, Robot],
    tools: frozendict[str, Tool],
    mounted: Bases,
    attached: Attachments,
) -> MechanismModel:
    builder = _Builder()
    for name, parent_frame, pose in mounted:
        at = builder.frames[parent_frame]
        root = FramePlacement(at.joint, at.placement * pin.SE3(pose.matrix))
        builder.add(robots[name].mechanism, root, "")
    tips = {group.name: group.tip_link for robot in robots.values() for group in robot.groups.values()}
    placed = {name: (group, pose) for name, group, pose in attached}
    for name, tool in tools.items():
        group, pose = placed[name]
        builder.add_tool(tool, tips[group] if group else WORLD, pose)
    return builder.finish()


class _Builder:
    def __init__(self) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.array((0.0, 0.0, -GRAVITY))
        self.frames: dict[str, FramePlacement] = {WORLD: FramePlacement(0, pin.SE3.Identity())}
        self.variables: dict[str, Variable] = {}
        self.couplings: list[MimicCoupling] = []

    def finish(self) -> MechanismModel:
        return MechanismModel(self.model, frozendict(self.variables), tuple(self.couplings), self.frames)

    def add_tool(self, tool: Tool, parent_frame: str, pose: Pose) -> None:
        at = self.frames[parent_frame]
        self.frames[tool.name] = FramePlacement(at.joint, at.placement * pin.SE3(pose.matrix))
        self.add(tool.mechanism, self.frames[tool.name], f"{tool.name}/")
        link = self.frames[tool.frame_of(tool.tcp_link or tool.mechanism.root)]
        self.frames[tool.tcp_frame] = FramePlacement(link.joint, link.placement * pin.SE3(tool.tcp.matrix))

    def add(self, mechanism: Mechanism, root: FramePlacement, prefix: str) -> None:
        for variable in mechanism.variables:
            name = prefix + variable.name
            if name in self.variables:
                raise ModelError(f"two joints of the cell are named {name!r}", subjects=(name,))
            self.variables[name] = variable
        self._add_link(mechanism, mechanism.root, root, prefix)
        for joint in mechanism.tree_order:
            parent = self.frames[prefix + joint.parent]
            at = FramePlacement(parent.joint, parent.placement * pin.SE3(joint.origin.matrix))
            if joint.kind is not JointKind.FIXED:
                at = self._add_joint(mechanism, joint, at, prefix)
            self._add_link(mechanism, joint.child, at, prefix)

    def _add_link(self, mechanism: Mechanism, link: str, at: FramePlacement, prefix: str) -> None:
        self.frames[prefix + link] = at
        inertial = mechanism.links[link].inertial
        if inertial is not None:
            append_inertial(self.model, at, inertial)

    def _add_joint(self, mechanism: Mechanism, joint: Joint, at: FramePlacement, prefix: str) -> FramePlacement:
        for part in _elementary(joint):
            name = f"{prefix}{joint.name}{part.suffix}"
            if joint.mimic is None:
                coupling = MimicCoupling(name, 1.0, 0.0)
            else:
                source, multiplier, offset = mechanism.mimic_source(joint.name)
                coupling = MimicCoupling(prefix + source, multiplier, offset)
            limits = self._limits(joint, coupling)
            index = self.model.addJoint(at.joint, _pin_joint(part), at.placement, name, *limits)
            self.couplings.append(coupling)
            at = FramePlacement(index, pin.SE3.Identity())
        return at

    def _limits(self, joint: Joint, coupling: MimicCoupling) -> tuple[Array, Array, Array, Array]:
        """Return the effort, velocity and position limits in Pinocchio's form; unknown limits are infinite."""
        variable = self.variables[coupling.variable].limits
        known = variable if joint.mimic is None else joint.limits
        effort = np.inf if known.effort is None else known.effort
        velocity = np.inf if known.velocity is None else known.velocity
        ends = (known.lower, known.upper)
        if joint.mimic is not None:
            # The range of the variable is already within the limits of the mimic joint.
            values = [coupling.multiplier * end + coupling.offset for end in (variable.lower, variable.upper)]
            ends = (min(values), max(values)) if coupling.multiplier else (coupling.offset, coupling.offset)
        return tuple(np.array([value]) for value in (effort, velocity, *ends))  # type: ignore[return-value]


def append_inertial(model: pin.Model, at: FramePlacement, inertial: Inertial) -> None:
    """Add the mass of an object fixed at a placement in a joint of the model."""
    xx, xy, xz, yy, yz, zz = inertial.inertia
    tensor = np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    own = pin.Inertia.Zero()  # the constructor refuses moments rounded to below zero
    own.mass, own.inertia = inertial.mass, tensor
    model.appendBodyToJoint(at.joint, own, at.placement * pin.SE3(inertial.pose.matrix))


def _elementary(joint: Joint) -> Iterator[Elementary]:
    """Return the elementary joints that a joint consists of, in the order of its variables."""
    if joint.kind is JointKind.FLOATING:
        for suffix, revolute, axis in zip(("x", "y", "z"), (False,) * 3, AXES, strict=True):
            yield Elementary(f"/{suffix}", revolute, axis)
        for suffix, axis in zip(("yaw", "pitch", "roll"), reversed(AXES), strict=True):
            yield Elementary(f"/{suffix}", True, axis)
    elif joint.kind is JointKind.PLANAR:
        first, second = plane_axes(joint.axis)
        yield Elementary("/x", False, first)
        yield Elementary("/y", False, second)
        yield Elementary("/theta", True, joint.axis)
    else:
        yield Elementary("", joint.kind is not JointKind.PRISMATIC, joint.axis)


def _pin_joint(part: Elementary) -> pin.JointModel:
    """Return a Pinocchio joint along an axis, using the faster joint types for x, y and z."""
    if part.axis in AXES:
        kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
        if not part.revolute:
            kinds = (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)
        return kinds[AXES.index(part.axis)]()
    axis = np.array(part.axis)
    return pin.JointModelRevoluteUnaligned(axis) if part.revolute else pin.JointModelPrismaticUnaligned(axis)
