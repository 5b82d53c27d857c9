"""A copy of the scene in nodes other than the scene node."""

from __future__ import annotations

from collections import deque

from rclpy.task import Future
from rclpy.timer import Timer

from robot_cell_planner.msg import ErrorReport, SceneSnapshot, SceneUpdate
from robot_cell_planner.srv import GetCell

from ...errors import RobotCellError
from ...scene.diff import apply_difference
from ...scene.scene import Scene
from ..conversions.changes import update_from_message
from ..conversions.models import ModelReader
from ..conversions.states import state_from_message
from .external_frames import ExternalFrames
from .monitored_scene import JOINTS_RATE, MonitoredScene
from .node import LATCHED, CellNode, reliable
from .scene_start import ASKED_AGAIN, LOADING, CellRequest, SceneStart
from .waiting import steady_timer

MAX_HISTORIES = 100  # ended ones that are remembered
MAX_UPDATES = 1000  # kept for late subscribers; the scene node sends a full snapshot at least every half as many


class SceneMonitor(MonitoredScene):
    """Applies the scene node's snapshots and updates.

    The full scene is requested after a gap in the revisions, or an update that cannot be applied; the last valid
    revision is used until it is received. A scene node that is started again begins another history of revisions, which
    can be lower; the full scene is also requested if a message of an earlier history arrives afterwards.
    """

    def __init__(
        self,
        node: CellNode,
        models: ModelReader,
        default_timeout: float = 5.0,
        joints_rate: float = JOINTS_RATE,
        frames: ExternalFrames | None = None,
    ) -> None:
        super().__init__(node, models, default_timeout, joints_rate, frames)
        self._trusted_models = models.trusted()
        self._history = 0  # number of the one that the scene belongs to
        self._ended: deque[int] = deque(maxlen=MAX_HISTORIES)
        self._early: deque[SceneUpdate] = deque(maxlen=MAX_UPDATES)
        node.create_subscription(SceneSnapshot, "scene/snapshot", self._on_snapshot, LATCHED)
        node.create_subscription(SceneUpdate, "scene/updates", self._on_update, reliable(MAX_UPDATES, latched=True))
        self._client = node.service_client(GetCell, "scene/get_cell")
        self._start = SceneStart(self._client, self._on_fetched)
        self._request = CellRequest(self._client, self._on_fetched)
        self._repetition: Timer | None = None

    def waits_for(self) -> str:
        """Return what the first scene has to be waited for, "" if it was received or nothing announces it."""
        return LOADING if self._scene is None and self._start.is_loading() else ""

    @property
    def has_node(self) -> bool:
        """Whether DDS lists a scene node. It lists a killed one for some seconds: see `ServerMonitor`."""
        return self._client.service_is_ready()

    def _on_snapshot(self, message: SceneSnapshot) -> None:
        if message.history in self._ended:
            self._fetch(f"revision {message.state.revision} belongs to an earlier history")
        else:
            self._take_snapshot(message)

    def _take_snapshot(self, message: SceneSnapshot) -> None:
        revision = message.state.revision
        self._followed_by_scene = frozenset(message.state.measured.joint_names)
        if self._has(message):
            self._begin_history(message.history)
            return
        if self._scene is not None and revision <= self.revision and message.history == self._history:
            return
        try:
            cell = self._trusted_models.cell(message.cell, "cell")
            state = state_from_message(message.state.state, "state")
            cell.check_state(state)
        except RobotCellError as error:
            self._node.get_logger().error(f"revision {revision} of the scene cannot be applied: {error}")
            return
        self._begin_history(message.history)
        self.take(Scene(cell, state), revision)
        early, self._early = list(self._early), deque(maxlen=MAX_UPDATES)
        for update in early:
            self._on_update(update)

    def _begin_history(self, number: int) -> None:
        if number == self._history:
            return
        if self._scene is not None:
            self._ended.append(self._history)
        if number in self._ended:
            self._ended.remove(number)
        self._history = number

    def _has(self, message: SceneSnapshot) -> bool:
        """Return whether a snapshot differs from the scene only in its list of measured joints."""
        if self._scene is None or self.revision != message.state.revision:
            return False
        digests = self._scene.cell.digest(), self._scene.state.digest()
        return digests == (message.cell_digest, message.state.digest)

    def _on_update(self, message: SceneUpdate) -> None:
        if self._scene is None:
            self._early.append(message)
            return
        if message.history != self._history:
            self._fetch(f"revision {message.revision} belongs to another history")
            return
        if message.revision <= self.revision:
            return
        if message.previous_revision != self.revision:
            self._fetch(f"revision {self.revision} is followed by {message.revision}")
            return
        try:
            scene = apply_difference(self._scene, update_from_message(message, self._trusted_models))
            if scene.state.digest() != message.digest:
                raise RobotCellError("the digest of the state differs from the scene node's", stage="scene monitor")
        except RobotCellError as error:
            self._fetch(f"update {message.revision} cannot be applied: {error}")
            return
        self.take(scene, message.revision)

    def _fetch(self, reason: str) -> None:
        """Request the full scene, and again until there is a reply: replies can be lost, and the service can be
        discovered later than the topics."""
        if self._repetition is not None:
            return
        self._node.get_logger().info(f"requesting the full scene: {reason}")
        self._repetition = steady_timer(self._node, ASKED_AGAIN, self._send_request)
        self._send_request()

    def _send_request(self) -> None:
        if self._client.service_is_ready():
            self._request.send()
        else:
            self._request.forget()

    def _end_repetition(self) -> None:
        if self._repetition is not None:
            self._node.destroy_timer(self._repetition)
            self._repetition = None

    def _on_fetched(self, future: Future[GetCell.Response]) -> None:
        self._end_repetition()
        reply = future.result()
        if reply is not None and reply.error.code == ErrorReport.NONE:
            self._take_snapshot(reply.scene)
