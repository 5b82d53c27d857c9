"""Goals that may be sent again with the same goal ID, since a request or its response can be lost."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalInfo
from rclpy.action.client import ActionClient, ClientGoalHandle
from rclpy.action.server import ActionServer, ServerGoalHandle
from rclpy.exceptions import InvalidHandle
from rclpy.task import Future
from rclpy.type_support import check_for_type_support
from std_msgs.msg import Empty
from unique_identifier_msgs.msg import UUID

from ..conversions.filled_messages import filled
from .large_trajectories import in_memory, taken
from .service_quality import ACTIONS
from .timed_calls import TimedCall
from .unlocked_requests import RequestId, has_pointer, is_available, send_goal_response, take_goal_request
from .waiting import call_later

if TYPE_CHECKING:
    from .node import CellNode

# Time after which a goal whose response could not be sent ends without being executed [s]: clients send a goal again
# for half as long.
UNANSWERED = 60.0
# [s] after which the status of a goal in execution is published. Each message wakes all clients of the action: for a
# goal that ends sooner, the status at its end suffices.
STATUS_WITHIN = 0.02
MAX_FEEDBACK = 1000  # messages that are taken before a result: others may go on sending theirs
RECOGNISED = 60.0  # [s] for which a goal is recognised after its result has expired


class GoalHandle(ServerGoalHandle):  # type: ignore[type-arg]  # not generic in rclpy of Jazzy
    """Handle of a goal whose server publishes the change of its state."""

    def _update_state(self, event: Any) -> None:
        """Change the state of the goal, unless the handle was destroyed."""
        with self._lock:
            if self._goal_handle is None:
                return
            self._goal_handle.update_goal_state(event)
            ended = not self._goal_handle.is_active()
        self._action_server.note_change(ended)  # type: ignore[attr-defined]


class RepeatableActionServer(ActionServer):  # type: ignore[type-arg]  # not generic in rclpy of Jazzy
    """Accepts every goal; one that is sent again with the same ID is executed once. The callback that executes goals is
    a coroutine function.

    rclpy rejects a repeated goal, and a goal whose response could not be sent is neither executed nor removed. It
    also does more for each goal than is needed: it goes through the futures of all goals of the last ten seconds at
    every event, formats goal IDs for debug messages whether these are logged or not, executes a goal in the next pass
    of the executor, and publishes the status, with all these goals, when a goal is accepted and again when its
    execution begins. Here, the callback that executes a goal runs at once until it waits; the status is published once
    the goal has been executed for a while, and once after the result was sent. There is no public way to change that,
    so this class relies on private attributes of rclpy's ActionServer.
    """

    def __init__(
        self,
        node: CellNode,
        *arguments: Any,
        begins_early: bool = False,
        withdraw: Callable[[ServerGoalHandle[Any, Any, Any]], object] | None = None,
        **keywords: Any,
    ) -> None:
        """begins_early: execution begins before the response to the goal is sent. Not for goals that move a robot: one
        without a response is not executed.

        withdraw(handle): called UNANSWERED seconds after the response to a goal could not be sent, if the goal was not
        sent again; from then on, the callback that executes the goal must only set its final state. None: such a goal
        is kept.
        """
        self._cell_node = node
        self._begins_early = begins_early
        self._withdraw = withdraw
        self._begun: dict[bytes, bool] = {}  # by ID of a goal with a handle: whether its execution has begun
        self._past: OrderedDict[bytes, float] = OrderedDict()  # by ID of an expired goal: when to forget it [s]
        self._responses: dict[bytes, Any] = {}  # with results, by goal ID
        self._result_requests: dict[bytes, list[Any]] = {}  # headers, by goal ID, of pending ones
        self._status_due: TimedCall | None = None
        options = {**ACTIONS, **keywords}
        super().__init__(node, *arguments, handle_accepted_callback=self._begin, **options)
        self._request = self._action_type.Impl.SendGoalService.Request
        self._request_in_memory = in_memory(self._request)
        check_for_type_support(self._action_type.Impl.SendGoalService.Response)
        # Goals with trajectories are taken while other threads run.
        in_arrays = self._request_in_memory is not self._request
        self._takes_freely = in_arrays and is_available() and has_pointer(self._handle)

    def take_data(self) -> Any:
        """As rclpy's; long trajectories are not converted to message objects."""
        if not self._is_goal_request_ready:
            return super().take_data()
        with self._lock:
            header, message = self._take_goal_request()
        self._is_goal_request_ready = False
        found = super().take_data()
        return found if header is None else {"goal": (header, taken(self._request, message)), **found}

    def _take_goal_request(self) -> Any:
        """Return header and message of the next goal request, as rclpy's handle does; None for both without one."""
        if self._takes_freely:
            return take_goal_request(self._handle, self._request) or (None, None)
        return self._handle.take_goal_request(self._request_in_memory)

    def _send_goal_response(self, header: Any, response: Any) -> None:
        if isinstance(header, RequestId):
            send_goal_response(self._handle, header, response)
        else:
            self._handle.send_goal_response(header, response)

    def note_change(self, ended: bool) -> None:
        """Publish the state of a goal within STATUS_WITHIN; that of one that has ended after its result was sent."""
        if ended:
            self.notify_goal_done()
        elif self._status_due is None:
            self._status_due = call_later(self._cell_node, STATUS_WITHIN, self._publish_due_status)

    def _publish_due_status(self) -> None:
        with suppress(InvalidHandle):  # the server was destroyed meanwhile
            self._publish_status()

    def _publish_status(self) -> None:
        if self._status_due is not None:
            self._status_due.cancel()
            self._status_due = None
        with self._lock:
            self._handle.publish_status()

    def _begin(self, handle: ServerGoalHandle[Any, Any, Any]) -> None:
        self._begun[bytes(handle.goal_id.uuid)] = True
        handle.execute()

    def _begin_once(self, goal: bytes) -> None:
        """Begin the execution of a goal, unless it has begun."""
        handle = self._goal_handles.get(goal)
        if handle is not None and not self._begun[goal]:
            self._begin(handle)

    def notify_execute(self, goal_handle: ServerGoalHandle[Any, Any, Any], execute_callback: Any = None) -> None:
        """Execute a goal until its callback waits."""
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._execute_goal, execute_callback or self._execute_callback, goal_handle)()

    async def _execute_goal_request(self, request_header_and_message: Any) -> None:
        header, request = request_header_and_message
        goal = bytes(request.goal_id.uuid)
        stamp = self._node.get_clock().now().to_msg()
        known = goal in self._begun or goal in self._past
        if not known:
            with self._lock:
                handle = GoalHandle(self, GoalInfo(goal_id=request.goal_id, stamp=stamp), request.goal)
            self._remember(goal, handle)
        if self._begins_early:
            self._begin_once(goal)
        response = self._action_type.Impl.SendGoalService.Response(accepted=True, stamp=stamp)
        try:
            with self._lock:
                self._send_goal_response(header, response)
        except RuntimeError:  # an RCLError, which has no public name
            again = "repeated " if known else ""
            self._logger.warning(f"the response to a {again}goal request could not be sent")
            if self._withdraw is not None and not self._begun.get(goal, True):
                call_later(self._cell_node, UNANSWERED, lambda: self._end_unanswered(goal))
            return
        self._begin_once(goal)

    def _end_unanswered(self, goal: bytes) -> None:
        """End a goal that was not sent again; every message of states would contain it otherwise."""
        handle = self._goal_handles.get(goal)
        if handle is None or not handle.is_active or self._begun.get(goal, True) or self._withdraw is None:
            return
        self._withdraw(handle)
        self._begin(handle)

    def _remember(self, goal: bytes, handle: ServerGoalHandle[Any, Any, Any]) -> None:
        """Keep a goal that is accepted."""
        self._begun[goal] = False
        self._goal_handles[goal], self._result_requests[goal] = handle, []

    async def _execute_goal(self, execute_callback: Any, goal_handle: ServerGoalHandle[Any, Any, Any]) -> None:
        """Execute a goal, and answer the requests for its result. The callback sets its final state, and raises
        nothing."""
        result = await execute_callback(goal_handle)
        goal = bytes(goal_handle.goal_id.uuid)
        response = filled(self._action_type.Impl.GetResultService.Response, status=goal_handle.status, result=result)
        self._responses[goal] = response
        for header in self._result_requests.pop(goal, ()):
            self._send_response(header, response)
        self._publish_status()

    async def _execute_get_result_request(self, request_header_and_message: Any) -> None:
        header, request = request_header_and_message
        goal = bytes(request.goal_id.uuid)
        if goal in self._responses:
            self._send_response(header, self._responses[goal])
        elif goal in self._result_requests:
            self._result_requests[goal].append(header)
        else:
            await super()._execute_get_result_request(request_header_and_message)  # it is unknown, or has expired

    def _send_response(self, header: Any, response: Any) -> None:
        try:
            with self._lock:
                self._handle.send_result_response(header, response)
        except RuntimeError:  # an RCLError
            self._logger.warning("a result could not be sent (the client may have gone away)")

    async def _execute_expire_goals(self, expired_goals: Any) -> None:
        """Forget goals whose results have been kept for long enough, and later their IDs."""
        now = time.monotonic()
        for expired in expired_goals:
            goal = bytes(expired.goal_id.uuid)
            self._goal_handles.pop(goal).destroy()
            for kept in (self._begun, self._responses, self._result_requests):
                kept.pop(goal, None)
            self._past[goal] = now + RECOGNISED
        while self._past and next(iter(self._past.values())) <= now:
            self._past.popitem(last=False)


def unconverted(kind: Any) -> Any:
    """Return a type of which rclpy takes messages of a type without converting them to Python: it has the C functions
    of that type, and a conversion that reads nothing."""
    for used in (kind, Empty):
        check_for_type_support(used)
    functions = {name: getattr(type(kind), name) for name in ("_CREATE_ROS_MESSAGE", "_DESTROY_ROS_MESSAGE")}
    functions["_CONVERT_TO_PY"] = getattr(type(Empty), "_CONVERT_TO_PY")  # noqa: B009  (not declared)
    return type("UnconvertedType", (type,), functions)("Unconverted", (), {})


class RepeatableActionClient(ActionClient):  # type: ignore[type-arg]
    """Ignores further responses to a repeated goal, which rclpy reports, or takes for two goals with the same ID, and
    responses about goals that are not followed any more (`forget`).

    Goals and requests for results may be sent in any thread. rclpy 9 registers two futures for a goal, one after the
    other: a response that is taken between the two resolves only the first, and the first is kept for ever otherwise;
    all that are kept are gone through at every event.

    rclpy has no public way to look up a goal by its request number, so this class uses private attributes of its
    ActionClient.
    """

    def __init__(self, *arguments: Any, follows_status: bool = True, **keywords: Any) -> None:
        """follows_status: keep the `status` of all goal handles up to date. Every change of a goal sends a message with
        all goals of the last ten seconds; without, they are not converted while no goal is followed (`status_of`)."""
        super().__init__(*arguments, **{**ACTIONS, **keywords})
        self._follows_all = follows_status
        self._followed: set[bytes] = set()  # goal IDs
        self._cancellations: dict[bytes, Future[Any]] = {}  # by goal ID
        self._unread_status = unconverted(self._action_type.Impl.GoalStatusMessage)
        self._unread_feedback = unconverted(self._action_type.Impl.FeedbackMessage)
        self._sending = threading.Lock()  # held until a request and its future are registered
        self._lock = getattr(self, "_lock", None) or threading.Lock()  # rclpy of Jazzy has none

    def send_goal_async(
        self, goal: Any, feedback_callback: Callable[[Any], None] | None = None, goal_uuid: UUID | None = None
    ) -> Future[ClientGoalHandle[Any, Any, Any]]:
        """As rclpy's. The messages for `feedback_callback` are not converted if no goal has one."""
        if not isinstance(goal, self._action_type.Goal):
            raise TypeError(f"expected a goal of type {self._action_type.Goal}, not {type(goal)}")
        identity = UUID(uuid=list(os.urandom(16))) if goal_uuid is None else goal_uuid
        future: Future[ClientGoalHandle[Any, Any, Any]] = Future()
        if feedback_callback is not None:
            self._feedback_callbacks[bytes(identity.uuid)] = feedback_callback
        request = filled(self._action_type.Impl.SendGoalService.Request, goal_id=identity, goal=goal)
        with self._sending:
            number = self._client_handle.send_goal_request(request)
            self._pending_goal_requests[number] = future
            self._goal_sequence_number_to_goal_id[number] = identity
            future.add_done_callback(self._remove_pending_goal_request)
            self.add_future(future)
        return future

    def request_result(self, goal_id: UUID) -> Future[Any]:
        """Request the result of a goal, also of one without a response; returns the future of the response."""
        with self._sending:
            future: Future[Any] = self._handle_of(goal_id).get_result_async()
        return future

    def _handle_of(self, goal_id: UUID) -> ClientGoalHandle[Any, Any, Any]:
        return ClientGoalHandle(self, goal_id, self._action_type.Impl.SendGoalService.Response())

    def cancel(self, goal_id: UUID) -> Future[Any]:
        """Request the cancellation of a goal, also of one without a response; returns the future of the answer. That of
        an earlier request is cancelled."""
        with self._sending:
            future: Future[Any] = self._handle_of(goal_id).cancel_goal_async()
        before = self._cancellations.get(bytes(goal_id.uuid))
        self._cancellations[bytes(goal_id.uuid)] = future
        if before is not None:
            before.cancel()
        return future

    def forget(self, goal_id: UUID) -> None:
        """Remove the pending requests about a goal and its feedback callback. A server that has ended never answers
        them, and rclpy keeps them until it does."""
        self.unfollow(goal_id)
        cancellation = self._cancellations.pop(bytes(goal_id.uuid), None)
        if cancellation is not None:
            cancellation.cancel()
        for goals, pending in (
            (self._goal_sequence_number_to_goal_id, self._pending_goal_requests),
            (self._result_sequence_number_to_goal_id, self._pending_result_requests),
        ):
            for number in [number for number, goal in list(goals.items()) if goal == goal_id]:
                if number in pending:
                    pending[number].cancel()  # its callback removes it
        self._feedback_callbacks.pop(bytes(goal_id.uuid), None)

    def status_of(self, handle: ClientGoalHandle[Any, Any, Any]) -> int:
        """Return the last known status of a goal, which is followed from the first call until `unfollow`."""
        self._followed.add(bytes(handle.goal_id.uuid))
        return int(handle.status)

    def unfollow(self, goal_id: UUID) -> None:
        """Stop following a goal."""
        self._followed.discard(bytes(goal_id.uuid))

    def is_ready(self, wait_set: Any) -> bool:
        """Return whether there is something to execute. Status and feedback that nobody needs is dropped here."""
        if not super().is_ready(wait_set):
            return False
        if self._is_status_ready and not self._follows_all and not self._followed:
            with self._lock:
                self._client_handle.take_status(self._unread_status)
            self._is_status_ready = False
            for goal in [goal for goal, handle in self._goal_handles.items() if handle() is None]:
                del self._goal_handles[goal]  # rclpy does so with a status message
        if self._is_feedback_ready and not self._feedback_callbacks:
            with self._lock:
                self._client_handle.take_feedback(self._unread_feedback)
            self._is_feedback_ready = False
        responses = self._is_goal_response_ready, self._is_cancel_response_ready, self._is_result_response_ready
        return self._is_status_ready or self._is_feedback_ready or any(responses)

    async def execute(self, taken_data: Any) -> None:
        with self._sending:
            pass  # what was sent before is registered
        if "goal" in taken_data:
            identity = self._goal_sequence_number_to_goal_id.get(taken_data["goal"][0])
            if identity is None or bytes(identity.uuid) in self._goal_handles:
                del taken_data["goal"]
        for kind, pending in (("cancel", self._pending_cancel_requests), ("result", self._pending_result_requests)):
            if kind in taken_data and taken_data[kind][0] not in pending:
                del taken_data[kind]
        if "result" in taken_data and self._feedback_callbacks:
            for message in self._take_feedback(taken_data.pop("feedback", None)):
                await super().execute({"feedback": message})
        await super().execute(taken_data)

    def _take_feedback(self, first: Any) -> list[Any]:
        """Return a message of feedback, if any, and those that wait after it: they were sent before a result, which
        ends the goal, and rclpy takes one at a time."""
        messages = [] if first is None else [first]
        for _ in range(MAX_FEEDBACK):
            with self._lock:
                message = self._client_handle.take_feedback(self._action_type.Impl.FeedbackMessage)
            if message is None:
                break
            messages.append(message)
        return messages
