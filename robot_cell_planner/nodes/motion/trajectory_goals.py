"""Goals of motions: conversion of action goals, and preparation for their execution."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.msg import ExecutionOptions

from ...errors import InvalidRequestError, NotSupportedError, TrajectoryStartError, UnknownNameError, Value
from ...model.units import ANY_JOINT, unit_of_derivative
from ...trajectory.curve_limits import RELATIVE_TOLERANCE, slowing
from ...trajectory.limits import MotionLimits
from ...trajectory.splicing import from_rest, joined, reached_from, slowed_within, without_passed
from ...trajectory.tracking import Tolerances, away_from_start
from ...trajectory.trajectory import Trajectory
from ..conversions.basic import duration_from_message, time_from_message
from ..conversions.trajectories import rows_from_points, trajectory_from_message
from .joint_feedback import robot_names
from .wraparound import TURN

Array = NDArray[np.float64]
LOWEST_SCALE = 1e-3  # minimum speed scale other than 0: slower motion cannot be distinguished from rest
LONGEST_WAIT = 600.0  # [s] for the end of a motion
MAX_AHEAD = 3600  # [s] that a start may lie in the future


@dataclass(frozen=True)
class ToleranceDefaults:
    """Default tolerances: [rad or m], speed [per s] and time [s]; infinite: not checked."""

    start: float
    path: float
    goal: float
    stopped_velocity_tolerance: float
    goal_time: float


@dataclass(frozen=True, eq=False)
class MotionGoal:
    """A requested motion.

    names: the joints in the names of the goal, in the order of the trajectory, which uses the robot's names. efforts:
    (n, dof), or (dof,) if constant, or None. begin [ns]: start, 0 for at once. led_in: whether a sample was added
    before those of the goal; points: number of points of the goal. limits: those of the validation, None before.
    measured: positions of all measured joints when the validation was requested [rad or m]. cell_joints: names that
    joints of the cell can have in joint_states; empty before the validation.
    """

    owner: str
    names: tuple[str, ...]
    trajectory: Trajectory
    tolerances: Tolerances
    speed_scale: float = 1.0
    efforts: Array | None = None
    begin: int = 0
    led_in: bool = False
    limits: MotionLimits | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    cell_joints: frozenset[str] = frozenset()

    @property
    def joints(self) -> tuple[str, ...]:
        return self.trajectory.variables

    @property
    def named_trajectory(self) -> Trajectory:
        """The trajectory with the joints in the names of the goal."""
        return _renamed(self.trajectory, self.names)

    @property
    def points(self) -> int:
        return len(self.trajectory) - self.led_in

    @property
    def starts_later(self) -> bool:
        """Whether its first sample is later than the start, so that it may be away from the robot."""
        return float(self.trajectory.times[0]) > 0.0

    def starting_at(self, positions: Mapping[str, float]) -> MotionGoal:
        """Return the motion with its start at positions (the end of the previous commands).

        A first sample later than the start is reached from there. One at the start is moved there, at rest; the
        difference decays smoothly over the first half second.

        Raises:
            TrajectoryStartError: The distance is larger than the start tolerance, or, where the motion has no duration,
                than the goal tolerance: it ends where it starts.
        """
        here = np.array([positions[joint] for joint in self.joints])
        if self.starts_later:
            trajectory = reached_from(self.trajectory, here)
            return replace(self, trajectory=trajectory, efforts=self._last_efforts(len(trajectory)), led_in=True)
        tolerances = self.tolerances
        error = away_from_start(self.joints, here, self.trajectory.positions[0], tolerances.start, tolerances.units)
        if error is not None:
            raise error
        if self.trajectory.duration <= 0.0:
            self._check_already_there(here)
        return replace(self, trajectory=from_rest(self.trajectory, here))

    def turned_to(self, positions: Mapping[str, float], joints: Collection[str], after: float = 0.0) -> MotionGoal:
        """Return the motion with joints shifted by whole turns, such that its first sample from a time on is nearest to
        positions: it may have been planned from measurements within one turn.

        Args:
            positions: Of all joints of the motion [rad or m].
            joints: Those to shift.
            after: Time on the trajectory's own clock [s].
        """
        row = min(int(np.searchsorted(self.trajectory.times, after)), len(self.trajectory) - 1)
        away = np.array([positions[joint] for joint in self.joints]) - self.trajectory.positions[row]
        turns = np.where([joint in joints for joint in self.joints], np.round(away / TURN), 0.0)
        if not turns.any():
            return self
        return replace(self, trajectory=replace(self.trajectory, positions=self.trajectory.positions + TURN * turns))

    def _check_already_there(self, here: Array) -> None:
        """Raise TrajectoryStartError if positions (dof,) are not within the goal tolerances of the only point."""
        away, tolerances = np.abs(here - self.trajectory.positions[-1]), self.tolerances.goal
        worst = int(np.argmax(away - tolerances))
        if away[worst] > tolerances[worst]:
            joint = self.joints[worst]
            text = f"the only point is at time 0, and {joint} is not there; give the point a later time"
            values = (
                Value(
                    f"distance of {joint}", float(away[worst]), float(tolerances[worst]), self.tolerances.unit(worst)
                ),
            )
            raise TrajectoryStartError(text, stage="execution", subjects=(joint,), values=values)

    def slowed_for_start(self, requested: MotionGoal, limits: MotionLimits | None) -> MotionGoal | None:
        """Return the motion slowed down as a whole to satisfy limits, if the added path from the robot to its start
        violates them; None if it does not, or the limits are unknown."""
        if limits is None or self.trajectory is requested.trajectory or self.led_in:
            return None
        if float(slowing(requested.trajectory.curve, limits).max(initial=1.0)) > 1.0 + RELATIVE_TOLERANCE:
            return None
        return replace(self, trajectory=slowed_within(self.trajectory, limits))

    def joining(self, present: Sequence[Array], after: float, scale: float) -> MotionGoal:
        """Return the motion for a moving robot; arguments and errors as of `trajectory.joining.joined`."""
        trajectory = joined(self.trajectory, present, after, scale)
        return replace(self, trajectory=trajectory, efforts=self._last_efforts(len(trajectory)), led_in=True, begin=0)

    def after(self, seconds: float) -> MotionGoal:
        """Return the motion without points in the past, for a start that has passed.

        Raises:
            InvalidRequestError: All of its points have passed.
        """
        trajectory = without_passed(self.trajectory, seconds)
        return replace(self, trajectory=trajectory, efforts=self._last_efforts(len(trajectory)))

    def _last_efforts(self, count: int) -> Array | None:
        """Return the efforts of the last points, with the first repeated if there are too few."""
        if self.efforts is None or self.efforts.ndim == 1:
            return self.efforts
        left = self.efforts[max(len(self.efforts) - count, 0) :]
        return np.concatenate([left[:1]] * (count - len(left)) + [left])


def goal_of_trajectory(
    message: JointTrajectory,
    options: ExecutionOptions,
    known: Sequence[str],
    defaults: ToleranceDefaults,
    max_points: int,
) -> MotionGoal:
    """Convert a trajectory and the options of its execution.

    Raises:
        InvalidRequestError, LimitExceededError: The trajectory is malformed, or a number of the options out of range.
        UnknownNameError: The robot does not have a joint.
    """
    names = tuple(message.joint_names)
    joints = robot_names(names, known, "trajectory")
    trajectory = _renamed(trajectory_from_message(message, "trajectory", max_points), joints)
    return MotionGoal(
        owner=options.owner or "anonymous",
        names=names,
        trajectory=trajectory,
        tolerances=_tolerances_of_options(options, len(joints), defaults),
        speed_scale=checked_options(options).speed_scale,
        efforts=rows_from_points(message, "effort", "trajectory"),
        begin=time_from_message(message.header.stamp),
    )


def checked_options(options: ExecutionOptions) -> ExecutionOptions:
    """Convert the options.

    Raises:
        InvalidRequestError: A number is out of range.
    """
    if not LOWEST_SCALE <= options.speed_scale <= 1.0:
        text = f"options.speed_scale is {options.speed_scale:g}, expected {LOWEST_SCALE:g} to 1"
        raise InvalidRequestError(text, subjects=("options.speed_scale",))
    for name in ("start_tolerance", "path_tolerance", "goal_tolerance"):
        value = getattr(options, name)
        if not (math.isfinite(value) and value >= 0.0):
            text = f"options.{name} is {value:g}, expected 0 or more"
            raise InvalidRequestError(text, subjects=(f"options.{name}",))
    _checked_wait(options.goal_time_tolerance, "options.goal_time_tolerance")
    return options


def _checked_wait(message: Duration, field: str) -> float:
    """Return the time limit after the end [s]."""
    seconds = duration_from_message(message)
    if not 0.0 <= seconds <= LONGEST_WAIT:
        text = f"{field} is {seconds:g} s, expected 0 to {LONGEST_WAIT:g}"
        raise InvalidRequestError(text, subjects=(field,), values=(Value(field, seconds, LONGEST_WAIT, "s"),))
    return seconds


def check_begin(begin: int, now: int) -> None:
    """Raise InvalidRequestError for a start too far in the future; begin [ns], 0 for at once, now [ns]."""
    ahead = (begin - now) * 1e-9
    if begin and ahead > MAX_AHEAD:
        values = (Value("starts in", ahead, MAX_AHEAD, "s"),)
        text = f"the trajectory starts {ahead:.3g} s in the future, at most {MAX_AHEAD:g} s are allowed"
        raise InvalidRequestError(text, subjects=("header.stamp",), values=values)


def _tolerances_of_options(options: ExecutionOptions, dof: int, defaults: ToleranceDefaults) -> Tolerances:
    return Tolerances(
        start=options.start_tolerance or defaults.start,
        path=np.full(dof, options.path_tolerance or defaults.path),
        path_velocity=np.full(dof, math.inf),
        goal=np.full(dof, options.goal_tolerance or defaults.goal),
        goal_velocity=np.full(dof, defaults.stopped_velocity_tolerance),
        goal_time=duration_from_message(options.goal_time_tolerance) or defaults.goal_time,
    )


def from_follow(
    goal: FollowJointTrajectory.Goal,
    known: Sequence[str],
    defaults: ToleranceDefaults,
    max_points: int,
    *,
    partial: bool,
    expected: Sequence[str] = (),
) -> MotionGoal:
    """Convert the goal of a FollowJointTrajectory action.

    partial: whether it may contain only some of the `expected` joints.

    Raises:
        InvalidRequestError, LimitExceededError: It is malformed.
        UnknownNameError: Joints that the robot does not have, or missing joints.
        NotSupportedError: multi-DOF joints.
    """
    if goal.multi_dof_trajectory.joint_names or goal.multi_dof_trajectory.points:
        text = "multi-DOF joints are not supported"
        raise NotSupportedError(text, subjects=("multi_dof_trajectory",))
    names = tuple(goal.trajectory.joint_names)
    joints = robot_names(names, known, "trajectory")
    missing = tuple(name for name in expected if name not in joints)
    if missing and not partial:
        text = f"the trajectory does not contain {', '.join(missing)}, and parameter allow_partial_joints_goal is false"
        raise UnknownNameError(text, subjects=missing)
    trajectory = _renamed(trajectory_from_message(goal.trajectory, "trajectory", max_points), joints)
    _check_end_at_rest(trajectory)
    return MotionGoal(
        owner="follow_joint_trajectory",
        names=names,
        trajectory=trajectory,
        tolerances=_tolerances_of_goal(goal, names, defaults),
        efforts=rows_from_points(goal.trajectory, "effort", "trajectory"),
        begin=time_from_message(goal.trajectory.header.stamp),
    )


def _check_end_at_rest(trajectory: Trajectory) -> None:
    """Raise InvalidRequestError for a trajectory whose last point has a velocity."""
    if trajectory.velocities is None or not trajectory.velocities[-1].any():
        return
    worst = int(np.argmax(np.abs(trajectory.velocities[-1])))
    joint = trajectory.variables[worst]
    numbers = (Value("velocity", float(trajectory.velocities[-1, worst]), 0.0, unit_of_derivative(ANY_JOINT, 1)),)
    text = f"the trajectory does not end at rest: {joint} has a velocity"
    raise InvalidRequestError(text, subjects=(joint,), values=numbers)


def _tolerances_of_goal(
    goal: FollowJointTrajectory.Goal, names: Sequence[str], defaults: ToleranceDefaults
) -> Tolerances:
    """Return the tolerances of a goal, and the defaults where it has none. names: of its joints, in its order."""
    path, path_velocity = _joint_tolerances(goal.path_tolerance, names, "path_tolerance")
    end, end_velocity = _joint_tolerances(goal.goal_tolerance, names, "goal_tolerance")
    return Tolerances(
        start=defaults.start,
        path=_chosen(path, defaults.path),
        path_velocity=_chosen(path_velocity, math.inf),
        goal=_chosen(end, defaults.goal),
        goal_velocity=_chosen(end_velocity, defaults.stopped_velocity_tolerance),
        goal_time=_checked_wait(goal.goal_time_tolerance, "goal_time_tolerance") or defaults.goal_time,
    )


def _renamed(trajectory: Trajectory, joints: tuple[str, ...]) -> Trajectory:
    return replace(trajectory, variables=joints) if joints != trajectory.variables else trajectory


def _joint_tolerances(given: Iterable[JointTolerance], names: Sequence[str], field: str) -> tuple[Array, Array]:
    """Return tolerances of position and velocity in the order of the joints (dof,): NaN where none is given.

    As in joint_trajectory_controller: 0 means the default, -1 no limit.
    """
    position, velocity = np.full(len(names), math.nan), np.full(len(names), math.nan)
    for tolerance in given:
        if tolerance.name not in names:
            text = f"{field} is for joint {tolerance.name!r}, which the trajectory does not contain"
            raise UnknownNameError(text, subjects=(tolerance.name,))
        column = names.index(tolerance.name)
        for kind, rows in (("position", position), ("velocity", velocity), ("acceleration", None)):
            value = getattr(tolerance, kind)
            if not (math.isfinite(value) and (value >= 0.0 or value == -1.0)):
                text = f"{field} of {tolerance.name} has {kind} {value:g}, expected 0 or more, or -1 for no limit"
                raise InvalidRequestError(text, subjects=(field, tolerance.name))
            if rows is None and value > 0.0:
                text = f"{field} of {tolerance.name} limits the acceleration, which is not measured"
                raise NotSupportedError(text, subjects=(field, tolerance.name))
            if rows is not None and value:
                rows[column] = math.inf if value == -1.0 else value
    return position, velocity


def _chosen(given: Array, default: float) -> Array:
    return np.where(np.isnan(given), default, given)
