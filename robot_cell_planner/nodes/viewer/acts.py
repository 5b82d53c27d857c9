"""Acts of the live viewer as calls of the nodes' services and actions."""

from __future__ import annotations

from collections.abc import Mapping

from robot_cell_planner import msg, srv
from robot_cell_planner.msg import SceneChange

from ...model.geometry import Geometry
from ...model.pose import Pose
from ...trajectory.trajectory import Trajectory
from ..client.client import CellClient
from ..client.messages import MotionGoal, make_pose_target
from ..conversions.basic import error_from_message, pose_to_message
from ..conversions.model_messages import geometry_to_message
from ..conversions.trajectories import trajectory_to_message

OWNER = "viewer"
MAX_SOLUTIONS = 8


class CellActs:
    """Calls services and actions by a client of its own; see `viewer.live.acts.Acts`."""

    def __init__(self, client: CellClient) -> None:
        self._client = client

    def solve(self, group: str, target: Pose) -> tuple[Mapping[str, float], ...]:
        request = srv.InverseKinematics.Request(
            group=group,
            targets=[self._target(group, target)],
            options=msg.IkOptions(return_all=True, avoid_collisions=True, max_solutions=MAX_SOLUTIONS),
        )
        reply = self._client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)
        return tuple(
            dict(zip(reply.joint_names, solution.positions, strict=True))
            for result in reply.results
            for solution in result.solutions
        )

    def _target(self, group: str, target: Pose) -> msg.Target:
        scene, _ = self._client.scene()
        has_tool = bool(scene.cell.tool_of_group(scene.state, group))
        return make_pose_target("", target, msg.Target.TOOL if has_tool else msg.Target.ROBOT)

    def plan_to_pose(self, group: str, target: Pose) -> str:
        return self._plan(group, self._target(group, target))

    def plan_to_joints(self, group: str, values: Mapping[str, float]) -> str:
        return self._plan(group, dict(values))

    def plan_to_named_state(self, group: str, name: str) -> str:
        return self._plan(group, name)

    def _plan(self, group: str, goal: MotionGoal) -> str:
        timing = msg.TimingOptions(method=msg.TimingOptions.SMOOTH)
        plan = self._client.plan_motion(goal, group=group, timing=timing)
        milliseconds = sum(1e3 * stage.seconds for stage in plan.record.times)
        return f"{len(plan.path.positions) // len(plan.path.joint_names)} waypoints in {milliseconds:.0f} ms"

    def execute(self, trajectory: Trajectory) -> str:
        options = msg.ExecutionOptions(owner=OWNER)
        result = self._client.execute(trajectory_to_message(trajectory), options)
        error = error_from_message(result.error)
        if error is not None:
            raise error
        return "the motion has ended"

    def stop(self) -> str:
        request = srv.ControlMotion.Request(command=srv.ControlMotion.Request.STOP)
        reply = self._client.call_service(srv.ControlMotion, "execution/control_motion", request)
        return f"the motion of {reply.owner or 'nobody'} is stopped"

    def move(self, name: str, pose: Pose) -> str:
        return self._apply(SceneChange(operation=SceneChange.MOVE, name=name, pose=pose_to_message(pose)))

    def add(self, name: str, geometry: Geometry, pose: Pose) -> str:
        shape = msg.Shape(geometry=geometry_to_message(geometry), pose=pose_to_message(Pose()))
        body = msg.BodyModel(name=name, collision=[shape])
        return self._apply(
            SceneChange(
                operation=SceneChange.ADD,
                models=msg.RobotCell(bodies=[body]),
                states=msg.RobotCellState(bodies=[msg.BodyState(name=name, pose=pose_to_message(pose))]),
            )
        )

    def attach(self, name: str, to: str) -> str:
        return _revision(self._client.attach(name, to))

    def detach(self, name: str) -> str:
        return _revision(self._client.detach(name))

    def set_hidden(self, name: str, hidden: bool) -> str:
        operation = SceneChange.HIDE if hidden else SceneChange.SHOW
        return self._apply(SceneChange(operation=operation, name=name))

    def remove(self, name: str) -> str:
        return self._apply(SceneChange(operation=SceneChange.REMOVE, name=name))

    def _apply(self, change: SceneChange) -> str:
        return _revision(self._client.apply(change))


def _revision(number: int) -> str:
    return f"revision {number}"
