"""Kinematic tree of the joints that some variables move, with bounds on the speed of points on each link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from ...kinematics.chain import aligned_rotation, joint_axis, joint_transform
from ...kinematics.model import CellModel
from ...kinematics.pinocchio_model import MechanismModel
from ...model.mechanism import Variable
from ...system.cache import IdentityCache
from ._kernels.arrays import UNBOUNDED
from ._kernels.motion_bound_kernels import cylinders_in_parent

Floats = NDArray[np.float64]
SIDES = 64  # sides of the polygon that encloses a circle
ANGLES = 2.0 * math.pi * np.arange(SIDES) / SIDES  # [rad]
RING = np.stack((np.cos(ANGLES), np.sin(ANGLES)), axis=1) / math.cos(math.pi / SIDES)  # its corners, for radius 1
LIMIT_SLACK = 1e-6  # [m], slack of the limits of prismatic joints in the bounds
MAX_CONTINUOUS = 16.0 * math.pi  # [rad], assumed range (+-) of a variable without limits that drives a prismatic joint
MORE = 1.0 + 1e-6  # factor of the bounds against rounding errors


@dataclass(frozen=True)
class TreeJoint:
    """A moving joint of the tree.

    Attributes:
        parent: Index of the parent joint in the tree; -1: the world.
        before: Transform (4, 4) from the frame of the parent joint to the frame of this joint, whose axis is z.
        revolute: Whether the joint is revolute; otherwise it is prismatic.
        variable: Index of the variable that drives the joint.
        multiplier, offset: Joint value = multiplier * variable + offset.
        low, high: Range of the joint value [rad or m].
        varies: Whether `before` depends on the values of joints that are no variables.
    """

    parent: int
    before: Floats
    revolute: bool
    variable: int
    multiplier: float
    offset: float
    low: float
    high: float
    varies: bool


@dataclass(frozen=True)
class JointPlacement:
    """Parent of a fixed frame: index of the joint in the tree (-1: the world) and placement (4, 4) in its frame.

    varies: Whether the placement depends on the values of joints that are no variables.
    """

    joint: int
    placement: Floats
    varies: bool = False


Chain = tuple[tuple[int, bool, float, float, bytes], ...]


class JointTree:
    """Joints of robots and tools that `variables` move; all other joints keep the values of a configuration (nv,)."""

    def __init__(self, mechanisms: MechanismModel, variables: tuple[str, ...], expanded: Floats) -> None:
        self._model = mechanisms.pin_model
        joints: list[TreeJoint] = []
        self._ancestors: list[tuple[int, ...]] = []
        self._chains: list[Chain] = []
        self._between: dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        place = {name: index for index, name in enumerate(variables)}
        # For each Pinocchio joint: the joint of the tree that it is fixed to, and its placement there.
        self._at: list[JointPlacement] = [JointPlacement(-1, np.eye(4))]
        for index in range(1, self._model.njoints):
            coupling = mechanisms.couplings[index - 1]
            parent = self._at[self._model.parents[index]]
            before = parent.placement @ self._model.jointPlacements[index].homogeneous
            revolute, axis = joint_axis(self._model, index)
            if coupling.variable not in place:
                moved = before @ joint_transform(revolute, axis, float(expanded[index - 1]))
                self._at.append(JointPlacement(parent.joint, moved, True))
                continue
            aligned = aligned_rotation(axis)
            variable = mechanisms.variables[coupling.variable]
            low, high = _range(variable, coupling.multiplier, coupling.offset, 0.0 if revolute else LIMIT_SLACK)
            number, moved = place[coupling.variable], before @ aligned
            ratio, offset = coupling.multiplier, coupling.offset
            joints.append(TreeJoint(parent.joint, moved, revolute, number, ratio, offset, low, high, parent.varies))
            self._at.append(JointPlacement(len(joints) - 1, aligned.T))
            self._ancestors.append((len(joints) - 1, *self.ancestors(parent.joint)))
            own = len(joints) - 1, revolute, low, high, moved.tobytes() if parent.joint >= 0 else b""
            self._chains.append((own, *self.chain(parent.joint)))
        self.joints = tuple(joints)

    def placement_of(self, joint: int, placement: Floats) -> JointPlacement:
        """Return the tree joint and placement of a frame at `placement` (4, 4) in a joint of Pinocchio."""
        at = self._at[joint]
        return JointPlacement(at.joint, at.placement @ placement, at.varies)

    def ancestors(self, joint: int) -> tuple[int, ...]:
        """Return a joint and all its ancestors, outermost last; empty for the world."""
        return self._ancestors[joint] if joint >= 0 else ()

    def chain(self, joint: int) -> Chain:
        """Return index, whether it is revolute, low, high and placement (4, 4) as bytes of a joint and its ancestors,
        innermost first; empty for the world. The outermost placement, on which no speed depends, is empty, so that
        equal robots at other places have equal chains."""
        return self._chains[joint] if joint >= 0 else ()

    def bounds(self, joint: int, points: Floats) -> tuple[Floats, Floats]:
        """Return bounds on the speed of points (n, 3) in the frame of a joint, and on their distance from the world
        origin.

        The speed bounds are (n, j) [m per rad or m]: the maximum displacement of each point per unit of each joint. The
        distances are (n,) [m].

        A point that rotates about an axis stays on a circle, so in the frame of a joint its possible positions are
        enclosed by a cylinder about the joint axis. In the frame of the parent joint the position farthest from the
        parent's axis is a corner of the polygons that enclose the two ends of the cylinder.
        """
        outermost = self.joints[self.ancestors(joint)[-1]].before.tobytes() if joint >= 0 else b""
        return _world_bounds(self.chain(joint), outermost, len(self.joints), np.ascontiguousarray(points).tobytes())

    def between(self, first: int, second: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the joints that move only the first of two links, and those that move only the second."""
        found = self._between.get((first, second))
        if found is None:
            one, other = self.ancestors(first), self.ancestors(second)
            found = tuple(j for j in one if j not in other), tuple(j for j in other if j not in one)
            self._between[first, second] = found
        return found

    def common(self, first: int, second: int) -> int:
        """Return the last joint that moves both of two links; -1: none."""
        others = self.ancestors(second)
        return next((joint for joint in self.ancestors(first) if joint in others), -1)


_trees: IdentityCache[JointTree] = IdentityCache(size=64)


def joint_tree(model: CellModel, variables: tuple[str, ...], configuration: Floats) -> JointTree:
    """Return the tree of the joints that some variables of a model move, shared by cells with the same robots and
    tools. configuration: values of all variables (n,), of which only the other ones matter."""
    fixed = np.delete(configuration, model.indices(variables)).tobytes()
    make = partial(JointTree, model.mechanisms, variables, model.expand(configuration))
    return _trees.get((model.mechanisms,), (variables, fixed), make)


@lru_cache(maxsize=1024)
def _world_bounds(chain: Chain, outermost: bytes, joints: int, content: bytes) -> tuple[Floats, Floats]:
    """Return the bounds of `JointTree.bounds`, cached and read-only.

    outermost: placement (4, 4) of the outermost joint of the chain in the world, bytes of float64.
    """
    speeds, cylinders = chain_bounds(chain, joints, content)
    radius, low, high = cylinders.copy()
    if outermost:
        cylinders_in_parent(radius, low, high, np.frombuffer(outermost).reshape(4, 4).copy(), RING)
    farthest = np.minimum(np.hypot(radius, np.maximum(np.abs(low), np.abs(high))) * MORE, UNBOUNDED)
    farthest.setflags(write=False)
    return speeds, farthest


@lru_cache(maxsize=1024)
def chain_bounds(chain: Chain, joints: int, content: bytes) -> tuple[Floats, Floats]:
    """Return the speed bounds (n, joints) of points (n, 3), see `JointTree.bounds`, and the radii, least and greatest
    heights [m] of the cylinders (3, n) about the axis of the outermost joint that enclose their possible positions.

    The arrays are cached and read-only; they do not depend on other objects of the cell.

    chain: as of `JointTree.chain`. content: the points as bytes of float64.
    """
    points = np.frombuffer(content).reshape(-1, 3)
    coefficients = np.zeros((len(points), joints))
    radius, low, high = np.hypot(points[:, 0], points[:, 1]), points[:, 2].copy(), points[:, 2].copy()
    for index, revolute, lower, upper, before in chain:
        coefficients[:, index] = radius * MORE if revolute else 1.0
        if not revolute:
            low, high = low + lower, high + upper
        for values in (radius, low, high):
            np.clip(values, -UNBOUNDED, UNBOUNDED, out=values)
        if before:
            cylinders_in_parent(radius, low, high, np.frombuffer(before).reshape(4, 4).copy(), RING)
    found = np.minimum(coefficients, UNBOUNDED), np.stack((radius, low, high))
    for array in found:
        array.setflags(write=False)
    return found


def _range(variable: Variable, multiplier: float, offset: float, slack: float) -> tuple[float, float]:
    """Return the minimum and maximum value of a joint driven by a variable [rad or m], widened by a slack."""
    ends: tuple[float, ...] = (variable.limits.lower, variable.limits.upper)
    if variable.angular:
        # Limit continuous joints, such as spindles, so that the joints that they drive stay bounded.
        ends = tuple(math.copysign(MAX_CONTINUOUS, end) if math.isinf(end) else end for end in ends)
    values = [multiplier * end + offset if multiplier else offset for end in ends]
    return min(values) - slack, max(values) + slack
