"""Differential inverse kinematics: damped joint velocities for a twist, within limits, with null-space motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..model.value import WORLD
from .differential import jacobians
from .forward import frame_matrix
from .model import cell_model

Array = NDArray[np.float64]
DAMP_BELOW = 0.05  # singular value [m/rad, 1] below which damping is applied
DEFAULT_DAMPING = 0.05
RANK_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class VelocitySolution:
    """Joint velocities for a twist.

    Attributes:
        velocities: (n,) [rad/s, m/s].
        twist: (6,) resulting twist.
        scale: Fraction of the commanded twist that the limits allow, 0 to 1.
        smallest_singular_value: Smallest singular value of the Jacobian.
    """

    velocities: Array
    twist: Array
    scale: float
    smallest_singular_value: float


@dataclass(frozen=True, eq=False)
class VelocityBounds:
    """Lower and upper bounds of joint velocities, (n,) [rad/s, m/s]."""

    lower: Array
    upper: Array


@public
def velocities_for_twist(
    cell: RobotCell,
    state: RobotCellState,
    twist: Array,
    group: str = "",
    frame: str = "",
    reference_frame: str = WORLD,
    preferred: Array | None = None,
    time_step: float = 0.0,
    damping: float = DEFAULT_DAMPING,
) -> VelocitySolution:
    """Compute velocities of a group's variables for a twist (6,) of a frame, within the limits of the cell.

    See `solve_velocity` for the algorithm.

    Args:
        cell: Models of the cell.
        state: Current joint values and attachments.
        twist: Linear [m/s] and angular [rad/s] velocity; the linear part is the velocity of the frame's origin.
        group: Planning group; "" for the main group.
        frame: Frame that moves; "" for the tool centre point, or for the tip link of a group without a tool.
        reference_frame: Frame whose axes the commanded and the resulting twist are expressed in.
        preferred: (n,) joint velocities approximated in the null space [rad/s, m/s].
        time_step: Interval over which position limits are respected [s]; 0 ignores position limits.
        damping: Damping near singularities.

    Raises:
        UnknownNameError: The group or a frame does not exist.
        InvalidRequestError: An array has the wrong shape, or a number is not finite or negative where it must not be.
    """
    for name, value in (("time_step", time_step), ("damping", damping)):
        if not (np.isfinite(value) and value >= 0.0):
            raise InvalidRequestError(f"{name} is {value}, expected a finite number of at least 0", subjects=(name,))
    found = jacobians(cell, state, group, frame)
    model = cell_model(cell, state)
    indices = model.indices(found.variables)
    rates = [cell.variables[name].limits.velocity for name in found.variables]
    bounds = velocity_bounds(
        np.array((model.lower[indices], model.upper[indices])),
        np.array([np.inf if rate is None else rate for rate in rates]),
        model.values(state, found.variables),
        time_step,
    )
    jacobian = found.jacobian[0]
    if reference_frame != WORLD:
        rotation = frame_matrix(cell, state, reference_frame)[:3, :3].T
        jacobian = np.concatenate((rotation @ jacobian[:3], rotation @ jacobian[3:]))
    return solve_velocity(jacobian, twist, bounds, preferred, damping)


def velocity_bounds(
    limits: Array, velocity_limits: Array, q: Array | None = None, time_step: float = 0.0
) -> VelocityBounds:
    """Compute velocity bounds (n,) that keep each joint within its position limits for one time step [s].

    A joint beyond a limit may only move back or stop.

    Args:
        limits: (2, n) position limits [rad, m].
        velocity_limits: (n,) [rad/s, m/s]; inf for no limit.
        q: (n,) configuration [rad, m].
        time_step: [s]; 0 ignores position limits.
    """
    lower, upper = -velocity_limits, velocity_limits.copy()
    if q is not None and time_step > 0.0:
        lower = np.maximum(lower, np.minimum((limits[0] - q) / time_step, 0.0))
        upper = np.minimum(upper, np.maximum((limits[1] - q) / time_step, 0.0))
    return VelocityBounds(lower, upper)


def solve_velocity(
    jacobian: Array,
    twist: Array,
    bounds: VelocityBounds,
    preferred: Array | None = None,
    damping: float = DEFAULT_DAMPING,
) -> VelocitySolution:
    """Compute velocities (n,) that produce a twist (6,), or the max fraction of it that the bounds allow.

    The null-space motion approximates the preferred velocities. Joints that would exceed a bound are saturated and the
    other joints compensate; if they cannot, the twist is scaled down in its direction (Flacco, De Luca and Khatib,
    Motion Control of Redundant Robots under Joint Constraints: Saturation in the Null Space, 2012). Near singularities
    the inverse is damped (Nakamura and Hanafusa, Inverse Kinematic Solutions with Singularity Robustness, 1986), which
    changes the resulting twist.

    Raises:
        InvalidRequestError: An array has the wrong shape or contains a number that is not finite.
    """
    n = jacobian.shape[1]
    _check(twist, 6, "twist")
    requested = np.zeros(n) if preferred is None else preferred.astype(np.float64)
    _check(requested, n, "preferred velocities")
    smallest = float(np.linalg.svd(jacobian, compute_uv=False)[-1])
    rank = np.linalg.matrix_rank(jacobian, tol=RANK_TOLERANCE)
    free = np.ones(n, dtype=bool)
    fixed = np.clip(requested, bounds.lower, bounds.upper)
    best = (-1.0, free, fixed)
    for _ in range(n + 1):
        along, rest = _parts(jacobian, twist, free, fixed, damping)
        scale, critical = _scale(along, rest, bounds)
        if scale >= 1.0:
            best = (1.0, free, fixed)
            break
        if scale > best[0]:
            best = (scale, free, fixed)
        full = along[critical] + rest[critical]
        free, fixed = free.copy(), fixed.copy()
        free[critical] = False
        fixed[critical] = bounds.upper[critical] if full > bounds.upper[critical] else bounds.lower[critical]
        if not free.any() or np.linalg.matrix_rank(jacobian[:, free], tol=RANK_TOLERANCE) < rank:
            break
    scale = max(best[0], 0.0)
    along, rest = _parts(jacobian, twist, best[1], best[2], damping)
    velocities = np.clip(scale * along + rest, bounds.lower, bounds.upper)
    return VelocitySolution(velocities, jacobian @ velocities, scale, smallest)


def _check(values: Array, size: int, what: str) -> None:
    if values.shape != (size,) or not np.isfinite(values).all():
        raise InvalidRequestError(f"{what} of shape {values.shape} are not {size} finite numbers", subjects=(what,))


def _parts(jacobian: Array, twist: Array, free: NDArray[np.bool_], fixed: Array, damping: float) -> tuple[Array, Array]:
    """Return (first, second) with velocities = scale * first + second; joints that are not free move as in `fixed`."""
    inverse = _damped_inverse(jacobian * free, damping)
    return inverse @ twist, fixed - inverse @ (jacobian @ fixed)


def _damped_inverse(matrix: Array, damping: float) -> Array:
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    usable = s > RANK_TOLERANCE
    smallest = s[usable][-1] if usable.any() else 0.0
    square = damping**2 * max(0.0, 1.0 - (smallest / DAMP_BELOW) ** 2)
    factors = np.where(usable, s / np.where(usable, s * s + square, 1.0), 0.0)
    return np.asarray((vt.T * factors) @ u.T)


def _scale(along: Array, rest: Array, bounds: VelocityBounds) -> tuple[float, int]:
    """Return the max fraction of the first part that the bounds allow in addition to the second, at most 1, and the
    limiting joint."""
    slack = np.where(along > 0.0, bounds.upper - rest, bounds.lower - rest)
    scales = np.full(len(along), np.inf)
    moving = np.abs(along) > 1e-12
    scales[moving] = slack[moving] / along[moving]
    beyond = ~moving & ((rest < bounds.lower - 1e-12) | (rest > bounds.upper + 1e-12))
    scales[beyond] = -np.inf
    critical = int(np.argmin(scales))
    return float(min(scales[critical], 1.0)), critical
