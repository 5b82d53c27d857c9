"""Joint limits: a file that overrides and completes the limits of a URDF, and default limits.

The file has the form of MoveIt's joint_limits.yaml: under `joint_limits`, by joint name, has_position_limits with
min_position and max_position; has_velocity_limits, has_acceleration_limits, has_jerk_limits and has_effort_limits with
max_velocity and so on. `has_...: false` ignores the value in the file. `assumed: [acceleration, jerk]` marks limits
that nobody has confirmed, as in a draft. has_soft_limits with soft_lower_limit and soft_upper_limit narrows the
position limits; has_deceleration_limits with max_deceleration lowers the acceleration limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

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
from ..common.defects import Defects
from ..common.sections import ConfigurationFile, Section
from .soft_limits import SOFT_LOWER, SOFT_UPPER, narrowed_to, remark_narrowed, with_soft_limits

STAGE = "read limits"
# A file may be rounded differently from the URDF. A position limit that exceeds the URDF limit by less than this is
# replaced by the URDF limit.
POSITION_TOLERANCE = 1e-4  # [rad or m]
# Keys that ros2_control also writes; they are ignored.
OTHER_KEYS = ("k_position", "k_velocity")
RATES = ("velocity", "acceleration", "jerk", "effort")
SCALING = ("default_velocity_scaling_factor", "default_acceleration_scaling_factor")


def read_limits(
    text: str,
    mechanism: Mechanism,
    source: str = "limits",
    prefix: str = "",
    defects: Defects | None = None,
    urdf: str = "URDF",
) -> Mechanism:
    """Apply the limits of a file to a mechanism. `prefix` is prepended to the joint names of the file.

    Position limits can only be narrowed; velocity and effort limits can be lowered or raised. Soft limits narrow the
    position limits: those of the file, or those of the URDF where the file gives neither position nor soft limits.

    defects: Takes note of joints that soft limits narrow, and of entries without effect.
    urdf: Name of the URDF in these notes.

    Raises:
        FileError: The file is malformed, a joint does not exist, or position limits exceed those of the URDF.
    """
    root = ConfigurationFile(text, source, STAGE).root
    defects = Defects() if defects is None else defects
    hard, joints = dict(mechanism.joints), dict(mechanism.joints)
    replaced: set[str] = set()
    for section in root.sections("joint_limits"):
        name = prefix + section.name
        if name not in joints:
            raise section.error(f"names a joint: {_unknown_joint(name, joints)}")
        hard[name] = _with_limits(joints[name], section)
        joints[name] = _with_soft_limits(hard[name], section, defects)
        if section.flag(*_position_flag(section)) or section.flag(*_soft_flag(section)):
            replaced.add(name)
        section.finish()
    for key in SCALING:
        if root.has(key) and (factor := root.number(key)) != 1.0:
            defects.remark(f"{source}: {key} {factor:g} has no effect; requests can scale velocities and accelerations")
    root.finish()
    limited = msgspec.structs.replace(mechanism, joints=frozendict(joints))
    remark_narrowed(hard, limited, source, defects)
    return with_soft_limits(limited, replaced, urdf, defects)


def _unknown_joint(name: str, joints: Mapping[str, Joint]) -> str:
    joint = joints.get(name.rpartition("/")[0])
    if joint is None or name not in joint.variables:
        return unknown_name(repr(name), name, joints)
    return f"{name!r} is a variable of {joint.name}; write {joint.name}, whose limits apply to each of its variables"


def _position_flag(section: Section) -> tuple[str, bool]:
    return "has_position_limits", section.has("min_position") or section.has("max_position")


def _soft_flag(section: Section) -> tuple[str, bool]:
    lower, upper = section.has(SOFT_LOWER), section.has(SOFT_UPPER)
    return "has_soft_limits", lower or upper


def _with_limits(joint: Joint, section: Section) -> Joint:
    lower, upper = joint.limits.lower, joint.limits.upper
    if section.flag(*_position_flag(section)):
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
    rates = _rates(joint, section)
    for key in (*OTHER_KEYS, "min_position", "max_position", *(f"max_{n}" for n in (*RATES, "deceleration"))):
        section.has(key)
    assumed = section.texts("assumed")
    if unknown := [name for name in assumed if name not in rates]:
        raise section.error(f"has {unknown[0]!r}, expected limits of this joint that the file gives", "assumed")
    limits = msgspec.structs.replace(joint.limits, lower=lower, upper=upper, **rates, defaulted=assumed)
    return msgspec.structs.replace(joint, limits=limits)


def _rates(joint: Joint, section: Section) -> dict[str, float]:
    """Return the limits of velocity, acceleration, jerk and effort that the file gives."""
    rates = {}
    for name in RATES:
        if section.flag(f"has_{name}_limits", section.has(f"max_{name}")):
            value = section.number(f"max_{name}")
            if value <= 0.0:
                raise section.error(f"is {value:g}, expected a number above 0", f"max_{name}")
            rates[name] = value
    if section.flag("has_deceleration_limits", section.has("max_deceleration")):
        value = abs(section.number("max_deceleration"))  # negative for MoveIt's Pilz planner
        if value == 0.0:
            raise section.error("is 0, expected another number", "max_deceleration")
        others = (rates.get("acceleration", joint.limits.acceleration), value)
        rates["acceleration"] = min(other for other in others if other is not None)
    return rates


def _with_soft_limits(joint: Joint, section: Section, defects: Defects) -> Joint:
    """Return a joint with the soft limits of the file, and note what has no effect."""
    where = f"{section.file.source}: joint {joint.name}"
    if section.flag("angle_wraparound") and joint.kind is JointKind.REVOLUTE:
        kept = f"{joint.limits.lower:g}..{joint.limits.upper:g}"
        defects.remark(f"{where}: angle_wraparound has no effect, as the URDF limits its position to {kept}")
    if not section.flag(*_soft_flag(section)):
        return joint
    lower, upper = (section.number(key) if section.has(key) else None for key in (SOFT_LOWER, SOFT_UPPER))
    narrowed = None if lower is upper is None else narrowed_to(joint, lower, upper)
    if narrowed is None:
        given = f"{SOFT_LOWER} {lower} and {SOFT_UPPER} {upper}"
        defects.remark(f"{where}: has_soft_limits with {given} has no effect, as no range of a bounded joint remains")
    return narrowed or joint


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
