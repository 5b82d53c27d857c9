"""Units of the values of joints, and of their derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

POSITIONS = "rad", "m"  # units of the values of joints
ANY_JOINT = " or ".join(POSITIONS)  # of a joint whose type is not known
PER = ("", "/s", "/s2", "/s3")
EFFORTS = {"rad": "Nm", "m": "N"}  # by the units of positions


def joint_unit(angular: bool) -> str:
    """Return the unit of the values of a joint."""
    return "rad" if angular else "m"


def common_unit(units: Iterable[str]) -> str:
    """Return the unit of the values of several joints; `ANY_JOINT` if their units differ."""
    distinct = set(units)
    return distinct.pop() if len(distinct) == 1 else ANY_JOINT


class _Variable(Protocol):
    @property
    def unit(self) -> str: ...


def unit_of_joints(variables: Mapping[str, _Variable], names: Iterable[str]) -> str:
    """Return the unit of the values of joints, given by their names; `ANY_JOINT` if their units differ. variables: of a
    cell; joints that it does not have are left out."""
    return common_unit(variables[name].unit for name in names if name in variables)


def unit_of_effort(unit: str) -> str:
    """Return the unit of the effort of a joint whose positions have a unit."""
    return EFFORTS.get(unit, " or ".join(EFFORTS.values()))


def unit_at(units: Sequence[str], column: int, order: int = 0) -> str:
    """Return the unit of the derivative of an order of a joint. units: of the values of all joints; () if they are not
    known."""
    return unit_of_derivative(units[column] if units else ANY_JOINT, order)


def unit_of_derivative(unit: str, order: int) -> str:
    """Return the unit of the derivative of an order, such as "rad/s or m/s" for the first one of "rad or m"."""
    return " or ".join(f"{part}{PER[order]}" for part in unit.split(" or "))
