"""Safety layer: actions whose motion is not certified as free are scaled back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..collision.certification.certifier import MotionCertifier
from ..collision.checker import CollisionChecker
from ..errors import InvalidRequestError
from ..model.cell import RobotCell
from ..model.pose import IDENTITY
from ..model.state import RobotCellState
from ..simulation.multibody.multibodies import Multibodies
from ..system.cache import IdentityCache
from .actions import gripper_variable
from .gripper_range import is_free_in_range
from .options import STAGE

HALVINGS = 5

Array = NDArray[np.float64]
replace = msgspec.structs.replace
_cells: IdentityCache[RobotCell] = IdentityCache(size=16)


class SafetyLayer:
    """Certificates of joint motions in a cell.

    A motion is safe if a certificate proves that it is free with a margin, wherever the gripper's joint is in its range
    meanwhile. Bodies that move freely in a simulation are not checked: what a task pushes or picks may be touched. Nor
    are the links of the gripper checked against each other and what is attached to it, since the gripper alone moves
    them.

    Args:
        cell: Models of the cell.
        state: Poses of all objects, and values of the joints that do not act.
        variables: Joints that act.
        margin: Clearance in addition to the margins of the cell [m].
        gripper: Name of the tool whose first joint may move at any time; "" for none.

    Raises:
        GeometryError: A collision shape cannot be read.
        InvalidRequestError: The joint of the gripper has no position limits.
    """

    def __init__(
        self, cell: RobotCell, state: RobotCellState, variables: Sequence[str], margin: float, gripper: str = ""
    ) -> None:
        self.state = certified_state(cell, state, variables)
        self._limits: tuple[float, float] | None = None
        names = tuple(variables)
        if gripper:
            name, limits = gripper_variable(cell, gripper)
            self._limits = limits.lower, limits.upper
            if not all(map(math.isfinite, self._limits)):
                text = f"joint {name} of the gripper has no position limits, so that its range cannot be certified"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,))
            cell, names = _ignoring_gripper(cell, self.state, gripper), (*names, name)
        self._certifier = MotionCertifier(CollisionChecker(cell, self.state, names))
        self._margin = margin

    def is_free(self, start: Array, end: Array) -> bool:
        """Return whether the straight motion between two configurations (n,) is certified as free."""
        if self._limits is not None:
            return is_free_in_range(self._certifier, start, end, self._limits, self._margin)
        if self._certifier.quickly_free(start, end, self._margin):
            return True
        return self._certifier.certify(start, end, self._margin).free

    def scale(self, start: Array, end: Array) -> float:
        """Return the largest of 1, 1/2, 1/4, ... 1/32 and 0 for which that fraction of a motion is certified."""
        fraction = 1.0
        for _ in range(HALVINGS + 1):
            if self.is_free(start, start + fraction * (end - start)):
                return fraction
            fraction *= 0.5
        return 0.0


def certified_state(cell: RobotCell, state: RobotCellState, variables: Sequence[str]) -> RobotCellState:
    """Return what certificates depend on in a state: bodies that move freely are hidden, and they and the joints that
    act are at zero."""
    for name in Multibodies(cell, state).free_bodies:
        state = state.with_body(name, replace(state.bodies[name], pose=IDENTITY, hidden=True))
    return state.with_configuration(dict.fromkeys(variables, 0.0))


def _ignoring_gripper(cell: RobotCell, state: RobotCellState, gripper: str) -> RobotCell:
    """Return the cell with an ignore group of the links of a gripper and the bodies attached to it."""
    tool = cell.tools[gripper]
    links = {gripper, tool.tcp_frame, *(tool.frame_of(link) for link in tool.mechanism.links)}
    held = tuple(name for name, body in state.bodies.items() if body.attached_to in links)

    def build() -> RobotCell:
        groups = cell.collision.ignore_groups
        name = f"links of {gripper}"
        while name in groups:
            name += "_"
        settings = replace(cell.collision, ignore_groups=frozendict({**groups, name: (*sorted(links), *held)}))
        return replace(cell, collision=settings)

    return _cells.get((cell,), (gripper, held), build)
