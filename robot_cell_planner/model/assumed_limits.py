"""Limits that are assumed where no file gives one."""

from __future__ import annotations

from collections.abc import Collection

# The max velocity is reached in 1/4 s, the max acceleration in 1/10 s.
DEFAULT_VELOCITY = 1.0  # [rad/s]
DEFAULT_LINEAR_VELOCITY = 0.25  # [m/s]
DEFAULT_ACCELERATION_PER_VELOCITY = 4.0  # [1/s]
DEFAULT_JERK_PER_ACCELERATION = 10.0  # [1/s]

Rates = tuple[float | None, float | None, float | None]


def rates_of_linear_part(rates: Rates, defaulted: Collection[str]) -> Rates:
    """Return the velocity, acceleration and jerk limit of the linear variables of a planar or floating joint.

    The assumed limits of the joint are those of its angles; assumed limits of linear variables are at most those of a
    prismatic joint. Limits that a file gives apply to all variables.

    Args:
        rates: Velocity, acceleration and jerk limit of the joint.
        defaulted: Names of those that are assumed.
    """
    velocity, acceleration, jerk = rates
    if velocity is not None and "velocity" in defaulted:
        velocity = min(velocity, DEFAULT_LINEAR_VELOCITY)
    if velocity is not None and acceleration is not None and "acceleration" in defaulted:
        acceleration = min(acceleration, DEFAULT_ACCELERATION_PER_VELOCITY * velocity)
    if acceleration is not None and jerk is not None and "jerk" in defaulted:
        jerk = min(jerk, DEFAULT_JERK_PER_ACCELERATION * acceleration)
    return velocity, acceleration, jerk
