"""Intervals of joint constraints. A joint without limits has the same place at each turn."""

from __future__ import annotations

import math

from ...model.cell import RobotCell
from ...model.mechanism import Variable

Interval = tuple[float, float]  # lower and upper bound [rad or m]
TURN = 2.0 * math.pi


def variables_of(cell: RobotCell) -> dict[str, Variable]:
    """Return the variables of robots and, as "tool/joint", those of tools."""
    of_tools = {
        f"{tool.name}/{entry.name}": entry for tool in cell.tools.values() for entry in tool.mechanism.variables
    }
    return {**cell.variables, **of_tools}


def turns(variable: Variable) -> bool:
    """Return whether a variable is an angle without limits."""
    return variable.angular and math.isinf(variable.limits.lower) and math.isinf(variable.limits.upper)


def contains_all(variable: Variable, interval: Interval) -> bool:
    """Return whether an interval contains every value that a variable can have."""
    lower, upper = interval
    if turns(variable):
        return upper - lower >= TURN
    return lower <= variable.limits.lower and variable.limits.upper <= upper


def at_nearest_turn(variable: Variable, value: float, interval: Interval) -> float:
    """Return a value, for an angle without limits the one of the same place that is nearest to the middle of an
    interval."""
    if not turns(variable):
        return value
    middle = (interval[0] + interval[1]) / 2.0
    return middle + math.remainder(value - middle, TURN)


def excess(variable: Variable, value: float, interval: Interval) -> float:
    """Return by how much a value is beyond an interval [rad or m]; at most zero inside."""
    near = at_nearest_turn(variable, value, interval)
    return max(interval[0] - near, near - interval[1])
