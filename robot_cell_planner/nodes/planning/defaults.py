"""Values of requests that are not in their messages: parameters of the planning node."""

from __future__ import annotations

from typing import Any, Protocol

from robot_cell_planner import srv

from ...planning.problem.request import PlanningOptions
from ...planning.workers.tasks import ValidationRequest
from ...scene.scene import Scene
from ...trajectory.timing import TimingOptions
from ...trajectory.trajectory import Trajectory


class Values(Protocol):
    """Values of parameters by name."""

    def __getitem__(self, name: str, /) -> Any: ...


def planning_defaults(value: Values) -> PlanningOptions:
    """Return the options that requests do not give."""
    return PlanningOptions(
        planner=value["default_planner"],
        state_limit=value["state_limit"],
        time_limit=value["time_limit"],
        search_step=value["search_step"],
        resolution=value["resolution"],
        engine=value["engine"],
        start_limit_tolerance=value["start_limit_tolerance"],
    )


def timing_defaults(value: Values) -> TimingOptions:
    """Return the options of timing that requests do not give."""
    return TimingOptions(period=value["sample_period"])


def validation_request(
    value: Values, message: srv.ValidateTrajectory.Request, trajectory: Trajectory, scene: Scene
) -> ValidationRequest:
    """Return the request to validate the trajectory of a message."""
    return ValidationRequest(
        trajectory=trajectory,
        start=scene.state.configuration,
        start_tolerance=message.start_tolerance or value["start_tolerance"],
        start_limit_tolerance=value["start_limit_tolerance"],
        step=value["resolution"],
        engine=value["engine"],
        find_all=message.find_all,
    )
