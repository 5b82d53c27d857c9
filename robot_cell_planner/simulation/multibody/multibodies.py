"""Multibody model of a cell for the physics engine: trees of rigid parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import SimulationError
from ...model.bodies import RigidBody
from ...model.cell import RobotCell
from ...model.geometry import Shape
from ...model.mechanism import Inertial, Joint, JointKind, JointLimits, Link, Mechanism
from ...model.placement import Placements, placements, plane_axes
from ...model.pose import IDENTITY, Pose
from ...model.robot import Robot
from ...model.state import RobotCellState
from ...model.value import WORLD, Vector3
from .inertia import MassProperties, combined
from .solids import SolidGroup, groups_of_solids

AXES: Mapping[str, Vector3] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
ROTATION_AXES: Mapping[str, str] = {"yaw": "z", "pitch": "y", "roll": "x"}


@dataclass(frozen=True)
class JointModel:
    """Simulated joint with one degree of freedom.

    Attributes:
        name: Name in the cell ("tool/joint" for a tool joint).
        own_name: Name in its description.
        tool: Tool that it belongs to, or "".
        revolute: Whether it is revolute; otherwise it is prismatic.
        axis: Axis in the part that it moves.
        start: Initial value [rad or m].
        source, multiplier, offset: Mimic coupling; `source` is "" without one.
        damping, friction: As in URDF.
        assumed_effort: Effort that moves its load, of a joint without an effort limit or with one that does not hold
            it [Nm or N]; 0 if unknown.
    """

    name: str
    own_name: str
    tool: str
    revolute: bool
    axis: Vector3
    limits: JointLimits
    start: float
    source: str = ""
    multiplier: float = 1.0
    offset: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    assumed_effort: float = 0.0


@dataclass
class Part:
    """Rigid part.

    Attributes:
        object_name: Link, tool link or body that its shapes belong to; "" for an intermediate part of a compound joint.
        parent: Index of the parent part, -1 for the first part of a multibody.
        pose: Pose in the parent part with the joint at zero; of the first part, in the world.
        joint: Joint between parent and part, None if it is fixed.
        geometries: Collision geometries.
        pieces: Inertials, each at a pose in the part.
        shapes: Shapes of the object, stored in its first part.
        assumed: Inertial that was assumed for the object, which has none.
    """

    object_name: str
    parent: int
    pose: Pose
    joint: JointModel | None = None
    geometries: SolidGroup = ()
    pieces: list[tuple[Pose, Inertial]] = field(default_factory=list)
    shapes: tuple[Shape, ...] = ()
    assumed: Inertial | None = None

    @property
    def mass_properties(self) -> MassProperties:
        return combined(self.pieces)


@dataclass
class Multibody:
    """Tree of parts, parents before children.

    Attributes:
        fixed: Whether the first part is fixed in the world.
        still: Whether neither the multibody nor anything attached to it can move.
    """

    name: str
    fixed: bool
    still: bool = False
    parts: list[Part] = field(default_factory=list)

    def is_anchored(self, index: int) -> bool:
        """Return whether a part can never move in the world."""
        while self.parts[index].joint is None and index > 0:
            index = self.parts[index].parent
        return index == 0 and self.fixed


@dataclass(frozen=True)
class PartFrame:
    """Location of a cell frame: pose in a part of a multibody, given by its number and index."""

    multibody: int
    part: int
    pose: Pose = IDENTITY


class Multibodies:
    """All multibodies of a cell in a state.

    - A robot is one multibody with the robots, tools and bodies attached to it, directly or indirectly. So is a tool
    that is not attached. A robot on a body that moves freely is part of that body's multibody.
    - A body with a mass that is not attached to a robot or tool is a multibody that moves freely. Bodies without a mass
    are static multibodies. A body with a mass forms one multibody with the bodies attached to it.
    - A link or body without shapes that is fixed to another is merged with it.
    - Hidden objects are omitted.

    Attributes:
        numbered: The multibodies by number, in the order in which they were added. No number is used again.
        frames: Locations of all frames.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self._cell = cell
        self._state = state
        self._placements = placements(cell, state)
        self._world = Placements(self._placements)
        self.numbered: dict[int, Multibody] = {}
        self._count = 0  # of numbers
        self.frames: dict[str, PartFrame] = {}
        self._robots = {robot.mechanism.root: robot for robot in cell.robots.values()}
        for name in (*self._robots, *self._placements):
            self._add_frame(name)

    @property
    def items(self) -> tuple[Multibody, ...]:
        """Return all multibodies, in the order in which they were added."""
        return tuple(self.numbered.values())

    @property
    def joints(self) -> Iterator[JointModel]:
        """Return all joints, by multibody and part."""
        return (
            part.joint for multibody in self.numbered.values() for part in multibody.parts if part.joint is not None
        )

    @property
    def free_bodies(self) -> tuple[str, ...]:
        """Return the bodies that move freely, with those attached to them, in the order of the cell."""
        frames = ((name, self.frames.get(name)) for name in self._cell.bodies)
        return tuple(name for name, frame in frames if frame is not None and not self.numbered[frame.multibody].fixed)

    def add_body(self, cell: RobotCell, state: RobotCellState, name: str) -> list[int]:
        """Add a body of a cell that has nothing else that is new, with the frames that are attached to it; return the
        numbers of its multibodies.

        Raises:
            SimulationError: It is attached to something that can move.
            GeometryError: A mesh cannot be read or decomposed.
        """
        parent = state.bodies[name].attached_to
        frame = self.frames.get(parent)
        if frame is not None and not self.numbered[frame.multibody].still:
            text = f"body {name} is attached to {parent}, expected a body that stands or lies alone"
            raise SimulationError(text, subjects=(name, parent))
        self._cell, self._state, self._placements = cell, state, placements(cell, state)
        self._world = Placements(self._placements)
        count = self._count
        for each in (name, *self._placements):
            self._add_frame(each)
        return list(range(count, self._count))

    def remove_body(self, name: str) -> list[int]:
        """Remove a body; return the numbers of its multibodies.

        Raises:
            SimulationError: It is attached to something that can move, or carries something.
        """
        numbers = [number for number, item in self.numbered.items() if item.name == name]
        parts = [part for number in numbers for part in self.numbered[number].parts]
        if not numbers or any(part.object_name != name for part in parts):
            raise SimulationError(f"body {name} carries or is attached to something that can move", subjects=(name,))
        for number in numbers:
            del self.numbered[number]
        self.frames = {each: frame for each, frame in self.frames.items() if frame.multibody not in numbers}
        return numbers

    def _add(self, multibody: Multibody) -> int:
        """Add a multibody; return its number."""
        number, self._count = self._count, self._count + 1
        self.numbered[number] = multibody
        return number

    def _add_first(self, multibody: Multibody, name: str, link: Link | RigidBody) -> None:
        """Start a multibody with a link or body."""
        first, *others = groups_of_solids(link.collisions, multibody.still)
        pose = self._world.world(name)
        self.frames[name] = PartFrame(self._add(multibody), 0)
        multibody.parts.append(Part(name, -1, pose, None, first, _pieces(link.inertial), link.collisions))
        for group in others:
            if multibody.still:
                self._add(Multibody(name, True, True, [Part(name, -1, pose, geometries=group)]))
            else:
                multibody.parts.append(Part(name, 0, IDENTITY, geometries=group))

    def _add_part(
        self, parent_frame: PartFrame, pose: Pose, joints: Sequence[JointModel], name: str, link: Link | RigidBody
    ) -> None:
        """Add a link or body with its joint, if any, to a multibody."""
        parts = self.numbered[parent_frame.multibody].parts
        parent, pose = parent_frame.part, parent_frame.pose @ pose
        for joint in joints[:-1]:
            parts.append(Part("", parent, pose, joint))
            parent, pose = len(parts) - 1, IDENTITY
        first, *others = groups_of_solids(link.collisions, False)
        last = joints[-1] if joints else None
        parts.append(Part(name, parent, pose, last, first, _pieces(link.inertial), link.collisions))
        index = len(parts) - 1
        self.frames[name] = PartFrame(parent_frame.multibody, index)
        parts.extend(Part(name, index, IDENTITY, geometries=group) for group in others)

    def _add_fixed(self, parent_frame: PartFrame, pose: Pose, name: str, link: Link | RigidBody) -> None:
        """Fix a link or body to an existing part."""
        if link.collisions:
            self._add_part(parent_frame, pose, (), name, link)
            return
        pose = parent_frame.pose @ pose
        self.numbered[parent_frame.multibody].parts[parent_frame.part].pieces.extend(_pieces(link.inertial, pose))
        self.frames[name] = PartFrame(parent_frame.multibody, parent_frame.part, pose)

    def _add_joints(self, mechanism: Mechanism, configuration: Mapping[str, float], tool: str) -> None:
        """Add all links except the root, which must exist."""
        prefix = f"{tool}/" if tool else ""
        for joint in mechanism.tree_order:
            parent_frame, name = self.frames[prefix + joint.parent], prefix + joint.child
            link = mechanism.links[joint.child]
            if joint.kind is JointKind.FIXED:
                self._add_fixed(parent_frame, joint.origin, name, link)
            else:
                models = tuple(_joint_models(mechanism, joint, configuration, tool))
                self._add_part(parent_frame, joint.origin, models, name, link)

    def _add_frame(self, name: str) -> None:
        """Place a frame, after its parent frame."""
        if name in self.frames or name == WORLD:
            return
        parent, pose = self._placements[name]
        self._add_frame(parent)
        if name in self.frames:  # added with the robot or tool of its parent
            return
        if name in self._robots:
            self._add_robot(self._robots[name], parent, pose)
        elif name in self._cell.tools and not self._state.tools[name].hidden:
            self._add_tool(name, parent, pose)
        elif name in self._cell.bodies and not self._state.bodies[name].hidden:
            self._add_body(name, parent, pose)
        elif parent in self.frames:
            parent_frame = self.frames[parent]
            self.frames[name] = PartFrame(parent_frame.multibody, parent_frame.part, parent_frame.pose @ pose)

    def _add_robot(self, robot: Robot, parent: str, pose: Pose) -> None:
        root = robot.mechanism.links[robot.mechanism.root]
        parent_frame = self.frames.get(parent)
        if parent_frame is not None and not self.numbered[parent_frame.multibody].still:
            self._add_fixed(parent_frame, pose, root.name, root)
        else:
            self._add_first(Multibody(robot.name, True), root.name, root)
        self._add_joints(robot.mechanism, self._state.configuration, "")

    def _add_tool(self, name: str, parent: str, pose: Pose) -> None:
        mechanism = self._cell.tools[name].mechanism
        root, link = self._cell.tools[name].frame_of(mechanism.root), mechanism.links[mechanism.root]
        if parent in self.frames:
            self._add_fixed(self.frames[parent], pose, root, link)
        else:
            self._add_first(Multibody(name, True), root, link)
        self.frames[name] = self.frames[root]
        self._add_joints(mechanism, self._state.tools[name].configuration, name)

    def _add_body(self, name: str, parent: str, pose: Pose) -> None:
        body = self._cell.bodies[name]
        parent_frame = self.frames.get(parent)
        if parent_frame is not None and not self.numbered[parent_frame.multibody].still:
            self._add_fixed(parent_frame, pose, name, body)
            return
        still = body.inertial is None or body.inertial.mass == 0.0
        self._add_first(Multibody(name, still, still), name, body)


def _pieces(inertial: Inertial | None, pose: Pose = IDENTITY) -> list[tuple[Pose, Inertial]]:
    return [] if inertial is None else [(pose, inertial)]


def _joint_models(
    mechanism: Mechanism, joint: Joint, configuration: Mapping[str, float], tool: str
) -> Iterator[JointModel]:
    """Return the elementary joints of a joint, from its parent link outwards."""
    prefix = f"{tool}/" if tool else ""
    damping, friction = joint.extras.damping, joint.extras.friction
    if joint.kind in (JointKind.PLANAR, JointKind.FLOATING):
        for name in joint.variables:
            revolute, axis = _elementary(joint, name.rpartition("/")[2])
            start = configuration[name]
            limits = JointLimits()
            yield JointModel(
                prefix + name, name, tool, revolute, axis, limits, start, damping=damping, friction=friction
            )
        return
    source, multiplier, offset = mechanism.mimic_source(joint.name)
    yield JointModel(
        name=prefix + joint.name,
        own_name=joint.name,
        tool=tool,
        revolute=joint.kind is not JointKind.PRISMATIC,
        axis=joint.axis,
        limits=mechanism.limits_of(joint),
        start=multiplier * configuration[source] + offset,
        source="" if joint.mimic is None else prefix + source,
        multiplier=multiplier,
        offset=offset,
        damping=damping,
        friction=friction,
    )


def _elementary(joint: Joint, suffix: str) -> tuple[bool, Vector3]:
    """Return whether an elementary joint is revolute, and its axis; see `placement.motion`."""
    if joint.kind is JointKind.FLOATING:
        return suffix in ROTATION_AXES, AXES[ROTATION_AXES.get(suffix, suffix)]
    first, second = plane_axes(joint.axis)
    return suffix == "theta", {"x": first, "y": second, "theta": joint.axis}[suffix]
