"""Services for existing paths and plans: path tools, checks, measures, verification."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from robot_cell_planner import srv

from ...errors import InvalidRequestError
from ...io.common.resources import ResourceRoots, read_text, resolve_below
from ...planning.path.processing import PathTool
from ...planning.problem.plan import Plan
from ...planning.problem.plan_file import plan_from_json
from ...planning.problem.request import PlanningOptions
from ...planning.workers import tasks
from ...scene.scene import Scene
from ...trajectory.timing import TimingOptions
from ..common.node import CellNode
from ..common.scene_monitor import SceneMonitor
from ..common.shared_answers import SharedAnswers
from ..conversions.basic import error_to_message
from ..conversions.frame_references import FrameReference, references_of_constraints
from ..conversions.path_requests import (
    fill_path_check,
    path_check_from_message,
    path_measurement_from_message,
    path_request_from_message,
    path_result,
    plan_from_message,
)
from ..conversions.plans import certificate_to_message, record_to_message
from ..conversions.timing import fill_timed_path, path_timing_from_message

# Task, scene, request, time limit [s] -> the task's result.
Work = Callable[[str, Scene, Any, float], Awaitable[Any]]


class PathServices:
    """Offers the services. work: runs a task in a worker. options, timing: the node's defaults; most: waypoints of a
    path."""

    def __init__(
        self,
        node: CellNode,
        scene_monitor: SceneMonitor,
        work: Work,
        options: Callable[[], PlanningOptions],
        timing: Callable[[], TimingOptions],
        roots: ResourceRoots,
        limit: int,
    ) -> None:
        self._scene_monitor = scene_monitor
        self._work = work
        self._options = options
        self._timing = timing
        self._roots = roots
        self._max_count = limit
        shared = SharedAnswers(scene_monitor).shared
        node.serve(srv.ProcessPath, "planning/simplify_path", shared(self._processor(PathTool.SIMPLIFY)))
        node.serve(srv.ProcessPath, "planning/tighten_path", shared(self._processor(PathTool.TIGHTEN)))
        node.serve(srv.ProcessPath, "planning/shortcut_path", shared(self._processor(PathTool.SHORTCUT)))
        node.serve(srv.ProcessPath, "planning/densify_path", shared(self._processor(PathTool.DENSIFY)))
        node.serve(srv.ProcessPath, "planning/reverse_path", shared(self._processor(PathTool.REVERSE)))
        node.serve(srv.ProcessPath, "planning/concatenate_paths", shared(self._processor(PathTool.CONCATENATE)))
        node.serve(srv.CheckPath, "planning/check_path", shared(self._check_path))
        node.serve(srv.MeasurePath, "planning/measure_path", shared(self._measure_path))
        node.serve(srv.VerifyPlan, "planning/verify_plan", self._verify_plan)
        node.serve(srv.TimeParameterize, "planning/time_parameterize", shared(self._time_parameterize))

    def _processor(
        self, tool: PathTool
    ) -> Callable[[srv.ProcessPath.Request, srv.ProcessPath.Response], Coroutine[Any, Any, None]]:
        async def process(request: srv.ProcessPath.Request, response: srv.ProcessPath.Response) -> None:
            required = path_request_from_message(request, tool, self._options(), self._max_count)
            state = await self._scene_monitor.resolve(request.state)
            if await self._scene_monitor.rewrite(_frames_of(request), state.scene.cell):
                required = path_request_from_message(request, tool, self._options(), self._max_count)
            plan = await self._work(tasks.PROCESS_PATH, state.scene, required, required.options.time_limit)
            path_result(response, plan, state.used)

        return process

    async def _check_path(self, request: srv.CheckPath.Request, response: srv.CheckPath.Response) -> None:
        check = path_check_from_message(request, self._options(), self._max_count)
        state = await self._scene_monitor.resolve(request.state)
        if await self._scene_monitor.rewrite(_frames_of(request), state.scene.cell):
            check = path_check_from_message(request, self._options(), self._max_count)
        found = await self._work(tasks.CHECK_PATH, state.scene, check, check.options.time_limit)
        fill_path_check(response, found, state.used)

    async def _measure_path(self, request: srv.MeasurePath.Request, response: srv.MeasurePath.Response) -> None:
        check = path_measurement_from_message(request, self._options(), self._max_count)
        state = await self._scene_monitor.resolve(request.state)
        found = await self._work(tasks.CHECK_PATH, state.scene, check, check.options.time_limit)
        response.record = record_to_message(found.record, state.used)

    async def _time_parameterize(
        self, request: srv.TimeParameterize.Request, response: srv.TimeParameterize.Response
    ) -> None:
        required = path_timing_from_message(request, self._options(), self._timing(), self._max_count)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        found = await self._work(tasks.TIME_PATH, state.scene, required, required.options.time_limit)
        fill_timed_path(response, found, state.scene.cell)

    async def _verify_plan(self, request: srv.VerifyPlan.Request, response: srv.VerifyPlan.Response) -> None:
        plan = self._plan_of(request)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        options = self._options()
        verdict = await self._work(tasks.VERIFY_PLAN, state.scene, tasks.PlanCheck(plan, options), options.time_limit)
        response.valid = verdict.valid
        response.violations = [error_to_message(violation) for violation in verdict.violations]
        response.certificate = certificate_to_message(verdict.record)

    def _plan_of(self, request: srv.VerifyPlan.Request) -> Plan:
        """Return the plan of the request or of its file.

        Raises:
            InvalidRequestError: Both or neither are given.
            ResourceError, FileError: The file is not in an allowed folder, or does not contain a plan.
        """
        given = bool(request.plan.path.positions)
        if given == bool(request.uri):
            text = "plan and uri are both given" if given else "neither plan nor uri is given"
            raise InvalidRequestError(text, subjects=("plan", "uri"))
        if given:
            return plan_from_message(request.plan, "plan", self._max_count)
        path = resolve_below(request.uri, self._roots)
        return plan_from_json(read_text(path, "read plan"), str(path))


def _frames_of(request: srv.ProcessPath.Request | srv.CheckPath.Request) -> Iterator[FrameReference]:
    return references_of_constraints(request.constraints, "constraints")
