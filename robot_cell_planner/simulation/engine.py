"""PyBullet engine of a simulated cell, with the mapping between cell frames and engine links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import pybullet

from ..errors import LimitExceededError, NotSupportedError, Value
from ..model.pose import Pose, normalised
from .contacts import Contact
from .multibody import JointModel, Multibodies, Multibody, Part, PartFrame
from .options import SimulationOptions
from .shapes import collision_shape, is_surface

BASE = -1
MAX_LINKS = 120  # per multibody; the engine supports 128 degrees of freedom
SOLVER_ITERATIONS = 50
END_STOP_SLACK = 1e-3  # [rad or m]


class Address(NamedTuple):
    """Link in the engine: body number and link index (-1 for the base)."""

    body: int
    link: int


class JointHandle(NamedTuple):
    """Joint and the engine link that it moves."""

    model: JointModel
    address: Address


class Engine:
    """Multibodies of a cell in one PyBullet engine. Close it when it is no longer needed.

    Attributes:
        owners: Name of the object that the shapes of a link belong to.
        anchored: Links that can never move.
        joints: Joints by multibody and part.

    Raises:
        NotSupportedError: Too many engines are open in this process.
        LimitExceededError: A multibody has more links than the engine supports.
        GeometryError: A mesh cannot be read or used.
    """

    def __init__(self, assemblies: Multibodies, options: SimulationOptions) -> None:
        self.client = int(pybullet.connect(pybullet.DIRECT))
        if self.client < 0:
            raise NotSupportedError("no further physics engine can be opened in this process", stage="simulation")
        self._options = options
        self._bodies: list[int] = []
        self.owners: dict[tuple[int, int], str] = {}
        self.anchored: list[Address] = []
        self._links_of: dict[str, list[Address]] = {}
        self._mass_frames: dict[Address, Pose] = {}
        self.joints: list[JointHandle] = []
        try:
            self._set_up()
            for assembly in assemblies.items:
                self._add(assembly)
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
            fixedTimeStep=self._options.time_step,
            numSolverIterations=SOLVER_ITERATIONS,
            numSubSteps=0,
            deterministicOverlappingPairs=1,
            enableFileCaching=0,
            physicsClientId=self.client,
        )
        pybullet.setGravity(*self._options.gravity, physicsClientId=self.client)

    def _add(self, assembly: Multibody) -> None:
        if len(assembly.parts) > MAX_LINKS:
            raise LimitExceededError(
                f"{assembly.name} has too many links for the physics engine",
                stage="simulation",
                subjects=(assembly.name,),
                values=(Value("links", len(assembly.parts), MAX_LINKS),),
            )
        first = assembly.parts[0]
        inertia = first.mass_properties
        body = int(
            pybullet.createMultiBody(
                baseMass=0.0 if assembly.fixed else inertia.mass,
                baseCollisionShapeIndex=collision_shape(self.client, first.geometries),
                basePosition=first.pose.position,
                baseOrientation=normalised(first.pose.quaternion),
                baseInertialFramePosition=inertia.frame.position,
                baseInertialFrameOrientation=inertia.frame.quaternion,
                flags=pybullet.URDF_USE_SELF_COLLISION,
                physicsClientId=self.client,
                **self._link_arguments(assembly.parts[1:]),
            )
        )
        self._bodies.append(body)
        for index, part in enumerate(assembly.parts):
            address = Address(body, index - 1)
            self._finish(address, part)
            if assembly.is_anchored(index):
                self.anchored.append(address)

    def _link_arguments(self, parts: Sequence[Part]) -> dict[str, Any]:
        """Return the arguments of createMultiBody for all parts but the first."""
        if not parts:
            return {}
        inertias = [part.mass_properties for part in parts]
        return {
            "linkMasses": [inertia.mass for inertia in inertias],
            "linkCollisionShapeIndices": [collision_shape(self.client, part.geometries) for part in parts],
            "linkVisualShapeIndices": [-1] * len(parts),
            "linkPositions": [part.pose.position for part in parts],
            "linkOrientations": [normalised(part.pose.quaternion) for part in parts],
            "linkInertialFramePositions": [inertia.frame.position for inertia in inertias],
            "linkInertialFrameOrientations": [inertia.frame.quaternion for inertia in inertias],
            "linkParentIndices": [part.parent for part in parts],
            "linkJointTypes": [_joint_type(part.joint) for part in parts],
            "linkJointAxis": [(1.0, 0.0, 0.0) if part.joint is None else part.joint.axis for part in parts],
        }

    def _finish(self, address: Address, part: Part) -> None:
        """Set the properties that are not arguments of createMultiBody."""
        self.owners[address] = part.owner
        self._links_of.setdefault(part.owner, []).append(address)
        inertia = part.mass_properties
        self._mass_frames[address] = inertia.frame
        changes: dict[str, Any] = {
            # For a contact, the engine multiplies the values of both objects.
            "lateralFriction": math.sqrt(self._options.friction),
            "spinningFriction": self._options.spinning_friction,
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
            changes |= _end_stops(part.joint)
            self.joints.append(JointHandle(part.joint, address))
            pybullet.resetJointState(address.body, address.link, part.joint.start, physicsClientId=self.client)
        pybullet.changeDynamics(address.body, address.link, physicsClientId=self.client, **changes)

    def address(self, frame: PartFrame) -> Address:
        """Return the engine link of a part."""
        return Address(self._bodies[frame.assembly], frame.part - 1)

    def pose(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of a frame."""
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
        for one in self._links_of[first]:
            for other in self._links_of[second]:
                self.ignore(one, other, passes)

    def fix(self, hand: PartFrame, body: PartFrame, strength: float) -> int:
        """Attach a body to a part at its current pose, by forces [N] and torques [Nm] up to `strength`; return the
        constraint number."""
        parent, child = self.address(hand), self.address(body)
        hand_T_body = self._mass_frame(hand).inverse() @ self._mass_frame(body)
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

    def _mass_frame(self, frame: PartFrame) -> Pose:
        """Return world_T_frame of the centre of mass of a part, which constraints of the engine refer to."""
        return self.pose(PartFrame(frame.assembly, frame.part)) @ self._mass_frames[self.address(frame)]

    def unfix(self, constraint: int) -> None:
        """Remove a constraint."""
        pybullet.removeConstraint(constraint, physicsClientId=self.client)

    def contacts(self) -> tuple[Contact, ...]:
        """Return the current contacts by object name, without contacts between parts of one object."""
        found: dict[tuple[str, str], list[float]] = {}
        for point in pybullet.getContactPoints(physicsClientId=self.client):
            distance, force = point[8], point[9]
            if distance > 0.0 and force <= 0.0:
                continue
            one, other = self.owners[point[1], point[3]], self.owners[point[2], point[4]]
            if one == other:
                continue
            # The normal points from the second object to the first.
            pair, sign = ((one, other), force) if one < other else ((other, one), -force)
            entry = found.setdefault(pair, [0.0] * 5)
            entry[0] = max(entry[0], -distance)
            entry[1] += force
            for axis, part in enumerate(point[7]):
                entry[2 + axis] += sign * part
        return tuple(
            Contact(*pair, entry[0], entry[1], (entry[2], entry[3], entry[4])) for pair, entry in sorted(found.items())
        )


def _end_stops(joint: JointModel) -> dict[str, float]:
    """Return slightly widened joint limits, so that they do not disturb a motor that holds the joint at a limit."""
    limits = joint.limits
    if joint.source or not (math.isfinite(limits.lower) and math.isfinite(limits.upper)):
        return {}
    lower, upper = min(limits.lower, joint.start), max(limits.upper, joint.start)
    return {"jointLowerLimit": lower - END_STOP_SLACK, "jointUpperLimit": upper + END_STOP_SLACK}


def _joint_type(joint: JointModel | None) -> int:
    if joint is None:
        return int(pybullet.JOINT_FIXED)
    return int(pybullet.JOINT_REVOLUTE if joint.turns else pybullet.JOINT_PRISMATIC)
