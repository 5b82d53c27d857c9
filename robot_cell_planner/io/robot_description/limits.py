"""Joint limits: a file that overrides and completes the limits of a URDF, and default limits.

The file has the form of MoveIt's joint_limits.yaml: under `joint_limits`, by joint name, has_position_limits with
min_position and max_position; has_velocity_limits, has_acceleration_limits, has_jerk_limits and has_effort_limits with
max_velocity and so on. `has_...: false` ignores the value in the file. `assumed: [acceleration, jerk]` marks limits
that nobody has confirmed, as in a draft.
"""

from __future__ import annotations

import math

import msgspec
from frozendict import frozendict

from ...model.assumed_limits import (
    DEFAULT_ACCELERATION_PER_VELOCITY,
    DEFAULT_JERK_PER_ACCELERATION,
    DEFAULT_LINEAR_VELOCITY,
    DEFAULT_VELOCITY,
)
from ...model.mechanism import COMPOUND_SUFFIXES, Joint, JointKind, JointLimits, Mechanism
from ...model.name_suggestions import unknown_name
from ..common.sections import ConfigurationFile, Section

STAGE = "read limits"
# A file may be rounded differently from the URDF. A position limit that exceeds the URDF limit by less than this is
# replaced by the URDF limit.
POSITION_TOLERANCE = 1e-4  # [rad or m]
# Keys that MoveIt and ros2_control also write; they are ignored.
OTHER_KEYS = (
    "angle_wraparound", "has_soft_limits", "k_position", "k_velocity", "soft_lower_limit", "soft_upper_limit",
    "has_deceleration_limits", "max_deceleration",
)  # fmt: skip
OTHER_TOP_KEYS = ("default_velocity_scaling_factor", "default_acceleration_scaling_factor")


def read_limits(text: str, mechanism: Mechanism, source: str = "limits", prefix: str = "") -> Mechanism:
    """Apply the limits of a file to a mechanism. `prefix` is prepended to the joint names of the file.

    Position limits can only be narrowed; velocity and effort limits can be lowered or raised.

    Raises:
        FileError: The file is malformed, a joint does not exist, or position limits exceed those of the URDF.
    """
    root = ConfigurationFile(text, source, STAGE).root
    joints = dict(mechanism.joints)
    for section in root.sections("joint_limits"):
        name = prefix + section.name
        if name not in joints:
            raise section.error(f"names a joint: {unknown_name(repr(name), name, joints)}")
        joints[name] = _with_limits(joints[name], section)
    for key in OTHER_TOP_KEYS:
        root.has(key)
    root.finish()
    return msgspec.structs.replace(mechanism, joints=frozendict(joints))


def _with_limits(joint: Joint, section: Section) -> Joint:
    lower, upper = joint.limits.lower, joint.limits.upper
    if section.flag("has_position_limits", section.has("min_position") or section.has("max_position")):
        low, high = section.number("min_position"), section.number("max_position")
        if joint.kind in (JointKind.FIXED, *COMPOUND_SUFFIXES):
            raise section.error(f"has position limits, but joint {joint.name} is {joint.kind.value}")
        if low > high:
            raise section.error(f"has min_position {low:g} above max_position {high:g}")
        if low < lower - POSITION_TOLERANCE or high > upper + POSITION_TOLERANCE:
            raise section.error(
                f"has positions {low:g} to {high:g}, which leave those of the URDF, {lower:g} to {upper:g}"
            )
        lower, upper = max(low, lower), min(high, upper)
    numbers = {}
    for name in ("velocity", "acceleration", "jerk", "effort"):
        if section.flag(f"has_{name}_limits", section.has(f"max_{name}")):
            value = section.number(f"max_{name}")
            if value <= 0.0:
                raise section.error(f"is {value:g}, expected a number above 0", f"max_{name}")
            numbers[name] = value
    for key in (*OTHER_KEYS, "min_position", "max_position", *(f"max_{n}" for n in ("velocity", "acceleration"))):
        section.has(key)
    for name in ("jerk", "effort"):
        section.has(f"max_{name}")
    assumed = section.texts("assumed")
    if unknown := [name for name in assumed if name not in numbers]:
        raise section.error(f"has {unknown[0]!r}, expected limits of this joint that the file gives", "assumed")
    section.finish()
    limits = msgspec.structs.replace(joint.limits, lower=lower, upper=upper, **numbers, defaulted=assumed)
    return msgspec.structs.replace(joint, limits=limits)


def with_default_limits(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with velocity, acceleration and jerk limits for every movable joint.

    Missing limits default to 1 rad/s or 0.25 m/s, 4/s times the velocity limit, and 10/s times the acceleration limit,
    and are listed in `defaulted`. Those of planar and floating joints are the ones of their angles; their linear
    variables have the limits of a prismatic joint (`Mechanism.variables`). A velocity limit of zero, which some files
    use for "unknown", counts as missing.
    """
    joints = {name: _completed(joint) for name, joint in mechanism.joints.items()}
    return msgspec.structs.replace(mechanism, joints=frozendict(joints))


def _completed(joint: Joint) -> Joint:
    if joint.kind is JointKind.FIXED:
        return joint
    limits, defaulted = joint.limits, list(joint.limits.defaulted)
    velocity, acceleration, jerk = limits.velocity, limits.acceleration, limits.jerk
    if not velocity:
        velocity = DEFAULT_LINEAR_VELOCITY if joint.kind is JointKind.PRISMATIC else DEFAULT_VELOCITY
        defaulted.append("velocity")
    if not acceleration:
        acceleration = DEFAULT_ACCELERATION_PER_VELOCITY * velocity
        defaulted.append("acceleration")
    if not jerk:
        jerk = DEFAULT_JERK_PER_ACCELERATION * acceleration
        defaulted.append("jerk")
    if defaulted == list(joint.limits.defaulted):
        return joint
    complete = JointLimits(limits.lower, limits.upper, velocity, acceleration, jerk, limits.effort, tuple(defaulted))
    if not all(math.isfinite(value) for value in (velocity, acceleration, jerk)):
        raise ValueError(f"limits of joint {joint.name} overflow")
    return msgspec.structs.replace(joint, limits=complete)
