"""Texts about joints whose limits those of their mimic joints narrow."""

from __future__ import annotations

from .mechanism import Mechanism
from .name_suggestions import listed


def mimic_limit_texts(mechanism: Mechanism) -> tuple[str, ...]:
    """Return a sentence about the joints that the limits of mimic joints narrow, and one about limits of mimic joints
    that have no effect, since they would leave no range."""
    texts = (
        ("limits of mimic joints narrow those of the joints that they follow", _narrowed(mechanism)),
        ("limits of mimic joints have no effect, as they would leave no range", _without_effect(mechanism)),
    )
    return tuple(f"{text}: {listed(found)}" for text, found in texts if found)


def _narrowed(mechanism: Mechanism) -> list[str]:
    """Return each joint that mimic joints narrow, with both ranges and their names."""
    found = []
    for name, narrowed in mechanism.narrowed_limits.items():
        own = mechanism.joints[name].limits
        parts = [
            f"{rate} {'unknown' if before is None else f'{before:g}'} to {after:g}"
            for rate, after in narrowed.rates.items()
            if after is not None and (before := getattr(own, rate)) != after
        ]
        if (own.lower, own.upper) != (narrowed.lower, narrowed.upper):
            parts.insert(0, f"from {own.lower:g}..{own.upper:g} to {narrowed.lower:g}..{narrowed.upper:g}")
        if parts:
            found.append(f"{name} {', '.join(parts)} (by {listed(narrowed.by)})")
    return found


def _without_effect(mechanism: Mechanism) -> list[str]:
    """Return each mimic joint whose limits contradict its coupling, with them and the range that it is moved through.

    The range is that of the narrowed limits of the joint that it follows.
    """
    found = []
    for name, narrowed in mechanism.narrowed_limits.items():
        for joint in narrowed.without_effect:
            own, (_, multiplier, offset) = mechanism.joints[joint].limits, mechanism.mimic_source(joint)
            ends = [multiplier * end + offset if multiplier else offset for end in (narrowed.lower, narrowed.upper)]
            moved = f"moved from {min(ends):g} to {max(ends):g} by {name}"
            found.append(f"{joint} ({own.lower:g} to {own.upper:g}, {moved})")
    return found
