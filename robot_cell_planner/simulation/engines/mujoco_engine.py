"""MuJoCo as the engine of a simulated cell.

The motor of a joint is a friction constraint whose bound is the motor's effort and whose reference is the motor's
velocity instead of rest, so that MuJoCo computes the motors together with contacts and exactly bounded. Between the two
halves of a step (`mj_step1`, `mj_step2`), the reference acceleration of these constraints is shifted accordingly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError, InternalError
from ...model.pose import Pose, normalised
from ...model.value import Vector3
from ..multibody.multibodies import Multibodies, Multibody, PartFrame
from .base import (
    BASE,
    Address,
    JointHandle,
    ObjectContact,
    PhysicsSettings,
    Placement,
    Wrench,
    by_objects,
    forget_link,
)
from .mujoco_model import SPARE_EXCLUSIONS, add_gear, add_multibody, add_spare, compiled, name_of, new_spec
from .mujoco_physics import MujocoPhysics, Pair

# Fraction of its position error that a motor corrects in one step, as in PyBullet.
POSITION_GAIN = 0.2

Array = NDArray[np.float64]


class MujocoEngine:
    """Multibodies of a cell in MuJoCo, see `Engine`. The model is compiled when it is first needed.

    A fixed body that needs more than its strength is not held in the next step, where PyBullet would go on to pull.
    """

    def __init__(self, multibodies: Multibodies, settings: PhysicsSettings) -> None:
        self._settings = settings
        self._items: dict[int, Multibody] = {}  # those that were added so far
        self.object_names: dict[tuple[int, int], str] = {}
        self.anchored: list[Address] = []
        self.joints: list[JointHandle] = []
        self.assumptions: list[str] = []
        self._mass_frames: dict[Address, Pose] = {}
        self._links_of: dict[str, list[Address]] = {}
        self._excluded: set[Pair] = set()
        self._owners: list[str] = []  # of geometries
        self._gears: list[tuple[JointHandle, JointHandle]] = []
        self._compiled: MujocoPhysics | None = None
        for number, item in multibodies.numbered.items():
            self._register(number, item)
        self._spec = self._described()

    def _register(self, number: int, multibody: Multibody) -> list[Address]:
        """Store what the engine has to know of a multibody; return its links."""
        self._items[number] = multibody
        links = [Address(number, index - 1) for index in range(len(multibody.parts))]
        for index, (link, part) in enumerate(zip(links, multibody.parts, strict=True)):
            self.object_names[link] = part.object_name
            self._links_of.setdefault(part.object_name, []).append(link)
            self._mass_frames[link] = part.mass_properties.frame
            if part.joint is not None:
                self.joints.append(JointHandle(part.joint, link))
            if multibody.is_anchored(index):
                self.anchored.append(link)
        return links

    def _described(self) -> Any:
        """Return the description of all multibodies."""
        spec = new_spec(self._settings)
        self.assumptions = [
            text for number, item in self._items.items() for text in add_multibody(spec, number, item, self._settings)
        ]
        return spec

    def add(self, number: int, multibody: Multibody) -> list[Address]:
        """Add a multibody with its number, which is a new one; return its links.

        Raises:
            GeometryError: A mesh cannot be used.
        """
        links = self._register(number, multibody)
        try:
            self._rebuild()
        except BaseException:
            self._forget(number)
            raise
        return links

    def remove(self, number: int) -> list[Address]:
        """Remove a multibody that nothing is fixed to; no links are new."""
        self._forget(number)
        self._rebuild()
        return []

    def _forget(self, number: int) -> None:
        del self._items[number]
        for link in [Address(*each) for each in self.object_names if each[0] == number]:
            forget_link(self._links_of, self.object_names.pop(link), link)
            del self._mass_frames[link]
        self.anchored = [link for link in self.anchored if link.body != number]
        self._excluded = {pair for pair in self._excluded if number not in (pair[0].body, pair[1].body)}

    def _rebuild(self) -> None:
        """Compile a model of the present multibodies, which goes on from the present state."""
        before = self._physics
        self._spec, self._compiled = self._described(), None
        try:
            self._physics.take_over(before)
        except GeometryError:
            self._compiled = before
            raise

    @property
    def _physics(self) -> MujocoPhysics:
        if self._compiled is None:
            links = [Address(*link) for link in self.object_names]
            for follower, leader in self._gears:
                names, model = (name_of(follower.address), name_of(leader.address)), follower.model
                add_gear(self._spec, names, model.multiplier, model.offset, self._settings.time_step)
            if len(links) > 1:
                room = len(self._excluded) + SPARE_EXCLUSIONS
                add_spare(self._spec, (name_of(links[0]), name_of(links[1])), room, self._settings.time_step)
            self._compiled = MujocoPhysics(
                compiled(self._spec), links, {joint.address: joint.model.damping for joint in self.joints}
            )
            self._compiled.exclude(self._excluded)
            geometries = range(self._compiled.model.ngeom)
            self._owners = [self.object_names[self._compiled.link_of(number)] for number in geometries]
            self._compiled.place({}, {joint.address: joint.model.start for joint in self.joints})
        return self._compiled

    @property
    def model_and_data(self) -> tuple[Any, Any]:
        """Model and data of MuJoCo, for programs that use MuJoCo itself."""
        return self._physics.model, self._physics.data

    def close(self) -> None:
        """Release the memory of the engine."""
        self._compiled = None

    def address(self, frame: PartFrame) -> Address:
        """Return the engine link of a part."""
        return Address(frame.multibody, frame.part - 1)

    def pose(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of a frame."""
        return self._physics.pose(self.address(frame)) @ frame.pose

    def mass_frame(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of the centre of mass of a part, with its principal axes."""
        address = self.address(frame)
        return self._physics.pose(address) @ self._mass_frames[address]

    def ignore(self, first: Address, second: Address, passes: bool = True) -> None:
        """Disable collision between two links, or enable it again."""
        (self._excluded.add if passes else self._excluded.discard)(_pair(first, second))
        if self._compiled is not None:
            self._compiled.exclude(self._excluded)

    def let_pass(self, first: str, second: str, passes: bool) -> None:
        """Disable collision between two objects, or enable it again."""
        pairs = {_pair(one, other) for one in self._links_of.get(first, ()) for other in self._links_of.get(second, ())}
        (self._excluded.update if passes else self._excluded.difference_update)(pairs)
        self._physics.exclude(self._excluded)

    def free(self, joint: JointHandle) -> None:
        """Leave a joint to friction."""
        if self._compiled is not None:
            self._compiled.drive(joint.address, joint.model.friction, 0.0)

    def gear(self, follower: JointHandle, leader: JointHandle) -> None:
        """Couple a mimic joint to its source."""
        if self._compiled is not None:
            raise InternalError("a simulation that runs takes no further gears", stage="simulation")
        self._gears.append((follower, leader))

    def joint_values(self, body: int, links: list[int]) -> list[tuple[float, float, float]]:
        """Return position, velocity and effort of the engine's motor for joints of one multibody."""
        return self._physics.joint_values(body, links)

    def drive_positions(self, body: int, links: list[int], rows: Sequence[tuple[float, float, float]]) -> None:
        """Let the engine's motors move joints of one multibody in the next step; a row: position, velocity and max
        effort."""
        self._physics.drive_positions(body, links, rows, POSITION_GAIN / self._settings.time_step)

    def drive_efforts(self, body: int, links: list[int], efforts: list[float]) -> None:
        """Apply efforts to joints of one multibody in the next step; they have to be free, see `free`."""
        for link, effort in zip(links, efforts, strict=True):
            self._physics.apply(Address(body, link), effort)

    def put(self, joint: JointHandle, position: float, velocity: float) -> None:
        """Set position [rad or m] and velocity [rad/s or m/s] of a joint."""
        self._physics.put(joint.address, position, velocity)

    def step(self) -> None:
        """Advance by one time step."""
        self._physics.step()

    def bodies_are_slower(self, speed: float) -> bool:
        """Return whether everything that moves freely is slower than a speed [m/s and rad/s]."""
        return self._physics.bodies_are_slower(speed)

    def fix(self, hand: PartFrame, body: PartFrame, strength: float) -> int:
        """Attach a body to a part at its current pose, by forces up to `strength` [N]; return the constraint number.

        Raises:
            LimitExceededError: Too many bodies are held.
        """
        hand_T_body = self.pose(PartFrame(hand.multibody, hand.part)).inverse() @ self.pose(
            PartFrame(body.multibody, body.part)
        )
        return self._physics.weld(self.address(hand), self.address(body), hand_T_body, strength)

    def unfix(self, constraint: int) -> None:
        """Remove a constraint."""
        self._physics.unweld(constraint)

    def push(self, frame: PartFrame, force: Vector3, torque: Vector3) -> None:
        """Apply a force [N] and a torque [Nm] at the origin of a frame, in world axes, in the next step."""
        self._physics.push(self.address(frame), self.pose(frame).position, force, torque)

    def load(self, frame: PartFrame, mass: float) -> None:
        """Add a mass [kg] at the centre of mass of the part of a frame; 0 for its own mass."""
        part = self._items[frame.multibody].parts[frame.part]
        self._physics.set_mass(self.address(frame), part.mass_properties.mass + mass)

    def watch(self, frame: PartFrame) -> None:
        """Measure at the joint or mount of a part from the next step on."""
        self._physics.watched.setdefault(self.address(frame), (np.zeros(3), np.zeros(3)))

    def transmitted(self, frame: PartFrame, at: Pose) -> Wrench:
        """Return the wrench that the parent of a part exerts on it at the origin of a pose, in world axes."""
        address = self.address(frame)
        link = self._physics.pose(address)
        force, torque = (link.matrix[:3, :3] @ each for each in self._physics.watched[address])
        return Wrench(force, torque + np.cross(np.array(link.position) - np.array(at.position), force))

    def contacts(self) -> tuple[ObjectContact, ...]:
        """Return the contacts of the latest step by object name, without contacts between parts of one object."""
        owners, physics = self._owners, self._physics
        return by_objects(
            [
                (owners[one], owners[other], depth, force, normal)
                for one, other, depth, force, normal in physics.contacts()
            ]
        )

    def bounds(self) -> tuple[Array, Array]:
        """Return the corners of the box around everything that moves [m]; around all if nothing does."""
        return self._physics.bounds({joint.address.body for joint in self.joints})

    @property
    def placement(self) -> Placement:
        """Values of all joints, and poses of the centres of mass of all multibodies that move freely."""
        joints = tuple(self._physics.position(joint.address) for joint in self.joints)
        poses = (self.mass_frame(PartFrame(number, 0)) for number in self._free())
        return Placement(joints, tuple((*pose.position, *pose.quaternion) for pose in poses))

    def place(self, placement: Placement) -> None:
        """Place everything at rest as in another engine of the same multibodies."""
        bodies: dict[Address, Pose] = {}
        for number, (x, y, z, *quaternion) in zip(self._free(), placement.bodies, strict=True):
            qx, qy, qz, qw = quaternion
            link = Address(number, BASE)
            bodies[link] = Pose((x, y, z), normalised((qx, qy, qz, qw))) @ self._mass_frames[link].inverse()
        joints = zip(self.joints, placement.joints, strict=True)
        self._physics.place(bodies, {joint.address: value for joint, value in joints})

    def _free(self) -> list[int]:
        return [number for number, item in self._items.items() if not item.fixed]


def _pair(first: Address, second: Address) -> Pair:
    return (first, second) if first < second else (second, first)
