"""Validation of trajectories before execution."""

from __future__ import annotations

import math
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
    distinct_texts,
)
from ..model.arguments import checked_fields, public
from .curve_kernels import measure_steps
from .curve_limits import POSITION_TOLERANCE, RELATIVE_TOLERANCE, excesses
from .limits import RATES, Array, MotionLimits
from .trajectory import Trajectory

START_TOLERANCE = 0.01  # [rad or m]
MAX_FINDINGS = 100
UNCHECKED = "collisions were not searched, since positions are beyond limits; find_all searches them"
MAX_STATES = 10_000_000  # maximum number of states of one collision check
# Maximum errors of the corrected trapezoidal rule for positions and of the trapezoidal rule for velocities over a step
# h with jerk at most J, as fractions of J h3 and J h2: integrals of |Peano kernel|.
PEANO_KERNELS = (1.0 / (18.0 * math.sqrt(3.0)), 0.25)
STEP_FACTORS = np.array(PEANO_KERNELS) * (1.0 + RELATIVE_TOLERANCE)


class Quantity(str, Enum):
    """Quantity that a limit violation is about."""

    POSITION = "position"
    VELOCITY = "velocity"
    ACCELERATION = "acceleration"
    JERK = "jerk"
    CONTINUITY = "continuity"
    START = "start"


ORDERED = (Quantity.POSITION, *map(Quantity, RATES))  # by the order of the derivative
DERIVATIVES = {**{quantity: order for order, quantity in enumerate(ORDERED)}, Quantity.START: 0}  # order by quantity
# What an error is about first: a wrong start, position or velocity explains accelerations and jerks at earlier times.
EXPLAINING = (Quantity.START, Quantity.POSITION, Quantity.VELOCITY)


@dataclass(frozen=True)
class LimitViolation:
    """A violated limit: quantity, joint, sample, time [s], value, limit, and their unit."""

    quantity: Quantity
    variable: str
    sample: int
    time: float
    value: float
    limit: float
    unit: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        value, limit = distinct_texts(self.value, self.limit)
        place = f"{self.quantity.value} of {self.variable} at sample {self.sample} ({self.time:.4f} s)"
        return f"{place}: {value}{unit}, limit {limit}{unit}"


@dataclass(frozen=True, eq=False)
class TrajectoryCollision:
    """A colliding state of a trajectory.

    Attributes:
        sample: Index of the sample at or before the state.
        time: Time of the state [s].
        configuration: Configuration (dof,) [rad or m].
        first, second: Names of the colliding pair; "" if the collision check does not report it.
    """

    sample: int
    time: float
    configuration: Array
    first: str = ""
    second: str = ""


@dataclass(frozen=True)
class TrajectoryReport:
    """Result of a trajectory validation, ordered by time.

    Attributes:
        duration: Time of the last sample [s].
        violations: Violated limits.
        collisions: Colliding states.
        truncated: Whether there are more violations or collisions than listed.
        states_checked: Number of states checked for collisions.
        warnings: Sentences about limits that were assumed, and about collisions that were not searched.
    """

    duration: float
    violations: tuple[LimitViolation, ...] = ()
    collisions: tuple[TrajectoryCollision, ...] = ()
    truncated: bool = False
    states_checked: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether there is neither a limit violation nor a collision."""
        return not self.violations and not self.collisions

    def check(self) -> TrajectoryReport:
        """Return the report if the trajectory is valid.

        Raises:
            TrajectoryStartError, TrajectoryLimitError, TrajectoryInCollisionError: The violation that explains others,
                or the first collision; the report is in `partial`.
        """
        if self.violations:
            raise self._limit_error(min(self.violations, key=lambda violation: rank_of(violation.quantity)))
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
        numbers = (Value(f"{found.quantity.value} of {found.variable}", found.value, found.limit, found.unit),)
        return kind(str(found), stage="validate trajectory", subjects=(found.variable,), values=numbers, partial=self)


def rank_of(quantity: Quantity) -> int:
    """Return the rank of a quantity in errors about several violations. Those of one rank are in the order of time."""
    return EXPLAINING.index(quantity) if quantity in EXPLAINING else len(EXPLAINING)


CollisionCheck = Callable[[Array], NDArray[np.bool_]]
# Function from the states (n, dof) of a motion to whether it collides between them.
MotionCheck = Callable[[Array], bool]
PairOf = Callable[[Array], tuple[str, str]]


@checked_fields
@dataclass(frozen=True)
class CollisionSearch:
    """Collision check of a trajectory.

    Attributes:
        in_collision: Function from configurations (n, dof) to (n,) of bool.
        pair_of: Function from a configuration (dof,) to the names of the colliding pair; None: names are not reported.
        step: States between two samples are checked if a joint moves further than this [rad or m] between them.
        begin: Time of the first state that is checked [s].

    Raises:
        InvalidRequestError: The step is not above 0.
    """

    in_collision: CollisionCheck
    pair_of: PairOf | None = None
    step: float = 0.001
    begin: float = -math.inf

    def __post_init__(self) -> None:
        if not self.step > 0.0:
            text = f"the step between checked states is {self.step:g}, expected a number above 0"
            raise InvalidRequestError(text, stage="validate trajectory", values=(Value("step", self.step),))


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
    """Validate a trajectory: limits, continuity, start state, end state and collisions.

    Limits are checked on the whole curve (`Trajectory.curve`) by the extrema of its pieces, not only at the samples.

    Args:
        trajectory: Trajectory to validate.
        limits: Limits of its variables.
        start: Joint values that the first sample must match, those of continuous joints but for whole turns; None: not
            checked.
        start_tolerance: Tolerance of the start [rad or m].
        at_rest: Require exactly zero velocities at the last sample, and accelerations of at most a millionth of their
            limits.
        collisions: Collision check; None: not checked.
        find_all: Report all violations and collisions, up to 100 of a kind, instead of the first of each. Without it,
            collisions are not searched, with a warning, if positions are beyond limits: a trajectory in degrees would
            have hundreds of thousands of states to check.

    Raises:
        InvalidRequestError: The joints of the trajectory and the limits differ, or `start` lacks a joint.
    """
    if trajectory.variables != limits.variables:
        text = f"the trajectory moves {list(trajectory.variables)}, the limits are for {list(limits.variables)}"
        raise InvalidRequestError(text, stage="validate trajectory")
    violations: list[LimitViolation] = []
    truncated = False
    max_count = MAX_FINDINGS if find_all else 1
    for found in _all_violations(trajectory, limits, start, start_tolerance, at_rest):
        truncated = truncated or len(found) > max_count
        violations.extend(found[:max_count])
    violations.sort(key=lambda violation: violation.time)
    hits: list[TrajectoryCollision] = []
    checked = 0
    warnings = [limits.assumed] if limits.assumed else []
    if collisions is not None:
        if not find_all and any(violation.quantity is Quantity.POSITION for violation in violations):
            warnings.append(UNCHECKED)
        else:
            hits, checked, more = _search_collisions(trajectory, collisions, max_count)
            truncated = truncated or more
    return TrajectoryReport(trajectory.duration, tuple(violations), tuple(hits), truncated, checked, tuple(warnings))


def _all_violations(
    trajectory: Trajectory,
    limits: MotionLimits,
    start: Mapping[str, float] | None,
    start_tolerance: float,
    at_rest: bool,
) -> Iterator[list[LimitViolation]]:
    if start is not None:
        yield _start_violations(trajectory, limits, start, start_tolerance)
    yield from _curve_violations(trajectory, limits)
    yield _discontinuities(trajectory, limits)
    if at_rest:
        yield _end_violations(trajectory, limits)


def _start_violations(
    trajectory: Trajectory, limits: MotionLimits, start: Mapping[str, float], tolerance: float
) -> list[LimitViolation]:
    found = []
    time = float(trajectory.times[0])
    for column, variable in enumerate(trajectory.variables):
        if variable not in start:
            raise InvalidRequestError(
                f"the state to start from lacks joint {variable}", stage="validate trajectory", subjects=(variable,)
            )
        away = abs(float(trajectory.positions[0, column]) - start[variable])
        if limits.is_continuous(column):
            away = abs(math.remainder(away, 2.0 * math.pi))
        if not away <= tolerance:
            found.append(LimitViolation(Quantity.START, variable, 0, time, away, tolerance, limits.unit(column)))
    return found


def _curve_violations(trajectory: Trajectory, limits: MotionLimits) -> Iterator[list[LimitViolation]]:
    """Yield the limit violations of the curve's pieces, by quantity, each reported at the sample where the piece
    begins."""
    start = float(trajectory.times[0])
    by_order = excesses(trajectory.curve, limits, MAX_FINDINGS + 1)
    for order, (quantity, found) in enumerate(zip(ORDERED, by_order, strict=True)):
        yield [
            LimitViolation(
                quantity,
                trajectory.variables[one.column],
                one.piece,
                start + one.time,
                one.value,
                one.limit,
                limits.unit(one.column, order),
            )
            for one in found
        ]


def limit_violations(trajectory: Trajectory, limits: MotionLimits) -> tuple[LimitViolation, ...]:
    """Return where the curve of a trajectory violates its limits, ordered by time; up to 100 violations of a kind."""
    found = [violation for listed in _curve_violations(trajectory, limits) for violation in listed[:MAX_FINDINGS]]
    return tuple(sorted(found, key=lambda violation: violation.time))


def _end_violations(trajectory: Trajectory, limits: MotionLimits) -> list[LimitViolation]:
    """Return nonzero velocities and accelerations at the last sample."""
    found: list[LimitViolation] = []
    for quantity, values, allowed in (
        (Quantity.VELOCITY, trajectory.velocities, np.zeros(len(trajectory.variables))),
        (Quantity.ACCELERATION, trajectory.accelerations, RELATIVE_TOLERANCE * limits.acceleration),
    ):
        if values is not None and (exceeds := np.abs(values[-1]) > allowed).any():
            broken = np.zeros(values.shape, dtype=bool)
            broken[-1] = exceeds
            found.extend(_listed(trajectory, limits, quantity, values, np.zeros(values.shape), broken))
    return found


def _discontinuities(trajectory: Trajectory, limits: MotionLimits) -> list[LimitViolation]:
    """Return steps between samples that no motion within the jerk limit can connect.

    With |q'''| <= J over a step h, the change of position differs from h (v0 + v1) / 2 - h2 (a1 - a0) / 12 by at most J
    h3 / (18 sqrt 3), and the change of velocity from h (a0 + a1) / 2 by at most J h2 / 4.
    """
    if trajectory.velocities is None or trajectory.accelerations is None or len(trajectory) < 2:
        return []
    samples = np.stack((trajectory.positions, trajectory.velocities, trajectory.accelerations))
    values, bounds = np.empty((2, len(trajectory) - 1, len(trajectory.variables)))
    # Copies, since kernels are compiled for writable arrays.
    times, jerk = trajectory.times.copy(), limits.jerk.copy()
    if not measure_steps(times, samples, jerk, STEP_FACTORS, POSITION_TOLERANCE, values, bounds):
        return []
    return _listed(trajectory, limits, Quantity.CONTINUITY, values, bounds, values > bounds)


def _listed(
    trajectory: Trajectory,
    limits: MotionLimits,
    quantity: Quantity,
    values: Array,
    bounds: Array,
    broken: NDArray[np.bool_],
) -> list[LimitViolation]:
    """Return violations for `broken` entries of (n, dof) arrays; those of a step are reported at its start."""
    found = []
    for row, column in np.argwhere(broken)[: MAX_FINDINGS + 1]:
        limit = float(bounds[row, column])
        value = float(values[row, column])
        time = float(trajectory.times[row])
        unit = limits.unit(column, DERIVATIVES[quantity]) if quantity in DERIVATIVES else ""
        found.append(LimitViolation(quantity, trajectory.variables[column], int(row), time, value, limit, unit))
    return found


def dense_times(trajectory: Trajectory, step: float) -> Array:
    """Return the sample times and additional times, so that no joint moves further than `step` between two of them.

    The motion of a joint on a piece of the curve is bounded by its maximum speed there.
    """
    if len(trajectory) < 2 or math.isinf(step):
        return trajectory.times
    h = np.diff(trajectory.times)
    way = trajectory.curve.displacement_bounds(refine_above=step).max(axis=1)
    pieces = np.maximum(np.ceil(way / step - 1e-9), 1.0)
    count = float(pieces.sum())
    if not count <= MAX_STATES:  # also if bounds of numbers near the largest ones overflow
        numbers = (Value("states", count if math.isfinite(count) else math.inf, MAX_STATES),)
        text = f"a trajectory has too many states {step:g} rad or m apart"
        raise LimitExceededError(text, stage="validate trajectory", values=numbers)
    counts = pieces.astype(np.int64)
    starts = np.repeat(trajectory.times[:-1], counts)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
    times: Array = starts + within * np.repeat(h / counts, counts)
    return np.append(times, trajectory.times[-1])


def _search_collisions(
    trajectory: Trajectory, search: CollisionSearch, max_count: int
) -> tuple[list[TrajectoryCollision], int, bool]:
    times = dense_times(trajectory, search.step)
    states = trajectory.positions if times is trajectory.times else trajectory.at(times)
    first_state = int(np.searchsorted(times, search.begin))
    times, states = times[first_state:], states[first_state:]
    hits = np.flatnonzero(search.in_collision(states))
    found = []
    for index in hits[:max_count]:
        sample = int(np.searchsorted(trajectory.times, times[index] + 1e-12, side="right")) - 1
        first, second = search.pair_of(states[index]) if search.pair_of is not None else ("", "")
        found.append(TrajectoryCollision(sample, float(times[index]), states[index], first, second))
    return found, len(states), len(hits) > max_count
