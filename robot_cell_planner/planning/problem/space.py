"""Joint space of a request: moving joints, their bounds and start."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ...errors import InvalidRequestError, StartBeyondLimitsError, Value
from ...kinematics.joint_wrapping import nearest_turns, turns_within
from ...model.cell import RobotCell
from ...model.mechanism import JointLimits, Variable
from ...model.name_suggestions import listed
from ...model.start_limits import START_LIMIT_TOLERANCE, clamped_start
from ...model.state import RobotCellState
from ...model.units import common_unit
from ...model.unknown_joints import unknown_joint
from ...system.cache import IdentityCache
from ...trajectory.limits import Array, MotionLimits
from .timing_limits import check_names_of_limits

TURN = 2.0 * math.pi
# Distance of the bounds of unlimited linear joints from start and goals [m].
LINEAR_MARGIN = 6.5
# Limits of linear joints beyond this [m] count as none, so that the search samples near start and goals.
MAX_LENGTH = 1000.0
MAX_EQUIVALENTS = 64
MAX_COMBINATIONS = 8 * MAX_EQUIVALENTS
TURN_TOLERANCE = 1e-12  # [turns]
NO_LIMITS: Mapping[str, JointLimits] = frozendict()
EMPTY_REMEDY = "Name a group with joints, or give this one a <chain> or <joint> in the SRDF."
# Variables of joints of a cell by their names, and limits of such variables, since most requests are for the same ones.
_definitions: IdentityCache[tuple[Variable, ...]] = IdentityCache(size=64)
_motion_limits: IdentityCache[MotionLimits] = IdentityCache(size=64, owners=64)
_bounds: IdentityCache[_Bounds] = IdentityCache(size=64, owners=64)


class _Bounds(NamedTuple):
    """Position limits of variables (dof,), infinite where there are none, and which variables are angles."""

    lower: Array
    upper: Array
    angular: NDArray[np.bool_]
    are_complete: bool  # whether all have both limits, as wide as the bounds of a search may be

    @staticmethod
    def of(definitions: Sequence[Variable]) -> _Bounds:
        """Return those of variables."""
        lower = np.array([variable.limits.lower for variable in definitions])
        upper = np.array([variable.limits.upper for variable in definitions])
        angular = np.array([variable.angular for variable in definitions], dtype=bool)
        longest = np.where(angular, sys.float_info.max, MAX_LENGTH)
        are_complete = bool((np.maximum(abs(lower), abs(upper)) <= longest).all())
        return _Bounds(lower, upper, angular, are_complete)


@dataclass(frozen=True, eq=False)
class JointSpace:
    """Joints that are planned for.

    Attributes:
        group: Name of the planning group.
        definitions: Variables of the model, with position limits narrowed by the request.
        variables: Names, in the order of every configuration (dof,).
        start: Start configuration (dof,).
        lower, upper: Bounds of the search (dof,); for a continuous joint +- one revolution around its start, so
            that values never jump; for an unlimited linear joint +- `LINEAR_MARGIN` around its start and all goals, see
            `including`.
        wrapping: Joints (dof,) whose range is at least one revolution, so that they can be wrapped by 2 pi.
        start_warnings: Differences between the given and the used start, see `model.start_limits`.
    """

    group: str
    variables: tuple[str, ...]
    definitions: tuple[Variable, ...]
    start: Array
    lower: Array
    upper: Array
    wrapping: NDArray[np.bool_]
    start_warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return len(self.variables)

    @property
    def unit(self) -> str:
        """Unit of the joint values, "rad or m" if there are both."""
        return common_unit(variable.unit for variable in self.definitions)

    @cached_property
    def limits(self) -> MotionLimits:
        """Limits of the model, and position limits of the request; those of continuous joints are infinite."""
        return _motion_limits.get((self.definitions,), (), partial(MotionLimits.of, self.definitions))

    @cached_property
    def unlimited(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Linear joints (dof,) without a lower, and without an upper position limit."""
        linear = ~np.array([variable.angular for variable in self.definitions], dtype=bool)
        lower, upper = (
            np.array([getattr(variable.limits, side) for variable in self.definitions]) for side in ("lower", "upper")
        )
        return linear & ~(abs(lower) <= MAX_LENGTH), linear & ~(abs(upper) <= MAX_LENGTH)

    def including(self, configurations: Array) -> JointSpace:
        """Return the space whose bounds of unlimited linear joints include configurations (n, dof) with a margin."""
        if not len(configurations) or all(variable.angular for variable in self.definitions):
            return self
        no_lower, no_upper = self.unlimited
        lowest, highest = configurations.min(axis=0) - LINEAR_MARGIN, configurations.max(axis=0) + LINEAR_MARGIN
        limits = [(variable.limits.lower, variable.limits.upper) for variable in self.definitions]
        lowest, highest = np.maximum(lowest, np.array(limits)[:, 0]), np.minimum(highest, np.array(limits)[:, 1])
        lower = np.where(no_lower, np.minimum(self.lower, lowest), self.lower)
        upper = np.where(no_upper, np.maximum(self.upper, highest), self.upper)
        if np.array_equal(lower, self.lower) and np.array_equal(upper, self.upper):
            return self
        return replace(self, lower=lower, upper=upper)

    def contains(self, q: Array, tolerance: float) -> bool:
        """Return whether q (dof,) is within the bounds, beyond them by at most a tolerance [rad or m]."""
        return bool(((q >= self.lower - tolerance) & (q <= self.upper + tolerance)).all())

    def equivalents(self, q: Array, continuous_only: bool) -> list[Array]:
        """Return q (dof,) and its 2 pi wraps within the bounds, nearest to the start first; at most 64.

        Args:
            continuous_only: Wrap only continuous joints, for goals given as joint values.
        """
        choices: list[list[float]] = []
        for index, variable in enumerate(self.definitions):
            value = float(q[index])
            unlimited = not math.isfinite(variable.limits.lower)
            if not self.wrapping[index] or (continuous_only and not unlimited):
                choices.append([value])
                continue
            at = float(self.start[index])
            turns = turns_within(value, float(self.lower[index]), float(self.upper[index]), TURN_TOLERANCE)
            turns = nearest_turns(turns, (at - value) / TURN, MAX_EQUIVALENTS)
            choices.append(sorted((value + wraps * TURN for wraps in turns), key=partial(_distance, at)))
        found = [np.array(values) for values in _combinations(choices, self.start.tolist())]
        found.sort(key=lambda other: float(np.linalg.norm(other - self.start)))
        return found[:MAX_EQUIVALENTS]


def _distance(first: float, second: float) -> float:
    return abs(second - first)


def _combinations(choices: Sequence[Sequence[float]], near: Sequence[float]) -> list[list[float]]:
    """Return the combinations of the choices, of more than MAX_COMBINATIONS those nearest to `near`."""
    found: list[list[float]] = [[]]
    for count, values in enumerate(choices, start=1):
        found = [[*head, value] for value in values for head in found]
        if len(found) > MAX_COMBINATIONS:
            found.sort(key=lambda q, at=near[:count]: math.dist(q, at))  # type: ignore[misc]
            del found[MAX_COMBINATIONS:]
    return found


def joint_space(
    cell: RobotCell,
    state: RobotCellState,
    group: str = "",
    joints: Sequence[str] = (),
    slack: float = 0.0,
    tolerance: float = START_LIMIT_TOLERANCE,
    limits: Mapping[str, JointLimits] = NO_LIMITS,
) -> JointSpace:
    """Return the joint space of a group, or of some of its joints, at a state.

    Args:
        slack: Allowed excess of the state over position limits [rad or m].
        tolerance: A start beyond position limits by at most this is moved to the limit, with a warning in
            `start_warnings` [rad or m].
        limits: Limits of the request; their position limits narrow those of the model.

    Raises:
        UnknownNameError: The group does not exist, or does not have a joint.
        InvalidRequestError: The group has no joint that moves, or the limits of the request leave no position of a
            joint.
        StartBeyondLimitsError: The state is beyond position limits.
    """
    found = cell.group(group)
    if not found.variables:
        others = [name for robot in cell.robots.values() for name, other in robot.groups.items() if other.variables]
        text = f"group {found.name} has no joint that moves; groups with joints: {listed(others) or 'none'}"
        raise InvalidRequestError(text, stage="request", subjects=(found.name,), remedy=EMPTY_REMEDY)
    for joint in joints:
        if joint not in found.variables:
            raise unknown_joint(cell, joint, found.variables, f" of group {found.name}")
    variables = tuple(name for name in found.variables if name in joints) if joints else found.variables
    given = [state.configuration[name] for name in variables]
    values, warnings = clamped_start(_narrowed(cell, variables, limits), given, tolerance)
    start = np.array(values)
    space = space_of(cell, variables, start, found.name, limits, warnings)
    if (start < space.lower - slack).any() or (start > space.upper + slack).any():
        raise beyond_limits(space)
    return space


def space_of(
    cell: RobotCell,
    variables: tuple[str, ...],
    start: Array,
    group: str = "",
    limits: Mapping[str, JointLimits] = NO_LIMITS,
    start_warnings: tuple[str, ...] = (),
) -> JointSpace:
    """Return the joint space of joints of a cell at a configuration (dof,). limits: As for `joint_space`.
    start_warnings: Of the result.

    Raises:
        UnknownNameError: The cell has no joint of that name.
        InvalidRequestError: The limits of the request leave no position of a joint.
    """
    for name in variables:
        if name not in cell.variables:
            raise unknown_joint(cell, name, cell.variables)
    definitions = _narrowed(cell, variables, limits)
    lower, upper, angular, are_complete = _bounds.get((definitions,), (), partial(_Bounds.of, definitions))
    if are_complete:
        lower, upper = lower.copy(), upper.copy()
    else:
        around, longest = np.where(angular, TURN, LINEAR_MARGIN), np.where(angular, sys.float_info.max, MAX_LENGTH)
        lower = np.where(abs(lower) <= longest, lower, np.maximum(lower, start - around))
        upper = np.where(abs(upper) <= longest, upper, np.minimum(upper, start + around))
    wrapping = angular & (upper - lower >= TURN)
    return JointSpace(group, variables, definitions, start, lower, upper, wrapping, start_warnings)


def _narrowed(cell: RobotCell, variables: tuple[str, ...], limits: Mapping[str, JointLimits]) -> tuple[Variable, ...]:
    """Return variables of a cell with position limits narrowed by those of a request, which may name any joint."""
    if not limits:
        return _definitions.get((cell,), variables, lambda: tuple(cell.variables[name] for name in variables))
    check_names_of_limits(cell, limits)
    found = []
    for name in variables:
        variable, requested = cell.variables[name], limits.get(name)
        if requested is not None:
            own = variable.limits
            lower, upper = max(own.lower, requested.lower), min(own.upper, requested.upper)
            if lower > upper:
                text = f"the limits of the request leave no position of joint {name}"
                values = (Value(f"lower limit of {name}", lower, upper, unit_of(variable)),)
                raise InvalidRequestError(text, stage="request", subjects=(name,), values=values)
            narrowed = msgspec.structs.replace(own, lower=lower, upper=upper)
            variable = msgspec.structs.replace(variable, limits=narrowed)
        found.append(variable)
    return tuple(found)


def beyond_limits(space: JointSpace) -> StartBeyondLimitsError:
    """Return the error for a start beyond position limits, with its values and limits."""
    beyond = values_beyond(space, space.start)
    names = tuple(value.name for value in beyond)
    text = f"the start state is beyond limits of joint {', '.join(names)}"
    return StartBeyondLimitsError(text, stage="start", subjects=names, values=beyond)


def values_beyond(space: JointSpace, q: Array) -> tuple[Value, ...]:
    """Return the values of a configuration (dof,) that are beyond position limits."""
    beyond = []
    for variable, value in zip(space.definitions, q.tolist(), strict=True):
        low, high = variable.limits.lower, variable.limits.upper
        if not low <= value <= high:
            beyond.append(Value(variable.name, value, low if value < low else high, unit_of(variable)))
    return tuple(beyond)


def unit_of(variable: Variable) -> str:
    return "rad" if variable.angular else "m"
