"""Preparation of goals for execution: from where the robot is, validated, and due."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Sequence

from robot_cell_planner.msg import StateRef
from robot_cell_planner.srv import ValidateTrajectory

from ...errors import RobotCellError, TrajectoryLimitError, distinct_texts
from ..common.cancellation import CancellationToken, pause
from ..common.joint_states import Measurement
from ..common.node import CellNode
from ..conversions.trajectories import long_trajectory_to_message, trajectory_to_message
from ..conversions.trajectory_reports import limits_from_message
from .clock_pauses import ClockPauses
from .controller_drive import ControllerDrive
from .fault_reports import FaultReports
from .held_positions import moved_away
from .joint_feedback import STOOD, JointFeedback
from .other_joints import check_known
from .permission import MotionPermission
from .planning_calls import PlanningCalls, fresh_state
from .runner_options import RunnerOptions
from .streamed_motion import StreamDrive
from .trajectory_goals import MotionGoal, check_begin
from .validated_goals import validated

Drive = StreamDrive | ControllerDrive
MonitorsReady = Callable[[StateRef | None, ValidateTrajectory.Response | None, CancellationToken], Awaitable[None]]
Prepared = tuple[MotionGoal, ValidateTrajectory.Response | None]
AHEAD = 0.5  # [s] before its start at which a goal is validated
VALIDATIONS_AHEAD = 2.0  # the same, as a multiple of the duration of an earlier validation, if that is longer
CHECK_PERIOD = 0.02  # [s] between checks of joints
LONG = 500  # points of a trajectory whose message is made in some milliseconds
NO_EFFORTS = "efforts of the trajectory are not commanded: the mode is controller, or command_fields lacks effort"
LONGEST_WAIT = 1.0  # [s] between checks of the clock before the start of a trajectory


class Preparation:
    """Prepares goals for execution.

    read_measurements: updates `feedback` with all that has arrived; called before a motion's start is decided, since
    measurements are read seldom while nothing moves. monitors_ready: waits for the nodes that will monitor a motion, of
    the state of its goal and the reply of its validation.
    """

    def __init__(
        self,
        node: CellNode,
        drive: Drive,
        feedback: JointFeedback,
        permission: MotionPermission,
        planning: PlanningCalls,
        options: RunnerOptions,
        faults: FaultReports,
        read_measurements: Callable[[], None],
        monitors_ready: MonitorsReady,
    ) -> None:
        self._node = node
        self._drive = drive
        self._feedback = feedback
        self._permission = permission
        self._planning = planning
        self._options = options
        self._faults = faults
        self._read_measurements = read_measurements
        self._monitors_ready = monitors_ready
        self._waiting: set[CancellationToken] = set()  # of goals that wait for their start

    def call_off(self, error: RobotCellError) -> None:
        """End the goals that wait for their start, since the clock was set that the start is a time of."""
        for token in tuple(self._waiting):
            token.set(error)

    def measured(self, joints: Sequence[str]) -> dict[str, Measurement]:
        """Return the newest positions of joints; raises FeedbackLostError if they are unknown, or their stamps lag so
        much that a motion would end for it."""
        self._read_measurements()
        found = self._feedback.fresh(joints, time.monotonic(), self._options.timeouts.silence)
        if (lagging := self._feedback.lagging(joints, self._options.timeouts.lost_after)) is not None:
            raise lagging
        return found

    def up_to_date(self, state: StateRef) -> StateRef:
        """Return a state to plan from, with joints at least as new as those that are published at present. The state of
        a joint that has fallen silent may be old, so that it does not set how new the others are: the planning node
        refuses a state without new values of all joints of the cell."""
        self._read_measurements()
        found = self._feedback.present()
        return state if state.own_state else fresh_state(state, tuple(found), found)

    def start_positions(self, joints: Sequence[str]) -> dict[str, float]:
        """Return the start of a motion: the end of the previous commands if the robot is there, otherwise the measured
        position, since it was moved or held by other means.

        Raises:
            FeedbackLostError: A position is unknown, or whole turns away from the last command, as after a wrap.
        """
        commanded = self._drive.commanded
        start = {}
        for joint, measurement in self.measured(joints).items():
            position = commanded.get(joint, measurement.position)
            tolerance = self._options.start_tolerance
            if joint not in self._options.passive and abs(position - measurement.position) > tolerance:
                turned = self._feedback.wraparound.turned(joint, measurement.position, position, tolerance)
                if turned is not None:
                    raise turned
                found, left = distinct_texts(measurement.position, position)
                self._node.get_logger().warning(
                    f"{joint} is at {found}, not at its last command {left}; "
                    "its next motion starts at the measured position"
                )
                position = measurement.position
            start[joint] = position
        return start

    async def prepared(self, goal: MotionGoal, token: CancellationToken, state: StateRef | None) -> Prepared:
        """Return a goal that starts at the robot's position, validated and due, and the reply of the validation.

        A goal that starts later is validated at once, and again shortly before its start.

        Raises:
            StoppedError: motion is not allowed.
            FeedbackLostError, TrajectoryStartError: the robot's position is unknown, or away from the start.
            ServiceUnavailableError: a node that would monitor it does not reply.
            RobotCellError: the validation failed or was cancelled.
        """
        self._permission.check()
        self._drive.check()
        check_begin(goal.begin, self._node.get_clock().now().nanoseconds)
        began = time.monotonic()
        found, reply = await self.validated(goal, token, state)
        ahead = max(AHEAD, VALIDATIONS_AHEAD * (time.monotonic() - began))
        if self._left(goal) > ahead:
            await self._wait_until(goal, ahead, token)
            self._permission.check()
            found, reply = await self.validated(goal, token, state)
        await self._monitors_ready(state, reply, token)  # before the last wait, so that the start is not late
        await self._wait_until(goal, 0.0, token)
        await self.settled(goal.joints, token)
        self._permission.check()
        self._check_still_there(found)
        return found, reply

    async def validated(self, goal: MotionGoal, token: CancellationToken, state: StateRef | None) -> Prepared:
        """Return a goal that starts at the robot's position, validated, and the reply of the validation.

        Raises:
            FeedbackLostError, TrajectoryStartError: the robot's position is unknown, or away from the start; or another
                joint's is unknown, see `check_known`.
            RobotCellError: the validation failed or was cancelled.
        """
        await self.settled(goal.joints, token)
        start = self.start_positions(goal.joints)
        requested = goal.turned_to(start, self._feedback.wraparound.joints)
        goal = self._faults.starting_at(requested, start)
        if state is None:
            return goal, None
        measured = self._feedback.positions()
        try:
            reply = await self._validate(goal, state, token)
        except TrajectoryLimitError as error:
            slower = goal.slowed_for_start(requested, limits_from_message(error.partial.limits, goal.joints))
            if slower is None:
                raise
            goal, times = slower, slower.trajectory.duration / goal.trajectory.duration
            reply = await self._validate(goal, state, token)
            text = f"it takes {times:.4g} times as long, for the path from the present position to its start"
            self._warn(goal, reply, text)
        self.warn_of_efforts(goal, reply)
        goal = validated(goal, reply, measured)
        check_known(self._feedback, goal, state)
        return goal, reply

    def warn_of_efforts(self, goal: MotionGoal, reply: ValidateTrajectory.Response) -> None:
        """Add a warning to the result of a motion if its efforts are not commanded."""
        if goal.efforts is not None and goal.efforts.any() and not self._options.sends_efforts:
            self._warn(goal, reply, NO_EFFORTS)

    def _warn(self, goal: MotionGoal, reply: ValidateTrajectory.Response, text: str) -> None:
        """Add a warning to the result of a motion, and to the log."""
        reply.report.warnings = [*reply.report.warnings, text]
        self._node.get_logger().warning(f"a motion of {goal.owner}: {text}")

    async def _validate(
        self, goal: MotionGoal, state: StateRef, token: CancellationToken
    ) -> ValidateTrajectory.Response:
        """Return the reply of a successful validation."""
        is_long = len(goal.trajectory) > LONG
        message = (long_trajectory_to_message if is_long else trajectory_to_message)(goal.trajectory)
        message.joint_names = list(goal.names)
        reference = fresh_state(state, goal.names, self.measured(goal.joints))
        tolerance = min(goal.tolerances.start, self._options.start_tolerance)
        return await self._planning.validate(reference, message, tolerance, token)

    def _left(self, goal: MotionGoal) -> float:
        """Return the time until the start of a goal [s]; 0 for one that starts at once."""
        return (goal.begin - self._node.get_clock().now().nanoseconds) * 1e-9 if goal.begin else 0.0

    async def _wait_until(self, goal: MotionGoal, ahead: float, token: CancellationToken) -> None:
        """Wait until a time [s] before the start of a goal, on the clock of the node."""
        self._waiting.add(token)
        pauses = ClockPauses(LONGEST_WAIT)
        try:
            while (left := self._left(goal) - ahead) > 0.0:
                await pause(self._node, pauses.next(left, self._drive.rate), token)
        finally:
            self._waiting.discard(token)

    async def settled(self, joints: Sequence[str], token: CancellationToken) -> None:
        """Wait briefly until measurements, also of joints that are held meanwhile, are recent again, and joints without
        commands or away from them are at rest: the previous motion may have ended early, or an emergency stop may have
        ended the commands of a robot that still brakes."""
        until = time.monotonic() + self._options.timeouts.lost_after
        while time.monotonic() < until and not self._has_settled(joints):
            await pause(self._node, CHECK_PERIOD, token)

    def _has_settled(self, joints: Sequence[str]) -> bool:
        self._read_measurements()
        measured = {name: found for name in joints if (found := self._feedback.get(name)) is not None}
        if len(measured) < len(joints):
            return True  # nothing to wait for
        if self._feedback.age(joints, time.monotonic()) > self._options.timeouts.silence:
            return False
        if self._feedback.lag(joints, after_pause=True) > self._options.timeouts.silence:
            return False
        if self._drive.others_are_unsettled:
            return False
        commanded = self._drive.commanded
        moved = [
            name
            for name, found in measured.items()
            if name not in self._options.passive
            and not abs(commanded.get(name, math.inf) - found.position) <= self._options.start_tolerance
        ]
        return self._feedback.stood_for(moved) >= STOOD

    def _check_still_there(self, goal: MotionGoal) -> None:
        """Check that the robot has not moved since the start of the goal was set to where it was.

        The start tolerance of the goal only says how far the requested trajectory may begin from there.
        """
        tolerance = self._options.start_tolerance
        first = dict(zip(goal.joints, goal.trajectory.positions[0].tolist(), strict=True))
        joints = [joint for joint in goal.joints if joint not in self._options.passive]
        for joint, measurement in (self.measured(joints) if joints else {}).items():
            away = abs(measurement.position - first[joint])
            if away > tolerance:
                raise moved_away(joint, away, tolerance, goal.tolerances.unit(goal.joints.index(joint)))
