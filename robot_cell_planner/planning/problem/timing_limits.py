"""Limits of the timing of a request, which may name any joint of the cell, for motions of some of the joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from frozendict import frozendict

from ...errors import UnknownNameError
from ...model.cell import RobotCell
from ...model.mechanism import JointLimits
from ...model.name_suggestions import unknown_name
from ...trajectory.timing import TimingOptions


def check_names_of_limits(cell: RobotCell, limits: Mapping[str, JointLimits]) -> None:
    """Check the joints of the limits of a request.

    Raises:
        UnknownNameError: The cell does not have a joint.
    """
    for joint in limits:
        if joint not in cell.variables:
            text = unknown_name(f"joint {joint!r} of the limits", joint, cell.variables)
            raise UnknownNameError(text, stage="request", subjects=(joint,))


def timing_of_motion(
    cell: RobotCell, timing: TimingOptions | None, group: str, joints: Sequence[str] = ()
) -> TimingOptions | None:
    """Return the timing of a motion of a group, or of some of its joints (empty: all). Limits of joints of the cell
    that do not move are left out.

    Raises:
        UnknownNameError: The cell does not have the group, or a joint of the limits.
    """
    if timing is None or not timing.limits:
        return timing
    check_names_of_limits(cell, timing.limits)
    moved = [name for name in cell.group(group).variables if not joints or name in joints]
    own = frozendict((name, limit) for name, limit in timing.limits.items() if name in moved)
    return timing if len(own) == len(timing.limits) else replace(timing, limits=own)
