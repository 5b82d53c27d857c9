"""Names that are free in a cell."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..io.common.file_names import file_name
from ..model.mechanism import Mechanism
from ..model.value import WORLD

ROBOT = "robot"


def robot_name(mechanism: Mechanism) -> str:
    """Return the name of a robot in a cell and of its files: that of its description, where that is allowed."""
    name = file_name(mechanism.name, ROBOT)
    return ROBOT if name == WORLD else name


def free_name(wanted: Sequence[str], taken: Collection[str]) -> str:
    """Return the first of the wanted names that is free, or the last one with the first number that makes it so.

    A name is free if it is not taken, and if no taken name is that of a part of it, such as `gripper/tcp` of `gripper`.
    """
    number, name, last = 1, "", wanted[-1]
    pending = list(wanted)
    while True:
        if pending:
            name = pending.pop(0)
        else:
            number += 1
            name = f"{last}_{number}"
        if name not in taken and not any(other.startswith(f"{name}/") for other in taken):
            return name
