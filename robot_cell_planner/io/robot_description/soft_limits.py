"""Soft limits: position limits within those of a joint, of <safety_controller> in URDF and of limits files.

MoveIt and the joint limiter of ros2_control keep a joint within its soft limits, so that a plan beyond them would not
be executed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec
from frozendict import frozendict

from ...model.mechanism import Joint, JointKind, Mechanism
from ...model.name_suggestions import listed
from ..common.defects import Defects

BOUNDED = (JointKind.REVOLUTE, JointKind.PRISMATIC)
NARROWED = "soft limits narrow the position limits"
SOFT_LOWER, SOFT_UPPER = "soft_lower_limit", "soft_upper_limit"


def with_soft_limits(mechanism: Mechanism, replaced: Collection[str], source: str, defects: Defects) -> Mechanism:
    """Return the mechanism with position limits that are narrowed to the soft limits of the URDF.

    The names and numbers of joints whose limits change, and of soft limits without effect, are remarks.

    Args:
        mechanism: Mechanism that was read from a URDF.
        replaced: Joints whose soft limits a limits file replaces.
        source: Name of the URDF in remarks.
        defects: Takes the remarks.
    """
    joints = dict(mechanism.joints)
    unused: list[str] = []
    for joint in mechanism.joints.values():
        found = joint.extras.safety_controller
        if joint.name in replaced or joint.kind is JointKind.FIXED or not {SOFT_LOWER, SOFT_UPPER} & set(found):
            continue
        lower, upper = found.get(SOFT_LOWER), found.get(SOFT_UPPER)
        narrowed = narrowed_to(joint, lower, upper)
        joints[joint.name] = narrowed or joint
        if narrowed is None:
            unused.append(f"{joint.name} ({lower} to {upper})")
    if unused:
        text = f"{source}: soft limits of {_all(unused)} have no effect, as no range of a bounded joint remains"
        defects.remark(text)
    result = msgspec.structs.replace(mechanism, joints=frozendict(joints))
    remark_narrowed(mechanism.joints, result, source, defects)
    return result


def narrowed_to(joint: Joint, lower: float | None, upper: float | None) -> Joint | None:
    """Return a joint with its limits narrowed to soft limits; None if the joint is not bounded or no range is left.

    lower, upper: Soft limits [rad or m]; None for none.
    """
    limits = joint.limits
    low = limits.lower if lower is None else max(lower, limits.lower)
    high = limits.upper if upper is None else min(upper, limits.upper)
    if joint.kind not in BOUNDED or not low < high:
        return None
    if (low, high) == (limits.lower, limits.upper):
        return joint
    return msgspec.structs.replace(joint, limits=msgspec.structs.replace(limits, lower=low, upper=high))


def remark_narrowed(before: Mapping[str, Joint], after: Mechanism, source: str, defects: Defects) -> None:
    """Take note of the joints whose position limits soft limits have narrowed, in one line."""
    changed = [
        f"{joint.name} from {old.lower:g}..{old.upper:g} to {new.lower:g}..{new.upper:g}"
        for joint in after.joints.values()
        for old, new in [(before[joint.name].limits, joint.limits)]
        if (old.lower, old.upper) != (new.lower, new.upper)
    ]
    if changed:
        defects.remark(f"{source}: {NARROWED} of {_all(changed)}")


def _all(texts: Iterable[str]) -> str:
    return listed(texts, 64)
