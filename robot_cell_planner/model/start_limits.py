"""Start values slightly beyond a position limit, caused by rounded measurements or by a drive resting at its end stop.

Motions are planned from the limit, with a warning to the caller. Starts beyond the tolerance are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..errors import distinct_texts
from .cell import RobotCell
from .mechanism import Variable
from .state import RobotCellState

START_LIMIT_TOLERANCE = 1e-3  # [rad or m]
MAX_START_TOLERANCE = 0.1  # [rad or m] upper bound of a requested tolerance


def clamped_start(
    variables: Sequence[Variable], values: Sequence[float], tolerance: float = START_LIMIT_TOLERANCE
) -> tuple[list[float], tuple[str, ...]]:
    """Clamp start values to position limits.

    Values at most `tolerance` [rad or m] beyond a limit are moved to the limit; values further beyond are unchanged.

    Returns:
        The values in the order of `variables`, and a warning for each clamped value.
    """
    clamped, warnings = [], []
    for variable, value in zip(variables, values, strict=True):
        limit = min(max(value, variable.limits.lower), variable.limits.upper)
        if value != limit and abs(value - limit) <= tolerance:
            found, allowed = distinct_texts(value, limit)
            unit = variable.unit
            warnings.append(
                f"joint {variable.name} starts at {found} {unit}, beyond its limit {allowed} {unit}; the motion is "
                "planned from the limit"
            )
            value = limit
        clamped.append(float(value))
    return clamped, tuple(warnings)


def limits_around_start(
    variables: Sequence[Variable], start: Mapping[str, float], tolerance: float = START_LIMIT_TOLERANCE
) -> tuple[list[tuple[float, float]], tuple[str, ...]]:
    """Widen position limits to include start values at most `tolerance` [rad or m] beyond them.

    Joints without a start value keep their limits.

    Returns:
        (lower, upper) [rad or m] in the order of `variables`, and a warning for each widened limit.
    """
    bounds, warnings = [], []
    for variable in variables:
        lower, upper = variable.limits.lower, variable.limits.upper
        value = start.get(variable.name, lower)
        excess = max(lower - value, value - upper)
        if 0.0 < excess <= tolerance:
            found, allowed = distinct_texts(value, lower if value < lower else upper)
            unit = variable.unit
            warnings.append(
                f"joint {variable.name} starts at {found} {unit}, beyond its limit {allowed} {unit}; it may "
                "stay there, but not move further"
            )
            lower, upper = min(lower, value), max(upper, value)
        bounds.append((lower, upper))
    return bounds, tuple(warnings)


def states_beyond_limits(cell: RobotCell, state: RobotCellState) -> tuple[str, ...]:
    """Return a warning for each joint that the state, also of a tool, or a named state of a robot, places beyond its
    limits."""
    warnings = []
    of_tools = {
        f"{name}/{variable.name}": variable
        for name, tool in cell.tools.items()
        for variable in tool.mechanism.variables
    }
    fingers = {
        f"{name}/{joint}": value for name, tool in state.tools.items() for joint, value in tool.configuration.items()
    }
    given: list[tuple[str, Mapping[str, float]]] = [("the state", state.configuration), ("the state", fingers)]
    for robot in cell.robots.values():
        given += [
            (f"named state {name!r} of robot {robot.name}", values) for name, values in robot.named_states.items()
        ]
    for what, values in given:
        for joint, value in values.items():
            variable = cell.variables.get(joint) or of_tools.get(joint)
            if variable is None or variable.limits.lower <= value <= variable.limits.upper:
                continue
            limit = variable.limits.lower if value < variable.limits.lower else variable.limits.upper
            found, allowed = distinct_texts(value, limit)
            unit = variable.unit
            in_degrees = variable.angular and abs(value) > math.tau
            degrees = f"; {value:g} degrees are {math.radians(value):.4g} rad" if in_degrees else ""
            warnings.append(f"{what} has joint {joint} at {found} {unit}, beyond its limit {allowed} {unit}{degrees}")
    return tuple(warnings)
