"""Execution of plans of the library on the running nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robot_cell_planner import action
from robot_cell_planner.msg import ExecutionOptions

from ...errors import InvalidRequestError
from ...planning.problem.plan import Plan, check_alone
from ..conversions.basic import duration_from_message
from ..conversions.trajectories import trajectory_to_message
from .client import CellClient

OWNER = "robot_cell execute"


@dataclass(frozen=True)
class ExecutedPlan:
    """Result of a plan that was executed to its end.

    Attributes:
        duration: From the first command to the end [s].
        commands: Number of commands.
        longest_interval: Longest time between two of them [s].
        max_tracking_error: Largest distance of a joint from its command [rad or m].
        goal_error: Largest distance of a joint from the goal at the end [rad or m].
    """

    duration: float
    commands: int
    longest_interval: float
    max_tracking_error: float
    goal_error: float


def execute_plan(
    client: CellClient, plan: Plan, speed_scale: float = 1.0, on_progress: Callable[[str, float], None] | None = None
) -> ExecutedPlan:
    """Execute a plan by the execution node, which validates it in the present scene first.

    Args:
        client: Connection to the nodes.
        plan: Plan with a trajectory that begins where the robot is.
        speed_scale: Fraction of the trajectory's own speed, 0.001 to 1.
        on_progress: Called with the stage ("moving", "paused", "stopping", "settling") and the fraction of the
            trajectory's duration that was reached, 0 to 1.

    Raises:
        InvalidRequestError: The plan has no trajectory, or is one among moving robots, which begin with it.
        RobotCellError: As `CellClient.execute`.
    """
    if plan.trajectory is None:
        raise InvalidRequestError("the plan has no trajectory; request timing", stage="request")
    check_alone(plan)

    def take(feedback: action.ExecuteTrajectory.Feedback) -> None:
        if on_progress is not None and plan.duration > 0.0:
            progress = feedback.progress
            on_progress(progress.stage, min(duration_from_message(progress.reached) / plan.duration, 1.0))

    options = ExecutionOptions(owner=OWNER, speed_scale=speed_scale)
    record = client.execute(trajectory_to_message(plan.trajectory), options, take).record
    return ExecutedPlan(
        duration_from_message(record.duration),
        record.commands,
        record.longest_interval,
        record.max_tracking_error,
        record.goal_error,
    )
