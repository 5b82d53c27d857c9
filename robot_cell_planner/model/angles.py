"""Angles that are probably in degrees."""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_ANGLE = 2.0 * math.pi + 1e-6  # [rad] roll, pitch and yaw are not larger


def degrees_doubt(rpy: Sequence[float]) -> str:
    """Return a sentence about roll, pitch and yaw [rad] of which one is larger than a turn, with what these are if they
    are degrees; "" if none is."""
    largest = max(map(abs, rpy))
    if largest <= MAX_ANGLE:
        return ""
    radians = ", ".join(f"{math.radians(angle):.7g}" for angle in rpy)
    return f"the angle {largest:g} rad is more than a turn; if roll, pitch, yaw are in degrees, write {radians}"
