"""Missing velocities and accelerations of trajectory points, chosen such that the streamed command is continuous.

joint_trajectory_controller interpolates points with positions linearly, and points with velocities by cubic
polynomials, so that its commands step in velocity or acceleration at every point, beyond any acceleration or jerk
limit. Here the missing derivatives are computed, and all points are interpolated by polynomials of degree 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def velocities_of(times: Array, positions: Array, first: Array | None = None) -> Array:
    """Return the velocities (n, dof) of the cubic spline with continuous acceleration through points (n, dof).

    Velocities are zero at both ends and where the robot dwells (two consecutive points with equal positions).

    Args:
        first: Velocities (dof,) at the first point instead of zero.
    """
    count = len(times)
    velocities = np.zeros_like(positions)
    if first is not None:
        velocities[0] = first
    if count < 3:
        return velocities
    from scipy.linalg import solve_banded  # slow to import, and only needed for such points

    h = np.diff(times)
    slopes = np.diff(positions, axis=0) / h[:, None]
    still = (np.diff(positions, axis=0) == 0.0).all(axis=1)
    rests = np.ones(count, dtype=bool)
    rests[1:-1] = still[:-1] | still[1:]
    # h1 v0 + 2 (h0 + h1) v1 + h0 v2 = 3 (h1 s0 + h0 s1); v = 0 where the robot rests.
    bands = np.zeros((3, count))
    bands[1] = 1.0
    inner = ~rests[1:-1]
    bands[1, 1:-1][inner] = 2.0 * (h[:-1] + h[1:])[inner]
    bands[0, 2:][inner] = h[:-1][inner]
    bands[2, :-2][inner] = h[1:][inner]
    velocities[1:-1][inner] = 3.0 * (h[1:, None] * slopes[:-1] + h[:-1, None] * slopes[1:])[inner]
    solved: Array = solve_banded((1, 1), bands, velocities, overwrite_ab=True, overwrite_b=True)
    solved[1:][rests[1:]] = 0.0
    solved[0] = 0.0 if first is None else first
    return solved


def accelerations_of(times: Array, positions: Array, velocities: Array) -> Array:
    """Return the accelerations (n, dof) of the cubic polynomials between points with positions and velocities.

    Where the accelerations on both sides of a point differ, their mean is used, weighted towards the nearer neighbour.
    Accelerations are zero for a joint that dwells, and for a joint at rest at an end of the trajectory.
    """
    accelerations = np.zeros_like(positions)
    if len(times) < 2:
        return accelerations
    h = np.diff(times)[:, None]
    steps = np.diff(positions, axis=0)
    v0, v1 = velocities[:-1], velocities[1:]
    begins, ends = (6.0 * steps / h - 4.0 * v0 - 2.0 * v1) / h, (2.0 * v0 + 4.0 * v1 - 6.0 * steps / h) / h
    accelerations[0], accelerations[-1] = begins[0], ends[-1]
    accelerations[1:-1] = (ends[:-1] * h[1:] + begins[1:] * h[:-1]) / (h[:-1] + h[1:])
    still = (steps == 0.0) & (v0 == 0.0) & (v1 == 0.0)
    accelerations[:-1][still] = 0.0
    accelerations[1:][still] = 0.0
    for end in (0, -1):
        accelerations[end][velocities[end] == 0.0] = 0.0
    return accelerations
