"""Recordings of plans, for replays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..planning.problem.plan import Plan, percent
from ..trajectory.trajectory import Trajectory
from .recording import MAX_MOMENTS, Recorder, Recording
from .tool_paths import CertifiedPath, certified_path, group_of

PERIOD = 0.02  # [s] between the moments of a trajectory
WAYPOINT_TIME = 0.5  # [s] for each waypoint of a path without times


def times_shown(duration: float) -> NDArray[np.float64]:
    """Return the times of the moments that show a trajectory [s]: PERIOD apart, of a long one as many as a page has."""
    return np.append(np.arange(0.0, duration, max(PERIOD, duration / MAX_MOMENTS)), duration)


def plan_facts(plan: Plan) -> dict[str, str]:
    """Return the main figures of a plan as table entries, text by column."""
    facts = {
        "plan ms": f"{1e3 * sum(stage.seconds for stage in plan.times):.0f}",
        "states": f"{plan.states_checked}",
        "path rad": f"{plan.path_length:.2f}",
        "% certified": percent(plan.certified_fraction),
    }
    if plan.clearance is not None:
        facts["clear mm"] = f"{1e3 * plan.clearance.closest.distance:.1f}"
    return facts


class PlanDetails(TypedDict):
    """Arguments of `write_html` besides the recording."""

    trajectories: Mapping[str, Trajectory]
    certified: CertifiedPath | None


@public
def plan_details(cell: RobotCell, state: RobotCellState, plan: Plan, name: str = "plan") -> PlanDetails:
    """Return what a page shows of a plan besides its motion: its curves, and which lines of its path are certified.

    ```python
    write_html("plan.html", cell, plan_recording(state, plan), **plan_details(cell, state, plan))
    ```

    Raises:
        InvalidRequestError, UnknownNameError: The plan does not fit the cell.
        GeometryError: A collision shape cannot be built.
    """
    group = plan.group or group_of(cell, plan.variables)
    certified = certified_path(cell, state, replace(plan, group=group)) if group else None
    trajectories = {} if plan.trajectory is None else {name: plan.trajectory}
    return {"trajectories": trajectories, "certified": certified}


@public
def plan_recording(state: RobotCellState, plan: Plan, name: str = "plan") -> Recording:
    """Return a plan as a recording with one segment.

    Args:
        state: State that the plan starts from.
        plan: Plan with a trajectory, or a path whose waypoints are shown for 0.5 s each.
        name: Name of the segment.

    Raises:
        InvalidRequestError: The state does not have the plan's joints, or the plan has no path.
    """
    missing = sorted(set(plan.variables) - set(state.configuration))
    if missing:
        text = f"the state has no joint {', '.join(missing)} of the plan"
        raise InvalidRequestError(text, stage="write replay", subjects=tuple(missing))
    if plan.trajectory is None and not len(plan.path):
        raise InvalidRequestError("the plan has no path, so that there is nothing to show", stage="write replay")
    if plan.trajectory is None:
        times = WAYPOINT_TIME * np.arange(len(plan.path), dtype=np.float64)
        rows = plan.path
    else:
        times = times_shown(plan.duration)
        rows = plan.trajectory.at(times)
    recorder = Recorder()
    for time, row in zip(times.tolist(), rows.tolist(), strict=True):
        recorder.add(time, state.with_configuration(dict(zip(plan.variables, row, strict=True))))
    recorder.segment(name, 0.0, float(times[-1]), plan_facts(plan))
    return recorder.recording({"planner": f"{plan.planner}, seed {plan.seed}"})
