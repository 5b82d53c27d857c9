"""Names that select joints: a joint, planning group, robot or tool, or "*" for all robots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ...errors import UnknownNameError
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name

ALL = "*"
T = TypeVar("T")


def joints_named(cell: RobotCell, name: str, driven: Mapping[str, str]) -> tuple[str, ...]:
    """Return the joints with a motor that a name selects.

    Args:
        cell: Models of the cell.
        name: Joint, planning group, robot or tool, or "*" for the joints of all robots.
        driven: Names in the cell of all joints with a motor, by each name that commands may use.

    Raises:
        UnknownNameError: The name selects no joint with a motor.
    """
    if name in driven:
        return (driven[name],)
    own = set(driven.values())
    if name == ALL:
        found: Iterable[str] = cell.variables
    elif name in cell.robots:
        found = cell.robots[name].variables
    elif name in cell.tools:
        found = (f"{name}/{variable.name}" for variable in cell.tools[name].mechanism.variables)
    else:
        groups = [group for robot in cell.robots.values() for group in robot.groups]
        if name not in groups and name not in cell.groups:
            known = (*driven, *groups, *cell.groups, *cell.robots, *cell.tools)
            text = unknown_name(f"joint, group, robot or tool {name!r}", name, known)
            raise UnknownNameError(text, stage="simulation", subjects=(name,))
        found = cell.group(name).variables
    joints = tuple(joint for joint in found if joint in own)
    if not joints:
        raise UnknownNameError(f"{name} has no joint with a motor", stage="simulation", subjects=(name,))
    return joints


def by_joint(cell: RobotCell, values: Mapping[str, T], driven: Mapping[str, str]) -> dict[str, T]:
    """Return a value for each joint from values by the names of `joints_named`; later ones override earlier ones.

    Raises:
        UnknownNameError: As `joints_named`.
    """
    return {joint: value for name, value in values.items() for joint in joints_named(cell, name, driven)}
