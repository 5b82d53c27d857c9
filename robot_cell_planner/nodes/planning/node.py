"""The planning node: joint-space and Cartesian planning, path tools and timing, in worker processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from rclpy.task import Future

from robot_cell_planner import action, msg, srv

from ...errors import RobotCellError, WorkerCrashedError
from ...planning.cartesian.planner import CartesianRequest
from ...planning.path.look_ahead import LookAheadRequest
from ...planning.problem.progress import Progress
from ...planning.problem.request import MotionRequest, PlanningOptions
from ...planning.problem.steps import MultistepRequest
from ...planning.search.registry import PLANNERS
from ...planning.workers import tasks
from ...planning.workers.jobs import Job
from ...planning.workers.pool import EXPLANATION_TIME, WorkerPool
from ...planning.workers.preparation import PREPARE
from ...planning.workers.server import PRELOAD
from ...scene.scene import Scene, joint_names
from ...system.heap import keep_heap_small
from ...trajectory.timing import TimingOptions
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import TrajectoryReport
from ..common.action_server import GoalServer
from ..common.cancellation import CancellationToken
from ..common.diagnostics import OK, READY, WARN
from ..common.external_frames import ExternalFrames
from ..common.lifecycle import ManagedNode
from ..common.node import end, report_error, run
from ..common.resource_roots import resource_roots
from ..common.scene_monitor import SceneMonitor
from ..common.shared_answers import SharedAnswers
from ..common.sphere_preparation import UNCERTIFIED, SpherePreparation
from ..common.threads import converted, in_thread
from ..conversions import plans
from ..conversions.basic import error_to_message
from ..conversions.cartesian import cartesian_request_from_message, fill_cartesian_failure, fill_cartesian_result
from ..conversions.frame_references import (
    frames_added,
    references_of_motion,
    references_of_steps,
    references_of_waypoints,
)
from ..conversions.models import ModelReader, reads_files
from ..conversions.path_requests import fill_multistep, fill_multistep_failure, multistep_request_from_message
from ..conversions.trajectories import checked_trajectory_from_message
from ..conversions.trajectory_reports import limits_to_message, report_to_message
from .defaults import planning_defaults, timing_defaults, validation_request
from .failure_cases import FailureCases
from .outcomes import Outcomes
from .parameters import PARAMETERS
from .path_services import PathServices
from .plan_markers import PlanMarkers


class PlanningNode(ManagedNode):
    """Monitors the scene and passes each request, with the state it refers to, to a worker process."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("planning_node")

    def configure(self) -> None:
        roots = resource_roots(self.parameters)
        self._models = ModelReader(roots)
        timeout = self.parameters["wait_timeout"]
        self._scene_monitor = SceneMonitor(self, self._models, timeout, frames=ExternalFrames(self))
        self._pool = WorkerPool(
            self.parameters["workers"],
            preload=PRELOAD,
            niceness=self.parameters["worker_niceness"],
            preparation=PREPARE,
        )
        self.on_release(self._pool.close)
        # The validation of motions does not wait for planning. Nor do running motions, which end without replies to
        # look_ahead, wait for the validation of others.
        self._checks, self._look_aheads = (WorkerPool(1, preload=PRELOAD, preparation=PREPARE) for _ in range(2))
        self.on_release(self._checks.close)
        self.on_release(self._look_aheads.close)
        self._spheres = SpherePreparation(self, self._scene_monitor, self._prepare)
        self._markers = PlanMarkers(self)
        self._cases = FailureCases(self, self._scene_monitor)
        self._running: set[Job] = set()  # of goals
        self.on_release(self._cancel_jobs)
        self._served = 0
        self._ready_for = ""  # digest of the latest fully prepared cell
        self._offer()
        limit = self.parameters["max_configurations"]
        defaults = self._planning_defaults, self._timing_defaults
        self._paths = PathServices(self, self._scene_monitor, self._work, *defaults, roots, limit)

    def _offer(self) -> None:
        """Offer actions and services."""
        outcomes = Outcomes(self)
        actions: tuple[tuple[str, Any, Any], ...] = (
            ("planning/plan_motion", action.PlanMotion, self._plan_motion),
            ("planning/plan_multistep", action.PlanMultistep, self._plan_multistep),
            ("planning/plan_cartesian", action.PlanCartesian, self._plan_cartesian),
        )
        for name, kind, handler in actions:
            GoalServer(self, kind, name, handler, report_error, begins_early=True, on_end=outcomes.of(name))
        shared = SharedAnswers(self._scene_monitor).shared
        self.serve(srv.ValidateTrajectory, "planning/validate_trajectory", shared(self._validate_trajectory))
        self.serve(srv.LookAhead, "planning/look_ahead", shared(self._look_ahead))
        self.serve(srv.ListPlanners, "planning/list_planners", self._list_planners)

    def _prepare(self, scene: Scene) -> None:
        """Prepare the workers for a scene before requests refer to it."""
        for pool in self._pools:
            pool.prepare(scene)

    @property
    def _pools(self) -> tuple[WorkerPool, ...]:
        return self._pool, self._checks, self._look_aheads

    def _cancel_jobs(self) -> None:
        for job in tuple(self._running):
            job.cancel()

    def _planning_defaults(self) -> PlanningOptions:
        return planning_defaults(self.parameters)

    def _timing_defaults(self) -> TimingOptions:
        return timing_defaults(self.parameters)

    async def _work(
        self,
        task: str,
        scene: Scene,
        request: Any,
        limit: float,
        token: CancellationToken | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        pool: WorkerPool | None = None,
    ) -> Any:
        """Run a task in a worker and return its result.

        Until the sphere models of new geometry are computed, tasks run without certificates. A request that fails is
        saved as a case, as it was served. token, on_progress: of a goal, which has time to explain its time limit.
        """
        certified = tasks.certifies(request)
        if certified and pool is None:
            await self._spheres.wait(token=token)
        if token is not None and (preparing := self._preparing()[0]):
            on_progress(Progress(preparing))
        prepared = self._spheres.ready
        served = request if prepared else tasks.without_certificates(request)
        future: Future[tuple[Any, RobotCellError | None]] = Future()
        job = (pool or self._pool).submit(
            task,
            scene,
            served,
            time_limit=limit,
            on_done=lambda result, error: self.resolve(future, (result, error)),
            on_progress=on_progress,
            prepared=prepared,
            explanation_time=EXPLANATION_TIME if token is not None else 0.0,
        )
        with self._cancelled_by(token, job):
            found = await future
        assert found is not None
        result, error = found
        self._cases.answered(scene, served, result if error is None else error)
        if error is not None:
            raise error
        return tasks.with_warning(result, UNCERTIFIED) if certified and not prepared else result

    @contextmanager
    def _cancelled_by(self, token: CancellationToken | None, job: Job) -> Iterator[None]:
        """Context of a job in progress, which the token of a goal cancels."""

        def cancel(_: RobotCellError) -> None:
            job.cancel()

        if token is not None:
            self._running.add(job)
            token.on_set(cancel)
        try:
            yield
        finally:
            if token is not None:
                token.remove(cancel)
            self._running.discard(job)
            self._served += 1

    async def _planned(
        self,
        task: str,
        scene: Scene,
        request: MotionRequest | MultistepRequest | CartesianRequest,
        token: CancellationToken,
        send: Callable[[Any], None],
        kind: Any,
    ) -> Any:
        """Plan in a worker. send: sends the feedback of an action of this kind."""

        def on_progress(progress: Progress) -> None:
            send(kind.Feedback(progress=_feedback(progress)))

        return await self._work(task, scene, request, request.options.time_limit, token, on_progress)

    async def _plan_motion(
        self,
        goal: action.PlanMotion.Goal,
        send: Callable[[action.PlanMotion.Feedback], None],
        token: CancellationToken,
        result: action.PlanMotion.Result,
    ) -> None:
        message = goal.request
        defaults = self._planning_defaults(), self._timing_defaults(), self.parameters["max_configurations"]
        request = plans.motion_request_from_message(message, *defaults)
        state = await self._scene_monitor.resolve(message.start, "start", partial(_wait, send, action.PlanMotion))
        if await self._scene_monitor.rewrite(references_of_motion(message), state.scene.cell, token=token):
            request = plans.motion_request_from_message(message, *defaults)
        try:
            plan = await self._planned(tasks.PLAN_MOTION, state.scene, request, token, send, action.PlanMotion)
        except RobotCellError as error:
            result.failure = plans.failure_to_message(error)
            result.plan.record.state = state.used
            raise
        result.plan = plans.plan_to_message(plan, state.used)
        self._markers.show(state.scene, plan)

    async def _plan_multistep(
        self,
        goal: action.PlanMultistep.Goal,
        send: Callable[[action.PlanMultistep.Feedback], None],
        token: CancellationToken,
        result: action.PlanMultistep.Result,
    ) -> None:
        result.failed_step = -1
        defaults = self._planning_defaults(), self._timing_defaults(), self.parameters["max_configurations"]
        reads = any(reads_files(change.models) for step in goal.steps for change in step.changes)
        read = partial(multistep_request_from_message, goal, self._models, *defaults)
        request = await converted(self, reads, read)
        state = await self._scene_monitor.resolve(goal.start, "start", partial(_wait, send, action.PlanMultistep))
        added = frames_added(change for step in request.steps for change in step.changes)
        if await self._scene_monitor.rewrite(references_of_steps(goal), state.scene.cell, added, token):
            request = read()  # files are cached
        try:
            found = await self._planned(tasks.PLAN_MULTISTEP, state.scene, request, token, send, action.PlanMultistep)
        except RobotCellError as error:
            fill_multistep_failure(result, error, state.used)
            raise
        fill_multistep(result, found, state.used)

    async def _plan_cartesian(
        self,
        goal: action.PlanCartesian.Goal,
        send: Callable[[action.PlanCartesian.Feedback], None],
        token: CancellationToken,
        result: action.PlanCartesian.Result,
    ) -> None:
        defaults = self._planning_defaults(), self._timing_defaults()
        request = cartesian_request_from_message(goal, *defaults)
        state = await self._scene_monitor.resolve(goal.start, "start", partial(_wait, send, action.PlanCartesian))
        if await self._scene_monitor.rewrite(references_of_waypoints(goal.waypoints), state.scene.cell, token=token):
            request = cartesian_request_from_message(goal, *defaults)
        try:
            plan = await self._planned(tasks.PLAN_CARTESIAN, state.scene, request, token, send, action.PlanCartesian)
        except RobotCellError as error:
            fill_cartesian_failure(result, error, state.used)
            raise
        fill_cartesian_result(result, plan, state.used)
        self._markers.show(state.scene, plan)

    async def _validate_trajectory(
        self, request: srv.ValidateTrajectory.Request, response: srv.ValidateTrajectory.Response
    ) -> None:
        trajectory, scene = await self._requested(request, response)
        task = validation_request(self.parameters, request, trajectory, scene)
        limit = self.parameters["time_limit"]
        report = await self._checked(tasks.VALIDATE, scene, task, limit, self._checks)
        self._cases.remember(scene)
        response.report = report_to_message(report, scene.cell)
        response.limits = limits_to_message(*tasks.limits_at_start(scene, task)[:2])
        response.joints = [*joint_names(scene.cell)]

    async def _checked(self, task: str, scene: Scene, request: Any, limit: float, pool: WorkerPool) -> TrajectoryReport:
        """Return the report of a check. It is repeated once if its worker was killed, as for lack of memory: no motion
        need end, or be refused, for that."""
        try:
            report: TrajectoryReport = await self._work(task, scene, request, limit, pool=pool)
        except WorkerCrashedError as error:
            self.get_logger().warning(f"{error}; the check is repeated")
            report = await self._work(task, scene, request, limit, pool=pool)
        return report

    async def _look_ahead(self, request: srv.LookAhead.Request, response: srv.LookAhead.Response) -> None:
        trajectory, scene = await self._requested(request, response)
        given = self.parameters
        slack = given["start_limit_tolerance"]
        task = LookAheadRequest(trajectory, given["resolution"], given["engine"], start_limit_tolerance=slack)
        report = await self._checked(tasks.LOOK_AHEAD, scene, task, given["time_limit"], self._look_aheads)
        response.report = report_to_message(report, scene.cell)

    async def _requested(
        self,
        request: srv.ValidateTrajectory.Request | srv.LookAhead.Request,
        response: srv.ValidateTrajectory.Response | srv.LookAhead.Response,
    ) -> tuple[Trajectory, Scene]:
        """Return the trajectory of a request and its scene, whose state is set in the response."""
        trajectory = checked_trajectory_from_message(request.trajectory, "trajectory")
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        return trajectory, state.scene

    async def _list_planners(self, request: srv.ListPlanners.Request, response: srv.ListPlanners.Response) -> None:
        response.default_planner = self.parameters["default_planner"]
        # In a thread: libraries of others may take seconds to import, and running motions wait for look_ahead.
        planners, errors = await in_thread(self, "planners", PLANNERS.loaded)
        response.planners = [plans.planner_to_message(planner.info) for planner in planners]
        response.unavailable = [error_to_message(error) for error in errors]

    def _preparing(self) -> tuple[str, int, int]:
        """Return what is being prepared, "" if all is; how many workers are prepared, and how many there are."""
        digest = self._scene_monitor.scene.cell.digest_with_places()
        pools = [pool.workers_prepared(digest) for pool in self._pools]
        prepared, count = (sum(numbers) for numbers in zip(*pools, strict=True))
        if prepared == count and self._spheres.ready:
            return "", prepared, count
        return f"preparing: sphere models {self._spheres.progress}, workers {prepared} of {count}", prepared, count

    def check(self) -> tuple[bytes, str, dict[str, object]]:
        values = {
            **self._scene_monitor.diagnostics,
            "requests running": len(self._running),
            "requests served": self._served,
        }
        if not self._scene_monitor.revision:
            return WARN, self._scene_monitor.waits_for() or "no cell received yet", values
        digest = self._scene_monitor.scene.cell.digest_with_places()
        preparing, prepared, count = self._preparing()
        values |= {"sphere models": self._spheres.progress, "workers prepared": f"{prepared} of {count}"}
        if preparing:
            return OK, preparing, values
        if digest != self._ready_for:
            self._ready_for = digest
            self.get_logger().info(f"ready: sphere models and {count} workers are prepared for the cell")
        return OK, READY, values


def _feedback(progress: Progress) -> msg.PlanningFeedback:
    return msg.PlanningFeedback(
        stage=progress.stage,
        step=progress.step,
        fraction=progress.fraction,
        states_checked=progress.states_checked,
        best_cost=progress.best_cost,
    )


def _wait(send: Callable[[Any], None], kind: Any, reason: str) -> None:
    """Send feedback of an action about the reason of a wait."""
    send(kind.Feedback(progress=_feedback(Progress(reason))))


def main() -> None:
    """Entry point of the executable."""
    # The fork server must import the same modules as this process, not those of the working folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    keep_heap_small()
    end(run(PlanningNode, "planning_node"))
