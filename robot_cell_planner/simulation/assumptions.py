"""Masses and efforts of a multibody that its description does not specify."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..errors import GeometryError
from ..io.mesh.inertia import uniform_inertial
from ..kinematics.effort_limits import efforts_of_motions, weak_joints
from ..model.cell import RobotCell
from ..model.mechanism import Inertial
from ..model.name_suggestions import listed
from ..model.placement import Placements
from ..model.pose import IDENTITY, Pose
from ..model.value import Vector3, vector3
from .multibody.inertia import MassProperties
from .multibody.multibodies import JointModel, Multibodies, Multibody, Part

GRAIN = Inertial(mass=1e-3, inertia=(1e-9, 0.0, 0.0, 1e-9, 0.0, 1e-9))
GRAVITY = 9.81  # [m/s2]
LOAD_FRACTION = 0.5  # of the effort of a motor that the masses need at most, if either is assumed
MIN_FACTOR = 1e-4  # of the assumed density

Floats = NDArray[np.float64]


def assume_masses_and_efforts(multibody: Multibody, density: float) -> list[str]:
    """Complete a multibody in place; return the assumptions as sentences.

    Links that have shapes but, together with the links that are fixed to them, no mass get the density [kg/m3]. It is
    lowered until the joints whose effort limits are given hold these masses with half their effort. Joints without an
    effort limit get twice the effort that holds what they move. Loads are upper bounds over all configurations.
    """
    tree, parts = _Tree(multibody.parts), multibody.parts
    texts = []
    added = {index: _inertial(parts[index], density) for index in tree.without_mass()}
    if added:
        loads = tree.loads({index: MassProperties(i.mass, i.pose) for index, i in added.items()})
        factor = _factor([tree.joint(index) for index in loads], list(loads.values()))
        for index, inertial in added.items():
            parts[index].assumed = assumed = _scaled(inertial, factor)
            parts[index].pieces.append((IDENTITY, assumed))
        names = listed([parts[index].object_name for index in added])
        why = ", which the effort limits hold" if factor < 1.0 else ""
        texts.append(f"no mass is given for {names}; a density of {factor * density:.4g} kg/m3 is assumed{why}")
    for index in tree.joints:
        below = tree.below[index]
        if not any(parts[i].mass_properties.mass > 0.0 for i in below):
            parts[below[-1]].pieces.append((IDENTITY, GRAIN))
            text = f"nothing that joint {tree.joint(index).name} moves has a mass"
            texts.append(f"{text}; a mass of {GRAIN.mass:g} kg is assumed")
    for index, load in tree.loads({i: part.mass_properties for i, part in enumerate(parts)}).items():
        joint = tree.joint(index)
        if not joint.limits.effort:
            parts[index].joint = replace(joint, assumed_effort=load / LOAD_FRACTION)
    return texts


def strengthen_motors(cell: RobotCell, multibodies: Multibodies, poses: Placements, gravity: Vector3) -> list[str]:
    """Give the joints of robots whose effort limits do not hold them, without tools and bodies, the efforts they need.

    Such limits cannot be right, some are placeholders: each one that is exceeded at rest or at the acceleration limits
    becomes twice the effort that is needed. Done in place; returns the assumptions as sentences.

    Args:
        poses: World poses of the links at the start.
        gravity: In the world frame [m/s2].
    """
    efforts: dict[str, float] = {}
    texts = []
    for robot in cell.robots.values():
        standing = msgspec.structs.replace(robot, attached_to="")
        alone = RobotCell(name=robot.name, robots=frozendict({robot.name: standing}))
        turn = poses.world(robot.mechanism.root).matrix[:3, :3]
        pull = vector3((turn.T @ np.array(gravity)).tolist(), "gravity")
        if weak := weak_joints(alone, alone.default_state(), pull):
            needed = efforts_of_motions(alone, alone.default_state(), pull)
            limits = {name: alone.variables[name].limits.effort or 0.0 for name in needed}
            raised = {name: effort / LOAD_FRACTION for name, effort in needed.items() if effort > limits[name]}
            efforts |= raised
            names = listed([str(joint) for joint in weak])
            text = f"effort limits do not hold robot {robot.name} against gravity: {names}"
            assumed = ", ".join(f"{name} {effort:.3g}" for name, effort in raised.items())
            texts.append(f"{text}; twice the effort that its motions need is assumed: {assumed}")
    for item in multibodies.items:
        for part in item.parts:
            if part.joint is not None and not part.joint.tool and part.joint.name in efforts:
                part.joint = replace(part.joint, assumed_effort=efforts[part.joint.name])
    return texts


def _inertial(part: Part, density: float) -> Inertial:
    try:
        return uniform_inertial(part.shapes, density=density)
    except GeometryError:  # shapes without volume
        return GRAIN


def _factor(joints: Sequence[JointModel], loads: Sequence[float]) -> float:
    """Return the factor of assumed masses with which joints hold the loads with a fraction of their effort limits."""
    factors = [
        LOAD_FRACTION * joint.limits.effort / load
        for joint, load in zip(joints, loads, strict=True)
        if joint.limits.effort and not joint.source and load > 0.0
    ]
    return max(min([1.0, *factors]), MIN_FACTOR)


def _scaled(inertial: Inertial, factor: float) -> Inertial:
    xx, xy, xz, yy, yz, zz = (factor * value for value in inertial.inertia)
    return Inertial(factor * inertial.mass, inertial.pose, (xx, xy, xz, yy, yz, zz))


class _Tree:
    """Parts of a multibody, by the joint that moves them.

    Attributes:
        joints: Indices of the parts that a joint moves, parents first.
        below: Indices of the parts that the joint of each such part moves, parents first.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.joints = [index for index, part in enumerate(parts) if part.joint is not None]
        self.below: dict[int, list[int]] = {index: [] for index in self.joints}
        self.moved_by: list[int] = []  # for each part, the nearest one above with a joint, itself included; -1 without
        self.poses: list[Pose] = []  # of each part in that one
        for index, part in enumerate(parts):
            if part.joint is not None or part.parent < 0:
                self.moved_by.append(index if part.joint is not None else -1)
                self.poses.append(IDENTITY)
            else:
                self.moved_by.append(self.moved_by[part.parent])
                self.poses.append(self.poses[part.parent] @ part.pose)
            for above in self._above(index):
                self.below[above].append(index)

    def joint(self, index: int) -> JointModel:
        """Return the joint that moves a part."""
        joint = self.parts[index].joint
        assert joint is not None
        return joint

    def without_mass(self) -> Iterator[int]:
        """Yield the moving parts with shapes that have no mass, nor has any part that is fixed to them."""
        heavy = {self.moved_by[i] for i, part in enumerate(self.parts) if part.mass_properties.mass > 0.0}
        for index, part in enumerate(self.parts):
            if part.shapes and self.moved_by[index] >= 0 and self.moved_by[index] not in heavy:
                yield index

    def loads(self, masses: Mapping[int, MassProperties]) -> dict[int, float]:
        """Return upper bounds of the efforts [Nm or N] with which the joint of each part holds the given masses."""
        result = {}
        for index in self.joints:
            levers = (
                self._levers(index, masses) if self.joint(index).revolute else dict.fromkeys(self.below[index], 1.0)
            )
            result[index] = GRAVITY * sum(masses[i].mass * lever for i, lever in levers.items() if i in masses)
        return result

    def _levers(self, index: int, masses: Mapping[int, MassProperties]) -> dict[int, float]:
        """Return bounds of the distance [m] of each centre of mass from the axis of a revolute joint."""
        axis = np.array(self.joint(index).axis)
        reach = {index: 0.0}  # of the origins of parts with joints
        levers = {}
        for i in self.below[index]:
            if i != index and self.parts[i].joint is not None:
                parent = self.parts[i].parent
                origin = (self.poses[parent] @ self.parts[i].pose).position
                reach[i] = self._distance(origin, self.moved_by[parent], index, axis, reach) + _travel(self.joint(i))
            if i in masses:
                centre = (self.poses[i] @ masses[i].frame).position
                levers[i] = self._distance(centre, self.moved_by[i], index, axis, reach)
        return levers

    @staticmethod
    def _distance(point: Sequence[float], moved_by: int, index: int, axis: Floats, reach: Mapping[int, float]) -> float:
        """Return a bound of the distance from the axis, of a point in the part that `moved_by` is the index of."""
        if moved_by == index:
            return float(np.linalg.norm(np.cross(axis, point)))
        return reach[moved_by] + float(np.linalg.norm(point))

    def _above(self, index: int) -> Iterator[int]:
        """Yield the parts with joints from a part upwards, itself included."""
        while index >= 0:
            if self.parts[index].joint is not None:
                yield index
            index = self.parts[index].parent


def _travel(joint: JointModel) -> float:
    """Return how far a prismatic joint moves its part from its origin [m]; 0 for a revolute one or without limits."""
    ends = [abs(end) for end in (joint.limits.lower, joint.limits.upper) if math.isfinite(end)]
    return max(ends, default=0.0) if not joint.revolute else 0.0
