"""Angles that are probably in degrees."""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_ANGLE = 2.0 * math.pi + 1e-6  # [rad] roll, pitch and yaw are not larger
FREE_ANGLE = 3.14  # [rad] rotations with at least this tolerance are free
HALF_TURN = 180.0  # degrees
MEANT = (math.pi, 2.0 * math.pi)  # [rad] tolerances with which rotations are meant to be free, give or take NEARLY
NEARLY = 0.1


def degrees_doubt(rpy: Sequence[float]) -> str:
    """Return a sentence about roll, pitch and yaw [rad] of which one is larger than a turn, with what these are if they
    are degrees; "" if none is."""
    largest = max(map(abs, rpy))
    if largest <= MAX_ANGLE:
        return ""
    radians = ", ".join(f"{math.radians(angle):.7g}" for angle in rpy)
    return f"the angle {largest:g} rad is more than a turn; if roll, pitch, yaw are in degrees, write {radians}"


def tolerance_doubt(tolerances: Sequence[float]) -> str:
    """Return a sentence about the first tolerance of a rotation [rad] that frees it, but is probably in degrees; ""
    without one."""
    for angle in tolerances:
        is_meant = angle >= HALF_TURN or any(abs(angle - turn) <= NEARLY for turn in MEANT)
        if angle >= FREE_ANGLE and not is_meant:
            allowed = f"an angular tolerance of {angle:g} rad allows every rotation"
            return f"{allowed}; if it is in degrees, write {math.radians(angle):.5g}, else 3.14"
    return ""
