"""A copy of the scene in another node: always some whole revision of it, and never older than was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rclpy.task import Future
from sensor_msgs.msg import JointState

from robot_cell_planner.msg import ErrorReport, SceneSnapshot, SceneUpdate, StateRef, StateUsed
from robot_cell_planner.srv import GetCell

from ..cell.changes import Scene, SetJoints, apply_changes
from ..cell.difference import apply_difference
from ..cell.state import RobotCellState
from ..errors import InvalidRequestError, NoCellError, RobotCellError, StaleStateError, Value
from ..kinematics.transforms import world_pose
from .conversions.basic import (
    configuration_from_message,
    duration_from_message,
    time_from_message,
    time_to_message,
)
from .conversions.changes import changes_from_message, update_from_message
from .conversions.models import ModelReader
from .conversions.states import state_from_message
from .measured_joints import MeasuredJoints
from .node import LATCHED, CellNode, reliable, sensor
from .waiting import Deadline

UPDATES_KEPT = 1000
MOST_CHANGES = 10_000


@dataclass(frozen=True)
class ResolvedState:
    """The state that a request is answered for.

    revision: of the scene. joint_stamp: oldest stamp of the measured joints in it [ns], 0 without any.
    """

    scene: Scene
    revision: int
    joint_stamp: int

    @property
    def used(self) -> StateUsed:
        return StateUsed(
            revision=self.revision,
            joint_stamp=time_to_message(self.joint_stamp),
            state_digest=self.scene.state.digest(),
        )


class SceneReplica:
    """Follows the scene node's snapshot and updates, and the measured joints.

    A gap in the revisions, or an update that leads to another digest than the owner's, makes it ask for a snapshot;
    until that has come it stays at the last revision it is sure of.
    """

    def __init__(self, node: CellNode, models: ModelReader, default_timeout: float = 5.0) -> None:
        self._node = node
        self._models = models
        self._default_timeout = default_timeout
        self._scene: Scene | None = None
        self._measured: MeasuredJoints | None = None
        self._waiting: list[Future] = []
        self._fetching = False
        self._listeners: list[Callable[[], None]] = []
        self.revision = 0
        self.snapshot_stamp = 0
        node.create_subscription(SceneSnapshot, "scene/snapshot", self._on_snapshot, LATCHED)
        updates = reliable(UPDATES_KEPT, latched=True)
        node.create_subscription(SceneUpdate, "scene/updates", self._on_update, updates)
        node.create_subscription(JointState, "joint_states", self._on_joint_states, sensor(10))
        self._client = node.create_client(GetCell, "get_cell", callback_group=node.concurrent)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener()` whenever the scene has a new revision here."""
        self._listeners.append(listener)

    @property
    def scene(self) -> Scene:
        """The latest scene, without measured joints.

        Raises:
            NoCellError: none has come yet.
        """
        if self._scene is None:
            raise NoCellError("no cell has come from the scene node yet; is it running, in this namespace?")
        return self._scene

    @property
    def measured(self) -> MeasuredJoints:
        """What `joint_states` says.

        Raises:
            NoCellError: no cell has come yet.
        """
        self.scene  # noqa: B018 - raises where there is none
        assert self._measured is not None
        return self._measured

    def current_state(self) -> RobotCellState:
        """The latest state with measured joints in it."""
        return self.measured.applied_to(self.scene.state)

    def _take(self, scene: Scene, revision: int) -> None:
        if self._measured is None:
            self._measured = MeasuredJoints(scene.cell)
        elif self._scene is not None and self._scene.cell is not scene.cell:
            self._measured.set_cell(scene.cell)
        self._scene, self.revision = scene, revision
        for listener in self._listeners:
            listener()
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.set_result(None)

    def _on_snapshot(self, message: SceneSnapshot) -> None:
        revision, stamp = message.state.revision, time_from_message(message.stamp)
        if self._scene is not None and revision <= self.revision and stamp <= self.snapshot_stamp:
            return
        try:
            cell = self._models.cell(message.cell, "cell")
            state = state_from_message(message.state.state, "state")
            cell.check_state(state)
        except RobotCellError as error:
            self._node.get_logger().error(f"scene revision {revision} cannot be followed: {error}")
            return
        self.snapshot_stamp = stamp
        self._take(Scene(cell, state), revision)

    def _on_update(self, message: SceneUpdate) -> None:
        if self._scene is None or message.revision <= self.revision:
            return
        if message.previous_revision != self.revision:
            self._fetch(f"revision {self.revision} is followed by {message.revision}")
            return
        try:
            scene = apply_difference(self._scene, update_from_message(message, self._models))
        except RobotCellError as error:
            self._fetch(f"update {message.revision} cannot be applied: {error}")
            return
        self._take(scene, message.revision)

    def _fetch(self, reason: str) -> None:
        if self._fetching or not self._client.service_is_ready():
            return
        self._fetching = True
        self._node.get_logger().info(f"asking for the whole scene: {reason}")
        self._client.call_async(GetCell.Request()).add_done_callback(self._on_fetched)

    def _on_fetched(self, future: Future) -> None:
        self._fetching = False
        reply = future.result()
        if reply is not None and reply.error.code == ErrorReport.NONE:
            self._on_snapshot(reply.scene)

    def _on_joint_states(self, message: JointState) -> None:
        if self._measured is None:
            return
        stamp = time_from_message(message.header.stamp) or self._node.get_clock().now().nanoseconds
        if self._measured.update(message.name, message.position, stamp) and self._waiting:
            self._wake()

    async def wait_for(self, revision: int, joint_stamp: int, joints: tuple[str, ...], timeout: float) -> None:
        """Wait until the scene has at least a revision and the joints at least a stamp [ns]; 0 for no wait.

        Raises:
            StaleStateError: it took longer than `timeout` [s].
        """
        deadline = Deadline(self._node, timeout or self._default_timeout)
        try:
            while not self._is_new_enough(revision, joint_stamp, joints):
                if deadline.passed:
                    raise self._stale(revision, joint_stamp, joints, deadline.seconds)
                future: Future = Future()
                self._waiting.append(future)
                deadline.wakes(future)
                await future
        finally:
            deadline.end()

    def _followed(self, joints: tuple[str, ...]) -> tuple[str, ...]:
        return joints or tuple(self.scene.cell.variables)

    def _is_new_enough(self, revision: int, joint_stamp: int, joints: tuple[str, ...]) -> bool:
        if self._scene is None or self.revision < revision:
            return False
        return not joint_stamp or not self.measured.behind(self._followed(joints), joint_stamp)

    def _stale(self, revision: int, joint_stamp: int, joints: tuple[str, ...], waited: float) -> RobotCellError:
        if self._scene is None:
            return NoCellError(f"no cell came from the scene node within {waited:g} s; is it running?")
        if self.revision < revision:
            numbers = (Value("revision", self.revision, revision),)
            return StaleStateError(f"the scene is not that new after {waited:g} s", values=numbers)
        behind = self.measured.behind(self._followed(joints), joint_stamp)
        age = (joint_stamp - self.measured.oldest(behind)) * 1e-9
        numbers = (Value("behind by", age, unit="s"),)
        text = f"measured joints {', '.join(behind[:6])} are not that new after {waited:g} s"
        return StaleStateError(text, subjects=behind, values=numbers)

    async def resolve(self, reference: StateRef, field: str = "state") -> ResolvedState:
        """The state that a request means.

        Raises:
            StaleStateError, NoCellError: the scene did not get new enough in time.
            RobotCellError: its own state, configuration or changes are malformed or do not fit the cell.
        """
        stamp = 0 if reference.own_state else time_from_message(reference.min_joint_stamp)
        await self.wait_for(reference.min_revision, stamp, (), duration_from_message(reference.timeout))
        scene, joint_stamp, revision = self.scene, self.measured.oldest(), self.revision
        if len(reference.own_state) > 1:
            raise InvalidRequestError(f"{field}.own_state has {len(reference.own_state)} states, expected 0 or 1")
        if reference.own_state:
            state = state_from_message(reference.own_state[0], f"{field}.own_state")
            scene.cell.check_state(state)
            joint_stamp = 0
        else:
            state = self.measured.applied_to(scene.state)
        scene = Scene(scene.cell, state)
        changes = list(changes_from_message(reference.changes, self._models, f"{field}.changes", MOST_CHANGES))
        values = configuration_from_message(reference.configuration, f"{field}.configuration")
        if values:
            changes.insert(0, SetJoints(values))
        if changes:
            scene = apply_changes(scene, changes, world_pose)
        return ResolvedState(scene, revision, joint_stamp)
