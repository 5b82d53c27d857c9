"""Tolerances of goals for trajectory controllers, in their convention: -1 for no limit."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from control_msgs.msg import JointTolerance

from .motion import Array


def joint_tolerances(
    names: Sequence[str], share: Collection[str], positions: Array, velocities: Array
) -> list[JointTolerance]:
    """Return the tolerances of the joints of a controller.

    Args:
        names: All joints of the motion.
        share: Those of the controller.
        positions, velocities: Tolerances of all joints (dof,); infinite for no limit.
    """
    return [
        JointTolerance(name=name, position=_or_none(position), velocity=_or_none(velocity))
        for name, position, velocity in zip(names, positions.tolist(), velocities.tolist(), strict=True)
        if name in share
    ]


def _or_none(limit: float) -> float:
    return limit if np.isfinite(limit) else -1.0
