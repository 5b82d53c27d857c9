"""External forces in PyBullet."""

from __future__ import annotations

import numpy as np
import pybullet
from numpy.typing import NDArray

from ...model.value import Vector3
from .base import Address


def apply_wrench(client: int, address: Address, at: Vector3, force: Vector3, torque: Vector3) -> None:
    """Apply a force [N] and a torque [Nm], as a couple of forces, to a link at a point, in world axes, in the next
    step."""
    origin, moment = np.array(at), np.array(torque)
    if any(force):
        _apply(client, address, np.array(force), origin)
    if any(torque):
        arm = np.cross(moment, np.eye(3)[int(np.argmin(np.abs(moment)))])
        arm /= np.linalg.norm(arm)
        couple = np.cross(moment, arm)
        _apply(client, address, couple, origin + 0.5 * arm)
        _apply(client, address, -couple, origin - 0.5 * arm)


def _apply(client: int, address: Address, force: NDArray[np.float64], position: NDArray[np.float64]) -> None:
    pybullet.applyExternalForce(
        *address, force.tolist(), position.tolist(), pybullet.WORLD_FRAME, physicsClientId=client
    )
