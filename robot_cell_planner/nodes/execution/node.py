"""The execution node: executes and monitors trajectories, and moves the gripper."""

from __future__ import annotations

import math
import sys
import time
from contextlib import suppress

from std_msgs.msg import Header

from robot_cell_planner.msg import ExecutionStatus

from ...errors import ExecutionError, NotSupportedError, RobotCellError
from ...system.garbage import collect_if_due, postpone_full_collections
from ..common.diagnostics import OK, OVERSIZED, WARN
from ..common.exclusive_access import ExclusiveAccess
from ..common.joint_states import MAX_JOINTS
from ..common.lifecycle import ManagedNode
from ..common.node import LATCHED, end, run
from ..common.periods import Periodic
from ..common.realtime_priority import set_realtime_priority
from ..common.robot_topics import JointMessages, JointOutput, robot_prefixes
from ..common.waiting import delay, steady_timer
from ..conversions.basic import duration_to_message, error_to_message, time_to_message
from ..motion.command_stream import CommandStream, StreamStatistics
from ..motion.controller_drive import ControllerDrive
from ..motion.held_positions import HeldPositions
from ..motion.independent_robots import robot_finder
from ..motion.joint_feedback import JointFeedback
from ..motion.motion import Phase
from ..motion.motion_clock import motion_clock
from ..motion.motion_control import MotionControl
from ..motion.motion_monitor import MotionMonitor
from ..motion.other_joints import CHECK_TIME, OtherJoints
from ..motion.path_return import feedback_timeouts
from ..motion.permission import MotionPermission
from ..motion.planning_calls import PlanningCalls
from ..motion.reports import reported
from ..motion.runner import Drive, MotionRunner
from ..motion.runner_options import RunnerOptions
from ..motion.speed_scales import SpeedScales
from ..motion.streamed_motion import StreamDrive
from ..servo.servo import ServoServer
from .clock_supervision import ClockSupervision
from .follow_joint_trajectory import FollowJointTrajectoryServer
from .gripper import GripperServer
from .parameters import (
    PARAMETERS,
    STREAM,
    command_fields,
    controller_actions,
    controller_options,
    grippers,
    independent_robots,
    names,
    passive_joints,
    sampler_options,
    wraparound,
)
from .shutdown import RequestedShutdown
from .trajectory_actions import TrajectoryActions

JOINT_STATES_DEPTH = 100
POLL_PERIOD = 0.02  # [s]
REST_POLL_PERIOD = 0.05  # [s] while nothing moves
SWITCH_INTERVAL = 5e-5  # [s]
STATUS_PERIOD = 1.0  # [s]
POLLS_PER_STREAM_CHECK = 10  # reads of measurements per check of what is commanded
REPLACED = "further ones replace those that were published once"
STATES = {
    Phase.MOVING: ExecutionStatus.MOVING,
    Phase.PAUSED: ExecutionStatus.PAUSED,
    Phase.STOPPING: ExecutionStatus.STOPPING,
    Phase.SETTLING: ExecutionStatus.MOVING,
    Phase.DONE: ExecutionStatus.IDLE,
}


class ExecutionNode(ManagedNode):
    """Streams joint commands; only trajectories validated by the planning node are streamed."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("execution_node")
        self.shutdown = RequestedShutdown(self, lambda: self._accesses)

    def configure(self) -> None:
        parameters = self.parameters
        self._joints = names(parameters, "joints")
        self._grippers = grippers(parameters)
        self._robots = independent_robots(parameters)
        own = (*self._joints, *passive_joints(self._grippers))
        self._joint_states = JointMessages(self, "joint_states", JOINT_STATES_DEPTH, own=own)
        self._feedback = JointFeedback(parameters["max_joint_step"], own, wraparound(parameters))
        self._planning = PlanningCalls(self)
        self._motion_access = ExclusiveAccess("is executing a motion", self._publish_status)
        self._gripper_accesses = [
            ExclusiveAccess("is moving the gripper", self._publish_status) for _ in self._grippers
        ]
        self._permission = MotionPermission(self, names(parameters, "motion_modes"), self._on_permission)
        self._permission.suspend()
        self._statuses = self.create_publisher(ExecutionStatus, "execution/status", LATCHED, always=True)
        self._motion_clock = motion_clock(self, parameters["max_command_gap"])
        self._stream = self._make_stream(command_fields(parameters)) if parameters["mode"] == STREAM else None
        self._streamed = None if self._stream is None else self._make_stream_drive(self._stream)
        self._runner = self._make_runner(self._streamed or self._make_controller_drive())
        self._servo = self._make_servo(self._streamed)
        self._progress = Periodic(1.0 / parameters["feedback_rate"])
        self._polls = 0
        self._clock_supervision = ClockSupervision(self, self._motion_clock, feedback_timeouts(parameters).lost_after)
        self._polling = steady_timer(self, REST_POLL_PERIOD, self._poll)
        steady_timer(self, STATUS_PERIOD, self._publish_status, may_be_early=True)
        self._offer()
        self._publish_status()

    def activate(self) -> None:
        self._permission.resume()
        self._permission.report_change()

    async def come_to_rest(self, reason: RobotCellError) -> None:
        """Stop all motions on their paths, and wait until they are at rest."""
        if self._servo is not None:
            self._servo.stop(reason)
        await super().come_to_rest(reason)
        while self._servo is not None and self._servo.active:
            await delay(self, POLL_PERIOD)

    def deactivate(self) -> None:
        self._permission.suspend()
        self._permission.report_change()

    def _make_stream(self, fields: tuple[str, ...]) -> CommandStream:
        """Return the stream of commands with these interfaces of the robot, such as "position"."""
        parameters = self.parameters
        stream = CommandStream(
            self,
            JointOutput(self, "joint_commands", self._topic_of, robot_prefixes(parameters)),
            rate=parameters["command_rate"],
            clock=self._motion_clock,
            fields=fields,
            joints=self._joints,
            late_command_periods=parameters["late_command_periods"],
            max_command_gap=parameters["max_command_gap"],
            hold=parameters["hold_when_idle"],
            priority=parameters["realtime_priority"],
            forbidden=self._permission.forbidden,
            robot_of=robot_finder((*self._robots.prefixes, *robot_prefixes(parameters)), self._topic_of),
            passive=passive_joints(self._grippers),
        )
        self.on_release(stream.close)
        return stream

    def _make_stream_drive(self, stream: CommandStream) -> StreamDrive:
        """Return the drive that moves the robot by the stream."""
        tolerance, timeouts = self.parameters["start_tolerance"], feedback_timeouts(self.parameters)
        passive = passive_joints(self._grippers)
        held = HeldPositions(self, stream, self._feedback, tolerance, passive, timeouts)
        return StreamDrive(self, stream, sampler_options(self.parameters), held)

    def _make_controller_drive(self) -> ControllerDrive:
        """Return the drive that moves the robot by the actions of its controllers."""
        actions, options = controller_actions(self.parameters), controller_options(self.parameters)
        return ControllerDrive(self, actions, options, self._motion_clock)

    def _make_runner(self, drive: Drive) -> MotionRunner:
        """Return the runner of motions."""
        parameters, passive = self.parameters, passive_joints(self._grippers)
        efforts = self._stream is not None and "effort" in command_fields(parameters)
        tolerance = parameters["start_tolerance"]
        horizon = max(parameters["watch_horizon"], sampler_options(parameters).stop_time + CHECK_TIME)
        options = RunnerOptions(tolerance, feedback_timeouts(parameters), self._joints, passive, efforts)
        others = OtherJoints(self._robots, self._feedback, lambda: self._runner.motions, horizon)
        return MotionRunner(
            self,
            drive,
            self._feedback,
            self._permission,
            self._planning,
            options,
            MotionMonitor(self, others),
            SpeedScales(self._robots),
            self._on_motion_change,
            self._read_measurements,
        )

    def _topic_of(self, joint: str) -> str:
        """Return the prefix of the robot whose topic has the commands of a joint: that of its joint states."""
        return self._joint_states.sources.get(joint, "")

    def _make_servo(self, drive: StreamDrive | None) -> ServoServer | None:
        """Return servo, which needs the stream of this node."""
        if drive is None or self._stream is None:
            return None
        return ServoServer(
            self, self._stream, drive, self._feedback, self._permission, self._runner, self._motion_access, self._robots
        )

    def raise_priority(self) -> None:
        """Set the priority of the calling thread below that of the stream; threads of the middleware keep theirs."""
        priority = self.parameters["realtime_priority"]
        if priority > 1:
            with suppress(NotSupportedError):  # reported by the stream
                set_realtime_priority(priority - 1)

    def _offer(self) -> None:
        """Offer actions and services, except those that existing controllers offer."""
        access, robots = self._motion_access, self._robots
        TrajectoryActions(self, self._runner, self._feedback, self._permission, self._planning, access, robots)
        MotionControl(self, self._runner, access, self._gripper_accesses, robots, self._publish_status)
        if self._stream is None:
            return
        passive = passive_joints(self._grippers)
        expected = [name for name in self._joints if name not in passive]
        name = self.parameters["follow_joint_trajectory"]
        FollowJointTrajectoryServer(self, name, self._runner, access, robots, expected)
        period = 1.0 / self.parameters["command_rate"]
        for (actions, options), own in zip(self._grippers, self._gripper_accesses, strict=True):
            GripperServer(self, actions, options, self._runner, self._feedback, own, period)

    @property
    def _accesses(self) -> tuple[ExclusiveAccess, ...]:
        return self._motion_access, *self._gripper_accesses

    @property
    def _owner(self) -> str:
        """Names of the clients that move robots, or else of one that moves a gripper."""
        return next((access.owner for access in self._accesses if access.owner), "")

    # Inputs.

    def _poll(self) -> None:
        """Read measurements, and update the motions."""
        self._permission.report_change()
        self._check_clock()
        self._read_measurements()
        self._runner.poll()
        if self._servo is not None:
            self._servo.poll()
        self._set_polling()
        if self._streamed is not None and self._permission.reason is None:
            self._streamed.held.hold_between_motions(self._joints)
        self._check_stream()
        if not self._is_moving:
            collect_if_due()
        if self._progress.is_due(time.monotonic()):
            self._runner.report_progress()

    def _read_measurements(self) -> None:
        """Read the measurements that have arrived, and update the motions with each."""
        self._feedback.start_poll(time.monotonic(), self._poll_period, self._motion_clock.take_stood())
        # While nothing moves, the newest measurement of each joint is enough.
        messages = self._joint_states.take() if self._is_moving else self._joint_states.take_latest()
        for states in messages:
            received = self.get_clock().now().nanoseconds
            values = states.positions, states.velocities, states.efforts
            now = time.monotonic()
            self._feedback.start_poll(now, self._poll_period)  # a pause may fall between any two messages
            self._feedback.update(states.names, *values, states.stamp or received, now, received)
            for text in self._feedback.take_warnings(now):
                self.get_logger().warning(text)
            for fault in self._feedback.take_faults():
                self._runner.stop_joints(fault.subjects, fault)
                if self._servo is not None:
                    self._servo.on_fault(fault)
            self._runner.poll()

    def _on_motion_change(self) -> None:
        self._set_polling()
        self._publish_status()

    def _set_polling(self) -> None:
        """Read measurements less often while nothing moves."""
        period = round(1e9 * self._poll_period)
        if self._polling.timer_period_ns != period:
            self._polling.timer_period_ns = period

    @property
    def _poll_period(self) -> float:
        """Period of reads [s]."""
        return min(POLL_PERIOD, self._progress.period) if self._is_moving else REST_POLL_PERIOD

    @property
    def _is_moving(self) -> bool:
        """Whether a motion is executed, or servo follows commands."""
        return bool(self._runner.motions) or (self._servo is not None and self._servo.active)

    def _check_clock(self) -> None:
        """End motions, and goals that wait for their start, if simulated time has jumped or was lost."""
        error = self._clock_supervision.fault()
        if error is not None:
            self.get_logger().warning(str(error))
            self._runner.call_off(error)
            self._stop_all(error)

    def _stop_all(self, error: RobotCellError) -> None:
        """Stop all motions on their paths, and servo."""
        for motion in self._runner.motions:
            motion.stop(error)
        if self._servo is not None:
            self._servo.stop(error)

    def _check_stream(self) -> None:
        """End motions and servo if there is another publisher of commands, and the hold of robots that are lost."""
        self._polls += 1
        if self._streamed is None or self._polls % POLLS_PER_STREAM_CHECK:
            return
        if not self._is_moving:
            self._streamed.held.check()
            return
        self._streamed.held.release_lost()
        try:
            self._streamed.check()
        except ExecutionError as error:
            self._stop_all(error)

    def _on_permission(self, reason: RobotCellError | None) -> None:
        if reason is not None:
            self.get_logger().warning(str(reason))
            self._runner.abort(reason)
            for access in self._accesses:
                access.cancel_all(reason)
        self._publish_status()

    # Status.

    def _publish_status(self) -> None:
        motion = reported(self._runner.motions)
        blocked = self._permission.reason
        error = blocked or self._runner.last_error
        sent = self._statistics()
        tracking = None if motion is None else motion.tracking()
        idle = ExecutionStatus.SERVOING if self._servo is not None and self._servo.active else ExecutionStatus.IDLE
        state = idle if motion is None else STATES[motion.phase]
        message = ExecutionStatus(
            header=Header(stamp=time_to_message(self.get_clock().now().nanoseconds)),
            state=ExecutionStatus.BLOCKED if blocked else state,
            owner=self._owner,
            speed_scale=self._runner.speed_scales.smallest(self._robots.all) if motion is None else motion.scale,
            joint_state_age=self._joint_state_age(),
            tracking_error=0.0 if tracking is None else float(tracking.error.max()),
            command_rate=sent.rate,
            longest_interval=sent.longest_interval,
        )
        if error is not None:
            message.error = error_to_message(error)
        if motion is not None:
            message.reached = duration_to_message(motion.reached)
            message.remaining = duration_to_message(motion.remaining)
        self._statuses.publish(message)

    def _joint_state_age(self) -> float:
        moving = (joint for motion in self._runner.motions for joint in motion.goal.joints)
        own = {*self._joints, *moving, *(self._stream.commanded if self._stream is not None else ())}
        return self._feedback.age_of_published(own, time.monotonic())

    def _statistics(self) -> StreamStatistics:
        return StreamStatistics(0.0, 0.0) if self._stream is None else self._stream.statistics()

    def check(self) -> tuple[bytes, str, dict[str, object]]:
        sent = self._statistics()
        age = self._joint_state_age()
        values = {
            "commands in the last second": f"{sent.rate:.0f}",
            "longest interval in the last second [s]": f"{sent.longest_interval:.4f}",
            "age of the oldest joint value [s]": f"{age:.3f}",
            "joint values skipped": self._feedback.skipped,
            OVERSIZED: self._joint_states.refused,
        }
        reason = self._permission.reason
        if reason is not None:
            return WARN, str(reason), values
        if not math.isfinite(age):
            return WARN, "no joint states received yet", values
        if problem := self._feedback.problem(time.monotonic()):
            return WARN, problem, values
        if self._feedback.is_full:
            return WARN, f"joint_states contains more than {MAX_JOINTS} joints; {REPLACED}", values
        return OK, f"moved by {self._motion_access.owner}" if self._motion_access.owner else "idle", values


def main() -> None:
    """Entry point of the executable."""
    # The stream gets the interpreter soon.
    sys.setswitchinterval(SWITCH_INTERVAL)
    postpone_full_collections()
    end(run(_node_that_stops_first, "execution_node"))


def _node_that_stops_first() -> ExecutionNode:
    """Create the node; termination signals stop the robot first."""
    node = ExecutionNode()
    node.raise_priority()
    node.shutdown.request_on_signals()
    return node
