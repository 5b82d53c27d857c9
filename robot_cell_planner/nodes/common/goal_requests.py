"""Goals that may be sent again with the same goal ID, since a request or its response can be lost."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from action_msgs.msg import GoalInfo
from rclpy.action.client import ActionClient, ClientGoalHandle
from rclpy.action.server import ActionServer, ServerGoalHandle
from rclpy.task import Future
from rclpy.type_support import check_for_type_support
from std_msgs.msg import Empty
from unique_identifier_msgs.msg import UUID

MAX_GOALS = 1000  # goals that are recognised when they are sent again


class RepeatableActionServer(ActionServer):  # type: ignore[type-arg]  # not generic in rclpy of Jazzy
    """Accepts every goal; one that is sent again with the same ID is executed once. The callback that executes goals is
    a coroutine function.

    rclpy rejects a repeated goal; a goal whose response could not be sent is neither executed nor removed; and goal IDs
    are formatted for debug messages, several times for each goal, whether these are logged or not. There is no public
    way to change that, so this class relies on private attributes of rclpy's ActionServer.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._begun: OrderedDict[bytes, bool] = OrderedDict()  # by goal ID: whether its execution has begun
        super().__init__(*arguments, handle_accepted_callback=self._begin, **keywords)

    def _begin(self, handle: ServerGoalHandle[Any, Any, Any]) -> None:
        self._begun[bytes(handle.goal_id.uuid)] = True
        handle.execute()

    async def _execute_goal_request(self, request_header_and_message: Any) -> None:
        header, request = request_header_and_message
        goal = bytes(request.goal_id.uuid)
        stamp = self._node.get_clock().now().to_msg()
        known = goal in self._begun
        if not known:
            with self._lock:
                handle = ServerGoalHandle(self, GoalInfo(goal_id=request.goal_id, stamp=stamp), request.goal)
            self._remember(goal, handle)
        response = self._action_type.Impl.SendGoalService.Response(accepted=True, stamp=stamp)
        try:
            with self._lock:
                self._handle.send_goal_response(header, response)
        except RuntimeError:  # an RCLError, which has no public name
            again = "repeated " if known else ""
            self._logger.warning(f"the response to a {again}goal request could not be sent")
            return
        kept = self._goal_handles.get(goal)
        if kept is not None and not self._begun[goal]:
            self._handle.publish_status()
            self._begin(kept)

    def _remember(self, goal: bytes, handle: ServerGoalHandle[Any, Any, Any]) -> None:
        """Keep a goal that is accepted, and the future of its result."""
        self._begun[goal] = False
        while len(self._begun) > MAX_GOALS:
            self._begun.popitem(last=False)
        self._goal_handles[goal], self._result_futures[goal] = handle, Future()
        self.add_future(self._result_futures[goal])

    async def _execute_goal(self, execute_callback: Any, goal_handle: ServerGoalHandle[Any, Any, Any]) -> None:
        """Execute a goal. The callback sets its final state, and raises nothing."""
        result = await execute_callback(goal_handle)
        response = self._action_type.Impl.GetResultService.Response(status=goal_handle.status, result=result)
        self._result_futures[bytes(goal_handle.goal_id.uuid)].set_result(response)


def unconverted(kind: Any) -> Any:
    """Return a type of which rclpy takes messages of a type without converting them to Python: it has the C functions
    of that type, and a conversion that reads nothing."""
    for used in (kind, Empty):
        check_for_type_support(used)
    functions = {name: getattr(type(kind), name) for name in ("_CREATE_ROS_MESSAGE", "_DESTROY_ROS_MESSAGE")}
    functions["_CONVERT_TO_PY"] = getattr(type(Empty), "_CONVERT_TO_PY")  # noqa: B009  (not declared)
    return type("UnconvertedType", (type,), functions)("Unconverted", (), {})


class RepeatableActionClient(ActionClient):  # type: ignore[type-arg]
    """Ignores further responses to a repeated goal, which rclpy reports, or takes for two goals with the same ID.

    rclpy has no public way to look up a goal by its request number, so this class reads private attributes of its
    ActionClient.
    """

    def __init__(self, *arguments: Any, follows_status: bool = True, **keywords: Any) -> None:
        """follows_status: keep the `status` of all goal handles up to date. Every change of a goal sends a message with
        all goals of the last ten seconds; without, they are not converted while no goal is followed (`status_of`)."""
        super().__init__(*arguments, **keywords)
        self._follows_all = follows_status
        self._followed: set[bytes] = set()  # goal IDs
        self._unread_type = unconverted(self._action_type.Impl.GoalStatusMessage)

    def status_of(self, handle: ClientGoalHandle[Any, Any, Any]) -> int:
        """Return the last known status of a goal, which is followed from the first call until `unfollow`."""
        self._followed.add(bytes(handle.goal_id.uuid))
        return int(handle.status)

    def unfollow(self, goal_id: UUID) -> None:
        """Stop following a goal."""
        self._followed.discard(bytes(goal_id.uuid))

    def take_data(self) -> Any:
        if self._is_status_ready and not self._follows_all and not self._followed:
            with self._lock:
                self._client_handle.take_status(self._unread_type)
            self._is_status_ready = False
            for goal in [goal for goal, handle in self._goal_handles.items() if handle() is None]:
                del self._goal_handles[goal]  # rclpy does so with a status message
        return super().take_data()

    async def execute(self, taken_data: Any) -> None:
        if "goal" in taken_data:
            identity = self._goal_sequence_number_to_goal_id.get(taken_data["goal"][0])
            if identity is None or bytes(identity.uuid) in self._goal_handles:
                del taken_data["goal"]
        await super().execute(taken_data)
