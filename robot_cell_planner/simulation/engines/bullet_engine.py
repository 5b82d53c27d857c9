"""PyBullet as the engine of a simulated cell, with the mapping between cell frames and engine links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pybullet
from numpy.typing import NDArray

from ...errors import NotSupportedError
from ...model.pose import Pose, normalised
from ...model.value import Vector3
from ..multibody.multibodies import JointModel, Multibodies, Multibody, Part, PartFrame
from ..multibody.solids import is_surface
from .base import (
    BASE,
    Address,
    ContactPoint,
    JointHandle,
    ObjectContact,
    PhysicsSettings,
    Placement,
    Wrench,
    by_objects,
    end_stops,
    forget_link,
)
from .bullet_forces import apply_wrench
from .bullet_links import bounds_of, create
from .static_groups import Member, StaticGroups, as_multibody

SOLVER_ITERATIONS = 50
# Fraction of its position error that a motor corrects in one step; at 1 the motors of a chain disturb each other.
POSITION_GAIN = 0.2
GEAR_ERP = 0.5
GEAR_FORCE = 1e4  # [N or Nm]
REACTION, MOTOR_EFFORT = 2, 3  # in a joint state of the engine


class BulletEngine:
    """Multibodies of a cell in PyBullet, see `Engine`.

    Args:
        grouped: Whether static bodies of many are grouped, see `static_groups`; images show no names of these.

    Attributes:
        idle: Links of joints whose motors in the engine are off; it keeps reporting their last effort.
        colours: Colours that links have in images, where they are not painted yet.

    Raises:
        NotSupportedError: Too many engines are open in this process.
        LimitExceededError: A multibody has more links than the engine supports.
        GeometryError: A mesh cannot be read or used.
    """

    def __init__(self, multibodies: Multibodies, settings: PhysicsSettings, *, grouped: bool = False) -> None:
        self.client = int(pybullet.connect(pybullet.DIRECT))
        if self.client < 0:
            raise NotSupportedError("no further physics engine can be opened in this process", stage="simulation")
        self._settings = settings
        self._bodies: dict[int, int] = {}  # by number of the multibody
        self._free: list[int] = []
        self._groups = StaticGroups(grouped)
        self.object_names: dict[tuple[int, int], str] = {}
        self.anchored: list[Address] = []
        self._links_of: dict[str, list[Address]] = {}
        self._mass_frames: dict[Address, Pose] = {}
        self.joints: list[JointHandle] = []
        self._models: dict[Address, JointModel] = {}
        self.assumptions: list[str] = []
        self.idle: set[Address] = set()
        self._own_masses: dict[Address, float] = {}
        self.colours: dict[Address, tuple[float, float, float, float]] = {}
        try:
            self._set_up()
            alone, groups = self._groups.split(multibodies.numbered)
            for number, multibody in alone.items():
                self.add(number, multibody)
            self._add_groups(groups)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the memory of the engine."""
        if self.client >= 0:
            pybullet.disconnect(physicsClientId=self.client)
            self.client = -1

    def _set_up(self) -> None:
        pybullet.setPhysicsEngineParameter(
            fixedTimeStep=self._settings.time_step,
            numSolverIterations=SOLVER_ITERATIONS,
            numSubSteps=0,
            deterministicOverlappingPairs=1,
            enableFileCaching=0,
            physicsClientId=self.client,
        )
        pybullet.setGravity(*self._settings.gravity, physicsClientId=self.client)

    @property
    def has_groups(self) -> bool:
        """Whether static bodies are grouped, so that images do not show which is which."""
        return bool(self._groups.members)

    def add(self, number: int, multibody: Multibody) -> list[Address]:
        """Add a multibody with its number, which is a new one; return the links that are new.

        Raises:
            GeometryError: A mesh cannot be used.
            LimitExceededError: It has more links than the engine supports.
        """
        assert number not in self._bodies
        links = self._create(multibody)
        self._bodies[number] = links[0].body
        groups = self._groups.with_another(number, multibody)
        for member in (member for group in groups for member in group):
            self._forget(self._bodies.pop(member.number))
        return self._add_groups(groups) if groups else links

    def _add_groups(self, groups: Iterable[Sequence[Member]]) -> list[Address]:
        links: list[Address] = []
        for members in groups:
            links += self._create(as_multibody(members), self._unseen_shape())
            self._bodies |= self._groups.take(links[-1].body, members)
        return links

    def _unseen_shape(self) -> int:
        """Return a shape for groups, which no image shows."""
        size = [1e-3] * 3
        return int(pybullet.createVisualShape(pybullet.GEOM_BOX, halfExtents=size, physicsClientId=self.client))

    def _create(self, multibody: Multibody, visual: int = -1) -> list[Address]:
        """Create a multibody in the engine; return its links. visual: See `create`."""
        body = create(self.client, multibody, visual)
        if not multibody.fixed:
            self._free.append(body)
        links = [Address(body, index - 1) for index in range(len(multibody.parts))]
        for index, (address, part) in enumerate(zip(links, multibody.parts, strict=True)):
            self._finish(address, part)
            if multibody.is_anchored(index):
                self.anchored.append(address)
        return links

    def remove(self, number: int) -> list[Address]:
        """Remove a multibody that nothing is fixed to; return links that are new, of others that were in its group."""
        body = self._bodies.pop(number)
        self._forget(body)
        return self._add_groups(self._groups.without(body, number))

    def _forget(self, body: int) -> None:
        """Remove a body of the engine."""
        pybullet.removeBody(body, physicsClientId=self.client)
        self._free = [each for each in self._free if each != body]
        self.anchored = [link for link in self.anchored if link.body != body]
        for link in [Address(*each) for each in self.object_names if each[0] == body]:
            forget_link(self._links_of, self.object_names.pop(link), link)
            del self._mass_frames[link]
            self.colours.pop(link, None)
            self._own_masses.pop(link, None)

    def _finish(self, address: Address, part: Part) -> None:
        """Set the properties that are not arguments of createMultiBody."""
        self.object_names[address] = part.object_name
        self._links_of.setdefault(part.object_name, []).append(address)
        inertia = part.mass_properties
        self._mass_frames[address] = inertia.frame
        colours = [shape.rgba for shape in part.shapes if shape.rgba is not None]
        if colours and part.geometries:
            self.colours[address] = colours[0]
        changes: dict[str, Any] = {
            # For a contact, the engine multiplies the values of both objects.
            "lateralFriction": math.sqrt(self._settings.friction),
            "spinningFriction": self._settings.spinning_friction,
            # Friction anchors store where a contact began to stick; without them a grasped object creeps by 0.05 mm/s.
            "frictionAnchor": 1,
            "restitution": 0.0,
        }
        if inertia.mass > 0.0:
            changes["localInertiaDiagonal"] = inertia.moments
        if address.link == BASE:
            changes |= {"linearDamping": 0.0, "angularDamping": 0.0, "maxJointVelocity": 1e4}
        if is_surface(part.geometries):
            changes["collisionMargin"] = 0.0
        if part.joint is not None:
            changes["jointDamping"] = part.joint.damping
            stops = end_stops(part.joint)
            if stops is not None:
                changes |= {"jointLowerLimit": stops[0], "jointUpperLimit": stops[1]}
            self.joints.append(JointHandle(part.joint, address))
            self._models[address] = part.joint
            pybullet.resetJointState(address.body, address.link, part.joint.start, physicsClientId=self.client)
        pybullet.changeDynamics(address.body, address.link, physicsClientId=self.client, **changes)

    def address(self, frame: PartFrame) -> Address:
        """Return the engine link of a part."""
        return Address(self._bodies[frame.multibody], frame.part - 1)

    def pose(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of a frame."""
        if frame.multibody in self._groups.poses:
            return self._groups.poses[frame.multibody] @ frame.pose
        address = self.address(frame)
        if address.link == BASE:
            position, quaternion = pybullet.getBasePositionAndOrientation(address.body, physicsClientId=self.client)
            return Pose(position, normalised(quaternion)) @ self._mass_frames[address].inverse() @ frame.pose
        state = pybullet.getLinkState(*address, computeForwardKinematics=1, physicsClientId=self.client)
        return Pose(state[4], normalised(state[5])) @ frame.pose

    def ignore(self, first: Address, second: Address, passes: bool = True) -> None:
        """Disable collision between two links, or enable it again."""
        pybullet.setCollisionFilterPair(
            first.body, second.body, first.link, second.link, int(not passes), physicsClientId=self.client
        )

    def let_pass(self, first: str, second: str, passes: bool) -> None:
        """Disable collision between two objects, or enable it again."""
        for one in self._links_of.get(first, ()):
            for other in self._links_of.get(second, ()):
                self.ignore(one, other, passes)

    def free(self, joint: JointHandle) -> None:
        """Leave a joint to friction, without the engine's default motor, which would hold it against torques."""
        if joint.model.friction == 0.0:
            self.idle.add(joint.address)
        pybullet.setJointMotorControl2(
            *joint.address, pybullet.VELOCITY_CONTROL, force=joint.model.friction, physicsClientId=self.client
        )

    def gear(self, follower: JointHandle, leader: JointHandle) -> None:
        """Couple a mimic joint to its source."""
        constraint = pybullet.createConstraint(
            *follower.address,
            *leader.address,
            pybullet.JOINT_GEAR,
            follower.model.axis,
            (0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0),
            physicsClientId=self.client,
        )
        pybullet.changeConstraint(
            constraint,
            gearRatio=-follower.model.multiplier,
            relativePositionTarget=follower.model.offset,
            erp=GEAR_ERP,
            maxForce=GEAR_FORCE,
            physicsClientId=self.client,
        )

    def joint_values(self, body: int, links: list[int]) -> list[tuple[float, float, float]]:
        """Return position, velocity and effort of the engine's motor for joints of one multibody."""
        states = pybullet.getJointStates(body, links, physicsClientId=self.client)
        return [(state[0], state[1], state[3]) for state in states]

    def drive_positions(self, body: int, links: list[int], rows: Sequence[tuple[float, float, float]]) -> None:
        """Let the engine's motors move joints of one multibody in the next step; a row: position, velocity and max
        effort."""
        if self.idle:
            self.idle.difference_update(Address(body, link) for link in links)
        positions, velocities, efforts = zip(*rows, strict=True)
        pybullet.setJointMotorControlArray(
            body,
            links,
            pybullet.POSITION_CONTROL,
            targetPositions=positions,
            targetVelocities=velocities,
            forces=efforts,
            positionGains=[POSITION_GAIN] * len(links),
            velocityGains=[1.0] * len(links),
            physicsClientId=self.client,
        )

    def drive_efforts(self, body: int, links: list[int], efforts: list[float]) -> None:
        """Apply efforts to joints of one multibody in the next step; they have to be free, see `free`."""
        pybullet.setJointMotorControlArray(
            body, links, pybullet.TORQUE_CONTROL, forces=efforts, physicsClientId=self.client
        )

    def put(self, joint: JointHandle, position: float, velocity: float) -> None:
        """Set position [rad or m] and velocity [rad/s or m/s] of a joint."""
        pybullet.resetJointState(*joint.address, position, velocity, physicsClientId=self.client)

    def step(self) -> None:
        """Advance by one time step."""
        pybullet.stepSimulation(physicsClientId=self.client)

    def bodies_are_slower(self, speed: float) -> bool:
        """Return whether everything that moves freely is slower than a speed [m/s and rad/s]."""
        for body in self._free:
            linear, angular = pybullet.getBaseVelocity(body, physicsClientId=self.client)
            if not all(-speed < value < speed for value in (*linear, *angular)):
                return False
        return True

    def fix(self, hand: PartFrame, body: PartFrame, strength: float) -> int:
        """Attach a body to a part at its current pose, by forces [N] and torques [Nm] up to `strength`; return the
        constraint number."""
        parent, child = self.address(hand), self.address(body)
        hand_T_body = self.mass_frame(hand).inverse() @ self.mass_frame(body)
        constraint = pybullet.createConstraint(
            *parent,
            *child,
            pybullet.JOINT_FIXED,
            (0.0, 0.0, 0.0),
            parentFramePosition=hand_T_body.position,
            childFramePosition=(0.0, 0.0, 0.0),
            parentFrameOrientation=hand_T_body.quaternion,
            childFrameOrientation=(0.0, 0.0, 0.0, 1.0),
            physicsClientId=self.client,
        )
        pybullet.changeConstraint(constraint, maxForce=strength, physicsClientId=self.client)
        return int(constraint)

    def unfix(self, constraint: int) -> None:
        """Remove a constraint."""
        pybullet.removeConstraint(constraint, physicsClientId=self.client)

    def push(self, frame: PartFrame, force: Vector3, torque: Vector3) -> None:
        """Apply a force [N] and a torque [Nm] at the origin of a frame, in world axes, in the next step.

        The torque is applied as a couple of forces, because the engine's own torques of bases and links have different
        axes.
        """
        apply_wrench(self.client, self.address(frame), self.pose(frame).position, force, torque)

    def load(self, frame: PartFrame, mass: float) -> None:
        """Add a mass [kg] at the centre of mass of the part of a frame; 0 for its own mass."""
        address = self.address(frame)
        found = pybullet.getDynamicsInfo(*address, physicsClientId=self.client)
        own = self._own_masses.setdefault(address, found[0])
        pybullet.changeDynamics(*address, mass=own + mass, localInertiaDiagonal=found[2], physicsClientId=self.client)

    def watch(self, frame: PartFrame) -> None:
        """Measure at the joint or mount of a part from the next step on."""
        pybullet.enableJointForceTorqueSensor(*self.address(frame), enableSensor=1, physicsClientId=self.client)

    def transmitted(self, frame: PartFrame, at: Pose) -> Wrench:
        """Return the wrench that the parent of a part exerts on it at the origin of a pose, in world axes.

        The engine reports what a joint transmits to its link from the link's equation of motion, which contains
        contacts and external forces, but not the effort of a motor about the joint's own axis; that is added. End stops
        are not in the equation and are missing.
        """
        address = self.address(frame)
        state = pybullet.getJointState(*address, physicsClientId=self.client)
        centre = self.mass_frame(frame)  # at which, and in whose axes, the engine reports
        rotation = centre.matrix[:3, :3]
        force, torque = rotation @ np.array(state[REACTION][:3]), rotation @ np.array(state[REACTION][3:])
        model = self._models.get(address)
        if model is not None and address not in self.idle:
            link = self.pose(PartFrame(frame.multibody, frame.part))
            axis, effort = link.matrix[:3, :3] @ np.array(model.axis), state[MOTOR_EFFORT]
            if model.revolute:
                torque = torque + effort * axis
            else:
                force = force + effort * axis
        arm = np.array(centre.position) - np.array(at.position)
        return Wrench(force, torque + np.cross(arm, force))

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the corners of the box around everything that moves [m]; around all if nothing does."""
        moving = sorted({joint.address.body for joint in self.joints})
        return bounds_of(self.client, moving or self._bodies.values())

    @property
    def placement(self) -> Placement:
        """Values of all joints, and poses of the centres of mass of all multibodies that move freely."""
        joints = [pybullet.getJointState(*joint.address, physicsClientId=self.client)[0] for joint in self.joints]
        poses = [pybullet.getBasePositionAndOrientation(body, physicsClientId=self.client) for body in self._free]
        return Placement(tuple(joints), tuple((*position, *quaternion) for position, quaternion in poses))

    def place(self, placement: Placement) -> None:
        """Place everything at rest as in another engine of the same multibodies."""
        for body, values in zip(self._free, placement.bodies, strict=True):
            pybullet.resetBasePositionAndOrientation(body, values[:3], values[3:], physicsClientId=self.client)
        for joint, value in zip(self.joints, placement.joints, strict=True):
            pybullet.resetJointState(*joint.address, value, physicsClientId=self.client)

    def mass_frame(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of the centre of mass of a part, which constraints of the engine refer to."""
        return self.pose(PartFrame(frame.multibody, frame.part)) @ self._mass_frames[self.address(frame)]

    def contacts(self) -> tuple[ObjectContact, ...]:
        """Return the current contacts by object name, without contacts between parts of one object."""
        points: list[ContactPoint] = []
        names = self.object_names
        for point in pybullet.getContactPoints(physicsClientId=self.client):
            distance, force = point[8], point[9]
            if distance <= 0.0 or force > 0.0:
                # The normal points from the second object to the first.
                first = names[point[1], point[3]] or self._groups.name_at(point[1], point[5])
                second = names[point[2], point[4]] or self._groups.name_at(point[2], point[6])
                points.append((first, second, -distance, force, point[7]))
        return by_objects(points)
