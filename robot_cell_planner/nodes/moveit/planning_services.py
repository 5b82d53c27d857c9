"""plan_kinematic_path, compute_cartesian_path and the planner interfaces."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from moveit_msgs.msg import MotionPlanRequest, MotionPlanResponse, PlanningScene
from moveit_msgs.srv import (
    GetCartesianPath,
    GetMotionPlan,
    GetPlannerParams,
    QueryPlannerInterfaces,
    SetPlannerParams,
)

from robot_cell_planner import action, msg, srv

from ...errors import InvalidRequestError, NotSupportedError, RobotCellError
from ..common.cancellation import CancellationToken
from ..common.node import CellNode
from ..common.parameters import Parameter
from ..conversions.basic import check_count
from .cartesian_requests import add_solution, cartesian_goal
from .error_codes import error_code, success
from .helper_frames import HelperFrames
from .motion_requests import Converted, Start, motion_request, robot_trajectory
from .path_checks import check_path
from .path_constraints import path_constraints
from .pilz import PilzMotions
from .planners import OMPL, PILZ, interface_descriptions, pipeline_named, planner_named, planner_of
from .scene_access import SceneAccess
from .scene_messages import SceneWriter
from .suite import Suite

MAX_PARAMETERS = 1_000
RESERVE = Parameter(
    "planning_time_reserve",
    5.0,
    "Time added to allowed_planning_time, which in MoveIt covers the search only: for waiting, checks and timing [s].",
    0.0,
    600.0,
    running=True,
)


@dataclass(frozen=True)
class Planned:
    """A planned motion. start: where it begins; seconds: time that planning took."""

    start: Start
    plan: msg.MotionPlan
    seconds: float
    warnings: tuple[str, ...] = ()


@dataclass
class PlannerSettings:
    """Planner parameters that clients have set, by planner and group ("": all groups)."""

    values: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def of(self, planner: str, group: str) -> dict[str, str]:
        """Return the parameters of a planner for a group."""
        return {**self.values.get((planner, ""), {}), **self.values.get((planner, group), {})}


class PlanningServices:
    """Services that plan; other parts of the adapter use them as well."""

    def __init__(self, node: CellNode, suite: Suite, access: SceneAccess, show: Callable[[Planned], None]) -> None:
        self._node, self._suite, self._access, self._show = node, suite, access, show
        self._settings = PlannerSettings()
        self.pilz = PilzMotions(suite, lambda: float(node.parameters[RESERVE.name]))
        node.serve(GetMotionPlan, "plan_kinematic_path", self._plan_service, _fail_plan)
        node.serve(GetCartesianPath, "compute_cartesian_path", self._cartesian, _fail_cartesian)
        node.serve(QueryPlannerInterfaces, "query_planner_interface", self._interfaces, self._fail_silently)
        node.serve(GetPlannerParams, "get_planner_params", self._get_parameters, self._fail_silently)
        node.serve(SetPlannerParams, "set_planner_params", self._set_parameters, self._fail_silently)

    async def converted(
        self, message: MotionPlanRequest, difference: PlanningScene | None = None
    ) -> tuple[Start, Converted]:
        """Return the start state and the request for the planning node.

        Raises:
            RobotCellError: The request is malformed or cannot be served.
        """
        start = await self._access.start(message.start_state, difference)
        planner, _ = planner_named(message.planner_id)
        settings = self._settings.of(planner, message.group_name)
        return start, motion_request(message, start, settings, self._node.parameters[RESERVE.name])

    async def plan(
        self, message: MotionPlanRequest, token: CancellationToken, difference: PlanningScene | None = None
    ) -> Planned:
        """Plan a motion with the pipeline that a request names.

        Raises:
            RobotCellError: The request cannot be served, or there is no plan.
        """
        begun = time.monotonic()
        if pipeline_named(message.pipeline_id) == PILZ:
            start = await self._access.start(message.start_state, difference)
            plan = await self.pilz.plan(message, start, token)
            return Planned(start, plan, time.monotonic() - begun, tuple(plan.record.warnings))
        start, converted = await self.converted(message, difference)
        result = await self._suite.plan_motion(action.PlanMotion.Goal(request=converted.request), token)
        plan = result.plan
        return Planned(start, plan, time.monotonic() - begun, (*converted.warnings, *plan.record.warnings))

    async def _plan_service(self, request: GetMotionPlan.Request, response: GetMotionPlan.Response) -> None:
        message = request.motion_plan_request
        response.motion_plan_response.group_name = message.group_name
        planned = await self.plan(message, CancellationToken())
        fill_plan(response.motion_plan_response, planned)
        self._show(planned)

    async def _cartesian(self, request: GetCartesianPath.Request, response: GetCartesianPath.Response) -> None:
        start = await self._access.start(request.start_state)
        response.start_state = SceneWriter(start.scene).robot_state()
        goal = cartesian_goal(request, start)
        try:
            result = await self._suite.plan_cartesian(goal, CancellationToken())
        except RobotCellError as error:
            if isinstance(error.partial, action.PlanCartesian.Result):
                add_solution(response, error.partial, request)
            raise
        await self._check_path(request, start, result)
        add_solution(response, result, request)
        response.error_code = success(*result.plan.record.warnings)
        self._show(Planned(start, result.plan, 0.0))

    async def _check_path(
        self, request: GetCartesianPath.Request, start: Start, result: action.PlanCartesian.Result
    ) -> None:
        """Check that a path satisfies the path constraints of a request.

        Raises:
            RobotCellError: It does not, or a constraint cannot be served.
        """
        frames = HelperFrames(start.scene)
        constraints = path_constraints(start.scene, request.path_constraints, frames)
        await check_path(self._suite, result.plan.path, constraints, start, frames)

    async def _interfaces(
        self, request: QueryPlannerInterfaces.Request, response: QueryPlannerInterfaces.Response
    ) -> None:
        reply = await self._suite.list_planners(srv.ListPlanners.Request())
        response.planner_interfaces = interface_descriptions([planner.name for planner in reply.planners])

    async def _get_parameters(self, request: GetPlannerParams.Request, response: GetPlannerParams.Response) -> None:
        if pipeline_named(request.pipeline_id) == PILZ:
            return
        info = await self._info(request.planner_config)
        values = self._settings.of(info.name, request.group)
        for parameter in info.parameters:
            response.params.keys.append(parameter.name)
            response.params.values.append(values.get(parameter.name, parameter.default_value))
            response.params.descriptions.append(f"{parameter.description} ({parameter.type}, {parameter.range})")

    async def _info(self, name: str) -> msg.PlannerInfo:
        """Return the description of a planner; of the default one without a name.

        Raises:
            UnknownNameError: There is none of this name.
            NotSupportedError: It cannot be loaded.
        """
        reply = await self._suite.list_planners(srv.ListPlanners.Request())
        requested = planner_named(name)[0] or reply.default_planner
        return planner_of(reply, requested)

    async def _set_parameters(self, request: SetPlannerParams.Request, response: SetPlannerParams.Response) -> None:
        """Set parameters for later requests. Those that the planner does not have are refused, all of them."""
        if pipeline_named(request.pipeline_id) != OMPL:
            raise NotSupportedError("planners of this pipeline have no parameters", subjects=(request.pipeline_id,))
        keys, values = request.params.keys, request.params.values
        check_count(len(keys), MAX_PARAMETERS, "params.keys", "parameters")
        if len(keys) != len(values):
            raise InvalidRequestError(f"params has {len(keys)} keys and {len(values)} values", subjects=("params",))
        info = await self._info(request.planner_config)
        unknown = set(keys) - {parameter.name for parameter in info.parameters}
        if unknown:
            text = f"planner {info.name} has no parameter {', '.join(sorted(unknown)[:5])}"
            raise InvalidRequestError(text, subjects=tuple(sorted(unknown)))
        key = (info.name, request.group)
        present = {} if request.replace else self._settings.values.get(key, {})
        self._settings.values[key] = {**present, **dict(zip(keys, values, strict=True))}

    def _fail_silently(self, response: object, error: RobotCellError) -> None:
        """The reply has no field for an error; the log contains it."""
        self._node.get_logger().warning(f"{type(response).__name__}: {error}")


def fill_plan(response: MotionPlanResponse, planned: Planned) -> None:
    """Fill the response of a planned motion."""
    response.trajectory_start = SceneWriter(planned.start.scene).robot_state()
    response.trajectory = robot_trajectory(planned.plan.trajectory)
    response.planning_time = planned.seconds
    response.error_code = success(*planned.warnings)


def _fail_plan(response: GetMotionPlan.Response, error: RobotCellError) -> None:
    response.motion_plan_response.error_code = error_code(error)


def _fail_cartesian(response: GetCartesianPath.Response, error: RobotCellError) -> None:
    response.error_code = error_code(error)
