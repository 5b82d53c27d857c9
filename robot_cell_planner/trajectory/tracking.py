"""Supervision of a motion: measured joints against their commands, and a record of it that gives the same verdict."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from ..errors import (
    ERRORS_BY_CODE,
    FeedbackLostError,
    GoalToleranceError,
    InternalError,
    InvalidRequestError,
    LimitExceededError,
    RobotCellError,
    TrackingError,
    TrajectoryStartError,
    Value,
)
from ..model.name_suggestions import listed
from ..model.units import unit_at
from .limits import Array, read_only
from .trajectory import Trajectory

BEFORE, AFTER = 1000, 500  # max number of rows that are kept of the time before a fault, and after it
ONE_CLOCK = (
    "Give the driver of the robot and this node the same clock: `use_sim_time` for both or for neither. A simulation "
    "that is slower than real time has to publish /clock. A lag that stays the same for half a minute no longer counts."
)
SMALLEST = 1e-12  # [rad or m] limit below which the ratio of an error to it has no meaning


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Tolerances of measured joints from their commands; infinite: not checked.

    start: of every joint, before it begins [rad or m]. path, path_velocity: along the path (dof,). goal, goal_velocity:
    at the end (dof,). goal_time: time after the end within which those must be met [s]. units: of the positions, "rad"
    or "m"; () if they are not known.
    """

    start: float
    path: Array
    path_velocity: Array
    goal: Array
    goal_velocity: Array
    goal_time: float
    units: tuple[str, ...] = ()

    def unit(self, column: int, order: int = 0) -> str:
        """Return the unit of the derivative of an order of a joint."""
        return unit_at(self.units, column, order)


class Check(str, Enum):
    """Checks of a measurement; NONE while the robot returns to its path after a pause, and after a fault."""

    NONE = "none"
    START = "start"
    PATH = "path"
    GOAL = "goal"
    FEEDBACK = "feedback"


@dataclass(frozen=True, eq=False)
class TrackingRow:
    """A measurement, and what it is compared with; NaN: not measured.

    Attributes:
        time: On the steady clock of the supervisor [s].
        reached: Commanded time along the trajectory [s].
        age: Time since the oldest of the measurements was received, if it is checked; otherwise 0 [s].
        desired, desired_velocities: Command at the time of the measurement, at the goal the last one (dof,).
        actual, actual_velocities: Measured joints (dof,).
    """

    check: Check
    time: float
    reached: float
    age: float
    desired: Array
    desired_velocities: Array
    actual: Array
    actual_velocities: Array


@dataclass(frozen=True)
class FaultRecord:
    """The error of a motion as a value; fields as of RobotCellError."""

    code: int
    message: str
    stage: str
    subjects: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()

    @classmethod
    def of(cls, error: RobotCellError) -> FaultRecord:
        """Return the fields of an error."""
        return cls(error.code, error.message, error.stage, error.subjects, error.values)

    @property
    def error(self) -> RobotCellError:
        """The error."""
        kind = ERRORS_BY_CODE.get(self.code, InternalError)
        return kind(self.message, stage=self.stage, subjects=self.subjects, values=self.values)


@dataclass(frozen=True, eq=False)
class SupervisedMotion:
    """A motion as its supervisor saw it: measurements and commands around its end, in n rows in the order of time.

    Attributes:
        trajectory: Trajectory that was commanded, with the joints in the names of the cell.
        joints: Names of its joints in errors, as the robot calls them.
        silence, lost_after: Ages at which measurements count as missing, and as lost [s].
        speed_scale: Speed scale of the request.
        checks: What each row was checked for (n,).
        times, reached, ages: As of `TrackingRow`, times from the first row on (n,) [s].
        desired, desired_velocities, actual, actual_velocities: As of `TrackingRow` (n, dof).
        interruption: What stopped it, if not its measurements.

    Raises:
        InvalidRequestError: Shapes do not fit.
        LimitExceededError: There are more than BEFORE + AFTER rows.
    """

    trajectory: Trajectory
    joints: tuple[str, ...]
    tolerances: Tolerances
    silence: float
    lost_after: float
    speed_scale: float
    checks: tuple[Check, ...]
    times: Array
    reached: Array
    ages: Array
    desired: Array
    desired_velocities: Array
    actual: Array
    actual_velocities: Array
    interruption: FaultRecord | None = None

    def __post_init__(self) -> None:
        rows, dof = len(self.checks), len(self.trajectory.variables)
        if rows > BEFORE + AFTER:
            numbers = (Value("rows", rows, BEFORE + AFTER),)
            raise LimitExceededError(f"a motion has {rows} rows of measurements", stage="supervision", values=numbers)
        if len(self.joints) != dof:
            raise _malformed("joints", (len(self.joints),), (dof,))
        for name in ("times", "reached", "ages"):
            self._set(name, getattr(self, name), (rows,))
        for name in ("desired", "desired_velocities", "actual", "actual_velocities"):
            array = getattr(self, name)
            self._set(name, np.reshape(array, (0, dof)) if not np.size(array) else array, (rows, dof))
        # JSON has no infinite numbers and contains null for them, which is read as NaN.
        self._set("ages", np.where(np.isnan(self.ages), math.inf, self.ages), (rows,))
        object.__setattr__(self, "tolerances", _unlimited(self.tolerances, dof))

    def _set(self, name: str, array: Array, expected: tuple[int, ...]) -> None:
        if np.shape(array) != expected:
            raise _malformed(name, np.shape(array), expected)
        object.__setattr__(self, name, read_only(array))

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.checks)

    def rows(self) -> Iterator[TrackingRow]:
        """Iterate over the measurements."""
        columns = self.desired, self.desired_velocities, self.actual, self.actual_velocities
        numbers = zip(self.times.tolist(), self.reached.tolist(), self.ages.tolist(), strict=True)
        for check, (time, reached, age), arrays in zip(self.checks, numbers, zip(*columns, strict=True), strict=True):
            yield TrackingRow(check, time, reached, age, *arrays)


@dataclass(frozen=True)
class TrackingReport:
    """Largest distance of a joint from its command in the rows of a motion without a fault [rad or m]."""

    max_error: float
    joint: str = ""
    rows: int = 0


class TrackingLog:
    """The latest rows of a motion until its fault, and the first ones after it."""

    def __init__(self) -> None:
        self._before: deque[TrackingRow] = deque(maxlen=BEFORE)
        self._after: list[TrackingRow] = []

    def add(self, row: TrackingRow, *, failed: bool) -> None:
        """Add a row. failed: whether a fault was found before."""
        if not failed:
            self._before.append(row)
        elif len(self._after) < AFTER:
            self._after.append(row)

    def excuse(self) -> None:
        """Note that the last row is not checked."""
        self._before[-1] = replace(self._before[-1], check=Check.NONE)

    def rows(self) -> tuple[TrackingRow, ...]:
        """Return the rows in the order of time."""
        return (*self._before, *self._after)


def supervised(
    trajectory: Trajectory,
    joints: tuple[str, ...],
    tolerances: Tolerances,
    rows: Sequence[TrackingRow],
    *,
    silence: float,
    lost_after: float,
    speed_scale: float = 1.0,
    interruption: FaultRecord | None = None,
) -> SupervisedMotion:
    """Return the record of a motion; arguments as of `SupervisedMotion`."""
    begin = rows[0].time if rows else 0.0
    return SupervisedMotion(
        trajectory,
        joints,
        tolerances,
        silence,
        lost_after,
        speed_scale,
        checks=tuple(row.check for row in rows),
        times=np.array([row.time - begin for row in rows]),
        reached=np.array([row.reached for row in rows]),
        ages=np.array([row.age for row in rows]),
        desired=np.array([row.desired for row in rows]),
        desired_velocities=np.array([row.desired_velocities for row in rows]),
        actual=np.array([row.actual for row in rows]),
        actual_velocities=np.array([row.actual_velocities for row in rows]),
        interruption=interruption,
    )


def violation(
    row: TrackingRow, joints: Sequence[str], tolerances: Tolerances, silence: float, lost_after: float
) -> RobotCellError | None:
    """Return the error of a measurement; None if it is within the tolerances, or not checked."""
    if row.check is Check.START:
        return away_from_start(joints, row.actual, row.desired, tolerances.start, tolerances.units)
    if row.check is Check.PATH:
        return _off_path(row, joints, tolerances)
    if row.check is Check.GOAL:
        return _missed_goal(row, joints, tolerances, silence)
    return lost(row.age, lost_after) if row.check is Check.FEEDBACK else None


def away_from_start(
    joints: Sequence[str], here: Array, first: Array, tolerance: float, units: Sequence[str] = ()
) -> TrajectoryStartError | None:
    """Return the error of a robot that is not at the first point of its trajectory; here, first: (dof,) [rad or m].
    units: As of `Tolerances`."""
    away = np.abs(here - first)
    worst = int(np.argmax(away))
    if not away[worst] > tolerance:
        return None
    joint = joints[worst]
    return TrajectoryStartError(
        f"the trajectory does not start at the position of {joint}",
        stage="execution",
        subjects=(joint,),
        values=(Value(f"distance of {joint}", float(away[worst]), tolerance, unit_at(units, worst)),),
    )


def lost(age: float, timeout: float, joints: Sequence[str] = (), reason: str = "") -> FeedbackLostError:
    """Return the error for missing joint states. age, timeout [s]; joints: those that are missing, if others are not;
    reason: appended to the text."""
    of_joints = f" with {listed(joints)}" if joints else ""
    text = f"no joint_states received for {age:.2f} s (limit {timeout:g} s){of_joints}{reason}"
    return FeedbackLostError(text, subjects=tuple(joints), values=(Value("age", age, timeout, "s"),))


def lagging(lag: float, timeout: float) -> FeedbackLostError:
    """Return the error for stamps of joint states that lag too much. lag, timeout [s]."""
    text = f"the stamps of joint_states lag by {lag:.2f} s behind the clock of this node (limit {timeout:g} s)"
    return FeedbackLostError(text, values=(Value("lag", lag, timeout, "s"),), remedy=ONE_CLOCK)


def supervise(motion: SupervisedMotion) -> TrackingReport:
    """Check the recorded measurements of a motion again.

    Raises:
        TrajectoryStartError, TrackingError: A measurement is beyond a tolerance.
        FeedbackLostError: Measurements were missing for too long.
        RobotCellError: What has interrupted the motion, if no measurement is the reason.
    """
    worst, joint = 0.0, ""
    for row in motion.rows():
        error = violation(row, motion.joints, motion.tolerances, motion.silence, motion.lost_after)
        if error is not None:
            raise error
        distance = np.nan_to_num(np.abs(row.desired - row.actual), nan=0.0)
        index = int(np.argmax(distance))
        if distance[index] > worst:
            worst, joint = float(distance[index]), motion.joints[index]
    if motion.interruption is not None:
        raise motion.interruption.error
    return TrackingReport(worst, joint, len(motion))


def _off_path(row: TrackingRow, joints: Sequence[str], tolerances: Tolerances) -> TrackingError | None:
    """Return the violation of the path tolerances by a measurement, if any."""
    error = np.abs(row.desired - row.actual)
    if (error > tolerances.path).any():
        return _off_limit(TrackingError, row, joints, error, tolerances, "path")
    speed = np.abs(row.actual_velocities - row.desired_velocities)
    if (speed > tolerances.path_velocity).any():
        return _off_limit(TrackingError, row, joints, speed, tolerances, "path_velocity")
    return None


def _missed_goal(row: TrackingRow, joints: Sequence[str], tolerances: Tolerances, silence: float) -> RobotCellError:
    """Return why a robot has not settled at its goal in time."""
    distance, speed = np.abs(row.actual - row.desired), np.abs(row.actual_velocities)
    if (distance > tolerances.goal).any():
        return _off_limit(GoalToleranceError, row, joints, distance, tolerances, "goal")
    if (speed > tolerances.goal_velocity).any():
        return _off_limit(GoalToleranceError, row, joints, speed, tolerances, "goal_velocity")
    return lost(row.age, silence)


def _off_limit(
    kind: type[TrackingError], row: TrackingRow, joints: Sequence[str], values: Array, tolerances: Tolerances, name: str
) -> TrackingError:
    """Return the error of the joint with the largest violation. name: of the field of `Tolerances` with the limits."""
    limits: Array = getattr(tolerances, name)
    quantity = "velocity" if name.endswith("velocity") else "position"
    beyond = np.where(values > limits, values / np.maximum(limits, SMALLEST), 0.0)
    worst = int(np.argmax(beyond))
    joint, error, limit = joints[worst], float(values[worst]), float(limits[worst])
    unit = tolerances.unit(worst, int(quantity == "velocity"))
    where = "" if kind is GoalToleranceError else f" at {row.reached:.3f} s"
    numbers = f"{error:.4g} {unit} (limit {limit:.4g} {unit})"
    text = f"{kind.default_stage} violated: {quantity} error of {joint} is {numbers}{where}"
    return kind(text, subjects=(joint,), values=(Value(f"{quantity} error", error, limit, unit),))


def _unlimited(given: Tolerances, dof: int) -> Tolerances:
    """Return tolerances that are infinite where they are NaN."""

    def checked(name: str) -> Array:
        array = np.asarray(getattr(given, name), dtype=np.float64)
        if array.shape != (dof,):
            raise _malformed(f"tolerances.{name}", array.shape, (dof,))
        return np.where(np.isnan(array), math.inf, array)

    positions, velocities = (checked("path"), checked("goal")), (checked("path_velocity"), checked("goal_velocity"))
    if len(given.units) not in (0, dof):
        raise _malformed("tolerances.units", (len(given.units),), (dof,))
    start = math.inf if math.isnan(given.start) else given.start
    return Tolerances(start, positions[0], velocities[0], positions[1], velocities[1], given.goal_time, given.units)


def _malformed(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> InvalidRequestError:
    text = f"{name} of a supervised motion have shape {found}, expected {expected}"
    return InvalidRequestError(text, stage="supervision", subjects=(name,))
