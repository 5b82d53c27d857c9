"""Whether the scene node is still loading its cell."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.client import Client
from rclpy.task import Future

from robot_cell_planner.msg import ErrorReport
from robot_cell_planner.srv import GetCell

ASKED_AGAIN = 5.0  # [s] without a reply, which can be lost while nodes discover each other
LOADING = "scene_node is loading its cell"


class CellRequest:
    """A request of the scene node for its cell, of which at most the latest is pending.

    Args:
        client: Of scene/get_cell.
        on_reply: Called with the reply to the latest request.
    """

    def __init__(
        self, client: Client[GetCell.Request, GetCell.Response], on_reply: Callable[[Future[GetCell.Response]], None]
    ) -> None:
        self._client = client
        self._on_reply = on_reply
        self._request: Future[GetCell.Response] | None = None

    @property
    def is_pending(self) -> bool:
        return self._request is not None

    def send(self) -> None:
        """Send a request, in place of one without a reply."""
        self.forget()
        self._request = self._client.call_async(GetCell.Request())
        self._request.add_done_callback(self._take)

    def forget(self) -> None:
        """Do not wait for a reply any longer."""
        if self._request is not None:
            self._client.remove_pending_request(self._request)
            self._request = None

    def _take(self, future: Future[GetCell.Response]) -> None:
        if future is self._request:
            self._request = None
            self._on_reply(future)


class SceneStart:
    """Requests the cell of the scene node until it replies: its services exist before it has loaded the cell, and it
    replies afterwards.

    Args:
        client: Of scene/get_cell.
        on_reply: Called with the reply that has a cell.
    """

    def __init__(
        self, client: Client[GetCell.Request, GetCell.Response], on_reply: Callable[[Future[GetCell.Response]], None]
    ) -> None:
        self._client = client
        self._on_reply = on_reply
        self._request = CellRequest(client, self._take)
        self._requested_at = 0.0
        self._replied = False

    def is_loading(self) -> bool:
        """Return whether the scene node runs, and has not replied yet."""
        if not self._client.service_is_ready():
            self._request.forget()
            self._replied = False
            return False
        if self._replied:
            return False
        if not self._request.is_pending or time.monotonic() - self._requested_at > ASKED_AGAIN:
            self._requested_at = time.monotonic()
            self._request.send()
        return True

    def _take(self, future: Future[GetCell.Response]) -> None:
        reply = future.result()
        if reply is None:
            return
        self._replied = True
        if reply.error.code == ErrorReport.NONE:
            self._on_reply(future)
