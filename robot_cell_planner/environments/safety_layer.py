"""Safety layer: actions whose motion is not certified as free are scaled back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..collision.certification.certifier import MotionCertifier
from ..collision.checker import CollisionChecker
from ..model.cell import RobotCell
from ..model.state import RobotCellState

HALVINGS = 5

Array = NDArray[np.float64]


class SafetyLayer:
    """Certificates of joint motions in a cell.

    A motion is safe if a certificate proves that it is free with a margin. Bodies that move freely are not checked:
    what a task pushes or picks may be touched.

    Args:
        cell: Models of the cell.
        state: Poses of all objects, and values of the joints that do not act.
        variables: Joints that act.
        margin: Clearance in addition to the margins of the cell [m].

    Raises:
        GeometryError: A collision shape cannot be read.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState, variables: Sequence[str], margin: float) -> None:
        for name, body in cell.bodies.items():
            free = body.inertial is not None and body.inertial.mass > 0.0 and not state.bodies[name].attached_to
            if free:
                state = state.with_body(name, msgspec.structs.replace(state.bodies[name], hidden=True))
        self._certifier = MotionCertifier(CollisionChecker(cell, state, tuple(variables)))
        self._margin = margin

    def is_free(self, start: Array, end: Array) -> bool:
        """Return whether the straight motion between two configurations (n,) is certified as free."""
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
