"""A client for scripts: the suite's services and actions as plain calls that return values or raise the named error.

```python
with CellClient("my_script") as cell:
    plan = cell.plan_motion(named_state="home")
    cell.execute(plan.trajectory)
```
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import rclpy
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from control_msgs.action import GripperCommand, ParallelGripperCommand
from control_msgs.msg import GripperCommand as GripperCommandMessage
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.action.client import ActionClient, ClientGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException
from rclpy.task import Future
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from unique_identifier_msgs.msg import UUID

from robot_cell_planner import action, srv
from robot_cell_planner.msg import (
    CartesianWaypoint,
    ExecutionOptions,
    GoalSpec,
    MotionPlan,
    MotionRequest,
    PlanningOptions,
    SceneChange,
    ServoOptions,
    SimulationState,
    StateRef,
    Target,
    TimingOptions,
)

from ...errors import CancelledError, ExecutionError, ServiceUnavailableError
from ...io.common.resources import NO_ROOTS
from ...model.cell import RobotCell
from ...model.pose import Pose
from ...scene.scene import Scene
from ..common.callback_guard import GuardedExecutor
from ..common.goal_requests import RepeatableActionClient
from ..common.localhost import keep_to_localhost
from ..common.node import SERVICES, CellNode, reliable
from ..common.server_monitor import ServerMonitor
from ..common.shared_memory import remove_unfinished_ports
from ..conversions.basic import (
    error_from_message,
    pose_to_message,
    time_from_message,
    vector_to_message,
)
from ..conversions.models import ModelReader
from ..conversions.states import state_from_message
from .messages import end_of, from_configuration, goal_of, pose_target
from .waits import accepted_goal, check_timeout, first_offered, reply_to, result_of_goal, wait_until_served

if TYPE_CHECKING:
    from interface_types import Action, Service

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
GoalT = TypeVar("GoalT")
ResultT = TypeVar("ResultT")
FeedbackT = TypeVar("FeedbackT")
T = TypeVar("T")
CommandT = TypeVar("CommandT", TwistStamped, JointJog, PoseStamped)
GRIPPER_ACTION, MOVE_GRIPPER = "gripper_controller/gripper_cmd", "execution/move_gripper"
GRIPPER_ACTIONS = (
    (MOVE_GRIPPER, action.MoveGripper),
    (GRIPPER_ACTION, ParallelGripperCommand),
    (GRIPPER_ACTION, GripperCommand),
)
Progress = Callable[[FeedbackT], None]


class CellClient:
    """Calls to the nodes of a cell, blocking, from any thread but the node's own.

    discovery_timeout [s]: how long a node may take to appear. Every call raises the RobotCellError that the node
    reported, ServiceUnavailableError if no node answers, or ServerLostError as soon as the node that was to answer has
    ended.
    """

    def __init__(self, name: str = "cell_client", namespace: str = "", discovery_timeout: float = 30.0) -> None:
        self._owns_context = not rclpy.ok()
        if self._owns_context:
            keep_to_localhost()
            remove_unfinished_ports()
            rclpy.init()
        self.node = CellNode(name, namespace, sole=False)
        self._group = ReentrantCallbackGroup()
        self._discovery_timeout = discovery_timeout
        self._clients: dict[str, Any] = {}
        self._executor = GuardedExecutor(self.node.faults)
        self._monitors: dict[str, ServerMonitor] = {}
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, name="cell client", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            return

    def __enter__(self) -> CellClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the node."""
        self._executor.shutdown()
        self._thread.join()
        for monitor in self._monitors.values():
            monitor.close()
        self.node.destroy_node()
        if self._owns_context:
            rclpy.try_shutdown()

    # Plumbing.

    def call(
        self, kind: type[Service[RequestT, ResponseT]], name: str, request: RequestT, timeout: float = 60.0
    ) -> ResponseT:
        """Call a service and return its reply; its error report is raised. An idempotent request is sent again when no
        reply has come for 3 s, then 6 s and so on (`server_watch.IDEMPOTENT`).

        timeout [s]: at most a day.

        Raises:
            ServiceUnavailableError: the service does not appear, or an idempotent request gets no reply.
            ServerLostError: its node has ended meanwhile.
            OutcomeUnknownError: no reply came to a request that must not be sent twice, or its node has ended.
        """
        check_timeout(timeout)
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name, qos_profile=SERVICES, callback_group=self._group)
        client = self._clients[name]
        monitor = self._monitor(name, client.service_is_ready, is_action=False)
        reply: ResponseT = reply_to(client, request, name, monitor, timeout)
        _raise_error(reply)
        return reply

    def ask(
        self,
        kind: type[Service[RequestT, ResponseT]],
        name: str,
        request: RequestT,
        attempts: int = 6,
        timeout: float = 10.0,
    ) -> ResponseT:
        """Like `call`, for what only reads: asked again if its node ends, or no answer comes."""
        for _ in range(attempts - 1):
            try:
                return self.call(kind, name, request, timeout)
            except ServiceUnavailableError:
                continue
        return self.call(kind, name, request, timeout)

    def act(
        self,
        kind: type[Action[GoalT, ResultT, FeedbackT]],
        name: str,
        goal: GoalT,
        progress: Progress[FeedbackT] | None = None,
        timeout: float = 600.0,
    ) -> ResultT:
        """Send a goal to an action and return its result; its error report is raised. A goal whose result nobody waits
        for any more is cancelled.

        timeout [s]: at most a day.

        Raises:
            ServiceUnavailableError: the action does not appear, or there is no result in time.
            ServerLostError: its node has ended, and the goal is lost; another node in its place does not know of it.
            OutcomeUnknownError: nobody has said whether the goal was accepted.
            ExecutionError: the goal did not succeed, and its result has no report of an error.
        """
        check_timeout(timeout)
        if name not in self._clients:
            make = partial(RepeatableActionClient, self.node, kind, name, callback_group=self._group)
            self._clients[name] = self._made(make)
        client = self._clients[name]
        ready = client.server_is_ready
        monitor = self._monitor(name, ready, is_action=True)
        goal_id = UUID(uuid=list(os.urandom(16)))
        feedback = None if progress is None else lambda message: progress(message.feedback)
        until = time.monotonic() + timeout
        sends = partial(self.send_goal, client, goal, feedback, goal_id)
        try:
            handle = accepted_goal(sends, name, monitor, ready, until)
            if not handle.accepted:
                raise CancelledError(f"action {name} rejected the goal", subjects=(name,))
            asks = partial(self._made, handle.get_result_async)
            found = result_of_goal(asks, lambda: handle.status, name, monitor, ready, until)
        except BaseException:
            # Also a goal of which nobody knows whether it was accepted is not to go on without anyone who follows it.
            response = cast("Any", kind).Impl.SendGoalService.Response()
            ClientGoalHandle(client, goal_id, response).cancel_goal_async()
            raise
        result: ResultT = found.result
        _raise_error(result)
        if found.status != GoalStatus.STATUS_SUCCEEDED:
            ending = "was cancelled" if found.status == GoalStatus.STATUS_CANCELED else "was aborted"
            error = ExecutionError(f"the goal of action {name} {ending}; its server says why", subjects=(name,))
            error.partial = result
            raise error
        return result

    def _made(self, make: Callable[[], T]) -> T:
        """What `make` makes, in the executor's own thread: rclpy shows it an action client that is not whole yet."""
        return self._wait(self._executor.create_task(make), self._discovery_timeout, "the thread of the client")

    def send_goal(
        self,
        client: ActionClient[Any, Any, Any],
        goal: object,
        feedback: Progress[Any] | None = None,
        goal_id: UUID | None = None,
    ) -> Future[ClientGoalHandle[Any, Any, Any]]:
        """Send a goal, in the executor's own thread; returns the future of its handle.

        rclpy 9 notes two futures for a goal, one after the other; an answer that another thread takes between the two
        resolves the one that nobody has.
        """
        return self._made(lambda: client.send_goal_async(goal, feedback_callback=feedback, goal_uuid=goal_id))

    def _monitor(self, name: str, is_ready: Callable[[], bool], is_action: bool) -> ServerMonitor:
        """Wait until somebody serves; returns the monitor of that node."""
        if name not in self._monitors:
            self._monitors[name] = ServerMonitor(self.node, name, is_action)
        what = f"{'action' if is_action else 'service'} {name}"
        wait_until_served(what, is_ready, self._monitors[name], self._discovery_timeout)
        return self._monitors[name]

    def _wait(self, future: Future[T], timeout: float, name: str) -> T:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        if not done.wait(timeout):
            raise ServiceUnavailableError(f"{name} did not answer within {timeout:g} s", subjects=(name,))
        return cast("T", future.result())

    # The scene.

    def scene(self) -> tuple[Scene, int]:
        """The cell and its state as changes have made it, and their revision."""
        snapshot = self.ask(srv.GetCell, "scene/get_cell", srv.GetCell.Request()).scene
        cell: RobotCell = ModelReader(NO_ROOTS).trusted().cell(snapshot.cell, "cell")
        return Scene(cell, state_from_message(snapshot.state.state, "state")), snapshot.state.revision

    def apply(self, *changes: SceneChange, dry_run: bool = False) -> int:
        """Apply changes, all or none; returns the revision after them."""
        request = srv.ApplyChanges.Request(changes=list(changes), dry_run=dry_run)
        return int(self.call(srv.ApplyChanges, "scene/apply_changes", request).revision)

    def grip(self, name: str, carrier: str, touch: Sequence[str] = (), touch_bodies: Sequence[str] = ()) -> int:
        """Attach a body where it is; touch: links that it may touch from now on. Returns the revision."""
        return self.apply(
            SceneChange(
                operation=SceneChange.ATTACH_IN_PLACE,
                name=name,
                attach_to=carrier,
                touch_links=list(touch),
                touch_bodies=list(touch_bodies),
            )
        )

    def release(self, name: str, touch: Sequence[str] = (), touch_bodies: Sequence[str] = ()) -> int:
        """Detach a body where it is. Returns the revision."""
        return self.apply(
            SceneChange(
                operation=SceneChange.DETACH, name=name, touch_links=list(touch), touch_bodies=list(touch_bodies)
            )
        )

    # Planning and execution.

    def plan_motion(
        self,
        goal: GoalSpec,
        *,
        start: StateRef | None = None,
        options: PlanningOptions | None = None,
        timing: TimingOptions | None = None,
        group: str = "",
        progress: Progress[action.PlanMotion.Feedback] | None = None,
        timeout: float = 600.0,
    ) -> MotionPlan:
        """A motion in joint space to any of the goals, timed unless `timing` says otherwise."""
        request = MotionRequest(
            start=start or StateRef(),
            group=group,
            goal=goal,
            options=options or PlanningOptions(),
            timing=timing or TimingOptions(method=TimingOptions.STOP_AT_WAYPOINTS),
        )
        return self.act(
            action.PlanMotion, "planning/plan_motion", action.PlanMotion.Goal(request=request), progress, timeout
        ).plan

    def plan_cartesian(
        self,
        *targets: Target,
        start: StateRef | None = None,
        timing: TimingOptions | None = None,
        group: str = "",
        **options: Any,
    ) -> action.PlanCartesian.Result:
        """A motion along straight lines through targets; returns the result with plan and report."""
        goal = action.PlanCartesian.Goal(
            start=start or StateRef(),
            group=group,
            waypoints=[CartesianWaypoint(target=target) for target in targets],
            timing=timing or TimingOptions(method=TimingOptions.FOLLOW_SAMPLES),
        )
        for name, value in options.items():
            setattr(goal.options, name, value)
        return self.act(action.PlanCartesian, "planning/plan_cartesian", goal)

    def execute(
        self,
        trajectory: JointTrajectory,
        options: ExecutionOptions | None = None,
        progress: Progress[action.ExecuteTrajectory.Feedback] | None = None,
    ) -> action.ExecuteTrajectory.Result:
        """Validate a trajectory and carry it out; returns the result with validation and record."""
        goal = action.ExecuteTrajectory.Goal(trajectory=trajectory, options=options or ExecutionOptions())
        return self.act(action.ExecuteTrajectory, "execution/execute_trajectory", goal, progress)

    def move_gripper(
        self, position: float, effort: float = 0.0
    ) -> action.MoveGripper.Result | GripperCommand.Result | ParallelGripperCommand.Result:
        """Move the gripper; position [m], effort [N]. A gripper controller of ros2_control is asked by its action, of
        either type, whose result contains no reason of a failure."""
        position, effort = float(position), float(effort)
        kind = first_offered(self.node, GRIPPER_ACTIONS, self._discovery_timeout)
        if kind is action.MoveGripper:
            own = action.MoveGripper.Goal(position=position, max_effort=effort)
            return self.act(action.MoveGripper, MOVE_GRIPPER, own)
        if kind is ParallelGripperCommand:
            state = JointState(position=[position], effort=[effort] if effort else [])
            return self.act(ParallelGripperCommand, GRIPPER_ACTION, ParallelGripperCommand.Goal(command=state))
        command = GripperCommandMessage(position=position, max_effort=effort)
        return self.act(GripperCommand, GRIPPER_ACTION, GripperCommand.Goal(command=command))

    def start_servo(self, options: ServoOptions) -> srv.SetServo.Response:
        """Begin to follow servo commands, or follow them differently from now on; returns the reply."""
        return self.call(srv.SetServo, "execution/set_servo", srv.SetServo.Request(enabled=True, options=options))

    def stop_servo(self) -> None:
        """Bring the robot to rest and end servo; returns when it is at rest."""
        self.call(srv.SetServo, "execution/set_servo", srv.SetServo.Request(enabled=False))

    def send_twist(self, linear: Sequence[float], angular: Sequence[float] = (0.0, 0.0, 0.0), frame: str = "") -> None:
        """Command a twist [m/s, rad/s] in the axes of a frame ("": the world); it holds until the timeout."""
        message = TwistStamped()
        message.header.frame_id = frame
        message.twist.linear, message.twist.angular = vector_to_message(linear), vector_to_message(angular)
        self._publish(TwistStamped, "servo/twist", message)

    def send_joint_velocities(self, velocities: Mapping[str, float]) -> None:
        """Command velocities [per s] of joints by name; those left out stand still."""
        message = JointJog(joint_names=list(velocities), velocities=list(velocities.values()))
        self._publish(JointJog, "servo/joint_velocities", message)

    def send_target(self, pose: Pose, frame: str = "") -> None:
        """Command a pose to be tracked, seen from a frame ("": the world)."""
        message = PoseStamped(pose=pose_to_message(pose))
        message.header.frame_id = frame
        self._publish(PoseStamped, "servo/target", message)

    def _publish(self, kind: type[CommandT], name: str, message: CommandT) -> None:
        """Publish with the time of now, by a publisher that is made once."""
        if name not in self._clients:
            self._clients[name] = self._made(lambda: self.node.create_publisher(kind, name, reliable(10)))
        message.header.stamp = self.node.get_clock().now().to_msg()
        self._clients[name].publish(message)

    def settled_simulation(self, rest: float = 0.5, timeout: float = 30.0) -> SimulationState:
        """The state of the simulation when it has gone on for `rest` seconds of its own time."""
        return self.simulation(_seconds(self.simulation(timeout=timeout).header.stamp) + rest, timeout)

    def simulation(self, after: float = -1.0, timeout: float = 30.0) -> SimulationState:
        """The next state of the simulation that is later than `after` [s]."""
        found: list[SimulationState] = []
        done = threading.Event()

        def take(message: SimulationState) -> None:
            if _seconds(message.header.stamp) > after:
                found.append(message)
                done.set()

        subscription = self.node.create_subscription(SimulationState, "simulation/state", take, reliable(10))
        arrived = done.wait(timeout)
        self.node.destroy_subscription(subscription)
        if not arrived:
            raise ServiceUnavailableError(f"no state of the simulation came within {timeout:g} s")
        return found[0]


def _seconds(stamp: Time) -> float:
    return 1e-9 * time_from_message(stamp)


def _raise_error(reply: object) -> None:
    report = getattr(reply, "error", None)
    error = error_from_message(report) if report is not None else None
    if error is not None:
        error.partial = reply
        raise error


__all__ = ["CellClient", "end_of", "from_configuration", "goal_of", "pose_target"]
