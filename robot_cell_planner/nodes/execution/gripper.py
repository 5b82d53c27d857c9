"""The gripper: a joint that is moved until it reaches its goal or stalls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from control_msgs.action import GripperCommand, ParallelGripperCommand
from control_msgs.msg import GripperCommand as GripperCommandMessage
from sensor_msgs.msg import JointState

from robot_cell_planner.action import MoveGripper

from ...errors import GoalToleranceError, InvalidRequestError, RobotCellError, StopRequestedError, Value
from ...model.units import ANY_JOINT
from ...trajectory.limits import MotionLimits
from ...trajectory.timing import TimingOptions, stop_at_waypoints
from ...trajectory.tracking import Tolerances, lost
from ..common.action_server import GoalServer
from ..common.cancellation import CancellationToken
from ..common.exclusive_access import ExclusiveAccess
from ..common.joint_states import Measurement
from ..common.node import CellNode, report_error
from ..motion.joint_feedback import JointFeedback
from ..motion.motion import Motion, Tracking
from ..motion.path_return import RobotTimeout
from ..motion.runner import MotionRunner, OnProgress
from ..motion.streamed_motion import StreamedMotion
from ..motion.trajectory_goals import MotionGoal


class _GripperStatus(Protocol):
    """Fields of the results and feedback of both actions."""

    position: float
    effort: float
    stalled: bool
    reached_goal: bool


StatusT = TypeVar("StatusT", bound=_GripperStatus)

OWNER = "gripper_command"  # name of all clients of a gripper


@dataclass(frozen=True)
class GripperOptions:
    """The gripper's joint, limits and tolerances.

    lower, upper: bounds of its position [rad or m]. velocity, acceleration, jerk: of its commands. goal_tolerance: at
    the goal [rad or m]. stall_velocity, stall_timeout: it has stalled if it was slower than this [per s] on average for
    this time [s] after the end of the commands. start_timeout: the same time for a gripper that has not moved yet [s].
    goal_time: time limit to reach the goal or to stall [s].
    allow_stalling: whether stalling is success. parallel: whether its action is ParallelGripperCommand. short: name of
    the joint without its tool, which joint_states may have instead; empty if there is none.
    """

    joint: str
    lower: float
    upper: float
    velocity: float
    acceleration: float
    jerk: float
    goal_tolerance: float
    stall_velocity: float
    stall_timeout: float
    start_timeout: float
    goal_time: float
    allow_stalling: bool
    parallel: bool = False
    short: str = ""

    def with_name_among(self, measured: Collection[str]) -> GripperOptions:
        """Return the options with the name that the joint has among measured ones."""
        if self.short in measured and self.joint not in measured:
            return replace(self, joint=self.short, short=self.joint)
        return self

    @property
    def longest_motion(self) -> float:
        """Return the maximum time for the whole range [s]."""
        way = (self.upper - self.lower) / self.velocity
        return way + self.velocity / self.acceleration + self.acceleration / self.jerk

    def command_of(self, state: JointState) -> GripperCommandMessage:
        """Return position and effort of a ParallelGripperCommand, whose joint name may be omitted.

        Raises:
            InvalidRequestError: It does not have one position, names another joint, or limits the speed.
        """
        names, positions, efforts = list(state.name) or [self.joint], list(state.position), list(state.effort) or [0.0]
        is_named = names in ([self.joint], [self.short or self.joint])
        if not is_named or len(positions) != 1 or len(efforts) != 1:
            counts = f"{len(names)} names, {len(positions)} positions and {len(efforts)} efforts"
            text = f"the command has {counts}; expected one position, and {self.joint} as the name if any"
            raise InvalidRequestError(text, stage="gripper", subjects=("command",))
        if len(state.velocity):
            text = "velocity limits are not supported in the command; set parameter gripper_velocity"
            raise InvalidRequestError(text, stage="gripper", subjects=("command.velocity",))
        return GripperCommandMessage(position=positions[0], max_effort=efforts[0])

    def motion(self, start: float, position: float, max_effort: float, period: float) -> MotionGoal:
        """The goal of a GripperCommand.

        Raises:
            InvalidRequestError: A position beyond the gripper's bounds, or a number that is not finite.
        """
        if not self.lower <= position <= self.upper:
            text = f"gripper position is {position:g}, expected {self.lower:g} to {self.upper:g}"
            raise InvalidRequestError(text, stage="gripper", values=(Value("position", position, unit=ANY_JOINT),))
        if not (math.isfinite(max_effort) and max_effort >= 0.0):
            raise InvalidRequestError(f"max_effort is {max_effort:g}, expected 0 or more", stage="gripper")
        endless = np.array([math.inf])
        limits = MotionLimits(
            (self.joint,),
            -endless,  # it may start slightly out of its range
            endless,
            np.array([self.velocity]),
            np.array([self.acceleration]),
            np.array([self.jerk]),
        )
        path = np.array([[start], [position]]) if position != start else np.array([[position]])
        timed = stop_at_waypoints(path, limits, TimingOptions(period=period))
        tolerances = Tolerances(
            start=math.inf,
            path=endless,
            path_velocity=endless,
            goal=np.array([self.goal_tolerance]),
            goal_velocity=endless,
            goal_time=self.goal_time,
        )
        efforts = np.array([max_effort])
        bounded = replace(limits, lower=np.array([self.lower]), upper=np.array([self.upper]))
        return MotionGoal("gripper", (self.joint,), timed.trajectory, tolerances, efforts=efforts, limits=bounded)


@dataclass(frozen=True)
class GripperActions:
    """Names of the actions of a gripper: command, as ros2_control's controllers offer it, and move, with errors."""

    command: str
    move: str


class GripperMotion(StreamedMotion):
    """A motion of the gripper, which ends when it reaches its goal or stalls after the end of the commands.

    final: measurement by which it has reached its goal or stalled.
    """

    passive = True

    def __init__(self, options: GripperOptions, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._options = options
        self._resting_at = math.nan
        self._resting_since = 0  # stamp [ns]
        self._starting = RobotTimeout()
        self._has_moved = False
        self.reached_goal = False
        self.stalled = False
        self.final: Measurement | None = None

    def _check_feedback(self) -> None:
        now = time.monotonic()
        measured, tracking = self._feedback.get(self._options.joint), self.tracking()
        age = self._feedback.age(self.goal.joints, now)
        if measured is None or tracking is None or age > self._timeouts.lost_after:
            self.stop(lost(age, self._timeouts.lost_after))
            return
        if (lagging := self._feedback.lagging(self.goal.joints, self._timeouts.lost_after)) is not None:
            self.stop(lagging)
            return
        if not self.channel.ended and (age > self._timeouts.silence or self.channel.awaits_resume):
            self._hold()
            return
        if self._is_held:
            self._go_on()
        away = abs(measured.position - float(self.goal.trajectory.positions[-1, 0]))
        # In the robot's time: missing measurements are no rest, and a slow simulation is late with everything.
        self._rest(measured.position, measured.stamp)
        if not self.channel.ended or measured.arrival < self.channel.ended_at:
            return
        self.account.goal_error = away
        self.reached_goal = away <= self._options.goal_tolerance
        self.stalled = not self.reached_goal and self._has_stalled(tracking, now)
        self.final = measured if self.reached_goal or self.stalled else None
        if self.final is not None or self._is_late(tracking, now):
            self._finish()

    def _rest(self, position: float, stamp: int) -> None:
        """Record since when the joint has moved less than the stall velocity allows within the stall timeout."""
        max_motion = self._options.stall_velocity * self._options.stall_timeout
        if not abs(position - self._resting_at) <= max_motion:
            self._has_moved = self._has_moved or not math.isnan(self._resting_at)
            self._resting_at, self._resting_since = position, stamp

    def _has_stalled(self, tracking: Tracking, now: float) -> bool:
        if self._has_moved:
            return (tracking.stamp - self._resting_since) * 1e-9 >= self._options.stall_timeout
        limit = max(self._options.start_timeout, self._options.stall_timeout)
        return self._starting.has_expired(limit, self._feedback.listened(now), tracking.stamp, self._at_end(tracking))


class GripperServer:
    """The action of ros2_control's gripper controllers, GripperCommand or ParallelGripperCommand, and an action of this
    package, whose result says why a goal was refused or has failed; for the former, the status of the node says it.

    A new goal replaces the running one, which is stopped and aborted first. The fingers are not checked for collisions,
    since they must touch objects.
    """

    def __init__(
        self,
        node: CellNode,
        names: GripperActions,
        options: GripperOptions,
        runner: MotionRunner,
        feedback: JointFeedback,
        access: ExclusiveAccess,
        period: float,
    ) -> None:
        self._node = node
        self._configured = options
        self._runner = runner
        self._feedback = feedback
        self._access = access
        self._period = period
        self._waiting: CancellationToken | None = None
        if options.parallel:
            GoalServer(node, ParallelGripperCommand, names.command, self._carry_out_parallel, self._fail)
        else:
            GoalServer(node, GripperCommand, names.command, self._carry_out_command, self._fail)
        GoalServer(node, MoveGripper, names.move, self._carry_out, report_error)

    @property
    def _options(self) -> GripperOptions:
        """Options with the name of the joint in joint_states."""
        return self._configured.with_name_among(self._feedback.names)

    async def _carry_out_command(
        self,
        goal: GripperCommand.Goal,
        send: Callable[[GripperCommand.Feedback], None],
        token: CancellationToken,
        result: GripperCommand.Result,
    ) -> None:
        def on_progress(motion: Motion) -> None:
            send(self._with_status(GripperCommand.Feedback(), motion))

        await self._move(goal.command, on_progress, token, result)

    async def _carry_out_parallel(
        self,
        goal: ParallelGripperCommand.Goal,
        send: Callable[[ParallelGripperCommand.Feedback], None],
        token: CancellationToken,
        result: ParallelGripperCommand.Result,
    ) -> None:
        def on_progress(motion: Motion) -> None:
            send(ParallelGripperCommand.Feedback(state=self._state(self._measured())))

        found = MoveGripper.Result()
        ended: list[Motion] = []
        try:
            await self._move(self._options.command_of(goal.command), on_progress, token, found, ended.append)
        finally:
            result.state = self._state(self._measured(*ended))
            result.stalled, result.reached_goal = found.stalled, found.reached_goal

    async def _carry_out(
        self,
        goal: MoveGripper.Goal,
        send: Callable[[MoveGripper.Feedback], None],
        token: CancellationToken,
        result: MoveGripper.Result,
    ) -> None:
        def on_progress(motion: Motion) -> None:
            send(self._with_status(MoveGripper.Feedback(), motion))

        await self._move(goal, on_progress, token, result)

    async def _move(
        self,
        command: GripperCommandMessage | MoveGripper.Goal,
        on_progress: OnProgress,
        token: CancellationToken,
        result: GripperCommand.Result | MoveGripper.Result,
        on_end: Callable[[Motion], None] = lambda motion: None,
    ) -> None:
        await self._take_over(token)
        with self._access.acquired_by(OWNER, token):
            await self._runner.ready(token)
            options = self._options
            start = self._runner.start_positions((options.joint,))[options.joint]
            motion_goal = options.motion(start, command.position, command.max_effort, self._period)

            def make(*arguments: Any, **keywords: Any) -> GripperMotion:
                return GripperMotion(options, *arguments, **keywords)

            outcome = await self._runner.run(motion_goal, token, on_progress, None, make)
        on_end(outcome.motion)
        self._with_status(result, outcome.motion)
        outcome.check()
        if not result.reached_goal and not (result.stalled and self._options.allow_stalling):
            raise self._missed(outcome.motion, result.stalled)

    async def _take_over(self, token: CancellationToken) -> None:
        """Stop the goal that moves the gripper, and any that wait for it."""
        newer = StopRequestedError("replaced by a newer goal for the gripper", stage="gripper")
        if self._waiting is not None:
            self._waiting.set(newer)
        self._waiting = token
        try:
            if self._access.claims:
                self._access.cancel(newer)
                with self._access.queued(OWNER, token):
                    await self._access.released(self._node, token, self._access.claims)
        finally:
            if self._waiting is token:
                self._waiting = None

    def _with_status(self, message: StatusT, motion: Motion) -> StatusT:
        """Return the message with measurements and progress of the motion."""
        measured = self._measured(motion)
        if measured is not None:
            message.position = measured.position
            message.effort = 0.0 if math.isnan(measured.effort) else measured.effort
        if isinstance(motion, GripperMotion):
            message.stalled, message.reached_goal = motion.stalled, motion.reached_goal
        return message

    def _measured(self, motion: Motion | None = None) -> Measurement | None:
        """Return the measurement by which a motion has reached its goal or stalled, or else the latest one."""
        final = motion.final if isinstance(motion, GripperMotion) else None
        return final or self._feedback.get(self._options.joint)

    def _state(self, measured: Measurement | None) -> JointState:
        """Return the state of the gripper's joint; without a name if it was not measured."""
        if measured is None:
            return JointState()
        effort = 0.0 if math.isnan(measured.effort) else measured.effort
        return JointState(name=[self._options.joint], position=[measured.position], effort=[effort])

    def _missed(self, motion: Motion, stalled: bool) -> GoalToleranceError:
        value = Value("distance", motion.account.goal_error, self._options.goal_tolerance, ANY_JOINT)
        text = "the gripper has stalled" if stalled else "the gripper did not reach its goal in time"
        return GoalToleranceError(text, subjects=(self._options.joint,), values=(value,))

    def _fail(self, _: GripperCommand.Result | ParallelGripperCommand.Result, error: RobotCellError) -> None:
        """Report the reason in the node's status, since the result has no field for it."""
        self._runner.report(error)
