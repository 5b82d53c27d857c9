"""The joint space of a request: which joints move, between which bounds, and from where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import StartBeyondLimitsError, UnknownNameError, Value
from ...model.cell import RobotCell
from ...model.mechanism import Variable
from ...model.name_suggestions import unknown_name
from ...model.start_limits import START_LIMIT_TOLERANCE, clamped_start
from ...model.state import RobotCellState
from ...trajectory.limits import Array, MotionLimits

TURN = 2.0 * math.pi
MAX_EQUIVALENTS = 64


@dataclass(frozen=True, eq=False)
class JointSpace:
    """The joints that are planned for.

    group: name of the planning group. variables: in the order of every configuration (dof,). start: where they are.
    lower, upper (dof,): bounds of the search; those of a continuous joint lie one turn either way of its start, so that
    values never jump. turning (dof,): joints that look the same after a full turn and have room for one.
    start_warnings: where the start is not quite what was given, see `cell.start_limits`.
    """

    group: str
    variables: tuple[str, ...]
    definitions: tuple[Variable, ...]
    start: Array
    lower: Array
    upper: Array
    turning: NDArray[np.bool_]
    start_warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return len(self.variables)

    @property
    def limits(self) -> MotionLimits:
        """What the model says of the joints; position limits of continuous joints are infinite."""
        return MotionLimits.of(self.definitions)

    def equivalents(self, q: Array, continuous_only: bool) -> list[Array]:
        """q and what looks the same within the bounds, joints turned by full turns; nearest to the start first.

        continuous_only: only continuous joints may be turned, for goals that give joint values. At most 64.
        """
        choices: list[list[float]] = []
        for index, variable in enumerate(self.definitions):
            value = float(q[index])
            unlimited = not math.isfinite(variable.limits.lower)
            if not self.turning[index] or (continuous_only and not unlimited):
                choices.append([value])
                continue
            low, high = self.lower[index], self.upper[index]
            first = math.ceil((low - value) / TURN - 1e-12)
            last = math.floor((high - value) / TURN + 1e-12)
            turned = [value + turns * TURN for turns in range(first, last + 1)]
            turned.sort(key=lambda v, at=float(self.start[index]): abs(v - at))  # type: ignore[misc]
            choices.append(turned)
        found = [np.array(values) for values in _products(choices)]
        found.sort(key=lambda other: float(np.linalg.norm(other - self.start)))
        return found[:MAX_EQUIVALENTS]


def _products(choices: Sequence[Sequence[float]]) -> list[list[float]]:
    """All combinations, those of earlier choices first, at most some hundreds."""
    found: list[list[float]] = [[]]
    for values in choices:
        found = [[*head, value] for value in values for head in found][: 8 * MAX_EQUIVALENTS]
    return found


def joint_space(
    cell: RobotCell,
    state: RobotCellState,
    group: str = "",
    joints: Sequence[str] = (),
    slack: float = 0.0,
    tolerance: float = START_LIMIT_TOLERANCE,
) -> JointSpace:
    """The joint space of a group, or of some of its joints, at a state.

    tolerance [rad or m]: a start beyond position limits by no more than this is moved to the limit, with a warning in
    `start_warnings`. slack [rad or m]: how far the state may be beyond position limits otherwise.

    Raises:
        UnknownNameError: no such group, or a joint that is not in it.
        StartBeyondLimitsError: the state is beyond position limits.
    """
    found = cell.group(group)
    for joint in joints:
        if joint not in found.variables:
            text = unknown_name(f"joint {joint!r} of group {found.name}", joint, found.variables)
            raise UnknownNameError(text, subjects=(joint,))
    variables = tuple(name for name in found.variables if name in joints) if joints else found.variables
    given = [state.configuration[name] for name in variables]
    values, warnings = clamped_start([cell.variables[name] for name in variables], given, tolerance)
    start = np.array(values)
    space = replace(space_of(cell, variables, start, found.name), start_warnings=warnings)
    if (start < space.lower - slack).any() or (start > space.upper + slack).any():
        raise beyond_limits(space)
    return space


def space_of(cell: RobotCell, variables: tuple[str, ...], start: Array, group: str = "") -> JointSpace:
    """The joint space of some joints of a cell at a configuration (dof,).

    Raises:
        UnknownNameError: the cell has no such joint.
    """
    for name in variables:
        if name not in cell.variables:
            raise UnknownNameError(unknown_name(f"joint {name!r}", name, cell.variables), subjects=(name,))
    definitions = tuple(cell.variables[name] for name in variables)
    lower = np.array([v.limits.lower for v in definitions])
    upper = np.array([v.limits.upper for v in definitions])
    angular = np.array([v.angular for v in definitions], dtype=bool)
    lower = np.where(np.isfinite(lower), lower, start - TURN)
    upper = np.where(np.isfinite(upper), upper, start + TURN)
    turning = angular & (upper - lower >= TURN)
    return JointSpace(group, variables, definitions, start, lower, upper, turning)


def beyond_limits(space: JointSpace) -> StartBeyondLimitsError:
    """The error for a start beyond position limits, with its values against them."""
    beyond = values_beyond(space, space.start)
    names = tuple(value.name for value in beyond)
    text = f"the start state is beyond limits of joint {', '.join(names)}"
    return StartBeyondLimitsError(text, stage="start", subjects=names, values=beyond)


def values_beyond(space: JointSpace, q: Array) -> tuple[Value, ...]:
    """Those values of a configuration (dof,) that are beyond the limits of the model."""
    beyond = []
    for variable, value in zip(space.definitions, q.tolist(), strict=True):
        low, high = variable.limits.lower, variable.limits.upper
        if not low <= value <= high:
            beyond.append(Value(variable.name, value, low if value < low else high, unit_of(variable)))
    return tuple(beyond)


def unit_of(variable: Variable) -> str:
    return "rad" if variable.angular else "m"
