"""Plans: what was asked, what came of it, and what is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from frozendict import frozendict

from ...collision.report import Clearance, CollisionPair
from ...errors import RobotCellError
from ...kinematics.ik.failure import IkFailure
from ...model.pose import Pose
from ...trajectory.limits import Array, read_only
from ...trajectory.trajectory import Trajectory


@dataclass(frozen=True)
class PathClearance:
    """The closest approach along a path: where, counted in waypoints (2.5 is halfway from 2 to 3), at which joint
    values, and of what."""

    place: float
    configuration: tuple[float, ...]
    closest: Clearance


@dataclass(frozen=True)
class StageTime:
    """Time [s] by the wall clock that one stage of a request took."""

    stage: str
    seconds: float


@dataclass(frozen=True)
class CartesianReport:
    """How a Cartesian motion was followed, or where it ended.

    fraction: share of the way that was reached, 0 to 1, by length (by angle where the motion only turns). For each
    point of the path after the start: waypoint_of_point, the waypoint that it leads to, from 0, and parameter_of_point,
    its place on the way there, 0 to 1, exactly 1 at the waypoint. max_deviation [m], max_deviation_angle [rad]: largest
    distance from the way, and from the orientation that belongs to the place, between the points, where joints move
    straight from one to the next. min_manipulability: smallest on the way, sqrt(det(J J^T)) for the directions that the
    task prescribes. log: what was tried, a line for each, if it was asked for. failed_frame: the pose in the world that
    could not be reached, failed_waypoint the waypoint that it lies before or at, -1 for none; ik, ik_failure: the
    reasons of inverse kinematics; pairs: in collision there.
    """

    fraction: float
    waypoint_of_point: tuple[int, ...]
    parameter_of_point: tuple[float, ...]
    max_deviation: float
    max_deviation_angle: float
    failed_frame: Pose | None = None
    failed_waypoint: int = -1
    ik: str = ""
    pairs: tuple[CollisionPair, ...] = ()
    ik_failure: IkFailure | None = None
    min_manipulability: float = 0.0
    log: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """A motion, and how it came about.

    variables: names of the columns. start_state_digest, cell_digest: what it was planned in. path (n, dof): waypoints
    from the start to the goal, straight in joint space between them (for a Cartesian plan its dense samples).
    trajectory: the timed samples, if timing was asked for. goal: number of the goal that is reached; -1: none was
    numbered. states_checked, motions_checked: held against the cell. path_length: Euclidean, rad and m alike;
    tool_path_length [m]: of the tool centre point, or of the tip without a tool. clearance: smallest along the path.
    proven: fraction of the path by Euclidean length in joint space, the start correction included, whose segments have
    a certificate that they are free (`CountedChecks.proven_fraction`); NaN where there is nothing to prove it with. The
    rest was checked at steps of `resolution` [rad or m] and, where objects were near, between them; a warning says what
    may be hidden there. escape_waypoints: those at the beginning that lead out of a
    collision, on request. warnings: what the caller should know though nothing failed. cartesian: of a Cartesian plan
    alone.
    """

    group: str
    variables: tuple[str, ...]
    path: Array
    planner: str
    engine: str
    seed: int
    version: str
    cell_digest: str
    start_state_digest: str
    states_checked: int
    motions_checked: int
    path_length: float
    tool_path_length: float
    resolution: float
    proven: float = math.nan
    goal: int = -1
    escape_waypoints: int = 0
    clearance: PathClearance | None = None
    cartesian: CartesianReport | None = None
    trajectory: Trajectory | None = None
    warnings: tuple[str, ...] = ()
    revision: int = 0
    times: tuple[StageTime, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", read_only(self.path))

    @property
    def duration(self) -> float:
        """Of the trajectory [s]; 0 without one."""
        return 0.0 if self.trajectory is None else self.trajectory.duration

    def end_configuration(self) -> Mapping[str, float]:
        """Values by variable of the last waypoint."""
        return frozendict(zip(self.variables, self.path[-1].tolist(), strict=True))


@dataclass(frozen=True)
class GoalFailure:
    """Why one goal could not be used: its number, and the error that says so."""

    goal: int
    error: RobotCellError


@dataclass(frozen=True)
class PlanFailure:
    """What is known where there is no plan; it is in `partial` of the error. Fields of stages not reached are empty.

    start_pairs: in collision at the start. goals: those that could not be used. *_tree_size: configurations in the
    trees from start and goals. nearest_approach: smallest distance between the two in joint space; NaN if nothing was
    searched. blocking_pair: the one that blocked most motions, `blocked_motions` of the first 256.
    """

    start_pairs: tuple[CollisionPair, ...] = ()
    goals: tuple[GoalFailure, ...] = ()
    start_tree_size: int = 0
    goal_tree_size: int = 0
    nearest_approach: float = float("nan")
    blocking_pair: CollisionPair | None = None
    blocked_motions: int = 0
    states_checked: int = 0
    motions_checked: int = 0
    times: tuple[StageTime, ...] = field(default=())


def percent(fraction: float) -> str:
    """A fraction in whole percents, 100 only if nothing but rounding is missing; "-" for NaN."""
    return "-" if math.isnan(fraction) else f"{math.floor(100.0 * fraction + 1e-6)}"


def path_length(path: Array) -> float:
    """Euclidean length of a path (n, dof) in joint space, rad and m alike."""
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
