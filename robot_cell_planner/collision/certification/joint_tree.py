"""The joints that some variables move, as a tree, and bounds on how fast each moves a point whatever the rest does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...kinematics.chain import joint_motion, motion_matrix
from ...kinematics.model import CellModel
from ...model.mechanism import Variable
from ._kernels.arrays import UNBOUNDED

Floats = NDArray[np.float64]
SIDES = 64  # of the polygon around a circle
LIMIT_SLACK = 1e-6  # [m] by which bounds allow slides to be beyond their limits
MAX_TURNED = 16.0 * math.pi  # [rad] that a joint without limits is taken to turn from 0 where it drives a slide
MORE = 1.0 + 1e-6  # bounds are widened by this for rounding


@dataclass(frozen=True)
class TreeJoint:
    """A joint that moves. parent: its index in the tree, -1: the world. before (4, 4): from the parent's frame to its
    own, whose axis is z. variable: index of what drives it, by multiplier and offset. low, high: its range [rad, m]."""

    parent: int
    before: Floats
    turns: bool
    variable: int
    multiplier: float
    offset: float
    low: float
    high: float


@dataclass(frozen=True)
class Carried:
    """Where something is fixed: the joint of the tree that carries it (-1: the world), and its placement (4, 4)."""

    joint: int
    placement: Floats


class JointTree:
    """The joints of a cell that `variables` move; all others stay at the values of a configuration (nv,)."""

    def __init__(self, model: CellModel, variables: tuple[str, ...], expanded: Floats) -> None:
        self._model = model.mechanisms.pin_model
        self.joints: list[TreeJoint] = []
        place = {name: index for index, name in enumerate(variables)}
        # Pinocchio's joints: the joint of the tree that carries them, and their placement there.
        self._at: list[Carried] = [Carried(-1, np.eye(4))]
        for index in range(1, self._model.njoints):
            drive = model.mechanisms.drives[index - 1]
            parent = self._at[self._model.parents[index]]
            before = parent.placement @ self._model.jointPlacements[index].homogeneous
            turns, axis = joint_motion(self._model, index)
            if drive.variable not in place:
                moved = before @ motion_matrix(turns, axis, float(expanded[index - 1]))
                self._at.append(Carried(parent.joint, moved))
                continue
            aligned = _aligned(axis)
            variable = model.mechanisms.variables[drive.variable]
            low, high = _range(variable, drive.multiplier, drive.offset, 0.0 if turns else LIMIT_SLACK)
            number = place[drive.variable]
            self.joints.append(
                TreeJoint(parent.joint, before @ aligned, turns, number, drive.multiplier, drive.offset, low, high)
            )
            self._at.append(Carried(len(self.joints) - 1, aligned.T))

    def carrier(self, joint: int, placement: Floats) -> Carried:
        """Where something is fixed that Pinocchio's joint carries at a placement (4, 4)."""
        at = self._at[joint]
        return Carried(at.joint, at.placement @ placement)

    def ancestors(self, joint: int) -> list[int]:
        """A joint and all that carry it, the outermost last; none for the world."""
        found = []
        while joint >= 0:
            found.append(joint)
            joint = self.joints[joint].parent
        return found

    def bounds(self, joint: int, points: Floats) -> tuple[Floats, Floats]:
        """For points (n, 3) in the frame of a joint: how fast each joint of the tree moves them at most, (n, j) [m per
        rad or m]; and (n,) how far from the world's origin they can come [m].

        Turned about an axis by any angle, a point stays on a circle; what is known of it in a joint's frame is a
        cylinder about the joint's axis. Seen from the parent's frame the farthest of it from the parent's axis is a
        corner of the polygons around its two ends.
        """
        chain = []
        for index in self.ancestors(joint):
            moving = self.joints[index]
            chain.append((index, moving.turns, moving.low, moving.high, moving.before.tobytes()))
        return _chain_bounds(tuple(chain), len(self.joints), np.ascontiguousarray(points).tobytes())

    def between(self, first: int, second: int) -> tuple[list[int], list[int]]:
        """The joints that move the first of two joints' bodies and not the second, and the other way round."""
        one, other = self.ancestors(first), self.ancestors(second)
        return [j for j in one if j not in other], [j for j in other if j not in one]


@lru_cache(maxsize=1024)
def _chain_bounds(
    chain: tuple[tuple[int, bool, float, float, bytes], ...], joints: int, content: bytes
) -> tuple[Floats, Floats]:
    """The bounds of points (n, 3) of doubles, read-only; they stay the same whatever else stands in a cell.

    chain: index, whether it turns, low, high and placement (4, 4) of the joints that carry the points, innermost first.
    """
    points = np.frombuffer(content).reshape(-1, 3)
    reach = np.zeros((len(points), joints))
    radius = np.hypot(points[:, 0], points[:, 1])
    low = high = points[:, 2]
    for index, turns, least, most, before in chain:
        reach[:, index] = radius * MORE if turns else 1.0
        if not turns:
            low, high = low + least, high + most
        placement = np.frombuffer(before).reshape(4, 4)
        corners = _corners(radius, low, high) @ placement[:3, :3].T + placement[:3, 3]
        radius = np.hypot(corners[..., 0], corners[..., 1]).max(axis=1)
        low, high = corners[..., 2].min(axis=1), corners[..., 2].max(axis=1)
    farthest = np.hypot(radius, np.maximum(np.abs(low), np.abs(high))) * MORE
    found = np.minimum(reach, UNBOUNDED), np.minimum(farthest, UNBOUNDED)
    for array in found:
        array.setflags(write=False)
    return found


def _corners(radius: Floats, low: Floats, high: Floats) -> Floats:
    """Corners (n, 2 SIDES, 3) of prisms around cylinders about z."""
    radius, low, high = (np.clip(values, -UNBOUNDED, UNBOUNDED) for values in (radius, low, high))
    angles = 2.0 * math.pi * np.arange(SIDES) / SIDES
    ring = np.stack((np.cos(angles), np.sin(angles)), axis=1) / math.cos(math.pi / SIDES)
    flat = radius[:, None, None] * ring
    ends = [np.concatenate((flat, np.broadcast_to(z[:, None, None], (len(z), SIDES, 1))), axis=2) for z in (low, high)]
    return np.concatenate(ends, axis=1)


def _range(variable: Variable, multiplier: float, offset: float, slack: float) -> tuple[float, float]:
    """Least and largest value of a joint that a variable drives [rad or m], widened by a slack."""
    ends: tuple[float, ...] = (variable.limits.lower, variable.limits.upper)
    if variable.angular:
        # One that turns without limits, as a spindle does, by so much that what it drives stays bounded.
        ends = tuple(math.copysign(MAX_TURNED, end) if math.isinf(end) else end for end in ends)
    values = [multiplier * end + offset if multiplier else offset for end in ends]
    return min(values) - slack, max(values) + slack


def _aligned(axis: Floats) -> Floats:
    """A rotation (4, 4) whose z axis is the given unit vector."""
    result = np.eye(4)
    side = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    side /= np.linalg.norm(side)
    result[:3, :3] = np.column_stack((side, np.cross(axis, side), axis))
    return result
