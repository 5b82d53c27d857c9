"""The scene as known to a node: a complete revision with measured joints, and waits for newer ones."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from builtin_interfaces.msg import Time

from robot_cell_planner.msg import SceneChange, StateRef, StateUsed

from ...errors import InvalidRequestError, NoCellError, RobotCellError, StaleStateError, TransformError, Value
from ...kinematics.transforms import world_pose
from ...model.cell import RobotCell
from ...model.pose import Pose
from ...model.state import RobotCellState
from ...scene.changes import Change, apply_changes_in_steps
from ...scene.scene import Scene
from ...scene.state_changes import SetJoints
from ...system.steps import returned
from ..conversions.basic import (
    check_count,
    configuration_from_message,
    time_from_message,
    time_to_message,
    timeout_from_message,
)
from ..conversions.changes import changes_from_message_in_steps
from ..conversions.frame_references import FrameReference, frames_added, references_of_changes
from ..conversions.models import ModelReader, reads_files
from ..conversions.states import state_from_message
from .cancellation import CancellationToken
from .diagnostics import OVERSIZED, REVISION
from .external_frames import ExternalFrames
from .joint_state_monitor import JointStateMonitor
from .node import CellNode
from .robot_topics import JointMessages
from .threads import in_thread
from .waiting import Deadline, Slices, Waiters, delay, steady_timer

MAX_CHANGES = 10_000
JOINT_STATES_DEPTH = 200  # of all publishers together, between two reads
JOINTS_RATE = 5.0  # [Hz], besides the reads for requests
JOINT_STATES = "joint_states"
FIRST_JOINTS_PERIOD = 0.02  # [s] between checks of requests that wait for the first joint states
PUBLISHERS_FOUND = 1.0  # [s] after the first scene, in which DDS discovers publishers of joint_states
WAITING_PERIOD = 0.004  # [s]
REPORT_PERIOD = 10.0  # [s] between warnings of joint values that are skipped
LOADING_PERIOD = 1.0  # [s] between checks whether the scene node is still loading its cell
MAX_LOADING = 600.0  # [s] that requests wait for that
OnWait = Callable[[str], None]  # called with the reason of a wait


@dataclass(frozen=True)
class ResolvedState:
    """The state that a request refers to.

    revision: of the scene. joint_stamp: oldest stamp of the measured joints in the state [ns], 0 without any.
    """

    scene: Scene
    revision: int
    joint_stamp: int

    @property
    def used(self) -> StateUsed:
        """Return the message for the reply."""
        return StateUsed(
            revision=self.revision,
            joint_stamp=time_to_message(self.joint_stamp),
            cell_digest=self.scene.cell.digest(),
            state_digest=self.scene.state.digest(),
        )


class MonitoredScene:
    """The latest scene with its revision, and the measured joints. `take` sets a new revision.

    frames: further frames that requests may use besides the cell's.

    Messages of `joint_states` do not wake the node: they are read on demand and at joints_rate [Hz], more often while a
    request waits for newer ones. joints_rate: 0 if the owner calls `read_joints` regularly.
    """

    def __init__(
        self,
        node: CellNode,
        models: ModelReader,
        default_timeout: float = 5.0,
        joints_rate: float = JOINTS_RATE,
        frames: ExternalFrames | None = None,
    ) -> None:
        self._node = node
        self._models = models
        self._default_timeout = default_timeout
        self._frames = frames
        self._scene: Scene | None = None
        self._measured: JointStateMonitor | None = None
        self._heard_since = math.inf  # time of the first scene [s]
        self._followed_by_scene: frozenset[str] = frozenset()  # joints measured by the scene node
        self._waiting = Waiters()
        self._scene_listeners: list[Callable[[], None]] = []
        self._joint_listeners: list[Callable[[int], None]] = []
        self.revision = 0
        self._reading = False
        self._joint_states = JointMessages(node, JOINT_STATES, JOINT_STATES_DEPTH)
        if joints_rate:
            steady_timer(node, 1.0 / joints_rate, self.read_joints, may_be_early=True)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener()` for each new revision."""
        self._scene_listeners.append(listener)

    def on_joints(self, listener: Callable[[int], None]) -> None:
        """Call `listener(stamp)` after newer joint states were read; stamp of the last one that was read [ns]."""
        self._joint_listeners.append(listener)

    @property
    def scene(self) -> Scene:
        """Return the latest scene, without measured joints.

        Raises:
            NoCellError: No cell was received yet.
        """
        if self._scene is None:
            raise NoCellError("no cell received yet: is scene_node running in this namespace, with a cell?")
        return self._scene

    @property
    def measured(self) -> JointStateMonitor:
        """Return the measured joints after reading `joint_states`.

        Raises:
            NoCellError: No cell was received yet.
        """
        self.read_joints()
        return self.last_measured

    @property
    def last_measured(self) -> JointStateMonitor:
        """As `measured`, of the messages that were read already."""
        if self._measured is None:
            raise NoCellError("no cell received yet: is scene_node running in this namespace, with a cell?")
        return self._measured

    @property
    def diagnostics(self) -> dict[str, object]:
        """Return values for diagnostics."""
        skipped = 0 if self._measured is None else self._measured.skipped
        refused = self._joint_states.refused
        return {REVISION: self.revision, "joint values skipped": skipped, OVERSIZED: refused}

    def current_state(self) -> RobotCellState:
        """Return the latest state with measured joints."""
        return self.measured.applied_to(self.scene.state)

    def take(self, scene: Scene, revision: int) -> None:
        """Set a new revision."""
        if self._measured is None:
            self._measured = JointStateMonitor(scene.cell)
            self._heard_since = time.monotonic()
        elif self._scene is None or self._scene.cell is not scene.cell:
            self._measured.set_cell(scene.cell)
        self._scene, self.revision = scene, revision
        for listener in self._scene_listeners:
            listener()
        self._waiting.wake()

    def read_joints(self) -> None:
        """Read the messages of `joint_states` since the last call."""
        if self._reading:
            return  # called by a listener during a read
        self._reading = True
        try:
            self._read_joints()
        finally:
            self._reading = False

    def _read_joints(self) -> None:
        last = 0
        for received in self._joint_states.take_latest():
            stamp = received.stamp or self._node.get_clock().now().nanoseconds
            if self._measured is not None and self._measured.update(received.names, received.positions, stamp):
                last = stamp
        if self._measured is not None and (problem := self._measured.take_problem()):
            text = f"joint_states: {problem}; {self._measured.skipped} values skipped so far"
            self._node.get_logger().warning(text, throttle_duration_sec=REPORT_PERIOD)
        if not last:
            return
        for listener in self._joint_listeners:
            listener(last)
        self._waiting.wake()

    def waits_for(self) -> str:
        """Return what the first scene has to be waited for; "" for nothing."""
        return ""

    async def wait_for(
        self,
        revision: int,
        joint_stamp: int,
        joints: tuple[str, ...],
        timeout: float,
        on_wait: OnWait = lambda reason: None,
    ) -> None:
        """Wait until the scene has reached a revision and the joints a stamp [ns]; 0 for no wait.

        joints: empty for all joints of the robots. timeout [s]: 0 for the default, or longer while the scene node loads
        its cell; on_wait is then called with the reason, once per second.

        Raises:
            StaleStateError, NoCellError: The timeout expired.
        """
        loaded_by = -math.inf if timeout else time.monotonic() + MAX_LOADING
        while not self._is_new_enough(revision, joint_stamp, joints):
            await self._wait_while_loading(loaded_by, on_wait)
            try:
                await self._wait_until_new(revision, joint_stamp, joints, timeout or self._default_timeout)
            except NoCellError:
                # The scene node was discovered meanwhile, and is loading its cell.
                if time.monotonic() >= loaded_by or not self.waits_for():
                    raise

    async def _wait_until_new(self, revision: int, joint_stamp: int, joints: tuple[str, ...], timeout: float) -> None:
        """As `wait_for`, with a timeout [s]."""
        deadline = Deadline(self._node, timeout)
        poll_timer = steady_timer(self._node, WAITING_PERIOD, self.read_joints) if joint_stamp else None
        try:
            while not self._is_new_enough(revision, joint_stamp, joints):
                if deadline.passed:
                    raise self._stale(revision, joint_stamp, joints, timeout)
                await self._waiting.wait(deadline)
        finally:
            deadline.end()
            if poll_timer is not None:
                self._node.destroy_timer(poll_timer)

    async def _wait_while_loading(self, until: float, on_wait: OnWait) -> None:
        """Wait while the scene node is loading its cell, or sends it to a monitor that was just created; the latter is
        too short to be logged. until: time on the monotonic clock [s]."""
        logged_from = time.monotonic() + LOADING_PERIOD
        while time.monotonic() < until and (reason := self.waits_for()):
            if time.monotonic() >= logged_from:
                text = f"requests wait: {reason}"
                self._node.get_logger().info(text, throttle_duration_sec=REPORT_PERIOD)
            on_wait(reason)
            deadline = Deadline(self._node, LOADING_PERIOD)
            try:
                await self._waiting.wait(deadline)
            finally:
                deadline.end()

    async def _wait_for_joints(self, given: Container[str], timeout: float) -> None:
        """Wait for the first measurement of the robots' joints if there is a publisher, since a node that has just
        started has none yet. given: joints that need not be measured.

        Raises:
            StaleStateError: The timeout expired.
        """
        timeout = timeout or self._default_timeout
        until = time.monotonic() + timeout
        while not self._knows_joints(given):
            if time.monotonic() >= until:
                raise self._unmeasured(given, timeout)
            await delay(self._node, FIRST_JOINTS_PERIOD)

    def _knows_joints(self, given: Container[str]) -> bool:
        """Return whether joints were measured, are given, or have no publisher."""
        needed, measured = self._needed(given), self.measured.values
        followed = needed & self._followed_by_scene
        if followed or not needed:
            return followed <= measured.keys()
        if needed & measured.keys():
            return True
        heard_for = time.monotonic() - self._heard_since
        return heard_for >= PUBLISHERS_FOUND and not self._joint_states.publishers()

    def _needed(self, given: Container[str]) -> set[str]:
        """Return the joints of the robots that are not given."""
        return {name for name in self.scene.cell.variables if name not in given}

    def _unmeasured(self, given: Container[str], timeout: float) -> StaleStateError:
        """Return the error for joints that were not measured within a timeout [s]."""
        needed = self._needed(given)
        return self.measured.unmeasured(needed, needed & self._followed_by_scene, timeout)

    def _followed(self, joints: tuple[str, ...]) -> tuple[str, ...]:
        return joints or tuple(self.scene.cell.variables)

    def _is_new_enough(self, revision: int, joint_stamp: int, joints: tuple[str, ...]) -> bool:
        if self._scene is None or self.revision < revision:
            return False
        return not joint_stamp or not self.measured.behind(self._followed(joints), joint_stamp)

    def _stale(self, revision: int, joint_stamp: int, joints: tuple[str, ...], waited: float) -> RobotCellError:
        if self._scene is None:
            why = self.waits_for() or "is scene_node running in this namespace, with a cell?"
            return NoCellError(f"no cell received within {waited:g} s: {why}")
        if self.revision < revision:
            numbers = (Value("revision", self.revision, revision),)
            text = f"the scene did not reach revision {revision} within {waited:g} s (it is at {self.revision})"
            return StaleStateError(text, values=numbers)
        return self.measured.stale(self._followed(joints), joint_stamp, waited)

    async def resolve(
        self, reference: StateRef, field: str = "state", on_wait: OnWait = lambda reason: None
    ) -> ResolvedState:
        """Return the state that a request refers to. on_wait: see `wait_for`.

        Raises:
            StaleStateError, NoCellError: The scene did not reach the requested revision or stamp in time, or no joint
                was measured although they have a publisher.
            RobotCellError: The given state, configuration or changes are malformed or do not fit the cell.
        """
        stamp = 0 if reference.own_state else time_from_message(reference.min_joint_stamp)
        timeout = timeout_from_message(reference.timeout, f"{field}.timeout")
        values = configuration_from_message(reference.configuration, f"{field}.configuration")
        await self.wait_for(reference.min_revision, stamp, (), timeout, on_wait)
        if not reference.own_state and not stamp:
            await self._wait_for_joints(values, timeout)
        tried = await self.changes(reference.changes, f"{field}.changes", MAX_CHANGES, self.scene.cell)
        scene, joint_stamp, revision = self.scene, self.measured.oldest(), self.revision
        if len(reference.own_state) > 1:
            raise InvalidRequestError(f"{field}.own_state has {len(reference.own_state)} states, expected 0 or 1")
        if reference.own_state:
            state = state_from_message(reference.own_state[0], f"{field}.own_state")
            scene.cell.check_state(state)
            joint_stamp = 0
        else:
            state = self.measured.applied_to(scene.state)
        changes: list[Change] = [SetJoints(values), *tried] if values else tried
        scene = Scene(scene.cell, state)
        if changes:
            scene = await Slices(self._node).returned(apply_changes_in_steps(scene, changes, world_pose))
        return ResolvedState(scene, revision, joint_stamp)

    async def changes(self, messages: Sequence[SceneChange], field: str, limit: int, cell: RobotCell) -> list[Change]:
        """Return the scene changes of messages.

        Raises:
            RobotCellError: One is malformed, there are more than `limit`, or TF does not contain a frame.
        """
        check_count(len(messages), limit, field, "changes")
        changes = await self._converted(messages, field)
        if await self.rewrite(references_of_changes(messages, field), cell, frames_added(changes)):
            changes = await self._converted(messages, field)  # files are cached
        return list(changes)

    async def _converted(self, messages: Sequence[SceneChange], field: str) -> tuple[Change, ...]:
        """Return the changes of messages; other events are handled meanwhile."""
        steps = changes_from_message_in_steps(messages, self._models, field)
        if any(reads_files(message.models) for message in messages):
            return await in_thread(self._node, "models", partial(returned, steps))
        return await Slices(self._node).returned(steps)

    async def rewrite(
        self,
        references: Iterable[FrameReference],
        cell: RobotCell,
        added: Collection[str] = (),
        token: CancellationToken | None = None,
    ) -> bool:
        """As `ExternalFrames.rewrite`; does nothing without external frames."""
        return self._frames is not None and await self._frames.rewrite(references, cell, added, token)

    async def poses_in_tf(self, frames: Mapping[str, str], stamp: Time, cell: RobotCell) -> dict[str, Pose]:
        """Return world_T_frame for those frames of a request that a cell does not have, by field.

        frames: Frame that each field of the request names. stamp: Time of the lookup in TF, 0 for the latest.

        Raises:
            TransformError: TF does not have a frame, not at its stamp, or not connected to the world; names the field.
        """
        found: dict[str, Pose] = {}
        nanoseconds = time_from_message(stamp)
        await self.rewrite(
            (
                FrameReference(field, frame, nanoseconds, partial(found.__setitem__, field))
                for field, frame in frames.items()
            ),
            cell,
        )
        return found

    async def rewrite_each(
        self, references: Iterable[FrameReference], cell: RobotCell
    ) -> dict[int, TransformError | None]:
        """As `ExternalFrames.rewrite_each`; empty without external frames."""
        return {} if self._frames is None else await self._frames.rewrite_each(references, cell)
