"""One computation for equal requests that are served at the same time.

A client sends a request again if it gets no reply in time, since it cannot know whether the request has arrived.
Otherwise, one that takes longer to serve would be computed once for each repetition, and delay those of others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rclpy.task import Future

from ...errors import NoCellError, RobotCellError, StaleStateError, TransformError
from ..conversions.basic import time_from_message
from .monitored_scene import MonitoredScene

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
Handler = Callable[[RequestT, ResponseT], Coroutine[Any, Any, None]]
WAITED_IN_VAIN = StaleStateError, NoCellError, TransformError  # errors at the end of a wait for the scene or for TF
STILL = 1e-3  # [rad or m] maximum motion of a joint between two requests about the same state


@dataclass(eq=False)
class _Served:
    """A request in progress. revision, joints: of the scene when it arrived; joints are None if they do not matter."""

    request: Any
    response: Any
    revision: int
    joints: Mapping[str, float] | None
    ended: Future[None] = field(default_factory=Future)
    error: RobotCellError | None = None
    is_complete: bool = False


class SharedAnswers:
    """Answers requests with the reply to an equal one that is being served, if the scene is still the same.

    The scene is the same if it has the same revision, and the joints stand where they stood. Joints do not matter if
    the request says how new they must be, or contains its own state: the first reply then is what was requested.

    Each request waits for the scene and for TF by its own timeout: the end of another one's wait is no answer to it.
    """

    def __init__(self, scene_monitor: MonitoredScene) -> None:
        self._scene_monitor = scene_monitor

    def shared(self, handler: Handler[RequestT, ResponseT]) -> Handler[RequestT, ResponseT]:
        """Return a handler that serves equal requests, with a `state`, by one call of a handler."""
        running: list[_Served] = []

        async def serve(request: RequestT, response: ResponseT) -> None:
            while first := next((served for served in running if self._answers(served, request)), None):
                await self._wait_for_scene(request)
                await first.ended
                if _is_answered(first, response):
                    return
            served = _Served(request, response, self._scene_monitor.revision, self._joints(request))
            running.append(served)
            try:
                await handler(request, response)
                served.is_complete = True
            except RobotCellError as error:
                served.error = error
                raise
            finally:
                running.remove(served)
                served.ended.set_result(None)

        return serve

    async def _wait_for_scene(self, request: Any) -> None:
        await self._scene_monitor.resolve(request.state)

    def _answers(self, served: _Served, request: Any) -> bool:
        """Return whether the reply to a request in progress is also that to another one."""
        if served.revision != self._scene_monitor.revision or served.request != request:
            return False
        present = self._joints(request)
        if served.joints is None or present is None:
            return served.joints is present
        before = served.joints
        return present.keys() == before.keys() and all(
            abs(value - before[name]) <= STILL for name, value in present.items()
        )

    def _joints(self, request: Any) -> Mapping[str, float] | None:
        """Return the measured joints; None if they do not matter."""
        state = request.state
        if state.own_state or time_from_message(state.min_joint_stamp) or not self._scene_monitor.revision:
            return None
        return self._scene_monitor.measured.values


def _is_answered(first: _Served, response: Any) -> bool:
    """Copy the reply to another request into a response. Returns False if it failed unexpectedly, or waited in vain.

    Raises:
        RobotCellError: The error of the other request; the response then has what was filled before it.
    """
    if isinstance(first.error, WAITED_IN_VAIN) or (first.error is None and not first.is_complete):
        return False
    for name in response.get_fields_and_field_types():
        setattr(response, name, getattr(first.response, name))
    if first.error is not None:
        raise first.error
    return True
