"""Conversions of scene changes and updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import TypedDict

from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Quaternion as QuaternionMessage

from robot_cell_planner.msg import RobotCell as CellMessage
from robot_cell_planner.msg import RobotCellState as StateMessage
from robot_cell_planner.msg import SceneChange, SceneUpdate

from ...errors import InvalidRequestError
from ...model.pose import Quaternion
from ...model.value import WORLD, Vector3
from ...scene.allowed_collision_changes import SetIgnoreGroup, SetMargin
from ...scene.changes import Change
from ...scene.diff import SceneDiff
from ...scene.model_changes import Add, Remove, Replace
from ...scene.state_changes import Attach, Detach, Move, SetBasePose, SetHidden, SetJoints, SetState, SetTouch
from ...system.steps import returned
from .basic import (
    check_count,
    configuration_from_message,
    names_from_message,
    pose_from_message,
    position_from_message,
    quaternion_from_message,
    time_from_message,
)
from .model_messages import cell_to_message, settings_to_message
from .models import ModelReader
from .states import state_from_message, state_to_message
from .units import change_in_metres

O = SceneChange  # noqa: E741 - the constants of the operations
FIELDS_OF = {
    O.ADD: ("models", "states"),
    O.REPLACE: ("models",),
    O.REMOVE: ("name",),
    O.MOVE: ("name", "pose", "relative_to", "stamp"),
    O.ATTACH: ("name", "attach_to", "pose", "relative_to", "stamp", "touch_links", "touch_bodies"),
    O.ATTACH_IN_PLACE: ("name", "attach_to", "touch_links", "touch_bodies"),
    O.DETACH: ("name", "touch_links", "touch_bodies"),
    O.HIDE: ("name",),
    O.SHOW: ("name",),
    O.SET_TOUCH: ("name", "touch_links", "touch_bodies"),
    O.SET_JOINTS: ("configuration",),
    O.SET_BASE_POSE: ("name", "pose", "relative_to", "stamp"),
    O.SET_COLLISION: ("models",),
    O.SET_STATE: ("states",),
}
NAMES = (
    "ADD REPLACE REMOVE MOVE ATTACH ATTACH_IN_PLACE DETACH HIDE SHOW SET_TOUCH SET_JOINTS SET_BASE_POSE SET_COLLISION "
    "SET_STATE"
)
OPERATIONS = {getattr(O, name): name for name in NAMES.split()}
NO_POSES = PoseMessage(), PoseMessage(orientation=QuaternionMessage(w=0.0))  # defaults of ROS 2, and all zero
NEEDS_NAME = (O.REMOVE, O.MOVE, O.ATTACH, O.ATTACH_IN_PLACE, O.DETACH, O.HIDE, O.SHOW, O.SET_TOUCH)


def changes_from_message(
    messages: Sequence[SceneChange], models: ModelReader, field: str, limit: int
) -> tuple[Change, ...]:
    """Return the changes, in order.

    Raises:
        LimitExceededError: There are more than `limit`.
        RobotCellError: A change is malformed; the message begins with the field and the index.
    """
    check_count(len(messages), limit, field, "changes")
    return returned(changes_from_message_in_steps(messages, models, field))


def changes_from_message_in_steps(
    messages: Sequence[SceneChange], models: ModelReader, field: str
) -> Generator[None, None, tuple[Change, ...]]:
    """As `changes_from_message`, for any number, with a step after each."""
    result: list[Change] = []
    for index, message in enumerate(messages):
        place = f"{field}[{index}]"
        result.extend(_operations(change_in_metres(message, place), models, place))
        yield
    return tuple(result)


def _operations(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    if message.operation not in FIELDS_OF:
        text = f"{field}: unknown operation {message.operation}, expected 0 to {max(FIELDS_OF)}"
        raise InvalidRequestError(text, subjects=(field,))
    _refuse_surplus(message, field)
    _refuse_empty(message, field)
    if message.operation in NEEDS_NAME and not message.name:
        raise InvalidRequestError(f"{field}: name is empty", subjects=(field,))
    return _READERS[message.operation](message, models, field)


def _refuse_surplus(message: SceneChange, field: str) -> None:
    """Check that fields which an operation does not use are empty: otherwise the request is a mistake."""
    used = FIELDS_OF[message.operation]
    filled = {
        "name": bool(message.name),
        "attach_to": bool(message.attach_to),
        "relative_to": bool(message.relative_to),
        "stamp": time_from_message(message.stamp) != 0,
        "pose": message.pose not in NO_POSES,
        "touch_links": bool(message.touch_links),
        "touch_bodies": bool(message.touch_bodies),
        "configuration": bool(message.configuration.joint_names),
        "models": message.models != CellMessage(name=message.models.name),
        "states": message.states != StateMessage(),
    }
    surplus = [name for name, is_filled in filled.items() if is_filled and name not in used]
    if surplus:
        are = "is" if len(surplus) == 1 else "are"
        text = f"{field}: {', '.join(surplus)} {are} not used by {OPERATIONS[message.operation]} and must be empty"
        raise InvalidRequestError(text, subjects=(field, *surplus))


def _refuse_empty(message: SceneChange, field: str) -> None:
    """Check that an operation without a name has something to change: the default message is an ADD of nothing."""
    empty = {
        "models": message.models == CellMessage(name=message.models.name),
        "states": message.states == StateMessage(),
        "configuration": not message.configuration.joint_names,
    }
    contents = [name for name in FIELDS_OF[message.operation] if name in empty]
    if contents and all(empty[name] for name in contents):
        are = "is" if len(contents) == 1 else "are"
        text = f"{field}: {' and '.join(contents)} {are} empty, so that nothing would change"
        default = "; set `operation`, whose default is ADD" if message.operation == O.ADD else ""
        raise InvalidRequestError(text + default, subjects=(field, *contents))


class _Touch(TypedDict):
    touch_links: tuple[str, ...]
    touch_bodies: tuple[str, ...]


def _touch(message: SceneChange, field: str) -> _Touch:
    return {
        "touch_links": names_from_message(message.touch_links, f"{field}.touch_links"),
        "touch_bodies": names_from_message(message.touch_bodies, f"{field}.touch_bodies"),
    }


def _pose_update(message: SceneChange, field: str) -> tuple[Vector3, Quaternion | None]:
    """Return the position, with NaN for unchanged coordinates, and the orientation, None if unchanged."""
    values = position_from_message(message.pose.position)
    quaternion = None
    if not all(map(math.isnan, quaternion_from_message(message.pose))):
        turned = PoseMessage(orientation=message.pose.orientation)
        quaternion = pose_from_message(turned, f"{field}.pose").quaternion
    if any(map(math.isinf, values)):
        raise InvalidRequestError(f"{field}.pose: position is infinite", subjects=(field,))
    return values, quaternion


def _add(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    cell = models.cell(message.models, f"{field}.models")
    state = state_from_message(message.states, f"{field}.states")
    plain, frames = models.split_frames(message.models, cell)
    return [Add(plain, state), *frames]


def _replace(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    cell = models.cell(message.models, f"{field}.models")
    _, frames = models.split_frames(message.models, cell)
    placed = [Move(frame.name, frame.pose.position, frame.pose.quaternion, frame.relative_to) for frame in frames]
    return [Replace(cell), *placed]


def _attach(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    pose = pose_from_message(message.pose, f"{field}.pose")
    if not message.attach_to:
        position, quaternion = pose.position, pose.quaternion
        detach = Detach(message.name, **_touch(message, field))
        return [detach, Move(message.name, position, quaternion, message.relative_to or WORLD)]
    return [Attach(message.name, message.attach_to, pose, message.relative_to, **_touch(message, field))]


def _grip(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    if not message.attach_to:
        return [Detach(message.name, **_touch(message, field))]
    return [Attach(message.name, message.attach_to, **_touch(message, field))]


def _move(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    position, quaternion = _pose_update(message, field)
    return [Move(message.name, position, quaternion, message.relative_to or WORLD)]


def _set_base_pose(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    position, quaternion = _pose_update(message, field)
    return [SetBasePose(message.name, position, quaternion, message.relative_to or WORLD)]


def _set_joints(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    values = configuration_from_message(message.configuration, f"{field}.configuration", nan_allowed=True)
    return [SetJoints(values)]


def _set_collision(message: SceneChange, models: ModelReader, field: str) -> list[Change]:
    if message.models != CellMessage(name=message.models.name, collision=message.models.collision):
        text = f"{field}: models has objects, of which this operation takes only `collision`; use ADD or REPLACE"
        raise InvalidRequestError(text, subjects=(field, "models"))
    changes: list[Change] = [
        SetIgnoreGroup(group.name, names_from_message(group.members, f"{field}.models.collision.{group.name}"))
        for group in message.models.collision.ignore_groups
    ]
    for entry in message.models.collision.margins:
        margin = None if math.isnan(entry.margin) else entry.margin
        changes.append(SetMargin(entry.name or "*", margin, entry.other))
    return changes


_Reader = Callable[[SceneChange, ModelReader, str], "list[Change]"]
_READERS: dict[int, _Reader] = {
    O.ADD: _add,
    O.REPLACE: _replace,
    O.REMOVE: lambda message, models, field: [Remove(message.name)],
    O.MOVE: _move,
    O.ATTACH: _attach,
    O.ATTACH_IN_PLACE: _grip,
    O.DETACH: lambda message, models, field: [Detach(message.name, **_touch(message, field))],
    O.HIDE: lambda message, models, field: [SetHidden(message.name, True)],
    O.SHOW: lambda message, models, field: [SetHidden(message.name, False)],
    O.SET_TOUCH: lambda message, models, field: [SetTouch(message.name, **_touch(message, field))],
    O.SET_JOINTS: _set_joints,
    O.SET_BASE_POSE: _set_base_pose,
    O.SET_COLLISION: _set_collision,
    O.SET_STATE: lambda message, models, field: [SetState(state_from_message(message.states, f"{field}.states"))],
}


def update_to_message(change: SceneDiff, previous: int, revision: int, digest: str) -> SceneUpdate:
    """Return the update without its stamp."""
    models = cell_to_message(change.models)
    if change.collision is not None:
        models.collision = settings_to_message(change.collision)
    return SceneUpdate(
        previous_revision=previous,
        revision=revision,
        removed=list(change.removed),
        models=models,
        collision_changed=change.collision is not None,
        states=state_to_message(change.state),
        digest=digest,
    )


def update_from_message(message: SceneUpdate, models: ModelReader) -> SceneDiff:
    """Return the difference in an update."""
    cell = models.cell(message.models, "models")
    return SceneDiff(
        removed=tuple(message.removed),
        models=cell,
        collision=cell.collision if message.collision_changed else None,
        state=state_from_message(message.states, "states"),
    )
