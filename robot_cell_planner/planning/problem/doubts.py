"""Values of requests that are valid, but probably in millimetres or degrees."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ...model.angles import tolerance_doubt
from ...trajectory.timing import TimingOptions
from .constraints import FrameConstraint, FrameRule, PathConstraint

MAX_SPEED = 10.0  # [m/s] of tools; those of robots are lower
MAX_BLEND = math.pi  # [rad or m]
MAX_TOLERANCE, MAX_EXTENT = 1.0, 100.0  # [m] of constraints on positions; the space of a gantry may be large
MAX_REGION = 10.0  # [m] extent of a region of goals
ANGULAR = FrameRule.AXIS_IN_CONE, FrameRule.ORIENTATION


def in_millimetres(what: str, value: float, limit: float, unit: str = "m") -> tuple[str, ...]:
    """Return a sentence about a finite length or speed above a limit, with its value if it is in mm; none below it."""
    if not limit < value < math.inf:
        return ()
    return (f"{what} of {value:g} {unit} is probably too large; if it is in m{unit}, write {value / 1e3:g}",)


def in_degrees(what: str, value: float, limit: float, unit: str = "rad") -> tuple[str, ...]:
    """Return a sentence about a finite angle above a limit, with its value if it is in degrees; none below it."""
    if not limit < value < math.inf:
        return ()
    return (f"{what} of {value:g} {unit} limits nothing; if it is in degrees, write {math.radians(value):.5g}",)


def timing_doubts(timing: TimingOptions | None) -> tuple[str, ...]:
    """Return sentences about options of a timing that are probably in other units."""
    if timing is None:
        return ()
    speed = in_millimetres("a tool speed", timing.tool_speed, MAX_SPEED, "m/s")
    return speed + in_degrees("a blend tolerance", timing.blend_tolerance, MAX_BLEND, "rad or m")


def constraint_doubts(constraints: Iterable[PathConstraint]) -> tuple[str, ...]:
    """Return sentences about constraints on frames with tolerances that are probably in other units."""
    found: tuple[str, ...] = ()
    for constraint in constraints:
        if not isinstance(constraint, FrameConstraint):
            continue
        if constraint.rule in ANGULAR:
            found += tuple(filter(None, (tolerance_doubt((constraint.tolerance,)),)))
        else:
            found += in_millimetres("a tolerance of a constraint", constraint.tolerance, MAX_TOLERANCE)
            for extent in constraint.extent:
                found += in_millimetres("an extent of a constraint", extent, MAX_EXTENT)
    return found
