"""Requests of the execution node to the planning node: planning and validation."""

from __future__ import annotations

from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.action import PlanMotion
from robot_cell_planner.msg import MotionRequest, PlanningFeedback, StateRef
from robot_cell_planner.srv import ValidateTrajectory

from ..common.cancellation import CancellationToken
from ..common.joint_states import Measurement
from ..common.node import CellNode
from ..common.remote_calls import RemoteAction, RemoteService
from ..conversions.basic import (
    configuration_from_message,
    configuration_to_message,
    time_from_message,
    time_to_message,
)
from ..conversions.trajectories import error_of_report

LIMIT = "validation_timeout"  # parameter of the node


class PlanningCalls:
    """Calls to the planning node, with the time limits of the node's parameters."""

    def __init__(self, node: CellNode) -> None:
        self._validate = RemoteService(node, ValidateTrajectory, "planning/validate_trajectory", LIMIT)
        self._plan = RemoteAction(node, PlanMotion, "planning/plan_motion", LIMIT, from_first_goal=True)

    async def validate(
        self, state: StateRef, trajectory: JointTrajectory, start_tolerance: float, token: CancellationToken
    ) -> ValidateTrajectory.Response:
        """Validate a trajectory in the scene; returns the reply, with the state used and the report.

        Raises:
            ServiceUnavailableError: The planning node does not reply.
            RobotCellError: The validation failed or the trajectory is invalid; the reply is in `partial`.
        """
        request = ValidateTrajectory.Request(state=state, trajectory=trajectory, start_tolerance=start_tolerance)
        reply = await self._validate(request, token)
        error = error_of_report(reply.report)
        if error is not None:
            error.partial = reply
            raise error
        return reply

    async def plan(
        self, request: MotionRequest, on_feedback: Callable[[PlanningFeedback], None], token: CancellationToken
    ) -> PlanMotion.Result:
        """Plan a motion; returns the result with plan and failure. on_feedback: called with the progress.

        Raises:
            ServiceUnavailableError: The planning node is not available, or rejected the goal.
            RobotCellError: Planning failed; the result is in `partial`.
        """

        def take(feedback: PlanMotion.Feedback) -> None:
            on_feedback(feedback.progress)

        return await self._plan(PlanMotion.Goal(request=request), token, take)


def fresh_state(reference: StateRef, names: tuple[str, ...], measured: dict[str, Measurement]) -> StateRef:
    """Return the state for the validation: the requested one, with measured joints, and at least as new as those.

    names: the joints in the names of the cell, in the order of `measured`. Other joints, such as those of a tool, keep
    the values of the requested state.

    Raises:
        InvalidRequestError: The configuration of the requested state is malformed.
    """
    found = list(measured.values())
    state = StateRef(
        own_state=reference.own_state,
        min_revision=reference.min_revision,
        min_joint_stamp=reference.min_joint_stamp,
        timeout=reference.timeout,
        configuration=reference.configuration,
        changes=reference.changes,
    )
    oldest = min((measurement.stamp for measurement in found), default=0)
    if oldest > time_from_message(reference.min_joint_stamp):
        state.min_joint_stamp = time_to_message(oldest)
    if reference.own_state:
        given = configuration_from_message(reference.configuration, "state.configuration")
        positions = dict(zip(names, (measurement.position for measurement in found), strict=True))
        state.configuration = configuration_to_message({**given, **positions})
    return state
