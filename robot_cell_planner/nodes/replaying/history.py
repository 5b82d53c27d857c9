"""The states of a recorded scene: what a request referred to when it was answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from sensor_msgs.msg import JointState

from robot_cell_planner.msg import SceneSnapshot, SceneUpdate, StateRef, StateUsed

from ...errors import FileError, RobotCellError
from ...kinematics.transforms import world_pose
from ...model.state import RobotCellState
from ...scene.changes import Change, apply_changes
from ...scene.diff import apply_difference
from ...scene.scene import Scene
from ...scene.state_changes import SetJoints
from ..common.joint_state_monitor import JointStateMonitor
from ..common.monitored_scene import MAX_CHANGES
from ..common.robot_topics import name_inside
from ..conversions.basic import configuration_from_message, time_from_message
from ..conversions.changes import changes_from_message, update_from_message
from ..conversions.models import ModelReader
from ..conversions.states import state_from_message
from .measured_changes import with_recorded_result
from .measured_history import MeasuredHistory

STAGE = "replay"
MAX_REVISIONS = 20_000  # that are kept
MAX_UPDATES = 1_000  # that are kept until the revision before them is known
MAX_EARLY = 50_000  # latest joint states that are kept until there is a scene
MAX_JOINT_STATES = 500_000  # latest ones that are kept: 500 s of four robots at 250 Hz
MAX_TRIES = 2_000  # joint states that are compared with a digest


class SceneHistory:
    """Scenes by revision, and joint states, in the order in which they were recorded."""

    def __init__(self, models: ModelReader) -> None:
        self._models = models
        self._trusted = models.trusted()
        self._scenes: dict[int, Scene] = {}
        self._updates: dict[int, SceneUpdate] = {}  # by the revision before
        self._joints: JointStateMonitor | None = None
        self._early: deque[tuple[JointState, str]] = deque(maxlen=MAX_EARLY)
        self._measured = MeasuredHistory(MAX_JOINT_STATES)

    def take_snapshot(self, message: SceneSnapshot) -> None:
        """Add a whole scene."""
        cell = self._trusted.cell(message.cell, "cell")
        state = state_from_message(message.state.state, "state")
        cell.check_state(state)
        self._take(Scene(cell, state), message.state.revision)
        self._apply_updates(message.state.revision)

    def take_update(self, message: SceneUpdate) -> None:
        """Add the revision after another one, as soon as that one is known."""
        self._updates[message.previous_revision] = message
        while len(self._updates) > MAX_UPDATES:
            del self._updates[next(iter(self._updates))]
        self._apply_updates(message.previous_revision)

    def _apply_updates(self, revision: int) -> None:
        """Apply the updates that follow a revision, if it is known."""
        while (before := self._scenes.get(revision)) and (message := self._updates.pop(revision, None)):
            revision = message.revision
            if revision not in self._scenes:
                self._take(apply_difference(before, update_from_message(message, self._trusted)), revision)

    def _take(self, scene: Scene, revision: int) -> None:
        known = self._scenes.get(revision)
        if known is not None and known.state == scene.state:
            return
        self._scenes[revision] = scene
        while len(self._scenes) > MAX_REVISIONS:
            del self._scenes[next(iter(self._scenes))]
        if self._joints is None:
            self._joints = JointStateMonitor(scene.cell)
        else:
            self._joints.set_cell(scene.cell)
        while self._early:
            self.take_joints(*self._early.popleft())

    def take_joints(self, message: JointState, robot: str = "") -> None:
        """Add measured joints. robot: prefix of the topic of a single robot, see `robot_topics`; those of a robot that
        the cell does not have are ignored."""
        if self._joints is None:
            self._early.append((message, robot))
            return
        if robot and not self._joints.has_robot(robot):
            return
        names = [name_inside(robot, name) for name in message.name]
        if self._joints.update(names, message.position, time_from_message(message.header.stamp)):
            self._measured.add(self._joints.oldest(), self._joints.values)

    def with_recorded_result(self, request: Any, reply: Any) -> Any:
        """See `measured_changes.with_recorded_result`."""
        return with_recorded_result(request, reply, self._scenes.get(reply.update.previous_revision), self._models)

    def scenes_of(self, reference: StateRef, used: StateUsed) -> tuple[Scene, Scene]:
        """Return the scene, with measured joints, to which a request applied its own joint values and changes, and the
        scene with those.

        Raises:
            FileError: The record does not contain it: the state that it gives has another digest than the reply names.
        """
        scene = self._scenes.get(used.revision)
        if scene is None:
            raise FileError(f"the record has no revision {used.revision} of the scene", stage=STAGE)
        values = configuration_from_message(reference.configuration, "configuration")
        tried = changes_from_message(reference.changes, self._models, "changes", MAX_CHANGES)
        changes: list[Change] = [SetJoints(values), *tried] if values else list(tried)
        for state in self._bases(scene, reference, time_from_message(used.joint_stamp)):
            base = Scene(scene.cell, state)
            resolved = apply_changes(base, changes, world_pose) if changes else base
            if resolved.state.digest() == used.state_digest:
                return base, resolved
        text = f"the record does not contain the state {used.state_digest} at revision {used.revision}"
        raise FileError(f"{text}: {self._missing(reference, time_from_message(used.joint_stamp))}", stage=STAGE)

    def _missing(self, reference: StateRef, joint_stamp: int) -> str:
        """Return why a state is not found."""
        if not joint_stamp or reference.own_state:
            return "its reply names another one than the request"
        if not len(self._measured):
            return "also record joint_states"
        if joint_stamp <= self._measured.dropped:
            return f"its joint states were followed by more than {MAX_JOINT_STATES}, and only as many are kept"
        return f"no recorded joint states at {joint_stamp * 1e-9:.3f} s have it"

    def _bases(self, scene: Scene, reference: StateRef, joint_stamp: int) -> Iterator[RobotCellState]:
        """Return the states that a request may have been resolved from, the most likely one first."""
        if reference.own_state:
            yield state_from_message(reference.own_state[0], "own_state")
            return
        if joint_stamp and self._joints is not None:
            for values in self._measured.matching(joint_stamp, MAX_TRIES):
                yield self._joints.applied_to(scene.state, values)
        yield scene.state


def used_state(message: Any) -> StateUsed | None:
    """Return the state that a reply or result names; None if it names none."""
    if isinstance(message, StateUsed):
        return message if message.state_digest else None
    if isinstance(message, list):
        return next((found for item in message[:1] if (found := used_state(item)) is not None), None)
    if not hasattr(message, "get_fields_and_field_types"):
        return None
    fields = (getattr(message, name) for name in message.get_fields_and_field_types())
    return next((found for field in fields if (found := used_state(field)) is not None), None)


def state_reference(request: Any) -> StateRef | None:
    """Return the reference to a state in a request or goal; None if it has none."""
    for holder in (request, getattr(request, "request", None)):
        for name in ("state", "start"):
            found = getattr(holder, name, None)
            if isinstance(found, StateRef):
                return found
    return None


def readable(error: RobotCellError) -> str:
    """Return an error in one line."""
    return " ".join(str(error).split())
