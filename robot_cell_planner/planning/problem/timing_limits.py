"""Limits of the timing of a request, which may name any joint of the cell, for motions of some of the joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from frozendict import frozendict

from ...errors import InvalidRequestError, UnknownNameError
from ...model.cell import RobotCell
from ...model.mechanism import COMPOUND_SUFFIXES, Variable
from ...model.name_suggestions import unknown_name
from ...trajectory.timing import TimingOptions


def check_names_of_limits(cell: RobotCell, limits: Iterable[str]) -> None:
    """Check the joints of the limits of a request, by their names.

    Raises:
        UnknownNameError: The cell does not have a joint.
    """
    for joint in limits:
        if joint not in cell.variables:
            text = unknown_name(f"joint {joint!r} of the limits", joint, cell.variables)
            raise UnknownNameError(text, stage="request", subjects=(joint,))


def check_limits(cell: RobotCell, timing: TimingOptions) -> None:
    """Check the joints of the limits of a timing, and the units that they are given in.

    Raises:
        UnknownNameError: The cell does not have a joint.
        InvalidRequestError: The limits of a joint have the unit of another type of joint.
    """
    check_names_of_limits(cell, timing.limits)
    check_names_of_limits(cell, timing.limit_units)
    for joint, unit in timing.limit_units.items():
        variable = cell.variables[joint]
        if unit != variable.unit:
            text = f"the limits of joint {joint} are in {unit}, and it is {_type_of(variable)}, in {variable.unit}"
            remedy = f"Give the limits of {joint} in {variable.unit}, or name the joint that they are meant for."
            raise InvalidRequestError(text, stage="request", subjects=(joint,), remedy=remedy)


def _type_of(variable: Variable) -> str:
    kind = variable.kind.value
    return f"part of a {kind} joint" if variable.kind in COMPOUND_SUFFIXES else kind


def timing_of_motion(
    cell: RobotCell, timing: TimingOptions | None, group: str, joints: Sequence[str] = ()
) -> TimingOptions | None:
    """Return the timing of a motion of a group, or of some of its joints (empty: all). Limits of joints of the cell
    that do not move are left out.

    Raises:
        UnknownNameError: The cell does not have the group, or a joint of the limits.
        InvalidRequestError: The limits of a joint have the unit of another type of joint.
    """
    if timing is None or not (timing.limits or timing.limit_units):
        return timing
    check_limits(cell, timing)
    moved = [name for name in cell.group(group).variables if not joints or name in joints]
    own = frozendict((name, limit) for name, limit in timing.limits.items() if name in moved)
    return timing if len(own) == len(timing.limits) else replace(timing, limits=own)
