"""Motion sequences: plan_sequence_path and sequence_move_group."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from moveit_msgs.msg import MotionSequenceItem, MotionSequenceRequest, MotionSequenceResponse, PlanningScene
from moveit_msgs.srv import GetMotionSequence
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action, msg

from ...errors import InvalidRequestError, NotSupportedError, RobotCellError, Value
from ...kinematics.differential import jacobians
from ...scene.scene import Scene
from ..common.cancellation import CancellationToken
from ..common.node import CellNode
from ..conversions.basic import (
    check_count,
    configuration_to_message,
    duration_from_message,
    duration_to_message,
    path_to_message,
)
from .error_codes import error_code, success
from .helper_frames import HelperFrames
from .motion_requests import Start, check_group, check_request, constraints_of, robot_trajectory
from .path_checks import check_path
from .pilz import PilzMotions, motion_of, timing, waypoint
from .planners import PILZ, PTP
from .scene_access import SceneAccess
from .scene_messages import SceneWriter
from .suite import Suite

MAX_ITEMS = 1_000
SPEEDS = (  # of a request; equal for motions that are blended
    "max_velocity_scaling_factor",
    "max_acceleration_scaling_factor",
    "max_cartesian_speed",
    "cartesian_speed_limited_link",
)
MAX_TOLERANCE = 1.0  # [rad or m] of a joint at a blend


@dataclass(frozen=True)
class PlannedSequence:
    """Planned sequence: the state that it begins in, and a trajectory for each run of motions of one group.

    revision: of the scene that it was planned in.
    """

    start: Start
    trajectories: tuple[JointTrajectory, ...]
    seconds: float
    revision: int
    warnings: tuple[str, ...] = ()


class MotionSequences:
    """Plans sequences of PTP, LIN and CIRC motions, each from where the one before ends.

    LIN and CIRC motions with a blend radius between them are planned as one motion; with a PTP motion among them, they
    are planned one by one and blended in joint space.
    """

    def __init__(self, node: CellNode, suite: Suite, access: SceneAccess, pilz: PilzMotions) -> None:
        self._suite, self._access, self._pilz = suite, access, pilz
        node.serve(GetMotionSequence, "plan_sequence_path", self._serve, _fail)

    async def _serve(self, request: GetMotionSequence.Request, response: GetMotionSequence.Response) -> None:
        fill_sequence(response.response, await self.plan(request.request, CancellationToken()))

    async def plan(
        self, message: MotionSequenceRequest, token: CancellationToken, difference: PlanningScene | None = None
    ) -> PlannedSequence:
        """Plan a sequence.

        Raises:
            RobotCellError: An item cannot be served, or one of the motions is not possible; the text names it.
        """
        begun = time.monotonic()
        items = list(message.items)
        warnings = check_items(items)
        first = await self._access.start(items[0].req.start_state, difference)
        start, trajectories, groups, revision = first, list[JointTrajectory](), list[str](), 0
        for run in blended_runs(items):
            try:
                plan = await self._plan_run([items[index] for index in run], start, token)
                warnings += plan.record.warnings
                revision = max(revision, plan.record.state.revision)
            except RobotCellError as error:
                error.message = f"items[{run[0]}]: {error.message}"
                raise
            group = check_group(first.scene.cell, items[run[0]].req.group_name)
            if groups and groups[-1] == group:
                trajectories[-1] = joined(trajectories[-1], plan.trajectory)
            else:
                trajectories.append(plan.trajectory)
                groups.append(group)
            start = _at_end(start, plan)
        seconds = time.monotonic() - begun
        return PlannedSequence(first, tuple(trajectories), seconds, revision, tuple(dict.fromkeys(warnings)))

    async def _plan_run(
        self, items: Sequence[MotionSequenceItem], start: Start, token: CancellationToken
    ) -> msg.MotionPlan:
        """Plan a motion, or several motions that are blended."""
        if len(items) == 1:
            return await self._pilz.plan(items[0].req, start, token)
        frames = HelperFrames(start.scene)
        constraints = [found for item in items for found in constraints_of(item.req, start, frames)]
        if any(motion_of(item.req) == PTP for item in items):
            plan = await self._plan_mixed(items, start, token)
        else:
            plan = await self._plan_blended(items, start, token)
        await check_path(self._suite, _path_of(plan.trajectory), constraints, start, frames, token)
        return plan

    async def _plan_blended(
        self, items: Sequence[MotionSequenceItem], start: Start, token: CancellationToken
    ) -> msg.MotionPlan:
        """Plan LIN and CIRC motions that are blended as one motion."""
        group, frames = check_group(start.scene.cell, items[0].req.group_name), HelperFrames(start.scene)
        goal = action.PlanCartesian.Goal(group=group)
        goal.timing = timing(items[0].req, start.scene, group)
        goal.timing.method = msg.TimingOptions.FOLLOW_SAMPLES
        for item in items:
            point = waypoint(item.req, start, frames, goal.waypoints[-1].target if goal.waypoints else None)
            point.blend_radius = item.blend_radius
            goal.waypoints.append(point)
        goal.start = start.with_frames(frames)
        return await self._pilz.cartesian(goal, [item.req for item in items], token)

    async def _plan_mixed(
        self, items: Sequence[MotionSequenceItem], start: Start, token: CancellationToken
    ) -> msg.MotionPlan:
        """Plan motions, some of them PTP, and blend them in joint space: so closely that the frame that moves stays
        within the blend radius of the corner."""
        group = check_group(start.scene.cell, items[0].req.group_name)
        rows, tolerance, at = list[list[float]](), MAX_TOLERANCE, start
        names: Sequence[str] = ()
        for item in items:
            plan = await self._pilz.plan(item.req, at, token)
            names = list(plan.path.joint_names)
            rows += np.reshape(plan.path.positions, (-1, len(names)))[1 if rows else 0 :].tolist()
            at = _at_end(at, plan)
            if item.blend_radius:
                tolerance = min(tolerance, joint_tolerance(at.scene, group, item.blend_radius))
        options = timing(items[0].req, start.scene, group)
        options.method, options.blend_tolerance = msg.TimingOptions.SMOOTH, tolerance
        return await self._pilz.timed(path_to_message(names, np.array(rows)), start, options, token)


def joint_tolerance(scene: Scene, group: str, radius: float) -> float:
    """Return how far each joint may leave a corner, so that the tool centre point, or the tip, leaves it by at most
    half a radius to first order [rad or m]: half the radius over the sum of the norms of the Jacobian's columns."""
    columns = jacobians(scene.cell, scene.state, group).jacobian[0][:3]
    return float(radius / 2.0 / max(np.linalg.norm(columns, axis=0).sum(), radius))


def _path_of(trajectory: JointTrajectory) -> msg.JointPath:
    """Return the points of a trajectory as a path."""
    return path_to_message(trajectory.joint_names, np.array([point.positions for point in trajectory.points]))


def check_items(items: Sequence[MotionSequenceItem]) -> list[str]:
    """Check what a sequence must be as a whole, as Pilz does; return warnings with what is left out.

    Raises:
        RobotCellError: The sequence is empty, or an item cannot be served.
    """
    warnings: list[str] = []
    check_count(len(items), MAX_ITEMS, "items", "items")
    if not items:
        raise InvalidRequestError("items is empty", stage="request", subjects=("items",))
    for index, item in enumerate(items):
        motion_of(item.req)
        warnings += check_request(item.req, PILZ)
        if not 0.0 <= item.blend_radius <= 10.0:
            text = f"items[{index}].blend_radius is {item.blend_radius:g} m, expected 0 to 10 m"
            numbers = (Value("blend_radius", item.blend_radius, 10.0, "m"),)
            raise InvalidRequestError(text, stage="request", subjects=(f"items[{index}]",), values=numbers)
        given = item.req.start_state
        values = given.joint_state.name or given.multi_dof_joint_state.joint_names
        if index and (values or given.attached_collision_objects):
            text = f"items[{index}] has a start state; a motion of a sequence begins where the one before ends"
            raise InvalidRequestError(text, stage="request", subjects=(f"items[{index}]",))
    if items[-1].blend_radius:
        text = f"the last item has blend_radius {items[-1].blend_radius:g} m, expected 0: nothing follows it"
        raise InvalidRequestError(text, stage="request", subjects=(f"items[{len(items) - 1}]",))
    return warnings


def blended_runs(items: Sequence[MotionSequenceItem]) -> list[list[int]]:
    """Return the indices of the motions that are planned together.

    Raises:
        NotSupportedError: A blend of different groups, or with different speed limits.
    """
    runs: list[list[int]] = []
    for index, item in enumerate(items):
        before = items[index - 1] if index else None
        if before is None or not before.blend_radius:
            runs.append([index])
            continue
        if before.req.group_name != item.req.group_name:
            text = f"items[{index - 1}] is to be blended into items[{index}], which moves another group"
            raise NotSupportedError(text, subjects=(f"items[{index - 1}]",))
        for field in SPEEDS:
            if getattr(before.req, field) != getattr(item.req, field):
                text = f"items[{index - 1}] and items[{index}] are blended and have different values of {field}"
                raise NotSupportedError(text, subjects=(f"items[{index}]",))
        runs[-1].append(index)
    return runs


def _at_end(start: Start, plan: msg.MotionPlan) -> Start:
    """Return the state at the end of a plan."""
    names = list(plan.trajectory.joint_names)
    values = dict(zip(names, plan.trajectory.points[-1].positions, strict=True))
    given = dict(zip(start.reference.configuration.joint_names, start.reference.configuration.positions, strict=True))
    reference = msg.StateRef(
        min_revision=start.reference.min_revision,
        configuration=configuration_to_message({**given, **values}),
        changes=start.reference.changes,
    )
    return Start(Scene(start.scene.cell, start.scene.state.with_configuration(values)), reference)


def joined(first: JointTrajectory, second: JointTrajectory) -> JointTrajectory:
    """Return two trajectories one after the other; the second begins where the first ends, at rest."""
    assert list(first.joint_names) == list(second.joint_names)
    assert np.allclose(first.points[-1].positions, second.points[0].positions, atol=1e-6)
    shift = duration_from_message(first.points[-1].time_from_start)
    points = [
        JointTrajectoryPoint(
            positions=point.positions,
            velocities=point.velocities,
            accelerations=point.accelerations,
            time_from_start=duration_to_message(shift + duration_from_message(point.time_from_start)),
        )
        for point in second.points[1:]
    ]
    return JointTrajectory(header=first.header, joint_names=first.joint_names, points=[*first.points, *points])


def fill_sequence(message: MotionSequenceResponse, planned: PlannedSequence, *warnings: str) -> None:
    """Fill the response of a planned sequence. warnings: in addition to those of the plan."""
    message.sequence_start = SceneWriter(planned.start.scene).robot_state()
    message.planned_trajectories = [robot_trajectory(trajectory) for trajectory in planned.trajectories]
    message.planning_time = planned.seconds
    message.error_code = success(*planned.warnings, *warnings)


def _fail(response: GetMotionSequence.Response, error: RobotCellError) -> None:
    response.response.error_code = error_code(error)
