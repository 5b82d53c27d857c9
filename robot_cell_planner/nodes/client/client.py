"""A client for scripts: services and actions of the nodes as plain calls that return values or raise the error.

```python
with CellClient("my_script") as cell:
    plan = cell.plan_motion("home")
    cell.execute(plan.trajectory)
```
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from builtin_interfaces.msg import Time
from control_msgs.action import GripperCommand, ParallelGripperCommand
from control_msgs.msg import GripperCommand as GripperCommandMessage
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner import action, srv
from robot_cell_planner.msg import (
    CartesianWaypoint,
    ExecutionOptions,
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

from ...errors import InvalidRequestError, ServiceUnavailableError, UnknownNameError
from ...io.common.resources import NO_ROOTS
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name
from ...model.pose import Pose
from ...scene.scene import Scene
from ..common.action_names import MOVE_GRIPPER, move_gripper_action
from ..common.joint_state_monitor import JointStateMonitor
from ..common.node import reliable
from ..conversions.basic import (
    configuration_from_message,
    pose_to_message,
    time_from_message,
    vector_to_message,
)
from ..conversions.models import ModelReader
from ..conversions.states import state_from_message
from .connection import CellConnection, Progress
from .messages import MotionGoal, final_joint_values, make_goal, make_pose_target, merge_plans, state_with_joints
from .readiness import wait_until_ready
from .waits import first_offered

CommandT = TypeVar("CommandT", TwistStamped, JointJog, PoseStamped)
GRIPPER_ACTION = "gripper_controller/gripper_cmd"
GRIPPER_ACTIONS = (
    (MOVE_GRIPPER, action.MoveGripper),
    (GRIPPER_ACTION, ParallelGripperCommand),
    (GRIPPER_ACTION, GripperCommand),
)


class CellClient(CellConnection):
    """The operations of a cell as blocking calls. Arguments, threads and errors: see `CellConnection`."""

    def wait_until_ready(self, timeout: float = 300.0) -> None:
        """Wait until the planning node has sphere models and prepared workers for the present scene.

        Until then, motions are planned without certificates, so plans of equal seeds can differ. The node reports this
        in its diagnostics.

        Raises:
            ServiceUnavailableError: It is not ready within `timeout` [s], and the message has its last report; or the
                scene node has not appeared by then.
        """
        wait_until_ready(self, timeout)

    # The scene.

    def scene(self, retries: int = 5, *, measured: bool = False) -> tuple[Scene, int]:
        """Return the cell with its current state, and the revision. retries: further attempts if no node answers.
        measured: with the measured joints, i.e. where the robot is, in place of those of the state."""
        snapshot = self.call_service(
            srv.GetCell, "scene/get_cell", srv.GetCell.Request(), timeout=10.0, retries=retries
        ).scene
        cell: RobotCell = ModelReader(NO_ROOTS).trusted().cell(snapshot.cell, "cell")
        state = state_from_message(snapshot.state.state, "state")
        if measured:
            joints = configuration_from_message(snapshot.state.measured, "measured")
            state = JointStateMonitor(cell).applied_to(state, joints)
        return Scene(cell, state), snapshot.state.revision

    def apply(self, *changes: SceneChange, dry_run: bool = False) -> int:
        """Apply changes, all or none. Returns the revision after them. Warnings of the reply are logged."""
        request = srv.ApplyChanges.Request(changes=list(changes), dry_run=dry_run)
        reply = self.call_service(srv.ApplyChanges, "scene/apply_changes", request)
        for text in reply.warnings:
            self.node.get_logger().warning(text)
        return int(reply.revision)

    @public
    def attach(self, name: str, to: str, touch_links: Sequence[str] = (), touch_bodies: Sequence[str] = ()) -> int:
        """Attach a body to a frame at its present pose. touch_links, touch_bodies: what it may touch from now on.
        Returns the revision."""
        return self.apply(
            SceneChange(
                operation=SceneChange.ATTACH_IN_PLACE,
                name=name,
                attach_to=to,
                touch_links=list(touch_links),
                touch_bodies=list(touch_bodies),
            )
        )

    @public
    def detach(self, name: str, touch_links: Sequence[str] = (), touch_bodies: Sequence[str] = ()) -> int:
        """Detach a body, which keeps its pose. touch_links, touch_bodies: what it may touch from now on. Returns the
        revision."""
        return self.apply(
            SceneChange(
                operation=SceneChange.DETACH,
                name=name,
                touch_links=list(touch_links),
                touch_bodies=list(touch_bodies),
            )
        )

    # Planning and execution.

    def plan_motion(
        self,
        goal: MotionGoal,
        *,
        start: StateRef | None = None,
        options: PlanningOptions | None = None,
        timing: TimingOptions | None = None,
        group: str = "",
        moving: Sequence[JointTrajectory] = (),
        progress: Progress[action.PlanMotion.Feedback] | None = None,
        timeout: float = 600.0,
    ) -> MotionPlan:
        """Plan a motion in joint space, timed unless `timing` says otherwise.

        goal: the name of a state, joint values by name [rad or m], a `Target`, or a sequence of these as
        alternatives: `cell.plan_motion("home")`, `cell.plan_motion({"elbow_joint": 1.2})`,
        `cell.plan_motion(make_pose_target("above_pick"))`. moving: trajectories of other robots that move meanwhile.
        """
        request = MotionRequest(
            start=start or StateRef(),
            group=group,
            moving=list(moving),
            goal=make_goal(goal),
            options=options or PlanningOptions(),
            timing=timing or TimingOptions(method=TimingOptions.STOP_AT_WAYPOINTS),
        )
        return self.send_goal(
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
        """Plan a motion along straight lines through targets. options: fields of `CartesianOptions`. Returns the result
        with plan and report.

        Raises:
            UnknownNameError: There is no such option.
            RobotCellError: As `send_goal`.
        """
        goal = action.PlanCartesian.Goal(
            start=start or StateRef(),
            group=group,
            waypoints=[CartesianWaypoint(target=target) for target in targets],
            timing=timing or TimingOptions(method=TimingOptions.FOLLOW_SAMPLES),
        )
        for name, value in options.items():
            if name not in (known := goal.options.get_fields_and_field_types()):
                raise UnknownNameError(unknown_name(f"option {name!r}", name, known), subjects=(name,))
            setattr(goal.options, name, value)
        return self.send_goal(action.PlanCartesian, "planning/plan_cartesian", goal)

    def execute(
        self,
        trajectory: JointTrajectory,
        options: ExecutionOptions | None = None,
        progress: Progress[action.ExecuteTrajectory.Feedback] | None = None,
    ) -> action.ExecuteTrajectory.Result:
        """Validate and execute a trajectory. Returns the result with validation and record."""
        goal = action.ExecuteTrajectory.Goal(trajectory=trajectory, options=options or ExecutionOptions())
        return self.send_goal(action.ExecuteTrajectory, "execution/execute_trajectory", goal, progress)

    @public
    def pause_motion(self, robots: Sequence[str] = ()) -> str:
        """Bring running motions to rest on their paths; `resume_motion` continues them. robots: prefixes of independent
        robots, such as `left/`; without any, all. Returns the names of the clients whose motions they are."""
        return self._control_motion(srv.ControlMotion.Request.PAUSE, robots)

    @public
    def resume_motion(self, robots: Sequence[str] = ()) -> str:
        """Continue paused motions; arguments and value as of `pause_motion`."""
        return self._control_motion(srv.ControlMotion.Request.RESUME, robots)

    @public
    def stop_motion(self, robots: Sequence[str] = ()) -> str:
        """Bring running motions to rest on their paths and end them; arguments and value as of `pause_motion`."""
        return self._control_motion(srv.ControlMotion.Request.STOP, robots)

    def _control_motion(self, command: int, robots: Sequence[str]) -> str:
        request = srv.ControlMotion.Request(command=command, robots=list(robots))
        return str(self.call_service(srv.ControlMotion, "execution/control_motion", request).owner)

    @public
    def set_speed_scale(self, scale: float, robots: Sequence[str] = ()) -> float:
        """Set the fraction of their own speed at which trajectories are executed, 0 or 0.001 to 1, also of running
        motions. robots: prefixes of independent robots; without any, all. Returns the smallest fraction before."""
        request = srv.SetSpeedScale.Request(scale=float(scale), robots=list(robots))
        return float(self.call_service(srv.SetSpeedScale, "execution/set_speed_scale", request).previous_scale)

    @public
    def move_gripper(
        self, position: float, effort: float = 0.0, tool: str = ""
    ) -> action.MoveGripper.Result | GripperCommand.Result | ParallelGripperCommand.Result:
        """Move the gripper. position [m]; effort [N], 0 for the default; tool: whose, in a cell with several grippers.
        A gripper controller of ros2_control is used through its action, of either type; its result does not contain
        the reason of a failure."""
        position, effort = float(position), float(effort)
        if tool:
            goal = action.MoveGripper.Goal(position=position, max_effort=effort)
            return self.send_goal(action.MoveGripper, move_gripper_action(tool), goal)
        with self.usage.call():
            kind = first_offered(self.node, GRIPPER_ACTIONS, self._discovery_timeout, self.usage.check_open)
        if kind is action.MoveGripper:
            own = action.MoveGripper.Goal(position=position, max_effort=effort)
            return self.send_goal(action.MoveGripper, MOVE_GRIPPER, own)
        if kind is ParallelGripperCommand:
            state = JointState(position=[position], effort=[effort] if effort else [])
            return self.send_goal(ParallelGripperCommand, GRIPPER_ACTION, ParallelGripperCommand.Goal(command=state))
        command = GripperCommandMessage(position=position, max_effort=effort)
        return self.send_goal(GripperCommand, GRIPPER_ACTION, GripperCommand.Goal(command=command))

    def start_servo(self, options: ServoOptions) -> srv.SetServo.Response:
        """Start servo, or change the options of the running session. Returns the reply."""
        return self.call_service(
            srv.SetServo, "execution/set_servo", srv.SetServo.Request(enabled=True, options=options)
        )

    def stop_servo(self) -> None:
        """Bring the robot to rest and stop servo. Returns when it is at rest."""
        self.call_service(srv.SetServo, "execution/set_servo", srv.SetServo.Request(enabled=False))

    @public
    def send_twist(self, linear: Sequence[float], angular: Sequence[float] = (0.0, 0.0, 0.0), frame: str = "") -> None:
        """Command a twist [m/s, rad/s] in the axes of a frame ("": the world), which is valid until the command
        timeout. linear, angular: (3,).

        Raises:
            InvalidRequestError: A vector has not three numbers.
        """
        message = TwistStamped()
        message.header.frame_id = frame
        for name, values in (("linear", linear), ("angular", angular)):
            if len(values) != 3:
                text = f"{name} has {len(values)} numbers, expected 3, along or about x, y and z"
                raise InvalidRequestError(text, subjects=(name,))
        message.twist.linear, message.twist.angular = vector_to_message(linear), vector_to_message(angular)
        self._publish(TwistStamped, "servo/twist", message)

    @public
    def send_joint_velocities(self, velocities: Mapping[str, float]) -> None:
        """Command velocities [rad/s or m/s] of joints by name; those left out are 0."""
        message = JointJog(joint_names=list(velocities), velocities=list(velocities.values()))
        self._publish(JointJog, "servo/joint_velocities", message)

    @public
    def send_target(self, pose: Pose, frame: str = "") -> None:
        """Command a pose to be tracked, relative to a frame ("": the world) [m]."""
        message = PoseStamped(pose=pose_to_message(pose))
        message.header.frame_id = frame
        self._publish(PoseStamped, "servo/target", message)

    def _publish(self, kind: type[CommandT], name: str, message: CommandT) -> None:
        """Publish with the current time, by a publisher that is created once."""
        with self.usage.call():
            publisher = self._entity(name, partial(self.node.create_publisher, kind, name, reliable(10)))
            message.header.stamp = self.node.get_clock().now().to_msg()
            publisher.publish(message)

    def settled_simulation(self, rest: float = 0.5, timeout: float = 30.0) -> SimulationState:
        """Return the state of the simulation after another `rest` seconds of simulated time."""
        return self.simulation(_seconds(self.simulation(timeout=timeout).header.stamp) + rest, timeout)

    def simulation(self, after: float = -1.0, timeout: float = 30.0) -> SimulationState:
        """Return the next state of the simulation with a stamp later than `after` [s]."""
        found: list[SimulationState] = []
        done = threading.Event()

        def take(message: SimulationState) -> None:
            if _seconds(message.header.stamp) > after:
                found.append(message)
                done.set()

        with self.subscribed(SimulationState, "simulation/state", take, reliable(10)) as wait:
            arrived = wait(done, timeout)
        if not arrived:
            raise ServiceUnavailableError(f"no message on simulation/state within {timeout:g} s")
        return found[0]


def _seconds(stamp: Time) -> float:
    return 1e-9 * time_from_message(stamp)


__all__ = ["CellClient", "final_joint_values", "make_goal", "make_pose_target", "merge_plans", "state_with_joints"]
