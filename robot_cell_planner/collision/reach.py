"""Which poses of a grid a group reaches, and what obstructs the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from ..errors import (
    AllSolutionsInCollisionError,
    BeyondJointLimitsError,
    InvalidRequestError,
    InverseKinematicsError,
    OutOfReachError,
)
from ..kinematics.ik.options import IkOptions
from ..kinematics.ik.problem import IkProblem, ik_problem, is_proven_out_of_reach
from ..kinematics.ik.solver import solve
from ..kinematics.targets import FrameTarget, TargetMode, tolerances_of_free
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..model.value import WORLD
from .checker import CollisionChecker

MAX_POSES = 1_000_000
MAX_LENGTH = 1e6  # [m]
STAGE = "reachability"
ONE_SOLUTION = IkOptions(max_solutions=1)


class Reach(str, Enum):
    """Whether a pose is reached, or why not."""

    REACHED = "reached"
    COLLISION = "collision"  # each solution that was found collides; other than chains of six joints have further ones
    LIMITS = "limits"  # only beyond joint limits
    OUT_OF_REACH = "out of reach"  # too far, or none of the analytic solutions exists
    NOT_FOUND = "not found"  # a numerical search found no solution, which does not prove that there is none


@dataclass(frozen=True)
class Reachability:
    """Result for the poses of a grid, in their order.

    Attributes:
        poses: Poses in the reference frame.
        results: Result for each pose.
        configurations: Configuration of the group [rad or m] nearest to the state, for each pose that is reached.
        variables: Joints of the configurations.
    """

    poses: tuple[Pose, ...]
    results: tuple[Reach, ...]
    configurations: tuple[tuple[float, ...] | None, ...]
    variables: tuple[str, ...]

    def counts(self) -> dict[Reach, int]:
        """Return the number of poses with each result."""
        found = Counter(self.results)
        return {result: found[result] for result in Reach}


@public
def pose_grid(centre: Pose, size: Sequence[float], step: float) -> tuple[Pose, ...]:
    """Return poses with the orientation of `centre`, at the points of a grid around it, along the axes of the reference
    frame.

    Args:
        centre: Pose in the middle of the grid.
        size: Lengths of the grid along x, y, z [m]; 0 for a single layer.
        step: Distance of neighbours [m].

    Raises:
        InvalidRequestError: The step is not above zero, a length is below zero, or there are more than 1,000,000 poses.
    """
    if not 0.0 < step < math.inf or len(size) != 3 or not all(0.0 <= length < MAX_LENGTH for length in size):
        text = f"grid of {list(size)} m in steps of {step} m, expected three lengths below {MAX_LENGTH:g} m and a step"
        raise InvalidRequestError(text, stage=STAGE)
    counts = [int(min(length / step, MAX_POSES) + 1e-9) for length in size]
    number = (counts[0] + 1) * (counts[1] + 1) * (counts[2] + 1)
    if number > MAX_POSES:
        raise InvalidRequestError(
            f"the grid has at least {number:,} poses, expected at most {MAX_POSES:,}; raise the step", stage=STAGE
        )
    px, py, pz = centre.position
    offsets = [[step * (index - 0.5 * count) for index in range(count + 1)] for count in counts]
    return tuple(
        Pose((px + x, py + y, pz + z), centre.quaternion) for z in offsets[2] for y in offsets[1] for x in offsets[0]
    )


@public
def reachability(
    cell: RobotCell,
    state: RobotCellState,
    poses: tuple[Pose, ...],
    mode: TargetMode = TargetMode.TOOL,
    group: str = "",
    reference_frame: str = WORLD,
    progress: Callable[[int], None] | None = None,
    *,
    frame: str = "",
    free_axes: str = "",
) -> Reachability:
    """Find a collision-free configuration for each pose of a frame of a group.

    Args:
        cell: Models of the cell.
        state: State of all other joints and objects; solutions near its configuration are preferred.
        poses: Poses of the frame that `mode` selects, in the reference frame.
        mode: Flange, tool centre point, workpiece or a frame by its name.
        group: Planning group; "" for the main group.
        reference_frame: Frame of the poses.
        progress: Called with the number of poses that are done.
        frame: Name of the frame or workpiece, as of `FrameTarget`.
        free_axes: Letters of the axes of the poses about which the rotation is free, such as "z"; "xyz" for positions.

    Raises:
        InvalidValueError: `free_axes` has other letters.
        TargetModeMismatchError, UnknownNameError: The request does not match cell and state.
    """
    variables = cell.group(group).variables
    checker = CollisionChecker(cell, state, variables)
    angles = tolerances_of_free(free_axes)
    results: list[Reach] = []
    configurations: list[tuple[float, ...] | None] = []
    for index, pose in enumerate(poses):
        target = FrameTarget(
            mode=mode, frame=frame, pose=pose, reference_frame=reference_frame, tolerance_angles=angles
        )
        result, configuration = _reached(ik_problem(cell, state, target, group), checker)
        results.append(result)
        configurations.append(configuration)
        if progress is not None:
            progress(index + 1)
    return Reachability(poses, tuple(results), tuple(configurations), variables)


def _reached(problem: IkProblem, checker: CollisionChecker) -> tuple[Reach, tuple[float, ...] | None]:
    """Return whether a target is reached, and the configuration that reaches it."""
    if is_proven_out_of_reach(problem):
        return Reach.OUT_OF_REACH, None
    try:
        found = solve(problem, ONE_SOLUTION, lambda q: not checker.in_collision(q))
    except InverseKinematicsError as error:
        return _obstruction(error), None
    return Reach.REACHED, tuple(found.solutions[0].tolist())


def _obstruction(error: InverseKinematicsError) -> Reach:
    """Return why a pose is not reached."""
    if isinstance(error, AllSolutionsInCollisionError):
        return Reach.COLLISION
    if isinstance(error, BeyondJointLimitsError):
        return Reach.LIMITS
    return Reach.OUT_OF_REACH if isinstance(error, OutOfReachError) else Reach.NOT_FOUND
