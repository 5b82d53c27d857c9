"""Joints that are no variables of a checker: their values on a grid, and how far that displaces objects.

Measured joints, such as those of a gripper or of another robot, have slightly different values in each state. Models of
motions are computed for values on a grid, so that states that differ by less share them, and allow for the displacement
of the objects.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kinematics.model import CellModel
from ...system.cache import IdentityCache
from ..pairs.allowed_pairs import AllowedPairs
from .joint_tree import JointTree, joint_tree
from .speed_bounds import speed_bounds

Floats = NDArray[np.float64]
MAX_DISPLACEMENT = 5e-5  # [m] of any point, by the rounding of one joint value
MAX_SPEED = 1e3  # [m per rad or m], of joints whose values are rounded
# Speed bounds are those within the limits of prismatic joints. Measured values and those on the grid may exceed these,
# together by this [m].
SLACK = 0.01
MORE = 1.0 + 1e-6  # factor of the displacements against rounding errors


class FixedValues(NamedTuple):
    """Values of all variables of a model (n,), those of fixed joints on a grid [rad or m].

    Attributes:
        displacements: Maximum distance of any point of a collision object from where the given values place it, by
            index in `AllowedPairs.objects` [m]. Objects that no fixed joint moves are missing.
    """

    values: Floats
    displacements: dict[int, float]


class FixedJointGrid:
    """Grid of the values of those joints of a model that are no `variables`.

    Its steps are such that the rounding of a value displaces no point by more than MAX_DISPLACEMENT.
    """

    def __init__(self, model: CellModel, allowed_pairs: AllowedPairs, variables: tuple[str, ...]) -> None:
        tree = joint_tree(model, model.variables, np.zeros(model.size))
        fixed = np.ones(model.size)
        fixed[model.indices(variables)] = 0.0
        speeds = {index: fixed * _speeds(model, tree, allowed_pairs, index) for index in allowed_pairs.moving}
        fastest = np.max([*speeds.values(), np.zeros(model.size)], axis=0)
        self._is_rounded = (fastest > 0.0) & (fastest <= MAX_SPEED)
        self._steps = np.where(self._is_rounded, 2.0 * MAX_DISPLACEMENT / np.where(self._is_rounded, fastest, 1.0), 1.0)
        half_steps = np.where(self._is_rounded, 0.5 * self._steps * MORE, 0.0)
        found = {index: float(row @ half_steps) for index, row in speeds.items()}
        self._displacements = {index: displacement for index, displacement in found.items() if displacement > 0.0}
        self._prismatic = [joint for joint in tree.joints if not joint.revolute and fixed[joint.variable]]
        by_rounding = (abs(joint.multiplier) * half_steps[joint.variable] for joint in self._prismatic)
        self._max_excess = SLACK - float(sum(by_rounding))

    def rounded(self, values: Floats) -> FixedValues:
        """Return the values (n,) on the grid; unchanged if fixed prismatic joints exceed their limits by so much that
        no speed bound holds."""
        excess = 0.0
        for joint in self._prismatic:
            value = joint.multiplier * float(values[joint.variable]) + joint.offset
            excess += max(joint.low - value, value - joint.high, 0.0)
        if excess > self._max_excess:
            return FixedValues(values, {})
        on_grid = np.round(values / self._steps) * self._steps + 0.0  # no negative zeros: keys are bytes
        return FixedValues(np.where(self._is_rounded, on_grid, values), self._displacements)


def _speeds(model: CellModel, tree: JointTree, allowed_pairs: AllowedPairs, index: int) -> Floats:
    """Return the maximum displacement of any point of an object per unit of each variable (n,) [m per rad or m]."""
    obj = allowed_pairs.objects[index]
    frame = model.frame(obj.name)
    at = tree.placement_of(frame.joint, frame.placement.homogeneous)
    chain = tree.chain(at.joint)
    per_joint = speed_bounds(obj.shapes, at.placement.tobytes(), chain, len(tree.joints))
    found = np.zeros(model.size)
    for number, revolute, *_ in chain:
        joint = tree.joints[number]
        found[joint.variable] += abs(joint.multiplier) * (per_joint[number] + (SLACK if revolute else 0.0))
    return found


_grids: IdentityCache[FixedJointGrid] = IdentityCache(size=64)


def fixed_values(
    model: CellModel, allowed_pairs: AllowedPairs, variables: tuple[str, ...], values: Floats
) -> FixedValues:
    """Return values (n,) of all variables of a model, those of joints that are no `variables` on a grid."""
    if len(variables) == model.size:
        return FixedValues(values, {})
    make = partial(FixedJointGrid, model, allowed_pairs, variables)
    return _grids.get((allowed_pairs, model.mechanisms), variables, make).rounded(values)
