"""Start and end velocities of a motion that deviate from its path: segments along which it brakes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import InvalidRequestError, TrajectoryError, Value
from ..errors.remedies import IN_RADIANS
from .limits import Array, MotionLimits
from .profiles import Rates, speed_change_distance
from .sampled_paths import SAME_POINT

# A start or end velocity that deviates from the path by more than this (sine of the angle) gets an additional segment.
ALONG = 1e-6
# Length of that segment, in multiples of the braking distance.
BRAKING_DISTANCE_FACTOR = 2.0

# Whether a straight motion between two configurations (dof,) collides.
Collides = Callable[[Array, Array], bool]


def checked_velocity(given: Array | None, limits: MotionLimits, where: str) -> Array:
    """Return a start or end velocity (dof,) [rad/s or m/s]; zero for None. where: "start" or "end", for errors.

    Raises:
        InvalidRequestError: It has another shape, or numbers that are not finite.
        TrajectoryError: It is above the limit of a joint.
    """
    dof = len(limits.variables)
    if given is None:
        return np.zeros(dof)
    velocity = np.array(given, dtype=np.float64)
    if velocity.shape != (dof,) or not np.isfinite(velocity).all():
        text = f"the {where} velocity has shape {velocity.shape}, expected ({dof},) finite numbers"
        raise InvalidRequestError(text, stage="trajectory")
    over = np.flatnonzero(np.abs(velocity) > limits.velocity)
    if len(over):
        joint, value = limits.variables[over[0]], float(velocity[over[0]])
        numbers = (Value(f"velocity of {joint}", value, float(limits.velocity[over[0]]), limits.unit(int(over[0]), 1)),)
        text = f"the {where} velocity of {joint} is above its limit"
        raise TrajectoryError(text, subjects=(joint,), values=numbers, remedy=IN_RADIANS)
    return velocity


def with_braking(
    corners: Array,
    max_speeds: tuple[Array, float, float],
    ends: tuple[Array, Array],
    limits: MotionLimits,
    collides: Collides,
) -> tuple[Array, Array, tuple[bool, bool]]:
    """Return a path with segments before and after it for velocities at its ends that deviate from it, the maximum
    speeds of its segments, and whether one was added before and after it.

    Args:
        corners: Path (n, dof) [rad or m].
        max_speeds: Maximum Euclidean joint-space speeds: of the segments of the path (n - 1,), of the segment before it
            and of that after it.
        ends: Velocities at the start and at the end (dof,) [rad/s or m/s].
        limits: Limits of the joints.
        collides: Collision check of the added segments.

    Raises:
        TrajectoryError: A segment leads beyond position limits, or collides.
    """
    (first, last), (caps, before_cap, after_cap) = ends, max_speeds
    before = _braking_offset(
        corners[0], first, corners[1] - corners[0] if len(corners) > 1 else None, limits, collides, "start"
    )
    after = _braking_offset(
        corners[-1], -last, corners[-2] - corners[-1] if len(corners) > 1 else None, limits, collides, "end"
    )
    added = before is not None, after is not None
    if before is not None:
        corners, caps = np.concatenate([corners[:1], before[None], corners[1:]]), np.append(before_cap, caps)
        if len(corners) == 2:
            corners, caps = np.concatenate([corners, corners[:1]]), np.append(caps, before_cap)
    if after is not None and len(corners) == 1:
        corners, caps = np.concatenate([corners, after[None], corners]), np.full(2, after_cap)
    elif after is not None:
        corners, caps = np.concatenate([corners[:-1], after[None], corners[-1:]]), np.append(caps, after_cap)
    return corners, caps, added


def _braking_offset(
    point: Array, velocity: Array, onward: Array | None, limits: MotionLimits, collides: Collides, where: str
) -> Array | None:
    """Return the end of a braking segment from a point along a velocity; None if the path continues there."""
    speed = float(np.linalg.norm(velocity))
    if speed == 0.0:
        return None
    direction = velocity / speed
    if onward is not None:
        along = float(direction @ onward) / float(np.linalg.norm(onward))
        if along > 0.0 and 1.0 - along * along <= ALONG * ALONG:
            return None
    with np.errstate(divide="ignore"):
        kinds = (limits.velocity, limits.acceleration, limits.jerk)
        rates = Rates(*(float((kind / np.abs(direction)).min()) for kind in kinds))
    length = BRAKING_DISTANCE_FACTOR * speed_change_distance(speed, 0.0, rates)
    target: Array = point + length * direction
    beyond = np.flatnonzero((target < limits.lower - SAME_POINT) | (target > limits.upper + SAME_POINT))
    names = tuple(limits.variables[index] for index in beyond)
    if names:
        text = f"the {where} velocity leads {', '.join(names)} beyond their limits before they can brake"
        raise TrajectoryError(text, subjects=names)
    if collides(point, target):
        raise TrajectoryError(f"the braking distance of the {where} velocity is in collision")
    return target
