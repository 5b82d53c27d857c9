"""Requests of the execution node to the planning node: planning and validation."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from typing import TypeAlias, TypeVar

from action_msgs.msg import GoalStatus
from rclpy.action.client import ActionClient, ClientGoalHandle
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory
from unique_identifier_msgs.msg import UUID

from robot_cell_planner.action import PlanMotion
from robot_cell_planner.msg import MotionRequest, PlanningFeedback, StateRef
from robot_cell_planner.srv import ValidateTrajectory

from ...errors import CancelledError, RobotCellError, ServiceUnavailableError
from ..common.cancellation import CancellationToken, available, outcome
from ..common.goal_requests import RepeatableActionClient
from ..common.joint_states import Measurement
from ..common.node import CellNode
from ..common.server_monitor import GOAL_AGAIN, ServerMonitor
from ..conversions.basic import error_from_message, time_from_message, time_to_message
from ..conversions.trajectories import report_error

VALIDATE = "planning/validate_trajectory"
PLAN = "planning/plan_motion"
FIRST_TIMEOUT = 3.0  # [s]
T = TypeVar("T")
# The third type of an action client is the message type of its feedback callback.
PlanClient: TypeAlias = "ActionClient[PlanMotion.Goal, PlanMotion.Result, PlanMotion.Impl.FeedbackMessage]"


class PlanningCalls:
    """Calls to the planning node, with the time limits of the node's parameters."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._parameters = node.parameters
        self._validator = node.service_client(ValidateTrajectory, VALIDATE)
        self._planner: PlanClient = RepeatableActionClient(
            node, PlanMotion, PLAN, callback_group=node.concurrent, follows_status=False
        )
        self._validating = ServerMonitor(node, VALIDATE, is_action=False)
        self._planning = ServerMonitor(node, PLAN, is_action=True)

    async def validate(
        self, state: StateRef, trajectory: JointTrajectory, start_tolerance: float, token: CancellationToken
    ) -> ValidateTrajectory.Response:
        """Validate a trajectory in the scene; returns the reply, with the state used and the report.

        Raises:
            ServiceUnavailableError: The planning node does not reply.
            RobotCellError: The validation failed or the trajectory is invalid; the reply is in `partial`.
        """

        def served() -> bool:
            return self._validator.service_is_ready() and self._validating.begin()

        await available(self._node, served, token, self._parameters["server_timeout"], f"service {VALIDATE}")
        request = ValidateTrajectory.Request(state=state, trajectory=trajectory, start_tolerance=start_tolerance)

        def lives() -> bool:
            return not self._validating.lost(self._validator.service_is_ready())

        send, drop = partial(self._validator.call_async, request), self._validator.remove_pending_request
        reply = await self._repeated(send, drop, FIRST_TIMEOUT, f"service {VALIDATE}", token, lives)
        error = error_from_message(reply.error) or report_error(reply.report)
        if error is not None:
            error.partial = reply
            raise error
        return reply

    async def _repeated(
        self,
        send: Callable[[], Future[T]],
        drop: Callable[[Future[T]], object],
        timeout: float,
        what: str,
        token: CancellationToken,
        lives: Callable[[], bool],
    ) -> T:
        """Send a request and return its reply. Requests can be lost during discovery, so they are sent again, after an
        interval that doubles each time. drop: removes a pending request."""
        left = self._parameters["validation_timeout"]
        while True:
            future = send()
            try:
                return await outcome(self._node, future, token, min(timeout, left), what, lives)
            except ServiceUnavailableError:
                left -= timeout
                timeout *= 2.0
                if left <= 0.0 or not lives():
                    raise
            finally:
                drop(future)

    async def plan(
        self, request: MotionRequest, on_feedback: Callable[[PlanningFeedback], None], token: CancellationToken
    ) -> PlanMotion.Result:
        """Plan a motion; returns the result with plan and failure. on_feedback: called with the progress.

        Raises:
            ServiceUnavailableError: The planning node is not available, or rejected the goal.
            RobotCellError: Planning failed; the result is in `partial`.
        """
        ready = self._planner.server_is_ready

        def served() -> bool:
            return ready() and self._planning.begin()

        def lives() -> bool:
            return not self._planning.lost(ready())

        await available(self._node, served, token, self._parameters["server_timeout"], f"action {PLAN}")
        identity = UUID(uuid=list(os.urandom(16)))
        send = partial(
            self._planner.send_goal_async,
            PlanMotion.Goal(request=request),
            feedback_callback=lambda message: on_feedback(message.feedback.progress),
            goal_uuid=identity,
        )
        try:
            handle = await self._repeated(send, Future.cancel, GOAL_AGAIN, f"action {PLAN}", token, lives)
            if not handle.accepted:
                raise ServiceUnavailableError(f"action {PLAN} rejected the goal", subjects=(PLAN,))
            result = handle.get_result_async()
            found = await outcome(self._node, result, token, math.inf, f"action {PLAN}", lives)
        except RobotCellError:
            # Also a goal without a response.
            unknown = PlanMotion.Impl.SendGoalService.Response()
            ClientGoalHandle(self._planner, identity, unknown).cancel_goal_async()
            raise
        error = error_from_message(found.result.error)
        if error is None and found.status != GoalStatus.STATUS_SUCCEEDED:
            error = CancelledError("planning ended without a plan", stage="plan")
        if error is not None:
            error.partial = found.result
            raise error
        return found.result


def fresh_state(reference: StateRef, names: tuple[str, ...], measured: dict[str, Measurement]) -> StateRef:
    """Return the state for the validation: the requested one, with measured joints, and at least as new as those.

    names: the joints in the names of the cell, in the order of `measured`.
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
        state.configuration.joint_names = list(names)
        state.configuration.positions = [measurement.position for measurement in found]
    return state
