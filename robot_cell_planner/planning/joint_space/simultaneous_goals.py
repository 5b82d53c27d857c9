"""Simultaneous goals: one goal for each planning group of a composite group."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import UnknownNameError
from ...kinematics.targets import Target
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name
from ...model.unknown_joints import unknown_joint
from ..problem.request import SimultaneousGoal
from ..problem.space import JointSpace

STAGE = "goals"


def values_and_targets(
    cell: RobotCell, space: JointSpace, goal: SimultaneousGoal, what: str
) -> tuple[dict[str, float], dict[str, Target]]:
    """Return the joint values [rad, m] and the targets by group of a simultaneous goal.

    Joints of named states that are not planned for are left out, as in a request for one group.

    Raises:
        UnknownNameError: The goal names a group that is not part of the planned one, a joint of another group, or an
            unknown named state.
    """
    values: dict[str, float] = {}
    targets: dict[str, Target] = {}
    parts = dict.fromkeys((*cell.group_parts(space.group), *cell.target_groups(space.group)))
    for name, part_goal in goal.parts.items():
        if name not in parts:
            text = f"{unknown_name(f'group {name!r} of {what}', name, parts)} in group {space.group}"
            raise UnknownNameError(text, stage=STAGE, subjects=(name, space.group))
        if isinstance(part_goal, str):
            named = cell.named_state(name, part_goal)
            values.update((joint, value) for joint, value in named.items() if joint in space.variables)
        elif isinstance(part_goal, Mapping):
            _check_joints(cell, name, part_goal, what)
            values.update(part_goal)
        else:
            targets[name] = part_goal
    return values, targets


def _check_joints(cell: RobotCell, group: str, values: Mapping[str, float], what: str) -> None:
    own = cell.group(group).variables
    for joint in values:
        if joint not in own:
            raise unknown_joint(cell, joint, own, f" in group {group} of {what}", STAGE)
