"""Mass, centre of mass and principal axes of parts that are fixed to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...model.mechanism import Inertial
from ...model.pose import IDENTITY, Pose, quaternion_from_rotation
from ...model.value import Vector3

SMALLEST_RADIUS = 1e-3  # [m] lower bound of the radius of gyration


@dataclass(frozen=True)
class MassProperties:
    """Mass properties of a part.

    Attributes:
        mass: [kg].
        frame: Centre of mass and principal axes in the part.
        moments: Principal moments of inertia [kg m2].
    """

    mass: float = 0.0
    frame: Pose = IDENTITY
    moments: Vector3 = (0.0, 0.0, 0.0)


def combined(pieces: Sequence[tuple[Pose, Inertial]]) -> MassProperties:
    """Combine the mass properties of pieces, each at its pose in the part.

    The moments are bounded from below, because a joint cannot drive a part without inertia.
    """
    return _combined(tuple(pieces))


@lru_cache(maxsize=4096)  # each simulation of a cell asks several times for each part
def _combined(pieces: tuple[tuple[Pose, Inertial], ...]) -> MassProperties:
    placed = [(pose.matrix @ inertial.pose.matrix, inertial) for pose, inertial in pieces if inertial.mass > 0.0]
    mass = sum(inertial.mass for _, inertial in placed)
    if not placed:
        return MassProperties()
    centre = sum((inertial.mass * matrix[:3, 3] for matrix, inertial in placed), np.zeros(3)) / mass
    total = np.zeros((3, 3))
    for matrix, inertial in placed:
        arm = matrix[:3, 3] - centre
        rotation = matrix[:3, :3]
        total += rotation @ _tensor(inertial) @ rotation.T
        total += inertial.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments, axes = np.linalg.eigh(total)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    moments = np.maximum(moments, mass * SMALLEST_RADIUS**2)
    frame = Pose(_vector(centre), quaternion_from_rotation(axes))
    return MassProperties(mass, frame, _vector(moments))


def _tensor(inertial: Inertial) -> NDArray[np.float64]:
    xx, xy, xz, yy, yz, zz = inertial.inertia
    return np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def _vector(values: NDArray[np.float64]) -> Vector3:
    return float(values[0]), float(values[1]), float(values[2])
