"""Topics of the scene node: each change directly after its reply, and views at a bounded rate and cost."""

from __future__ import annotations

import os
import time

from std_msgs.msg import Header, String
from visualization_msgs.msg import MarkerArray

from robot_cell_planner.msg import SceneSnapshot, SceneUpdate, StateSnapshot

from ...scene.history import SceneHistory
from ..common.monitored_scene import MonitoredScene
from ..common.node import LATCHED, CellNode, reliable
from ..common.rate_budget import RateBudget
from ..common.scene_monitor import MAX_UPDATES
from ..common.waiting import steady_timer
from ..conversions.basic import NANOSECONDS, configuration_to_message, time_to_message
from ..conversions.model_messages import CellWriter
from ..conversions.states import StateWriter
from .markers import SceneMarkers
from .tf_publisher import REST_PERIOD, FramesPublisher

REST_VIEW_PERIOD = 0.5  # [s] between views while no joint moves
VIEW_FRACTION = 0.1  # fraction of the node's time; in a large cell, views are delayed in favour of changes


class ScenePublisher:
    """Publishes the scene that a node owns; parameters tf_rate, view_rate and frame_prefix are the node's.

    number: Random number of the history of revisions, in messages.

    Late subscribers start from the last snapshot and the updates since; a scene monitor that detects a gap requests the
    full scene.
    """

    def __init__(self, node: CellNode, history: SceneHistory, view: MonitoredScene) -> None:
        self.number = int.from_bytes(os.urandom(8), "little")
        self._node = node
        self._history = history
        self._view = view
        self._cells = CellWriter()
        self._states = StateWriter()
        self._frames = FramesPublisher(node, node.parameters["frame_prefix"])
        self._markers = SceneMarkers(node.parameters["frame_prefix"])
        self._pending: list[SceneUpdate] = []
        self._snapshot_revision = 0
        self._snapshot_measured = 0  # joints
        self._scene_is_new = False
        self._joints_are_new = False
        self._tf_is_old = False
        self._views_published = 0.0  # steady clock [s]
        self._rate_budget = RateBudget(VIEW_FRACTION)
        self._snapshots = node.create_publisher(SceneSnapshot, "scene/snapshot", LATCHED)
        self._updates = node.create_publisher(SceneUpdate, "scene/updates", reliable(MAX_UPDATES, latched=True))
        self._state_snapshots = node.create_publisher(StateSnapshot, "scene/state", LATCHED)
        self._descriptions = node.create_publisher(String, "robot_description", LATCHED)
        self._semantics = node.create_publisher(String, "robot_description_semantic", LATCHED)
        self._marker_arrays = node.create_publisher(MarkerArray, "scene/markers", LATCHED)
        view.on_joints(self._on_joints)
        self._period = round(NANOSECONDS / node.parameters["tf_rate"])
        self._following = steady_timer(node, self._period / NANOSECONDS, self._follow_joints)
        steady_timer(node, 1.0 / node.parameters["view_rate"], self._follow_scene, may_be_early=True)

    def publish_update(self, update: SceneUpdate) -> None:
        """Publish a change after its reply has been sent."""
        self._pending.append(update)
        if len(self._pending) == 1:
            self._node.soon(self._publish_pending)
        self._scene_is_new = True

    def _publish_pending(self) -> None:
        # Taken at once: if one cannot be published, the next change schedules a call again.
        pending, self._pending = self._pending, []
        for update in pending:
            self._updates.publish(update)
            if update.models.robots:
                self._publish_descriptions()

    def publish_all(self) -> None:
        """Publish everything: after a new cell, or for subscribers that may have missed messages."""
        self._markers = SceneMarkers(self._node.parameters["frame_prefix"])
        self._scene_is_new = True
        self._publish_snapshot()
        self._publish_descriptions()
        self._publish_views()

    def snapshot(self) -> SceneSnapshot:
        """Return the complete cell and state."""
        cell = self._history.scene.cell
        return SceneSnapshot(
            header=Header(stamp=self._node.get_clock().now().to_msg()),
            history=self.number,
            cell_revision=self._history.cell_revision,
            cell_digest=cell.digest(),
            cell=self._cells.message(cell),
            state=self.state_snapshot(),
        )

    def state_snapshot(self) -> StateSnapshot:
        """Return the state with its revision, and the measured joints."""
        state, measured = self._history.scene.state, self._view.measured
        return StateSnapshot(
            revision=self._history.revision,
            digest=state.digest(),
            state=self._states.message(state),
            measured=configuration_to_message(measured.values),
            joint_stamp=time_to_message(measured.oldest()),
        )

    def _publish_snapshot(self) -> None:
        self._snapshot_revision = self._history.revision
        self._snapshot_measured = len(self._view.measured.values)
        self._snapshots.publish(self.snapshot())

    def _publish_descriptions(self) -> None:
        robots = list(self._history.scene.cell.robots.values())
        if len(robots) == 1:
            self._descriptions.publish(String(data=robots[0].sources.urdf))
            self._semantics.publish(String(data=robots[0].sources.srdf))

    def _on_joints(self, _: int) -> None:
        self._joints_are_new = self._tf_is_old = True

    def _follow_joints(self) -> None:
        """Publish /tf if it has changed; the only publisher of it, so that tf_rate is not exceeded. While no joint
        moves, joint states are read as often as /tf is published."""
        self._view.read_joints()
        if self._tf_is_old:
            self._publish_moving()
        period = max(self._period, REST_PERIOD) if self._frames.at_rest else self._period
        if self._following.timer_period_ns != period:
            self._following.timer_period_ns = period

    def _publish_moving(self) -> None:
        measured = self._view.last_measured
        stamp = measured.newest() or self._node.get_clock().now().nanoseconds
        state = measured.applied_to(self._history.scene.state)
        self._tf_is_old = not self._frames.publish_moving(self._history.scene, state, stamp)

    def _follow_scene(self) -> None:
        if self._views_are_due() and self._rate_budget.due:
            with self._rate_budget:
                self._publish_views()
        elif self._history.revision and not self._view.measured.newest():
            self._tf_is_old = True  # without measurements the joints of the state apply, also for late subscribers

    def _views_are_due(self) -> bool:
        """Return whether views have changed. While no joint moves, new measurements only change their time."""
        rested = time.monotonic() - self._views_published >= REST_VIEW_PERIOD
        return self._scene_is_new or (self._joints_are_new and (rested or not self._frames.at_rest))

    def _publish_views(self) -> None:
        """Publish views and snapshots."""
        self._views_published = time.monotonic()
        # Late subscribers must know which joints are measured, to wait for them.
        measures_more = len(self._view.measured.values) > self._snapshot_measured
        if measures_more or self._history.revision - self._snapshot_revision >= MAX_UPDATES // 2:
            self._publish_snapshot()
        if self._scene_is_new:
            scene = self._history.scene
            self._frames.publish_static(scene)
            markers = self._markers.changed(scene)
            if markers is not None:
                self._marker_arrays.publish(markers)
        self._scene_is_new = self._joints_are_new = False
        self._state_snapshots.publish(self.state_snapshot())
        self._tf_is_old = True
