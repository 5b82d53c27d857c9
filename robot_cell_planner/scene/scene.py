"""Scene: a cell with a matching state, and helpers of all scene changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from ..errors import UnknownNameError
from ..model.arguments import check_fields
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..model.value import WORLD

WorldPose = Callable[[RobotCell, RobotCellState, str], Pose]
T = TypeVar("T")


class CheckedStruct(msgspec.Struct, frozen=True):
    """Base of scenes and scene changes, whose fields are checked against their annotations.

    Raises:
        InvalidValueError: A field does not match its annotation; the message names it.
    """

    def __post_init__(self) -> None:
        check_fields(self)


class Scene(CheckedStruct, frozen=True):
    """Cell with a matching state."""

    cell: RobotCell
    state: RobotCellState


def joint_names(cell: RobotCell) -> dict[str, str]:
    """Return all joint names of a configuration of the whole cell, with the tool of each joint ("" for robots)."""
    names = dict.fromkeys(cell.variables, "")
    for tool in cell.tools.values():
        names.update({f"{tool.name}/{variable.name}": tool.name for variable in tool.mechanism.variables})
    return names


def known(mapping: Mapping[str, T], name: str, what: str) -> T:
    """Return the value of a name.

    Raises:
        UnknownNameError: The name does not exist.
    """
    if name not in mapping:
        raise UnknownNameError(unknown_name(f"{what} {name!r}", name, mapping), subjects=(name,))
    return mapping[name]


def between(scene: Scene, world_pose: WorldPose, parent: str, child: str) -> Pose:
    """Return parent_T_child."""
    child_pose = world_pose(scene.cell, scene.state, child)
    return child_pose if parent == WORLD else world_pose(scene.cell, scene.state, parent).inverse() @ child_pose


def rewritten(scene: Scene, world_pose: WorldPose, parent_frame: str, reference: str, pose: Pose) -> Pose:
    """Convert a pose relative to `reference` to a pose relative to `parent_frame`; unchanged if both are the same."""
    return pose if parent_frame == reference else between(scene, world_pose, parent_frame, reference) @ pose
