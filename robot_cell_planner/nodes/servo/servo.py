"""Servo: the service that starts and stops it, and its sessions."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial

import numpy as np

from robot_cell_planner import srv
from robot_cell_planner.msg import ServoOptions, ServoStatus

from ...collision.pairs.pair_settings import Margins
from ...errors import CancelledError, InvalidRequestError, RobotCellError, UnknownNameError
from ...kinematics.targets import target_frame
from ...model.cell import RobotCell
from ...scene.scene import joint_names
from ...trajectory.limits import MotionLimits
from ...trajectory.servo_frames import FrameServo
from ..common.cancellation import CancellationToken, available
from ..common.exclusive_access import ExclusiveAccess
from ..common.external_frames import ExternalFrames
from ..common.monitored_scene import ResolvedState
from ..common.node import CellNode, reliable
from ..common.periods import Periodic
from ..common.resource_roots import resource_roots
from ..common.scene_monitor import SceneMonitor
from ..common.threads import in_thread
from ..common.waiting import Waiters, steady_timer
from ..conversions.basic import unexpected
from ..conversions.models import ModelReader
from ..conversions.targets import MODES
from ..motion.changed_limits import narrower_limit
from ..motion.command_stream import CommandStream
from ..motion.independent_robots import IndependentRobots
from ..motion.joint_feedback import JointFeedback, published_names, robot_names
from ..motion.monitored_replies import SCENE, follow_scene_node, scene_node_replies
from ..motion.other_joints import given_joints
from ..motion.permission import MotionPermission
from ..motion.runner import MotionRunner
from ..motion.streamed_motion import StreamDrive
from .channel import ServoChannel
from .collision_monitor import CLEARANCE, CollisionMonitor
from .commands import FrameReader, ServoTopics
from .parameters import ServoSettings, servo_settings
from .session import ServoSession, ServoTask

STATUS_PERIOD = 0.05  # [s]
NUMBERS = re.compile(r"(?<![\w.])-?\d[\d.]*(e[+-]?\d+)?(?!\w)")  # not those of names


def reason_of(error: RobotCellError) -> str:
    """Return the text of an error without its numbers."""
    return NUMBERS.sub("", str(error))


class ServoServer:
    """Offers `execution/set_servo`. One session at a time, with exclusive access to its robot, as a trajectory."""

    def __init__(
        self,
        node: CellNode,
        stream: CommandStream,
        drive: StreamDrive,
        feedback: JointFeedback,
        permission: MotionPermission,
        runner: MotionRunner,
        motion_access: ExclusiveAccess,
        robots: IndependentRobots,
    ) -> None:
        self.node = node
        self.stream = stream
        self._drive = drive
        self._feedback = feedback
        self.permission = permission
        self._runner = runner
        self._motion_access = motion_access
        self._robots = robots
        self._topics = ServoTopics(node)
        self.statuses = node.create_publisher(ServoStatus, "servo/status", reliable(10))
        self._clearances = node.service_client(srv.ComputeClearance, CLEARANCE)
        self._scene_node = node.service_client(srv.WaitForState, SCENE)
        self._scene_monitor: SceneMonitor | None = None
        self._session_access = ExclusiveAccess("is servoing", lambda: None)
        self._running: _Running | None = None
        self._loaded = False
        node.serve(srv.SetServo, "execution/set_servo", self._set_servo)

    @property
    def active(self) -> bool:
        """Whether a session is active."""
        return self._running is not None

    def global_scale(self, joints: Sequence[str]) -> float:
        """Return the speed scale of the robots of joints, 0 to 1."""
        return self._runner.speed_scales.of_joints(joints)

    def poll(self) -> None:
        """Process new measurements; called directly after they were read."""
        running = self._running
        if running is not None and running.token.error is None:
            fault = running.session.fault()
            if fault is not None:
                running.token.set(fault)

    def on_fault(self, error: RobotCellError) -> None:
        """End the session because of faults of the measurements."""
        if self._running is not None and set(error.subjects) & set(self._running.session.channel.joints):
            self.stop(error)

    def stop(self, error: RobotCellError) -> None:
        """End servo, if it is active, with a stop of the robot."""
        if self._running is not None:
            self._running.token.set(error)

    async def _set_servo(self, request: srv.SetServo.Request, response: srv.SetServo.Response) -> None:
        options = request.options
        owner = options.owner or "anonymous"
        running = self._running
        if running is not None and (not request.enabled or running.owner == owner):
            await running.end(CancelledError(f"client {owner!r} stopped servo"))
        if not request.enabled:
            return
        settings = servo_settings(options, self.node.parameters)
        self._topics.check(options.source)
        if options.mode not in MODES:
            raise InvalidRequestError(
                f"unknown mode {options.mode}, expected 0 to 3", stage="servo", subjects=("mode",)
            )
        token = CancellationToken()
        with ExitStack() as stack:
            robots = self._robots.of_group(options.group)
            claim = stack.enter_context(self._motion_access.acquired_by(owner, token, robots))
            stack.enter_context(self._session_access.acquired_by(owner, token))
            self.permission.check()
            await self._runner.ready(token)
            state = await self._scene().resolve(options.state)
            response.state = state.used
            task = self._task(options, state, settings)
            self._motion_access.widen(claim, self._robots.of_joints(task.joints))
            await self._load(task)
            await self._runner.settled(task.joints, token)
            self._drive.check()
            if options.check_collision:
                within = self.node.parameters["server_timeout"]
                await available(self.node, self._clearances.service_is_ready, token, within, CLEARANCE)
                if not options.state.own_state:
                    await scene_node_replies(self.node, self._scene_node, token)
            if (unknown := self._feedback.unknown(task.others, time.monotonic())) is not None:
                raise unknown
            self.permission.check()
            token.check()  # a stop, or an emergency stop that was released again, ends it before it begins
            self._begin(owner, options, task, token, stack.pop_all())

    async def _load(self, task: ServoTask) -> None:
        """Load the compiled functions of a session at the first one. Motions of other robots go on meanwhile."""
        if self._loaded:
            return
        frames = FrameServo(task.cell, task.state, task.frame, task.limits, task.settings.frames)
        rest = np.zeros(len(task.joints))
        await in_thread(self.node, "servo", lambda: frames.command(rest, np.zeros(6)))
        self._loaded = True

    @cached_property
    def _frames(self) -> ExternalFrames:
        return ExternalFrames(self.node)

    def _scene(self) -> SceneMonitor:
        """Return the scene, monitored from the first session on, as is TF."""
        if self._scene_monitor is None:
            models = ModelReader(resource_roots(self.node.parameters))
            self._scene_monitor = SceneMonitor(self.node, models, frames=self._frames)
        return self._scene_monitor

    def _task(self, options: ServoOptions, state: ResolvedState, settings: ServoSettings) -> ServoTask:
        cell, values = state.scene.cell, state.scene.state
        variables = cell.group(options.group).variables
        frame = target_frame(cell, values, options.group, MODES[options.mode], options.frame)
        limits = _limits(cell, variables, settings)
        joints = robot_names(variables, self._feedback.names, "servo")
        others = self._checked_with(options, joints)
        return ServoTask(cell, values, joints, options.source, frame, limits, settings, self.cell, others)

    def _checked_with(self, options: ServoOptions, moved: Sequence[str]) -> frozenset[str]:
        """Return the names in joint_states of the joints with which collisions are checked, besides those that move."""
        if not options.check_collision or options.state.own_state:
            return frozenset()
        return published_names(joint_names(self.cell)).difference(moved, given_joints(options.state))

    def check_limits(self, task: ServoTask) -> None:
        """Check that the scene has not got narrower limits since a session began.

        Raises:
            TrajectoryLimitError: A limit has become narrower.
            UnknownNameError: A joint has been removed.
        """
        variables = [name for name in task.limits.variables if name in task.present.variables]
        for name in variables:
            if name not in self.cell.variables:
                raise UnknownNameError(f"joint {name} is no longer in the cell", stage="servo", subjects=(name,))
        before, now = (_limits(cell, variables, task.settings) for cell in (task.present, self.cell))
        error = narrower_limit(before, now)
        if error is not None:
            raise error

    @property
    def cell(self) -> RobotCell:
        """The cell of the present scene, for a session."""
        return self._scene().scene.cell

    def _max_margin(self, cell: RobotCell) -> float:
        """Return an upper bound of the safety margins in the cell of a session, and in the present scene [m]."""
        return max(Margins(cell).bound, Margins(self._scene().scene.cell).bound)

    def _begin(
        self, owner: str, options: ServoOptions, task: ServoTask, token: CancellationToken, resources: ExitStack
    ) -> None:
        with resources:
            positions = self._runner.start_positions(task.joints)
            start = np.array([positions[joint] for joint in task.joints])
            channel = ServoChannel(task.joints, owner, task.limits, start)
            collision_monitor = None
            if options.check_collision:
                variables, gap = task.limits.variables, task.settings.slow_down_distance
                collision_monitor = CollisionMonitor(
                    self.node,
                    self._clearances,
                    options.state,
                    variables,
                    task.limits,
                    start,
                    gap,
                    partial(self._max_margin, task.cell),
                    self.stream.now,
                )
            timeout = task.settings.timeout
            reader = FrameReader(task.cell, task.state, task.limits.variables, self._frames, timeout)
            session = ServoSession(
                self.node,
                task,
                self._topics,
                self.stream,
                channel,
                reader,
                self._feedback,
                collision_monitor,
                self._refuse,
            )
            self._topics.forget()
            self._drive.begin(channel)
            self._runner.last_error = None
            self._running = _Running(self, owner, session, token, resources.pop_all())
        if collision_monitor is not None:
            self.node.soon(partial(self._run_monitor, collision_monitor.run, token))
            if not options.state.own_state:
                self.node.soon(partial(self._run_monitor, self._follow_scene_node, token))

    async def _follow_scene_node(self, token: CancellationToken) -> None:
        await follow_scene_node(self.node, self._scene_node, token)

    async def _run_monitor(
        self, monitor: Callable[[CancellationToken], Awaitable[None]], token: CancellationToken
    ) -> None:
        try:
            await monitor(token)
        except RobotCellError as error:
            token.set(error)
        except Exception as error:
            # An internal error must not leave servo unmonitored; it is logged with its traceback.
            self.node.get_logger().error(traceback.format_exc())
            token.set(unexpected(error, "servo"))

    def _refuse(self, error: RobotCellError) -> None:
        """Report why a command is rejected: in the status of the node, and, once for each reason, in its log. An error
        with other numbers, such as the age of each command, is the same reason."""
        last, self._runner.last_error = self._runner.last_error, error
        if last is None or reason_of(last) != reason_of(error):
            self.node.get_logger().warning(f"servo command rejected: {error}")

    def ended(self, error: RobotCellError | None) -> None:
        """Handle the end of a session."""
        self._running = None
        if error is not None and not isinstance(error, CancelledError):
            self._runner.last_error = error
            self.node.get_logger().warning(f"servo has ended: {error}")


def _limits(cell: RobotCell, variables: Sequence[str], settings: ServoSettings) -> MotionLimits:
    """Return the limits of a session."""
    return MotionLimits.of([cell.variables[name] for name in variables]).scaled(velocity=settings.velocity_scale)


class _Running:
    """Run a session: updated by a timer, ended by its cancellation. owned: resources to release at its end."""

    def __init__(
        self, server: ServoServer, owner: str, session: ServoSession, token: CancellationToken, resources: ExitStack
    ) -> None:
        self._server = server
        self.owner = owner
        self.session = session
        self.token = token
        self._resources = resources
        self._waiting = Waiters()
        self._reports = Periodic(STATUS_PERIOD)
        self._cell = session.task.present  # whose limits were checked
        self._timer = steady_timer(server.node, 1.0 / session.task.settings.rate, self._tick)
        token.on_set(self._on_cancelled)

    async def end(self, error: RobotCellError) -> None:
        """Bring the robot to rest and wait for it."""
        at_rest = self._waiting.future()
        self.token.set(error)
        await at_rest

    def _on_cancelled(self, error: RobotCellError) -> None:
        """Stop within the limits; if motion is forbidden, the robot stops by other means."""
        server, channel = self._server, self.session.channel
        if server.permission.reason is None:
            server.stream.stop(channel)
        else:
            server.stream.forget(channel.joints)
            self._finish()

    def _tick(self) -> None:
        try:
            self._update()
        except RobotCellError as error:
            self.token.set(error)
        except Exception as error:
            # An internal error must stop the robot, not the node; it is logged with its traceback.
            self._server.node.get_logger().error(traceback.format_exc())
            self.token.set(unexpected(error, "servo"))

    def _update(self) -> None:
        server, session, channel = self._server, self.session, self.session.channel
        if self.token.error is None:
            if self._cell is not server.cell:
                self._cell = server.cell
                server.check_limits(session.task)
            session.update(server.global_scale(channel.joints))
        elif channel.failure is not None or server.stream.clock.stands or (channel.ended and session.has_arrived()):
            self._finish()
            return
        if self._reports.is_due(time.monotonic()):
            server.statuses.publish(session.status)

    def _finish(self) -> None:
        server = self._server
        server.node.destroy_timer(self._timer)
        server.stream.drop(self.session.channel)
        server.statuses.publish(self.session.status)
        server.ended(self.token.error)
        self._resources.close()
        self._waiting.wake()
