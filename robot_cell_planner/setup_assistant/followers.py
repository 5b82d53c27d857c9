"""Limits of mimic joints that the joints which they follow exceed."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.mechanism import Joint, JointKind, JointLimits, Mechanism
from ..model.name_suggestions import listed
from .finding import WARNING, Finding

TOLERANCE = 1e-3  # [rad or m, and relative for velocities] published limits are rounded
REMEDY = (
    "Narrow the limits of the joints that they follow, in the limits file, or correct theirs in the description: mimic "
    "joints have no limits of their own in plans."
)


def follower_findings(mechanism: Mechanism, name: str) -> Iterator[Finding]:
    """Yield a finding about the mimic joints of a model that are moved beyond their own limits."""
    found = [text for joint in mechanism.joints.values() if joint.mimic for text in _excesses(mechanism, joint)]
    if found:
        yield Finding(WARNING, "limits", f"{name}: mimic joints move beyond their limits: {listed(found)}", REMEDY)


def _excesses(mechanism: Mechanism, joint: Joint) -> Iterator[str]:
    source, multiplier, offset = mechanism.mimic_source(joint.name)
    moving = mechanism.joints[source].limits
    lower, upper = _range(moving, multiplier, offset)
    own = joint.limits
    # Descriptions leave both limits zero where they give none.
    has_range = joint.kind is not JointKind.CONTINUOUS and own.lower < own.upper
    if has_range and max(own.lower - lower, upper - own.upper) > TOLERANCE:
        yield f"{joint.name} ({own.lower:g} to {own.upper:g}, moved from {lower:g} to {upper:g} by {source})"
    if not own.velocity or not moving.velocity or {*own.defaulted, *moving.defaulted} & {"velocity"}:
        return
    speed = abs(multiplier) * moving.velocity
    if speed > own.velocity * (1.0 + TOLERANCE):
        yield f"{joint.name} (velocity {own.velocity:g}, moved at up to {speed:g} by {source})"


def _range(limits: JointLimits, multiplier: float, offset: float) -> tuple[float, float]:
    """Return the range of positions of a joint that follows one with these limits [rad or m]."""
    if multiplier == 0.0:
        return offset, offset
    ends = [multiplier * end + offset for end in (limits.lower, limits.upper)]
    return min(ends), max(ends)
