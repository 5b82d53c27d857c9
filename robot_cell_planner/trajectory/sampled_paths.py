"""Paths given by samples: their check, path parameter, sharp turns, and spline interpolation."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, JointLimitError, Value
from ..model.joint_arrays import checked_configurations
from .curves import PolynomialCurve
from .limits import Array, MotionLimits
from .splines import cubic_spline

# Points closer than this [rad or m] count as equal; smaller bends are ignored.
SAME_POINT = 1e-12
# Samples closer than this along the path [rad or m] are not knots of the spline: their rounding would cause a large
# third derivative and therefore a slow motion.
KNOTS_APART = 1e-4
# A step that turns by more than 45 degrees from the previous one is a corner, not part of a smooth curve.
SHARPEST = float(np.cos(np.pi / 4.0))
# Fractions of the acceleration and jerk limits on a curved path that are reserved for following the curve; the rest is
# used to change the speed.
CURVATURE_ACCELERATION_FRACTION = 0.5
CURVATURE_JERK_FRACTION = 0.25
MIXED_JERK_FRACTION = 0.5


def checked_path(path: Array, limits: MotionLimits) -> Array:
    """Return a path (n, dof) as float64 after checking its shape, its values and the position limits."""
    path = checked_configurations(np.atleast_2d(path), limits.variables, stage="trajectory", what="path", row="point")
    if not len(path):
        raise InvalidRequestError(f"the path has shape {path.shape}, expected at least one point", stage="trajectory")
    beyond = np.argwhere((path < limits.lower - SAME_POINT) | (path > limits.upper + SAME_POINT))
    if len(beyond):
        row, column = (int(index) for index in beyond[0])
        joint, value = limits.variables[column], float(path[row, column])
        limit = limits.lower[column] if value < limits.lower[column] else limits.upper[column]
        text = f"point {row} of the path is beyond the limit of joint {joint}"
        values = (Value(joint, value, float(limit), limits.unit(column)),)
        raise JointLimitError(text, stage="trajectory", subjects=(joint,), values=values)
    return path


def path_parameters(samples: Array, parameters: Array | None) -> Array:
    """Return the path parameter (n,) of samples (n, dof): the given one, or the distance in joint space.

    Raises:
        InvalidRequestError: Two samples are equal, or parameters do not increase or are not finite.
    """
    if parameters is None:
        steps = np.linalg.norm(np.diff(samples, axis=0), axis=1)
        if len(steps) and float(steps.min()) <= SAME_POINT:
            index = int(np.argmin(steps))
            raise InvalidRequestError(f"samples {index} and {index + 1} are the same point", stage="trajectory")
        return np.concatenate(([0.0], np.cumsum(steps)))
    sample_parameters = np.array(parameters, dtype=np.float64)
    if sample_parameters.shape != (len(samples),) or not np.isfinite(sample_parameters).all():
        text = f"path parameters have shape {sample_parameters.shape}, expected ({len(samples)},) finite numbers"
        raise InvalidRequestError(text, stage="trajectory")
    late = np.flatnonzero(np.diff(sample_parameters) <= 0.0)
    if len(late):
        raise InvalidRequestError(f"path parameter {int(late[0]) + 1} is not above the one before", stage="trajectory")
    return sample_parameters


def sharp_corners(samples: Array) -> list[int]:
    """Return the samples at which the path (n, dof) reverses or turns by more than 45 degrees.

    Only steps of at least 1e-4 [rad or m] count; smaller ones are considered noise.
    """
    if len(samples) < 3:
        return []
    sample_parameters = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(samples, axis=0), axis=1))))
    knots = knots_of(sample_parameters)
    steps = np.diff(samples[knots], axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    along = (steps[:-1] * steps[1:]).sum(axis=1)
    sharp = np.flatnonzero(along < SHARPEST * lengths[:-1] * lengths[1:]) + 1
    return sorted({_outermost(samples, *knots[index - 1 : index + 2].tolist()) for index in sharp.tolist()})


def _outermost(samples: Array, first: int, middle: int, last: int) -> int:
    """Return the sample between two others that is farthest out in the direction of the corner between them."""
    outwards = samples[middle] - 0.5 * (samples[first] + samples[last])
    return first + 1 + int(np.argmax(samples[first + 1 : last] @ outwards))


def knots_of(sample_parameters: Array) -> NDArray[np.intp]:
    """Return the indices of samples at least 1e-4 apart along the path, with both ends."""
    if len(sample_parameters) < 3 or float(np.diff(sample_parameters).min()) >= KNOTS_APART:
        return np.arange(len(sample_parameters))
    listed = sample_parameters.tolist()
    last = len(listed) - 1
    selected, index = [0], 0
    while (index := bisect_left(listed, listed[index] + KNOTS_APART, index + 1)) < last:
        selected.append(index)
    if len(selected) > 1 and listed[last] - listed[selected[-1]] < KNOTS_APART:
        selected.pop()
    return np.array([*selected, last])


def spline_through(samples: Array, sample_parameters: Array) -> PolynomialCurve:
    """Return the cubic spline with continuous curvature through samples (n, dof) at path parameters (n,), starting at
    0."""
    knots = knots_of(sample_parameters)
    return cubic_spline(sample_parameters[knots] - sample_parameters[0], samples[knots])


def rates_along(path: PolynomialCurve, limits: MotionLimits) -> tuple[float, float, float]:
    """Return bounds on speed, acceleration and jerk along a path that keep all joints within their limits everywhere.

    With the maximum |q'|, |q''| and |q'''| of each joint over the path, and |s'| <= v, |s''| <= a and |s'''| <= j, the
    chain rule bounds a joint's acceleration by q'' v2 + q' a and its jerk by q''' v3 + 3 q'' v a + q' j. v and a use at
    most fixed fractions of the limits; j uses the rest.
    """
    first, second, third = (path.largest_derivatives(order).max(axis=0) for order in (1, 2, 3))
    velocity = float(allowed_speeds(first, second, third, limits).min())
    with np.errstate(divide="ignore"):
        acceleration = min(
            float(((limits.acceleration - second * velocity**2) / first).min()),
            float((MIXED_JERK_FRACTION * limits.jerk / (3.0 * second * velocity)).min()),
        )
        left = limits.jerk - third * velocity**3 - 3.0 * second * velocity * acceleration
        jerk = float((left / first).min())
    return velocity, acceleration, jerk


def allowed_speeds(first: Array, second: Array, third: Array, limits: MotionLimits) -> Array:
    """Return the speed along a path that each joint allows, from magnitudes of its derivatives (..., dof)."""
    with np.errstate(divide="ignore"):
        of_acceleration = np.sqrt(CURVATURE_ACCELERATION_FRACTION * limits.acceleration / second)
        of_jerk = np.cbrt(CURVATURE_JERK_FRACTION * limits.jerk / third)
        return np.asarray(np.minimum(np.minimum(limits.velocity / first, of_acceleration), of_jerk))
