"""Check of the constraints of a request along a path that was found without them."""

from __future__ import annotations

from collections.abc import Sequence

from robot_cell_planner import srv
from robot_cell_planner.msg import JointPath, PathConstraint

from ...errors import ConstraintMismatchError
from ..common.cancellation import CancellationToken
from ..conversions.basic import error_from_message
from .helper_frames import HelperFrames
from .motion_requests import Start
from .suite import Suite


async def check_path(
    suite: Suite,
    path: JointPath,
    constraints: Sequence[PathConstraint],
    start: Start,
    frames: HelperFrames,
    token: CancellationToken | None = None,
) -> None:
    """Check that a path satisfies constraints all along. frames: those that the constraints refer to.

    Raises:
        ConstraintMismatchError: It does not.
        RobotCellError: The path cannot be checked.
    """
    if not constraints:
        return
    call = srv.CheckPath.Request(path=path, constraints=list(constraints), find_all=True)
    call.state = start.with_frames(frames)
    for found in (await suite.check_path(call, token)).violations:
        error = error_from_message(found)
        if isinstance(error, ConstraintMismatchError):
            raise error
