"""Validation: what must be true of a trajectory before it may move a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    InvalidRequestError,
    LimitExceededError,
    RobotCellError,
    TrajectoryInCollisionError,
    TrajectoryLimitError,
    TrajectoryStartError,
    Value,
    told_apart,
)
from ..model.arguments import public
from .curve_limits import POSITION_TOLERANCE, RELATIVE_TOLERANCE, excesses
from .limits import RATES, Array, MotionLimits
from .trajectory import Trajectory

START_TOLERANCE = 0.01  # [rad or m]
MAX_FINDINGS = 100
MAX_STATES = 10_000_000  # that one search for collisions checks
# Largest errors of the corrected trapezoidal rule for positions and of the trapezoidal rule for velocities over a step
# h with jerk at most J, as shares of J h3 and J h2: integrals of |Peano kernel|.
POSITION_KERNEL = 1.0 / (18.0 * np.sqrt(3.0))
VELOCITY_KERNEL = 0.25


class Quantity(str, Enum):
    POSITION = "position"
    VELOCITY = "velocity"
    ACCELERATION = "acceleration"
    JERK = "jerk"
    CONTINUITY = "continuity"
    START = "start"


@dataclass(frozen=True)
class LimitViolation:
    """A limit that is broken: at which sample and time [s], by which joint, what was found and what is allowed."""

    quantity: Quantity
    variable: str
    sample: int
    time: float
    value: float
    limit: float

    def __str__(self) -> str:
        value, limit = told_apart(self.value, self.limit)
        place = f"{self.quantity.value} of {self.variable} at sample {self.sample} ({self.time:.4f} s)"
        return f"{place}: {value}, limit {limit}"


@dataclass(frozen=True, eq=False)
class TrajectoryCollision:
    """A state along the trajectory that is in collision: its time [s], the sample at or before it, its configuration,
    and the pair where the caller's check tells it."""

    sample: int
    time: float
    configuration: Array
    first: str = ""
    second: str = ""


@dataclass(frozen=True)
class TrajectoryReport:
    """What the validation found, in the order of time; truncated: there is more.

    states_checked: states that were held against the cell. warnings: limits that had to be assumed.
    """

    duration: float
    violations: tuple[LimitViolation, ...] = ()
    collisions: tuple[TrajectoryCollision, ...] = ()
    truncated: bool = False
    states_checked: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.violations and not self.collisions

    def check(self) -> TrajectoryReport:
        """The report itself, if nothing is wrong.

        Raises:
            TrajectoryStartError, TrajectoryLimitError, TrajectoryInCollisionError: with the first finding; the report
                is in `partial`.
        """
        if self.violations:
            raise self._limit_error(self.violations[0])
        if self.collisions:
            found = self.collisions[0]
            pair = f" between {found.first} and {found.second}" if found.first else ""
            names = (found.first, found.second) if found.first else ()
            raise TrajectoryInCollisionError(
                f"the trajectory is in collision{pair} at {found.time:.4f} s",
                stage="validate trajectory",
                subjects=names,
                values=(Value("time", found.time, None, "s"),),
                partial=self,
            )
        return self

    def _limit_error(self, found: LimitViolation) -> RobotCellError:
        kind = TrajectoryStartError if found.quantity is Quantity.START else TrajectoryLimitError
        numbers = (Value(f"{found.quantity.value} of {found.variable}", found.value, found.limit),)
        return kind(str(found), stage="validate trajectory", subjects=(found.variable,), values=numbers, partial=self)


CollisionCheck = Callable[[Array], NDArray[np.bool_]]
PairOf = Callable[[Array], tuple[str, str]]


@dataclass(frozen=True)
class CollisionSearch:
    """How a trajectory is held against the cell.

    in_collision: (n, dof) -> (n,) of bool. pair_of: names of the colliding pair at a configuration (dof,). step [rad or
    m]: states between samples are checked too where a joint moves further than this from one to the next.
    """

    in_collision: CollisionCheck
    pair_of: PairOf | None = None
    step: float = 0.001


@public
def validate(
    trajectory: Trajectory,
    limits: MotionLimits,
    *,
    start: Mapping[str, float] | None = None,
    start_tolerance: float = START_TOLERANCE,
    at_rest: bool = True,
    collisions: CollisionSearch | None = None,
    find_all: bool = False,
) -> TrajectoryReport:
    """Check a trajectory against limits, its own continuity, the state it must start from, and the cell.

    Limits hold over the whole curve that is streamed (`Trajectory.curve`), by the extrema of its pieces, and not at the
    samples alone. start: joint values that the first sample must meet within `start_tolerance` [rad or m]. at_rest:
    velocities of the last sample must be exactly zero, and its accelerations zero within a millionth of their limits.
    find_all: list all findings, up to 100 of a kind, instead of the first of each.

    Raises:
        InvalidRequestError: joints of the trajectory and of the limits differ, or a joint is missing in `start`.
    """
    if trajectory.variables != limits.variables:
        text = f"the trajectory moves {list(trajectory.variables)}, the limits are for {list(limits.variables)}"
        raise InvalidRequestError(text, stage="validate trajectory")
    violations: list[LimitViolation] = []
    truncated = False
    most = MAX_FINDINGS if find_all else 1
    for found in _all_violations(trajectory, limits, start, start_tolerance, at_rest):
        truncated = truncated or len(found) > most
        violations.extend(found[:most])
    violations.sort(key=lambda violation: violation.time)
    hits: list[TrajectoryCollision] = []
    checked = 0
    if collisions is not None:
        hits, checked, more = _search_collisions(trajectory, collisions, most)
        truncated = truncated or more
    warnings = tuple(f"limits were assumed for {text}" for text in limits.assumed)
    return TrajectoryReport(trajectory.duration, tuple(violations), tuple(hits), truncated, checked, warnings)


def _all_violations(
    trajectory: Trajectory,
    limits: MotionLimits,
    start: Mapping[str, float] | None,
    start_tolerance: float,
    at_rest: bool,
) -> Iterator[list[LimitViolation]]:
    if start is not None:
        yield _start_violations(trajectory, start, start_tolerance)
    yield _curve_violations(trajectory, Quantity.POSITION, 0, limits.lower, limits.upper)
    for order, name in enumerate(RATES, start=1):
        limit = getattr(limits, name)
        yield _curve_violations(trajectory, Quantity(name), order, -limit, limit)
    yield _discontinuities(trajectory, limits)
    if at_rest:
        yield _end_violations(trajectory, limits)


def _start_violations(trajectory: Trajectory, start: Mapping[str, float], tolerance: float) -> list[LimitViolation]:
    found = []
    for column, variable in enumerate(trajectory.variables):
        if variable not in start:
            raise InvalidRequestError(
                f"the state to start from lacks joint {variable}", stage="validate trajectory", subjects=(variable,)
            )
        away = abs(float(trajectory.positions[0, column]) - start[variable])
        if not away <= tolerance:
            found.append(LimitViolation(Quantity.START, variable, 0, float(trajectory.times[0]), away, tolerance))
    return found


def _curve_violations(
    trajectory: Trajectory, quantity: Quantity, order: int, lower: Array, upper: Array
) -> list[LimitViolation]:
    """The pieces of the curve that break a limit, each counted for the sample that it starts from."""
    start = float(trajectory.times[0])
    return [
        LimitViolation(
            quantity, trajectory.variables[found.column], found.piece, start + found.time, found.value, found.limit
        )
        for found in excesses(trajectory.curve, order, lower, upper, MAX_FINDINGS + 1)
    ]


def _end_violations(trajectory: Trajectory, limits: MotionLimits) -> list[LimitViolation]:
    """What still moves at the last sample, or would have to stop accelerating there at once."""
    last, none = len(trajectory) - 1, np.zeros(trajectory.positions.shape)
    found: list[LimitViolation] = []
    for quantity, values, allowed in (
        (Quantity.VELOCITY, trajectory.velocities, np.zeros(len(trajectory.variables))),
        (Quantity.ACCELERATION, trajectory.accelerations, RELATIVE_TOLERANCE * limits.acceleration),
    ):
        if values is not None:
            broken = np.zeros(values.shape, dtype=bool)
            broken[last] = np.abs(values[last]) > allowed
            found.extend(_listed(trajectory, quantity, values, none, broken))
    return found


def _discontinuities(trajectory: Trajectory, limits: MotionLimits) -> list[LimitViolation]:
    """Steps between samples that no motion within the jerk limit makes with their velocities and accelerations.

    With |q'''| <= J over a step h, the change of position differs from h (v0 + v1) / 2 - h2 (a1 - a0) / 12 by at most
    J h3 / (18 sqrt 3), and the change of velocity from h (a0 + a1) / 2 by at most J h2 / 4.
    """
    if trajectory.velocities is None or trajectory.accelerations is None or len(trajectory) < 2:
        return []
    h = np.diff(trajectory.times)[:, None]
    v0, v1 = trajectory.velocities[:-1], trajectory.velocities[1:]
    a0, a1 = trajectory.accelerations[:-1], trajectory.accelerations[1:]
    predicted = 0.5 * h * (v0 + v1) - h**2 * (a1 - a0) / 12.0
    off = np.abs(np.diff(trajectory.positions, axis=0) - predicted)
    allowed = POSITION_KERNEL * limits.jerk * h**3 * (1.0 + RELATIVE_TOLERANCE) + POSITION_TOLERANCE
    speed_off = np.abs(v1 - v0 - 0.5 * h * (a0 + a1)) * h
    speed_allowed = VELOCITY_KERNEL * limits.jerk * h**3 * (1.0 + RELATIVE_TOLERANCE) + POSITION_TOLERANCE
    worse = off / allowed < speed_off / speed_allowed
    value, bound = np.where(worse, speed_off, off), np.where(worse, speed_allowed, allowed)
    return _listed(trajectory, Quantity.CONTINUITY, value, bound, value > bound)


def _listed(
    trajectory: Trajectory, quantity: Quantity, values: Array, bounds: Array, broken: NDArray[np.bool_]
) -> list[LimitViolation]:
    """The broken entries of (n, dof) arrays; what belongs to a step counts for the sample that it starts from."""
    found = []
    for row, column in np.argwhere(broken)[: MAX_FINDINGS + 1]:
        limit = float(bounds[row, column])
        value = float(values[row, column])
        time = float(trajectory.times[row])
        found.append(LimitViolation(quantity, trajectory.variables[column], int(row), time, value, limit))
    return found


def dense_times(trajectory: Trajectory, step: float) -> Array:
    """Times of all samples, and between them so many that no joint moves further than `step` from one to the next.

    What a joint moves on a piece of the curve is bounded by its highest speed there.
    """
    if len(trajectory) < 2:
        return trajectory.times
    h = np.diff(trajectory.times)
    way = trajectory.curve.ways(refine_above=step).max(axis=1)
    pieces = np.maximum(np.ceil(way / step - 1e-9), 1.0)
    if pieces.sum() > MAX_STATES:
        numbers = (Value("states", float(pieces.sum()), MAX_STATES),)
        text = f"a trajectory has too many states {step:g} rad or m apart"
        raise LimitExceededError(text, stage="validate trajectory", values=numbers)
    counts = pieces.astype(np.int64)
    starts = np.repeat(trajectory.times[:-1], counts)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
    times: Array = starts + within * np.repeat(h / counts, counts)
    return np.append(times, trajectory.times[-1])


def _search_collisions(
    trajectory: Trajectory, search: CollisionSearch, most: int
) -> tuple[list[TrajectoryCollision], int, bool]:
    times = dense_times(trajectory, search.step)
    states = trajectory.at(times)
    hits = np.flatnonzero(search.in_collision(states))
    found = []
    for index in hits[:most]:
        sample = int(np.searchsorted(trajectory.times, times[index] + 1e-12, side="right")) - 1
        first, second = search.pair_of(states[index]) if search.pair_of is not None else ("", "")
        found.append(TrajectoryCollision(sample, float(times[index]), states[index], first, second))
    return found, len(states), len(hits) > most
