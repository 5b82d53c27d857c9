"""Compiled kernels for straight motions in a subspace of the joint space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....collision.certification._kernels.gradients import GradientSpace
from ....collision.certification._kernels.schedule import FREE, certify_straight
from ....collision.certification._kernels.simd import rounded

Array = NDArray[np.float64]


class MotionSpace(NamedTuple):
    """Coordinates z (k,) of motions, q = origin + basis @ z, and the certifier that proves them free.

    Attributes:
        scene: Address of the packed arrays of the certifier.
        work: Address of its work space.
        origin: Configuration (dof,) at z = 0.
        basis: Basis (dof, k).
        resolution: Intervals in which no joint moves by more than this are not bisected [rad or m].
        counters: Counters (3,) of the checks, by EVALUATED, UNDECIDED_MIDDLE and UNDECIDED_HALF.
        ends: Configurations (2, dof) at the ends of the latest motion.
        gradients: Work space for gradients of hits.
        whole: Whether q = z, so that origin and basis are not needed.
    """

    scene: int
    work: int
    origin: Array
    basis: Array
    resolution: float
    counters: Array
    ends: Array
    gradients: GradientSpace
    whole: bool = False


@rounded
def motion_verdict(space: MotionSpace, first: Array, second: Array) -> int:
    """Return whether the straight motion between two points (k,) is FREE, BLOCKED or OPEN; sets `space.ends`."""
    origin, basis, ends = space.origin, space.basis, space.ends
    for i in range(basis.shape[0]):
        if space.whole:
            ends[0, i], ends[1, i] = first[i], second[i]
            continue
        ends[0, i] = ends[1, i] = origin[i]
        for k in range(basis.shape[1]):
            ends[0, i] += basis[i, k] * first[k]
            ends[1, i] += basis[i, k] * second[k]
    return int(certify_straight(space.scene, space.work, ends[0], ends[1], space.resolution, space.counters))


@rounded
def motion_free(space: MotionSpace, first: Array, second: Array) -> bool:
    """Return whether the straight motion between two points (k,) is proven free."""
    return bool(motion_verdict(space, first, second) == FREE)
