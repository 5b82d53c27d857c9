"""Limits of a joint that the limits of its mimic joints narrow.

A mimic joint at multiplier * q + offset has no variable of its own. What it may do therefore bounds the variable q that
it follows: q in [(lower - offset) / multiplier, (upper - offset) / multiplier], and |dq/dt| <= velocity / |multiplier|;
accelerations and jerks likewise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .value import MAX_JOINT_VALUE

# Published limits are rounded: an excess up to this [rad or m of the mimic joint, and relative for rates] narrows
# nothing, so that a gripper at its limit is not beyond it by a digit.
TOLERANCE = 1e-4


class MimicLimits(NamedTuple):
    """Limits of a mimic joint, and its coupling to the independent joint that it follows.

    Attributes:
        joint: Name of the mimic joint.
        multiplier, offset: Coupling: value = multiplier * q + offset.
        lower, upper: Its own position limits [rad or m]; infinite for none.
        rates: Its own limits of "velocity", "acceleration" and "jerk"; None, or no entry, where no file gives them.
    """

    joint: str
    multiplier: float
    offset: float
    lower: float
    upper: float
    rates: Mapping[str, float | None]


class NarrowedLimits(NamedTuple):
    """Limits of an independent joint within those of its mimic joints.

    Attributes:
        lower, upper: Position limits [rad or m].
        rates: Limits of "velocity", "acceleration" and "jerk"; None where they are unknown.
        by: Mimic joints that narrow the positions or rates.
        without_effect: Mimic joints whose position limits are beyond the range that the others leave.
    """

    lower: float
    upper: float
    rates: dict[str, float | None]
    by: tuple[str, ...]
    without_effect: tuple[str, ...]


def narrowed(
    lower: float, upper: float, rates: Mapping[str, float | None], mimics: Iterable[MimicLimits]
) -> NarrowedLimits:
    """Return the limits of an independent joint within those of the joints that follow it.

    Position limits of a mimic joint that would leave no range have no effect: the description contradicts itself, and
    the joint could not be moved at all. So have equal limits, which descriptions write where they give none.

    lower, upper, rates: Limits of the independent joint as its description has them.
    """
    result, by, without_effect = dict(rates), dict[str, None](), []
    for mimic in mimics:
        low, high = _allowed(mimic)
        slack = TOLERANCE / abs(mimic.multiplier) if mimic.multiplier else 0.0
        low = lower if low <= lower + slack else low
        high = upper if high >= upper - slack else high
        if low > lower or high < upper:
            if low < high and low <= MAX_JOINT_VALUE and high >= -MAX_JOINT_VALUE:
                lower, upper = low, high
                by[mimic.joint] = None
            else:
                without_effect.append(mimic.joint)
        for name, own in mimic.rates.items():
            known, largest = result.get(name), own / abs(mimic.multiplier) if own and mimic.multiplier else math.inf
            if largest < math.inf and (known is None or known > largest * (1.0 + TOLERANCE)):
                result[name] = largest
                by[mimic.joint] = None
    return NarrowedLimits(lower, upper, result, tuple(by), tuple(without_effect))


def _allowed(mimic: MimicLimits) -> tuple[float, float]:
    """Return the range of the independent joint in which a mimic joint is within its position limits [rad or m]."""
    if not mimic.lower < mimic.upper:
        return -math.inf, math.inf
    if mimic.multiplier == 0.0:
        within = mimic.lower - TOLERANCE <= mimic.offset <= mimic.upper + TOLERANCE
        return (-math.inf, math.inf) if within else (math.inf, -math.inf)
    ends = [(end - mimic.offset) / mimic.multiplier for end in (mimic.lower, mimic.upper)]
    return min(ends), max(ends)
