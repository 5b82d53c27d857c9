"""Interface of the physics engines, and the values that a simulation exchanges with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...model.pose import Pose
from ...model.value import Vector3
from ..multibody.multibodies import JointModel, Multibody, PartFrame

BASE = -1
END_STOP_SLACK = 1e-3  # [rad or m]

Array = NDArray[np.float64]


class Address(NamedTuple):
    """Link in an engine: body number and link index (-1 for the base)."""

    body: int
    link: int


class JointHandle(NamedTuple):
    """Joint and the engine link that it moves."""

    model: JointModel
    address: Address


class Wrench(NamedTuple):
    """Force (3,) [N] and torque (3,) [Nm] at the origin of a frame, in its axes."""

    force: Array
    torque: Array


class Placement(NamedTuple):
    """Placement of all objects: values of joints, and position and quaternion of what moves freely, in the order of the
    engine."""

    joints: tuple[float, ...]
    bodies: tuple[tuple[float, ...], ...]


class ObjectContact(msgspec.Struct, frozen=True, order=True):
    """Two objects in contact, in alphabetical order.

    depth: Max penetration [m]. force: Sum of the magnitudes of the normal forces [N]. push: Total normal force on the
    first object, as a vector in the world [N].
    """

    first: str
    second: str
    depth: float
    force: float
    push: Vector3

    @property
    def pair(self) -> tuple[str, str]:
        """Names of the two objects."""
        return self.first, self.second


# Point of contact of two objects: their names, penetration [m], normal force [N], and normal towards the first object.
ContactPoint: TypeAlias = tuple[str, str, float, float, Sequence[float]]


class PhysicsSettings(Protocol):
    """Settings of an engine, see `SimulationOptions`."""

    @property
    def time_step(self) -> float: ...
    @property
    def gravity(self) -> Vector3: ...
    @property
    def friction(self) -> float: ...
    @property
    def spinning_friction(self) -> float: ...


class Engine(Protocol):
    """Multibodies of a cell in a physics engine. Close it when it is no longer needed.

    Attributes:
        object_names: Name of the object that the shapes of a link belong to.
        anchored: Links that can never move.
        joints: Joints by multibody and part.
        assumptions: Assumptions about values that the engine cannot simulate as they are, as sentences.
    """

    object_names: dict[tuple[int, int], str]
    anchored: list[Address]
    joints: list[JointHandle]
    assumptions: list[str]

    def close(self) -> None:
        """Release the memory of the engine."""

    def add(self, number: int, multibody: Multibody) -> list[Address]:
        """Add a multibody with its number, which is a new one; return the links that are new.

        Raises:
            GeometryError: A mesh cannot be used.
        """

    def remove(self, number: int) -> list[Address]:
        """Remove a multibody that nothing is fixed to; return links that are new, of others that were one object of
        the engine with it."""

    def address(self, frame: PartFrame) -> Address:
        """Return the engine link of a part."""

    def pose(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of a frame."""

    def mass_frame(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of the centre of mass of a part, with its principal axes."""

    def ignore(self, first: Address, second: Address, passes: bool = True) -> None:
        """Disable collision between two links, or enable it again."""

    def let_pass(self, first: str, second: str, passes: bool) -> None:
        """Disable collision between two objects, or enable it again."""

    def free(self, joint: JointHandle) -> None:
        """Leave a joint to friction."""

    def gear(self, follower: JointHandle, leader: JointHandle) -> None:
        """Couple a mimic joint to its source."""

    def joint_values(self, body: int, links: list[int]) -> list[tuple[float, float, float]]:
        """Return position, velocity and effort of the engine's motor for joints of one multibody."""

    def drive_positions(self, body: int, links: list[int], rows: Sequence[tuple[float, float, float]]) -> None:
        """Let the engine's motors move joints of one multibody in the next step; a row: position, velocity and max
        effort."""

    def drive_efforts(self, body: int, links: list[int], efforts: list[float]) -> None:
        """Apply efforts to joints of one multibody in the next step; they have to be free, see `free`."""

    def put(self, joint: JointHandle, position: float, velocity: float) -> None:
        """Set position [rad or m] and velocity [rad/s or m/s] of a joint."""

    def step(self) -> None:
        """Advance by one time step."""

    def bodies_are_slower(self, speed: float) -> bool:
        """Return whether everything that moves freely is slower than a speed [m/s and rad/s]."""

    def fix(self, hand: PartFrame, body: PartFrame, strength: float) -> int:
        """Attach a body to a part at its current pose, by forces [N] and torques [Nm] up to `strength`; return the
        constraint number."""

    def unfix(self, constraint: int) -> None:
        """Remove a constraint."""

    def push(self, frame: PartFrame, force: Vector3, torque: Vector3) -> None:
        """Apply a force [N] and a torque [Nm] at the origin of a frame, in world axes, in the next step."""

    def load(self, frame: PartFrame, mass: float) -> None:
        """Add a mass [kg] at the centre of mass of the part of a frame; 0 for its own mass."""

    def watch(self, frame: PartFrame) -> None:
        """Measure at the joint or mount of a part from the next step on."""

    def transmitted(self, frame: PartFrame, at: Pose) -> Wrench:
        """Return the wrench that the parent of a part exerts on it at the origin of a pose, in world axes."""

    def contacts(self) -> tuple[ObjectContact, ...]:
        """Return the current contacts by object name, without contacts between parts of one object."""

    def bounds(self) -> tuple[Array, Array]:
        """Return the corners of the box around everything that moves [m]; around all if nothing does."""

    @property
    def placement(self) -> Placement:
        """Values of all joints, and poses of the centres of mass of all multibodies that move freely."""

    def place(self, placement: Placement) -> None:
        """Place everything at rest as in another engine of the same multibodies."""


def forget_link(links_of: dict[str, list[Address]], name: str, link: Address) -> None:
    """Remove a link from those of an object, and the object with its last one."""
    links_of[name].remove(link)
    if not links_of[name]:
        del links_of[name]


def end_stops(joint: JointModel) -> tuple[float, float] | None:
    """Return slightly widened joint limits [rad or m], so that they do not disturb a motor that holds the joint at a
    limit; None without limits."""
    limits = joint.limits
    if joint.source or not (math.isfinite(limits.lower) and math.isfinite(limits.upper)):
        return None
    lower, upper = min(limits.lower, joint.start), max(limits.upper, joint.start)
    return lower - END_STOP_SLACK, upper + END_STOP_SLACK


def by_objects(points: Sequence[ContactPoint]) -> tuple[ObjectContact, ...]:
    """Return the contacts between objects that points of contact belong to."""
    found: dict[tuple[str, str], list[float]] = {}
    for one, other, depth, force, (x, y, z) in points:
        if one == other:
            continue
        pair, sign = ((one, other), force) if one < other else ((other, one), -force)
        entry = found.get(pair)
        if entry is None:
            entry = found[pair] = [0.0] * 5
        if depth > entry[0]:
            entry[0] = depth
        entry[1] += force
        entry[2] += sign * x
        entry[3] += sign * y
        entry[4] += sign * z
    return tuple(
        ObjectContact(*pair, entry[0], entry[1], (entry[2], entry[3], entry[4]))
        for pair, entry in sorted(found.items())
    )
