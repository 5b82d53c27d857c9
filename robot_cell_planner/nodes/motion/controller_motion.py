"""Motions executed by controllers of ros2_control: this node sends trajectories to them and no commands.

A motion is paused, resumed, slowed down and stopped on its path by sending the same path again with other times. The
new trajectory begins in the past, with samples of the running one, and departs from it shortly in the future: a
controller that has received it by then switches without a step. (A first sample in the future would be reached from the
measured position, which lags behind the commands.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory

from ...errors import (
    ExecutionError,
    NotSupportedError,
    RobotCellError,
    ServiceUnavailableError,
    TrajectoryError,
    Value,
    distinct_texts,
)
from ...trajectory.resampling import end_time, resampled
from ...trajectory.sampler import SamplerOptions, TrajectorySample, TrajectorySampler
from ...trajectory.tracking import Check, lost
from ...trajectory.trajectory import Trajectory
from ..common.clock_monitor import CLOCK, CLOCK_SKEW
from ..conversions.basic import duration_to_message
from ..conversions.trajectories import trajectory_to_message
from .controller_client import STAGE, ControllerClient, ControllerGoal, ControllerState
from .goal_tolerances import joint_tolerances
from .motion import Array, Motion, Sent, Tracking
from .wraparound import nearest_turn

OVERLAP = 0.5  # [s] of the past that a new trajectory has in common with the running one
# [s] of the past of the time scaling that is kept, for delayed measurements, too.
KEPT = max(OVERLAP, 1e-9 * CLOCK_SKEW)
ASTRAY = 0.5  # [s] for which a controller that forgot its trajectory, such as by a restart, commands other positions
CYCLES = 0.1  # [s] by which the time of published references may differ from their stamps
GRACE = 2.0  # [s] for a stop beyond the times of trajectory and tolerances
LEADS = (1.0, 4.0)  # multiples of the lead, if the new times take longer to compute


@dataclass(frozen=True)
class ControllerOptions:
    """lead: time ahead at which trajectories are changed, so that controllers receive them in time [s]. sampler:
    limits of speed changes. answer_timeout: for the goal response [s]."""

    lead: float
    sampler: SamplerOptions
    answer_timeout: float


@dataclass(eq=False)
class Share:
    """The part of a motion executed by one controller.

    joints: its joints of the motion; standing: its other joints with their positions [rad or m]. goal: the running or
    last goal; before: the one before that. failed: the controller does not take part any more. astray_since: when it
    was first seen to command other positions than those of its trajectory [s]; infinite if it does not. scales: whether
    it publishes a speed scaling factor.
    """

    controller: ControllerClient
    joints: tuple[str, ...]
    standing: dict[str, float] = field(default_factory=dict)
    goal: ControllerGoal | None = None
    before: ControllerGoal | None = None
    failed: bool = False
    astray_since: float = np.inf
    scales: bool = False

    @property
    def ended(self) -> bool:
        return self.failed or self.goal is None or self.goal.ended

    def of(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory of the controller's joints."""
        columns = [trajectory.variables.index(joint) for joint in self.joints]
        rows = []
        for order, given in enumerate((trajectory.positions, trajectory.velocities, trajectory.accelerations)):
            assert given is not None
            stay = list(self.standing.values()) if order == 0 else [0.0] * len(self.standing)
            rows.append(np.concatenate([given[:, columns], np.tile(stay, (len(trajectory), 1))], axis=1))
        return Trajectory((*self.joints, *self.standing), trajectory.times, *rows)

    def cancel(self) -> None:
        """Cancel the controller's goals."""
        for goal in (self.before, self.goal):
            if goal is not None:
                goal.cancel()

    def problem(self, answer_timeout: float) -> RobotCellError | None:
        """Return why the controller does not execute its goal; None if it does, or has done so."""
        name, goal = self.controller.name, self.goal
        if goal is None or self.failed:
            return None
        if goal.refused:
            return self.controller.refused((*self.joints, *self.standing))
        if goal.ended:
            return goal.error
        if not self.controller.is_ready:
            return ServiceUnavailableError(f"{name} is no longer available", stage=STAGE, subjects=(name,))
        if not goal.accepted and time.monotonic() - goal.sent_at > answer_timeout:
            text = f"{name} did not respond within {answer_timeout:g} s"
            return ServiceUnavailableError(text, stage=STAGE, subjects=(name,))
        return None

    def astray(self, state: ControllerState, joints: Sequence[str], desired: Array, allowed: Array) -> str:
        """Return which of its joints the controller commands elsewhere than where its trajectory is; "" if none.

        Controllers may command continuous joints by whole turns away.

        Args:
            joints: The joints of the motion.
            desired: Their positions on the trajectory at the time of the state (dof,) [rad or m].
            allowed: The largest distances from them (dof,) [rad or m].
        """
        for joint in self.joints:
            if joint in state.joints:
                column = joints.index(joint)
                found = float(state.reference[state.joints.index(joint)])
                if abs(nearest_turn(found, float(desired[column])) - float(desired[column])) > allowed[column]:
                    at, expected = distinct_texts(found, float(desired[column]))
                    return f"{joint} at {at} instead of {expected}"
        return ""


class ControllerMotion(Motion):
    """A goal executed by controllers, each with its own joints, with one time scaling.

    clock: the time of messages [ns], used by controllers. on_end: called when a controller has replied.
    """

    def __init__(
        self,
        shares: Sequence[Share],
        clock: Callable[[], int],
        options: ControllerOptions,
        on_end: Callable[[], None],
        *arguments: Any,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self._shares = tuple(shares)
        self._clock = clock
        self._options = options
        self._on_end = on_end
        self._sent = Sent()
        self._epoch = clock()
        begin = 0.5 * options.lead
        self._sampler = TrajectorySampler(self.goal.trajectory, begin, self.scale, options.sampler, self.goal.limits)
        self._stopped_by = np.inf
        self._ended_at = np.inf
        self._scaled_by = ""

    @property
    def sent(self) -> Sent:
        return self._sent

    @property
    def last(self) -> TrajectorySample:
        return self._sampler.sample(min(self._now(), self._ended_at))

    @property
    def _ended(self) -> bool:
        return self._done or self._sampler.at_end(self._now())

    def _now(self) -> float:
        """Return the time of messages since the creation of the motion [s]."""
        return (self._clock() - self._epoch) * 1e-9

    def _commanded_at(self, stamp: int) -> TrajectorySample:
        measured = (stamp - self._epoch) * 1e-9
        return self._sampler.sample(measured) if abs(measured - self._now()) < 1e-9 * CLOCK_SKEW else self.last

    def tracking(self) -> Tracking | None:
        """Tracking as published by the controllers if all do; otherwise as measured."""
        rows: dict[str, list[float]] = {}
        stamps = []
        for share in self._shares:
            state = share.controller.state
            if state is None:
                return super().tracking()
            values = (state.reference, state.reference_velocities, state.feedback, state.feedback_velocities)
            rows.update(zip(state.joints, np.stack(values, axis=1).tolist(), strict=True))
            stamps.append(state.stamp)
        if not set(self.goal.joints) <= set(rows):
            return super().tracking()
        position, velocity, actual, actual_velocity = np.array([rows[joint] for joint in self.goal.joints]).T
        actual = self._feedback.wraparound.near(self.goal.joints, actual, position)
        desired = TrajectorySample(self.reached, position, np.nan_to_num(velocity), np.zeros_like(position))
        return Tracking(desired, actual, actual_velocity, min(stamps))

    # Trajectories.

    def send(self) -> None:
        """Send the trajectory with velocities and accelerations, so that the controllers interpolate exactly the
        validated curve. All start at the same time, shortly in the future. With a speed scale of 0, the motion starts
        when that is raised."""
        self._sent.first = self._sent.last = time.monotonic()
        if self.scale > 0.0:
            self._hand_over()

    def _hand_over(self) -> None:
        """Send every controller its part of the motion, from a time in the past on."""
        nanoseconds = round((self._now() - OVERLAP) * 1e9)
        whole = resampled(self.goal.trajectory, self._sampler.time_scaling, nanoseconds * 1e-9)
        tolerances = self.goal.tolerances
        for share in self._shares:
            if share.failed:
                continue
            message = trajectory_to_message(share.of(whole), self._epoch + nanoseconds)
            goal = FollowJointTrajectory.Goal(trajectory=message)
            joints = self.goal.joints, share.joints
            goal.path_tolerance = joint_tolerances(*joints, tolerances.path, tolerances.path_velocity)
            goal.goal_tolerance = joint_tolerances(*joints, tolerances.goal, tolerances.goal_velocity)
            goal.goal_time_tolerance = duration_to_message(tolerances.goal_time)
            share.before, share.goal = share.goal, share.controller.send(goal, self._on_end)
        self._sent.last = time.monotonic()

    def _change(self, scale: float) -> None:
        """Continue along the path at another speed scale, from shortly in the future.

        Raises:
            TrajectoryError: There is no such change; the speed is unchanged.
        """
        sampler = self._sampler
        if scale == sampler.scale or sampler.at_end(self._now()):
            return
        if self._leave_astray(0.0):
            return  # the others stop
        for factor in LEADS:
            start = max(self._now() + factor * self._options.lead, sampler.time_scaling.starts[0])
            changed = sampler.changed(scale, start)
            if start - self._now() > 0.5 * self._options.lead:
                break
        sampler.follow(changed.since(self._now() - KEPT), scale)
        self._hand_over()

    # Replies of the controllers.

    def _astray(self, share: Share) -> RobotCellError | None:
        """Return an error if a controller does not execute the trajectory that it has accepted.

        A controller that was restarted holds a position, and sends no result of a goal that it does not know. A
        trajectory sent to it then would begin with a jump.
        """
        state, goal = share.controller.state, share.goal
        if state is None or goal is None or not goal.accepted or share.ended or self._scaled_by:
            return None
        desired, path = self._commanded_at(state.stamp), self.goal.tolerances.path
        allowed = np.where(path > 0.0, path + CYCLES * np.abs(desired.velocities), np.inf)
        found = share.astray(state, self.goal.joints, desired.positions, allowed)
        if not found:
            return None
        name = share.controller.name
        text = f"{name} does not execute the trajectory that it has accepted, as after a restart: it commands {found}"
        return ExecutionError(text, stage=STAGE, subjects=(name, *share.joints))

    def _leave_astray(self, patience: float) -> bool:
        """Remove the controllers that have been astray for longer than a time [s]; returns whether the motion has
        begun to stop for that."""
        error, now = self.error, time.monotonic()
        for share in self._shares:
            astray = self._astray(share)
            share.astray_since = np.inf if astray is None else min(share.astray_since, now)
            if astray is not None and now - share.astray_since >= patience:
                self._fail(share, astray)
        return self.error is not error

    def _missing_result(self) -> RobotCellError | None:
        """Return an error if a controller should have reported the end of the motion, and its robot stands: one that
        scales the speed itself moves for longer."""
        if self.error is not None or self._scaled_by or not self._sampler.at_end(self._now()):
            return None
        late = self._now() - end_time(self.goal.trajectory, self._sampler.time_scaling)
        limit = self.goal.tolerances.goal_time + GRACE
        measured = [joint for joint in self.goal.joints if self._feedback.get(joint) is not None]
        if min(late, self._feedback.stood_for(measured)) <= limit:
            return None
        names = tuple(share.controller.name for share in self._shares if not share.ended)
        who = ", ".join(names)
        text = f"the robot stands, and {who} has not reported the end of the trajectory {limit:g} s after it"
        return ServiceUnavailableError(text, stage=STAGE, subjects=names, values=(Value("time", late, limit, "s"),))

    def poll(self) -> None:
        if self._done:
            return
        for share in self._shares:
            if (problem := share.problem(self._options.answer_timeout)) is not None:
                self._fail(share, problem)
        self._check_speed_scaling()
        if self.error is None:
            self._leave_astray(ASTRAY)
        if self._has_finished():
            self._end()
            return
        if (missing := self._missing_result()) is not None:
            self.stop(missing)
            return
        tracking, age = self.tracking(), self._feedback.age(self.goal.joints, time.monotonic())
        if tracking is not None:
            self._account(tracking)
            self._record(Check.NONE, tracking, age)
        lagging = self._feedback.lagging(self.goal.joints, self._timeouts.lost_after)
        error = lost(age, self._timeouts.silence) if age > self._timeouts.silence else lagging
        if self.error is None and error is not None:
            self.stop(error)

    def _fail(self, share: Share, error: RobotCellError) -> None:
        """Remove a failed controller; the others stop on their path."""
        share.cancel()
        share.failed = True
        if self.error is None:
            self.error = error
            self._stop()

    def _has_finished(self) -> bool:
        if not all(share.ended for share in self._shares):
            return time.monotonic() > self._stopped_by
        return self.error is not None or self._sampler.at_end(self._now())

    def _end(self) -> None:
        self._sent.last = time.monotonic()
        self._ended_at = self._now()
        if self.error is None:
            tracking = self.tracking()
            if tracking is not None:
                end = self.goal.trajectory.positions[-1]
                self.account.goal_error = float(np.abs(end - tracking.actual).max())
        self._finish()

    # Control.

    def set_global_scale(self, global_scale: float) -> None:
        self._global_scale = global_scale
        if not self._scaled_by:
            self._follow_scale()

    def pause(self) -> None:
        self._set_paused(True)

    def resume(self) -> None:
        self._set_paused(False)

    def _set_paused(self, paused: bool) -> None:
        if self._scaled_by:
            text = f"{self._scaled_by} scales the speed of the trajectory, so that it cannot be replaced"
            raise NotSupportedError(f"{text}; it can be stopped", stage="control motion", subjects=(self._scaled_by,))
        self._paused = paused
        self._follow_scale()

    def _follow_scale(self) -> None:
        """Change to the requested speed scale; a motion whose speed cannot be changed stops."""
        if self.error is None:
            try:
                self._change(self.scale)
            except TrajectoryError as error:
                self.stop(error)

    def _check_speed_scaling(self) -> None:
        """Detect controllers with speed scaling: their position along the trajectory is then unknown."""
        for share in self._shares:
            state = share.controller.state
            if state is None:
                continue
            # Controllers without speed scaling leave the field at 0; with it, 0 is that of a robot that stands.
            share.scales = share.scales or state.speed_scaling > 0.0
            if state.speed_scaling != 1.0 and share.scales:
                self._scaled_by = share.controller.name

    def _stop(self) -> None:
        now = self._now()
        # If the clock was set, the position on the path is unknown.
        clock_was_set = self.error is not None and self.error.stage == CLOCK
        if self._scaled_by or clock_was_set or self._sampler.at_end(now) or not self._slows_to_rest():
            for share in self._shares:
                share.cancel()
        end = now if clock_was_set else end_time(self.goal.trajectory, self._sampler.time_scaling)
        left = max(end - now, 0.0)
        self._stopped_by = time.monotonic() + left + self.goal.tolerances.goal_time + GRACE

    def _slows_to_rest(self) -> bool:
        """Begin a stop on the path; return False if there is none, and the controllers have to stop by themselves."""
        try:
            self._change(0.0)
        except TrajectoryError:
            return False
        return True

    def _drop(self) -> None:
        for share in self._shares:
            if not share.ended:
                share.cancel()
