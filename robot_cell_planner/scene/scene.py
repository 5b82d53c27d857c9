"""A scene: a cell with a state that fits it, and what changes of any kind ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from ..errors import UnknownNameError
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..model.value import WORLD

WorldPose = Callable[[RobotCell, RobotCellState, str], Pose]
T = TypeVar("T")


class Scene(msgspec.Struct, frozen=True):
    """A cell and a state that fits it."""

    cell: RobotCell
    state: RobotCellState


def joint_names(cell: RobotCell) -> dict[str, str]:
    """Every joint name that a configuration of the whole cell may use, and the tool it belongs to ("" for robots)."""
    names = dict.fromkeys(cell.variables, "")
    for tool in cell.tools.values():
        names.update({f"{tool.name}/{variable.name}": tool.name for variable in tool.mechanism.variables})
    return names


def known(mapping: Mapping[str, T], name: str, what: str) -> T:
    if name not in mapping:
        raise UnknownNameError(unknown_name(f"{what} {name!r}", name, mapping), subjects=(name,))
    return mapping[name]


def between(scene: Scene, world_pose: WorldPose, parent: str, child: str) -> Pose:
    """parent_T_child."""
    child_pose = world_pose(scene.cell, scene.state, child)
    return child_pose if parent == WORLD else world_pose(scene.cell, scene.state, parent).inverse() @ child_pose


def rewritten(scene: Scene, world_pose: WorldPose, carrier: str, reference: str, pose: Pose) -> Pose:
    """A pose seen from `reference`, as `carrier` sees it; to the last bit the same where the two are one."""
    return pose if carrier == reference else between(scene, world_pose, carrier, reference) @ pose
