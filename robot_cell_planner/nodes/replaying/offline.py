"""Recorded requests to the library, in this process and without nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from robot_cell_planner import action, srv

from ...errors import RobotCellError
from ...planning.cartesian.planner import plan_cartesian
from ...planning.joint_space.planner import plan_motion
from ...planning.sequence import plan_multistep
from ...planning.workers import tasks
from ...scene.scene import Scene, joint_names
from ..common.node import report_error
from ..common.sphere_preparation import UNCERTIFIED
from ..conversions import plans
from ..conversions.cartesian import cartesian_request_from_message, fill_cartesian_failure, fill_cartesian_result
from ..conversions.models import ModelReader
from ..conversions.path_requests import fill_multistep, fill_multistep_failure, multistep_request_from_message
from ..conversions.trajectories import trajectory_from_message
from ..conversions.trajectory_reports import limits_to_message, report_to_message
from ..planning.defaults import planning_defaults, timing_defaults, validation_request
from ..planning.parameters import PARAMETERS
from .exchanges import Exchange, was_uncertified
from .history import STAGE, used_state
from .replay import NotRepeatedError, check_repeated

Handler = Callable[["Library", Any, Any, Scene, Any], None]


class Library:
    """Answers exchanges by the functions of the library.

    models: reads models in requests. parameters: of the planning node, in place of their defaults.
    """

    def __init__(self, models: ModelReader, parameters: Mapping[str, Any] | None = None) -> None:
        self.models = models
        self.values = {each.name: each.default for each in PARAMETERS} | dict(parameters or {})

    def __call__(self, exchange: Exchange, scene: Scene | None) -> Any:
        """Return the reply of the library.

        Raises:
            NotRepeatedError: The library does not answer such a request without nodes.
        """
        handler = HANDLERS.get(exchange.name)
        if handler is None:
            check_repeated(exchange.name)
            raise NotRepeatedError("it is only repeated with running nodes", stage=STAGE)
        if scene is None:
            raise NotRepeatedError("its reply names no state", stage=STAGE)
        kind = exchange.kind.Result if exchange.is_action else exchange.kind.Response
        reply, used = kind(), used_state(exchange.reply)
        try:
            handler(self, exchange.request, reply, scene, (used, was_uncertified(exchange.reply)))
        except RobotCellError as error:
            report_error(reply, error)
        return reply

    @property
    def defaults(self) -> tuple[Any, Any]:
        """Planning and timing options."""
        return planning_defaults(self.values), timing_defaults(self.values)


def _answered(function: Callable[..., Any], scene: Scene, request: Any, uncertified: bool) -> Any:
    """Answer a request as a worker of the planning node does."""
    if not uncertified:
        return function(scene.cell, scene.state, request)
    return tasks.with_warning(function(scene.cell, scene.state, tasks.without_certificates(request)), UNCERTIFIED)


def _plan_motion(library: Library, goal: Any, result: action.PlanMotion.Result, scene: Scene, how: Any) -> None:
    used, uncertified = how
    request = plans.motion_request_from_message(goal.request, *library.defaults, library.values["max_configurations"])
    try:
        plan = _answered(plan_motion, scene, request, uncertified)
    except RobotCellError as error:
        result.failure = plans.failure_to_message(error)
        result.plan.record.state = used
        raise
    result.plan = plans.plan_to_message(plan, used)


def _plan_cartesian(library: Library, goal: Any, result: action.PlanCartesian.Result, scene: Scene, how: Any) -> None:
    used, uncertified = how
    request = cartesian_request_from_message(goal, *library.defaults)
    try:
        plan = _answered(plan_cartesian, scene, request, uncertified)
    except RobotCellError as error:
        fill_cartesian_failure(result, error, used)
        raise
    fill_cartesian_result(result, plan, used)


def _plan_multistep(library: Library, goal: Any, result: action.PlanMultistep.Result, scene: Scene, how: Any) -> None:
    used, uncertified = how
    result.failed_step = -1
    limit = library.values["max_configurations"]
    request = multistep_request_from_message(goal, library.models, *library.defaults, limit)
    try:
        found = _answered(plan_multistep, scene, request, uncertified)
    except RobotCellError as error:
        fill_multistep_failure(result, error, used)
        raise
    fill_multistep(result, found, used)


def _validate(
    library: Library, request: Any, response: srv.ValidateTrajectory.Response, scene: Scene, how: Any
) -> None:
    response.state = how[0]
    trajectory = trajectory_from_message(request.trajectory, "trajectory")
    task = validation_request(library.values, request, trajectory, scene)
    response.report = report_to_message(tasks.validated(scene, task), scene.cell)
    response.limits = limits_to_message(*tasks.limits_at_start(scene, task)[:2])
    response.joints = [*joint_names(scene.cell)]


HANDLERS: Mapping[str, Handler] = {
    "planning/plan_motion": _plan_motion,
    "planning/plan_cartesian": _plan_cartesian,
    "planning/plan_multistep": _plan_multistep,
    "planning/validate_trajectory": _validate,
}
