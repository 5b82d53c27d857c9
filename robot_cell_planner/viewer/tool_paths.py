"""Paths of the tool along plans and trajectories: points with speeds, and which intervals are certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..collision.certification.certificate import Verdict
from ..collision.certification.certifier import certifiable, certifier_of
from ..collision.certification.paths import certify_path
from ..collision.checker import CollisionChecker
from ..errors import NotSupportedError
from ..kinematics.forward import forward_batch
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..planning.path.simplification import densify
from ..planning.problem.plan import Plan
from ..trajectory.trajectory import Trajectory

Floats = NDArray[np.float64]
MAX_POINTS = 400  # of a path
STEP = 0.02  # [rad or m] between the points of an untimed path, up to that number


@dataclass(frozen=True, eq=False)
class ToolPath:
    """Path of a frame in the world.

    Attributes:
        frame: The frame.
        points: (n, 3) [m].
        speeds: (n,) [m/s]; None for a path without times.
    """

    frame: str
    points: Floats
    speeds: Floats | None = None


@dataclass(frozen=True, eq=False)
class CertifiedPath:
    """Path of a frame in the world, with the certificate of each of its lines.

    Attributes:
        points: (n, 3) [m].
        verdicts: Of the line from each point to the next, n - 1; None where nothing was evaluated.
    """

    points: Floats
    verdicts: tuple[Verdict | None, ...]


def tool_frame(cell: RobotCell, state: RobotCellState, group: str = "") -> str:
    """Return the tool centre point of a group, its tip link if it has no tool, or "" if it has no tip.

    Raises:
        UnknownNameError: The group does not exist.
    """
    if not cell.group(group).tip_link:
        return ""
    tool = cell.tool_of_group(state, group)
    return cell.tools[tool].tcp_frame if tool else cell.tip_link(group)


def group_of(cell: RobotCell, variables: Sequence[str]) -> str:
    """Return a group with a tip that has all of some joints; "" if there is none."""
    for robot in cell.robots.values():
        for name, group in robot.groups.items():
            if group.tip_link and set(variables) <= set(group.variables):
                return name
    return ""


def trajectory_path(
    cell: RobotCell, state: RobotCellState, frame: str, trajectory: Trajectory, points: int = MAX_POINTS
) -> ToolPath:
    """Return the path of a frame along a trajectory, at equal times. The state has the values of all other joints.

    Raises:
        InvalidRequestError, UnknownNameError: The trajectory or the frame does not fit the cell.
    """
    times = np.linspace(0.0, trajectory.duration, max(points, 2))
    places = _places(cell, state, frame, trajectory.variables, trajectory.at(times))
    if trajectory.duration <= 0.0:
        return ToolPath(frame, places, np.zeros(len(places)))
    speeds = np.linalg.norm(np.gradient(places, times, axis=0), axis=1)
    return ToolPath(frame, places, speeds)


def plan_path(cell: RobotCell, state: RobotCellState, plan: Plan) -> ToolPath | None:
    """Return the path of the tool of a plan; None for a group without a tip.

    Raises:
        InvalidRequestError, UnknownNameError: The plan does not fit the cell.
    """
    frame = tool_frame(cell, state, plan.group)
    if not frame:
        return None
    if plan.trajectory is not None:
        return trajectory_path(cell, state, frame, plan.trajectory)
    rows, _ = densify(plan.path, _step(plan))
    return ToolPath(frame, _places(cell, state, frame, plan.variables, rows))


def certified_path(cell: RobotCell, state: RobotCellState, plan: Plan) -> CertifiedPath | None:
    """Certify the path of a plan again for its collision engine, line by line. This may take seconds.

    None for a group without a tip, and where nothing is certified: the engine decomposes surfaces, or is not installed.

    Raises:
        InvalidRequestError, UnknownNameError: The plan does not fit the cell.
        GeometryError: A collision shape cannot be built.
    """
    frame = tool_frame(cell, state, plan.group)
    if not frame:
        return None
    try:
        checker = CollisionChecker(cell, state, plan.variables, engine=plan.engine)
    except NotSupportedError:
        return None
    if not certifiable(checker):
        return None
    verdicts = certify_path(certifier_of(checker), plan.path).segments
    rows, places = densify(plan.path, _step(plan))
    points = _places(cell, state, frame, plan.variables, rows)
    return CertifiedPath(points, tuple(verdicts[int(place)] for place in places[:-1]))


def _step(plan: Plan) -> float:
    return max(STEP, plan.path_length / MAX_POINTS)


def _places(cell: RobotCell, state: RobotCellState, frame: str, variables: tuple[str, ...], rows: Floats) -> Floats:
    return np.ascontiguousarray(forward_batch(cell, state, frame, variables, rows)[:, :3, 3])
