"""Bound of the number of moving joints of a model."""

from __future__ import annotations

from ..errors import LimitExceededError, Value

MAX_JOINTS = 256  # memory of the dynamics of n joints grows with n^3: 1 GB at 256


def check_joint_count(what: str, count: int) -> None:
    """Check the number of moving joints of a mechanism or cell.

    Raises:
        LimitExceededError: There are more than MAX_JOINTS.
    """
    if count > MAX_JOINTS:
        text = f"{what} has {count} moving joints, expected at most {MAX_JOINTS}; fix those that are not needed"
        raise LimitExceededError(text, stage="model", values=(Value("moving joints", count, MAX_JOINTS),))
