"""Execution of goals: trajectories of different robots, and grippers, in parallel, each from its checks to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.task import Future

from robot_cell_planner.msg import Configuration, StateRef
from robot_cell_planner.srv import ValidateTrajectory

from ...errors import MotionBusyError, NotSupportedError, RobotCellError, StoppedError, StopRequestedError, Value
from ..common.cancellation import CancellationToken, available, pause
from ..common.node import CellNode
from ..conversions.trajectories import trajectory_to_message
from .channels import REPLACED
from .displayed_trajectory import DisplayedTrajectory
from .fault_reports import FaultReports
from .joint_feedback import JointFeedback
from .monitored_replies import MONITOR
from .motion import Array, Motion, Phase
from .motion_monitor import MotionMonitor
from .outcome import Outcome as Outcome
from .outcome import Replacement
from .permission import MotionPermission
from .planning_calls import PlanningCalls
from .preparation import CHECK_PERIOD, Preparation
from .preparation import Drive as Drive
from .runner_options import RunnerOptions
from .speed_scales import SpeedScales
from .streamed_motion import MakeMotion, Predicted, StreamDrive, StreamedMotion
from .trajectory_goals import MotionGoal
from .validated_goals import validated

OnProgress = Callable[[Motion], None]
# [s] of the steady clock ahead, at which a motion is replaced: initial, and maximum if its validation takes longer.
LEADS = (0.2, 2.0)


class MotionRunner:
    """Checks, starts and monitors motions.

    on_change: called at the start and end of each. read_measurements: updates `feedback` with all that has arrived;
    called before a motion's start is decided, since measurements are read seldom while nothing moves.
    """

    def __init__(
        self,
        node: CellNode,
        drive: Drive,
        feedback: JointFeedback,
        permission: MotionPermission,
        planning: PlanningCalls,
        options: RunnerOptions,
        motion_monitor: MotionMonitor,
        speed_scales: SpeedScales,
        on_change: Callable[[], None],
        read_measurements: Callable[[], None],
    ) -> None:
        self._node = node
        self._monitor = motion_monitor
        self._drive = drive
        self._feedback = feedback
        self._permission = permission
        self._planning = planning
        self._options = options
        self._on_change = on_change
        self._displayed = DisplayedTrajectory(node)
        self._faults = FaultReports(node, options.timeouts)
        self._preparation = Preparation(
            node, drive, feedback, permission, planning, options, self._faults, read_measurements, self._monitors_ready
        )
        self._on_progress: dict[Motion, OnProgress] = {}
        self._awaiting: set[CancellationToken] = set()  # of goals that wait for the robot to appear
        self.speed_scales = speed_scales
        self.last_error: RobotCellError | None = None

    @property
    def motions(self) -> list[Motion]:
        """The running motions."""
        return list(self._on_progress)

    def now(self) -> float:
        """Return the clock of motions [s]."""
        return self._drive.now()

    @property
    def rate(self) -> float:
        """Its seconds per second of the steady clock."""
        return self._drive.rate

    def streamed(self, owner: str) -> list[StreamedMotion]:
        """Return the streamed motions of an owner."""
        motions = [motion for motion in self.motions if isinstance(motion, StreamedMotion) and not motion.passive]
        return [motion for motion in motions if motion.goal.owner == owner]

    def report(self, error: RobotCellError) -> None:
        """Publish in the status why a goal was rejected or has failed."""
        self.last_error = error
        self._on_change()

    async def ready(self, token: CancellationToken) -> tuple[str, ...]:
        """Wait after the start of the node until the robot publishes joint states and subscribes to commands; returns
        its joints.

        Raises:
            StoppedError: motion is not allowed, or was forbidden meanwhile.
            ServiceUnavailableError: it did not appear in time.
        """
        self._permission.check_until_known()
        self._awaiting.add(token)
        try:
            return await self._appeared(token)
        finally:
            self._awaiting.discard(token)

    async def _appeared(self, token: CancellationToken) -> tuple[str, ...]:
        within = self._node.parameters["server_timeout"]
        joints = self._options.joints

        def is_known() -> bool:
            known = self._feedback.names
            return bool(known) and set(joints) <= set(known)

        description = f"joint_states of {', '.join(joints)}" if joints else "joint_states"
        await available(self._node, is_known, token, within, description)
        await self._drive.ready(token)
        return joints or self._feedback.names

    def poll(self) -> None:
        """Update all motions with new measurements."""
        for motion in self.motions:
            motion.poll()

    def report_progress(self) -> None:
        """Report the progress of all motions to their clients."""
        for motion, on_progress in list(self._on_progress.items()):
            on_progress(motion)

    def call_off(self, error: RobotCellError) -> None:
        """End the goals that wait for their start, see `Preparation.call_off`."""
        self._preparation.call_off(error)

    def abort(self, error: RobotCellError) -> None:
        """End all motions at once, and the goals that wait for the robot to appear. All commands are forgotten: robots
        may be moved by other means until motion is allowed again."""
        self.last_error = error
        for token in tuple(self._awaiting):
            token.set(error)
        for motion in self.motions:
            motion.abort(error)
        self._drive.forget_commands()

    def stop_joints(self, joints: Sequence[str], error: RobotCellError) -> None:
        """Stop the motions of any of the joints on their paths."""
        for motion in self.motions:
            if set(joints) & set(motion.goal.joints):
                motion.stop(error)

    async def settled(self, joints: Sequence[str], token: CancellationToken) -> None:
        """Wait briefly until joints are measured at rest, see `Preparation.settled`."""
        await self._preparation.settled(joints, token)

    def up_to_date(self, state: StateRef) -> StateRef:
        """Return a state to plan from, with joints at least as new as those measured here."""
        return self._preparation.up_to_date(state)

    def start_positions(self, joints: Sequence[str]) -> dict[str, float]:
        """Return the start of a motion, see `Preparation.start_positions`."""
        return self._preparation.start_positions(joints)

    async def run(
        self,
        goal: MotionGoal,
        token: CancellationToken,
        on_progress: OnProgress,
        state: StateRef | None,
        make: MakeMotion | None = None,
    ) -> Outcome:
        """Execute a goal, from its checks to its end; a failure is in the error of the motion.

        on_progress(motion): called at the rate of feedback. state: for the validation; None skips it. make: factory of
        the motion, if not that of the drive.

        Raises:
            RobotCellError: nothing moved; see `Preparation.prepared`, and MotionBusyError for joints that are already
                moving.
        """
        goal, reply = await self._preparation.prepared(goal, token, state)
        finished: Future[None] = Future()
        if not set(goal.joints) <= set(
            self._options.passive
        ):  # passive joints, such as those of a gripper, are not shown
            self._displayed.publish(goal)
        started = self._node.get_clock().now().nanoseconds
        motion = self._drive.start(make, self._wake, goal, self._feedback, **self._keywords(goal, finished))
        await self._follow(motion, finished, token, on_progress, state, reply)
        return Outcome(motion, started, reply)

    async def replacement(
        self,
        running: StreamedMotion,
        goal: MotionGoal,
        arrived: float,
        token: CancellationToken,
        state: StateRef | None,
    ) -> Replacement | None:
        """Prepare a goal to replace a running motion: joined to its predicted state, validated, and scheduled; None if
        the motion has ended or is at rest. arrived: start of the goal's time [s], on the drive's clock. The running
        motion continues meanwhile.

        Raises:
            RobotCellError: what the validation found, or why it was called off; the running motion continues.
        """
        drive = self._drive
        assert isinstance(drive, StreamDrive)
        self._permission.check()
        lead = LEADS[0]
        while True:
            predicted = drive.predicted(running, max(drive.after(lead), arrived))
            if predicted is None:
                return None
            scale = self._joining_scale(goal)
            present, after = self._present(running, predicted, goal.joints), predicted.time - arrived
            here = dict(zip(goal.joints, present[0].tolist(), strict=True))
            joining = goal.turned_to(here, self._feedback.wraparound.joints, after).joining(present, after, scale)
            reply = None
            if state is not None:
                message = trajectory_to_message(joining.trajectory)
                message.joint_names = list(goal.names)
                positions, measured = joining.trajectory.positions[0].tolist(), self._feedback.positions()
                begins = StateRef(configuration=Configuration(joint_names=message.joint_names, positions=positions))
                reply = await self._planning.validate(begins, message, goal.tolerances.start, token)
                joining = validated(joining, reply, measured)
            if self._joining_scale(goal) != scale:
                continue  # its first velocities would not be those of the robot
            finished: Future[None] = Future()
            motion = drive.make(self._wake, joining, self._feedback, **self._keywords(goal, finished))
            self._permission.check()
            if drive.replace(running, predicted, motion):
                if reply is not None:
                    self._preparation.warn_of_efforts(joining, reply)
                self._displayed.publish(joining)
                return Replacement(running, motion, finished, self._node.get_clock().now().nanoseconds, reply)
            lead = min(2.0 * lead, LEADS[1])

    def _joining_scale(self, goal: MotionGoal) -> float:
        """Return the speed scale of a goal that is to join a moving robot.

        Raises:
            NotSupportedError: It is 0, since that of another robot of the goal is.
        """
        scale = goal.speed_scale * self.speed_scales.of_joints(goal.joints)
        if scale > 0.0:
            return scale
        text = (
            "the speed scale of a robot of the goal is 0: it cannot replace a motion that is under way; raise the scale"
        )
        raise NotSupportedError(text, stage=REPLACED, values=(Value("speed scale", scale),))

    async def end_at_rest(
        self, running: StreamedMotion, goal: MotionGoal, token: CancellationToken, state: StateRef | None
    ) -> None:
        """End a motion that is paused or held on its path, once it rests there and the goal that will replace it from
        there is validated. A motion that resumes meanwhile is not ended.

        Raises:
            RobotCellError: what the validation found, or why it was called off; the running motion stays paused.
        """
        drive = self._drive
        assert isinstance(drive, StreamDrive)
        while running.phase is Phase.PAUSED and not drive.is_still(running):
            await pause(self._node, CHECK_PERIOD, token)
        if running.phase is not Phase.PAUSED:
            return
        self._permission.check()
        await self._preparation.validated(goal, token, state)
        self._permission.check()
        if running.phase is Phase.PAUSED:
            running.stop(StopRequestedError("replaced by a newer goal", stage=REPLACED))

    def _present(self, running: StreamedMotion, predicted: Predicted, joints: Sequence[str]) -> list[Array]:
        """Return predicted positions, velocities and accelerations of joints (dof,) of a motion; joints that it does
        not move are at rest."""
        moved = running.goal.joints
        missing = tuple(joint for joint in moved if joint not in joints)
        if missing:
            text = f"the running motion also moves {', '.join(missing)}; a goal without them cannot replace it"
            raise MotionBusyError(text, subjects=(running.goal.owner, *missing))
        others = [joint for joint in joints if joint not in moved]
        standing = self.start_positions(others) if others else {}
        sample = predicted.sample
        columns = [moved.index(joint) if joint in moved else -1 for joint in joints]
        positions = [
            sample.positions[column] if column >= 0 else standing[joint]
            for joint, column in zip(joints, columns, strict=True)
        ]
        moves = np.array(columns) >= 0
        return [
            np.array(positions),
            np.where(moves, sample.velocities[columns], 0.0),
            np.where(moves, sample.accelerations[columns], 0.0),
        ]

    async def follow(
        self, replacement: Replacement, token: CancellationToken, on_progress: OnProgress, state: StateRef | None
    ) -> Outcome:
        """Monitor a motion that replaces another one, to its end. A cancellation stops the previous one if that is
        still running."""
        token.on_set(replacement.running.stop)
        await self._follow(replacement.motion, replacement.finished, token, on_progress, state, replacement.reply)
        return Outcome(replacement.motion, replacement.started, replacement.reply)

    def _keywords(self, goal: MotionGoal, finished: Future[None]) -> dict[str, Any]:
        """Return the arguments of all kinds of motions."""
        return {
            "global_scale": self.speed_scales.of_joints(goal.joints),
            "timeouts": self._options.timeouts,
            "on_done": lambda: finished.set_result(None),
        }

    async def _follow(
        self,
        motion: Motion,
        finished: Future[None],
        token: CancellationToken,
        on_progress: OnProgress,
        state: StateRef | None,
        reply: ValidateTrajectory.Response | None,
    ) -> None:
        self._on_progress[motion] = on_progress
        self._on_change()
        monitoring = self._monitored(motion, state, reply)
        token.on_set(motion.stop)
        try:
            await finished
        finally:
            token.remove(motion.stop)
            monitoring.set(StoppedError("the motion has ended", stage=MONITOR))
            del self._on_progress[motion]
            if motion.error is not None:
                self.last_error = motion.error
                self._faults.report(motion, reply)
            self._on_change()

    def _is_monitored(self, state: StateRef | None, reply: ValidateTrajectory.Response | None) -> bool:
        """Return whether a motion is monitored: if it was validated in the scene, whose cell the reply names."""
        if state is None or reply is None or not self._node.parameters["monitor_scene"]:
            return False
        return bool(reply.state.cell_digest) and not state.own_state

    async def _monitors_ready(
        self, state: StateRef | None, reply: ValidateTrajectory.Response | None, token: CancellationToken
    ) -> None:
        if self._is_monitored(state, reply):
            await self._monitor.ready(token)

    def _monitored(
        self, motion: Motion, state: StateRef | None, reply: ValidateTrajectory.Response | None
    ) -> CancellationToken:
        """Monitor a motion that was validated in a scene; returns the token that ends the monitor."""
        if state is None or reply is None or not self._is_monitored(state, reply):
            return CancellationToken()
        return self._monitor.begin(motion, state, reply.state.revision)

    def _wake(self) -> None:
        """Schedule an update of the motions; callable from any thread."""
        if self._node.executor is not None:
            self._node.executor.create_task(self.poll)
