"""Validation: what must be true of a trajectory before it may move a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    InvalidRequestError,
    RobotCellError,
    TrajectoryInCollisionError,
    TrajectoryLimitError,
    TrajectoryStartError,
    Value,
)
from .limits import RATES, Array, MotionLimits
from .trajectory import Trajectory

RELATIVE_TOLERANCE = 1e-6
POSITION_TOLERANCE = 1e-9  # [rad or m]
START_TOLERANCE = 0.01  # [rad or m]
MAX_FINDINGS = 100
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
        found = f"{self.value:.6g}, limit {self.limit:.6g}"
        return f"{self.quantity.value} of {self.variable} at sample {self.sample} ({self.time:.4f} s): {found}"


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
    """Hold a trajectory against limits, its own continuity, the state it must start from, and the cell.

    start: joint values that the first sample must meet within `start_tolerance` [rad or m]. at_rest: velocities of the
    last sample must be exactly zero. find_all: list all findings, up to 100 of a kind, instead of the first of each.

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
    yield _position_violations(trajectory, limits)
    derivatives = _derivatives(trajectory)
    for name, values in zip(RATES, derivatives, strict=True):
        limit = getattr(limits, name)
        over = np.abs(values) > limit * (1.0 + RELATIVE_TOLERANCE)
        yield _listed(trajectory, Quantity(name), values, np.broadcast_to(limit, values.shape), over)
    yield _discontinuities(trajectory, limits)
    if at_rest and trajectory.velocities is not None:
        last = len(trajectory) - 1
        moving = np.zeros(trajectory.positions.shape, dtype=bool)
        moving[last] = trajectory.velocities[last] != 0.0
        yield _listed(trajectory, Quantity.VELOCITY, trajectory.velocities, np.zeros(moving.shape), moving)


def _derivatives(trajectory: Trajectory) -> tuple[Array, Array, Array]:
    """Velocities, accelerations and jerks at the samples; those not given, by differences of the samples.

    The mean jerk between two samples is the difference of their accelerations over the time between.
    """
    h = np.diff(trajectory.times)[:, None]
    empty = np.zeros((0, len(trajectory.variables)))
    velocities = trajectory.velocities
    if velocities is None:
        velocities = np.diff(trajectory.positions, axis=0) / h if len(h) else empty
    accelerations = trajectory.accelerations
    if accelerations is None:
        accelerations = np.diff(velocities, axis=0) / h[: len(velocities) - 1] if len(velocities) > 1 else empty
    jerks = np.diff(accelerations, axis=0) / h[: len(accelerations) - 1] if len(accelerations) > 1 else empty
    return velocities, accelerations, jerks


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


def _position_violations(trajectory: Trajectory, limits: MotionLimits) -> list[LimitViolation]:
    values = trajectory.positions
    below, above = values < limits.lower - POSITION_TOLERANCE, values > limits.upper + POSITION_TOLERANCE
    bound = np.where(below, limits.lower, limits.upper)
    return _listed(trajectory, Quantity.POSITION, values, bound, below | above)


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
    """Times of all samples, and between them so many that no joint moves much further than `step` from one to the next.

    The way of a joint between two samples is estimated by its larger end velocity and by the change of position.
    """
    if len(trajectory) < 2:
        return trajectory.times
    h = np.diff(trajectory.times)
    way = np.abs(np.diff(trajectory.positions, axis=0)).max(axis=1)
    if trajectory.velocities is not None:
        speed = np.abs(trajectory.velocities).max(axis=1)
        way = np.maximum(way, np.maximum(speed[:-1], speed[1:]) * h)
    pieces = np.maximum(np.ceil(way / step - 1e-9), 1.0).astype(np.int64)
    starts = np.repeat(trajectory.times[:-1], pieces)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    times: Array = starts + within * np.repeat(h / pieces, pieces)
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
