"""The scene as the adapter's requests refer to it: never older than what its clients have changed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes, PlanningScene, RobotState
from rclpy.task import Future

from robot_cell_planner.msg import SceneChange, StateRef
from robot_cell_planner.srv import ApplyChanges

from ...errors import RevisionConflictError
from ...scene.scene import Scene
from ..common.monitored_scene import ResolvedState
from ..common.node import CellNode
from ..common.remote_calls import RemoteService
from ..common.scene_monitor import SceneMonitor
from ..conversions.basic import configuration_to_message
from .error_codes import refused_as
from .motion_requests import Start
from .robot_states import at_present_turns, given_values
from .scene_updates import start_changes

APPLY = "scene/apply_changes"
MAX_ATTEMPTS = 20  # to apply a change that was computed for a revision that is not the latest any more
Changes = Callable[[Scene], Sequence[SceneChange]]


class SceneAccess:
    """Reads the scene and changes it.

    Changes are applied one after the other, in the order in which they were received, each as one revision of the
    scene. A request that is received after a change refers to the scene with it.
    """

    def __init__(self, node: CellNode, monitor: SceneMonitor) -> None:
        self._monitor = monitor
        self._apply = RemoteService(node, ApplyChanges, APPLY)
        self._last: Future[None] | None = None  # resolved when the latest change has been applied
        self._revision = 0  # after the latest change
        self.pending = 0  # changes that have not been applied yet

    @property
    def measured(self) -> set[str]:
        """Return the joints that a publisher measures."""
        return set(self._monitor.measured.values)

    def change(self, changes: Changes) -> Coroutine[Any, Any, int]:
        """Apply changes all or none, computed by a function of the scene; return the revision. The place among other
        changes is that of the call, not that of the wait.

        Raises:
            RobotCellError: They cannot be computed or applied; nothing was changed.
        """
        done: Future[None] = Future()
        before, self._last = self._last, done
        self.pending += 1
        return self._change_after(before, changes, done)

    async def _change_after(self, before: Future[None] | None, changes: Changes, done: Future[None]) -> int:
        try:
            if before is not None:
                await before
            self._revision = await self._applied(changes)
            return self._revision
        finally:
            self.pending -= 1
            done.set_result(None)

    async def _applied(self, changes: Changes) -> int:
        for attempt in range(MAX_ATTEMPTS):
            state = await self._resolved()
            messages = list(changes(state.scene))
            if not messages:
                return state.revision
            request = ApplyChanges.Request(changes=messages, expected_revision=state.revision)
            try:
                return int((await self._apply(request)).revision)
            except RevisionConflictError as error:
                if attempt + 1 == MAX_ATTEMPTS:
                    raise
                self._revision = max(self._revision, int(error.partial.revision))
        raise AssertionError

    async def _resolved(self) -> ResolvedState:
        return await self._monitor.resolve(StateRef(min_revision=self._revision))

    async def current(self) -> ResolvedState:
        """Return the scene with measured joints, after all changes received so far."""
        if self._last is not None:
            await self._last
        return await self._resolved()

    async def start(self, message: RobotState, difference: PlanningScene | None = None) -> Start:
        """Return the state that a request starts from: the current one, with the joint values and attached objects of
        a message. difference: a change of the scene for this request only.

        Raises:
            RefusedError: The message is malformed, or does not fit the cell.
        """
        present = await self.current()
        values = at_present_turns(present.scene, given_values(present.scene.cell, message, "start_state"))
        reference = StateRef(min_revision=present.revision, configuration=configuration_to_message(values))
        reference.changes += start_changes(present.scene, message, difference)
        if not values and not reference.changes:
            return Start(present.scene, reference)
        with refused_as(MoveItErrorCodes.INVALID_ROBOT_STATE):
            return Start((await self._monitor.resolve(reference)).scene, reference)
