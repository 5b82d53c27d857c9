"""Plans: the planned motion, its origin and its measured properties."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from frozendict import frozendict

from ...collision.report import Clearance, CollisionPair
from ...errors import InvalidRequestError, RobotCellError
from ...errors.remedies import TOGETHER
from ...kinematics.ik.failure import IkFailure
from ...model.arguments import checked_fields
from ...model.name_suggestions import listed
from ...model.pose import Pose
from ...trajectory.limits import Array, read_only
from ...trajectory.trajectory import Trajectory


@dataclass(frozen=True)
class PathClearance:
    """Closest approach along a path.

    Attributes:
        place: Path parameter in waypoints (2.5 is halfway between waypoints 2 and 3).
        configuration: Joint values there (dof,).
        closest: Distance and pair.
    """

    place: float
    configuration: tuple[float, ...]
    closest: Clearance


@dataclass(frozen=True)
class StageTime:
    """Wall clock time [s] of one stage of a request."""

    stage: str
    seconds: float


@dataclass(frozen=True)
class CartesianReport:
    """Report of how far and how precisely a Cartesian path was followed.

    Attributes:
        fraction: Completed fraction of the path, 0 to 1, by length (by angle for a pure rotation).
        waypoint_of_point: For each point after the start, the index of the waypoint that it leads to.
        parameter_of_point: For each point after the start, the fraction of the segment to that waypoint, exactly 1
            at the waypoint.
        max_deviation: Max distance from the path [m], also between points, where joints move linearly.
        max_deviation_angle: Max angle [rad] to the orientation of the path at the same path parameter.
        failed_frame: World pose that could not be reached.
        failed_waypoint: Waypoint at or after `failed_frame`; -1 if there is no failure.
        ik: Error message of inverse kinematics.
        pairs: Colliding pairs at `failed_frame`.
        ik_failure: Details of the inverse kinematics failure.
        min_manipulability: Min manipulability along the path, sqrt(det(J J^T)) for the constrained task directions.
        log: Tried steps, one line each, if requested.
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


@checked_fields
@dataclass(frozen=True, eq=False)
class Plan:
    """Planned motion and information about it.

    Attributes:
        variables: Names of the columns of `path`, in the order of the group.
        path: Waypoints (n, dof) from start to goal, connected by straight lines in joint space; for a Cartesian
            plan, its dense samples.
        cell_digest, start_state_digest: Cell and state that it was planned in.
        states_checked, motions_checked: Number of collision checks.
        path_length: Euclidean length, rad and m alike.
        tool_path_length: Path length of the tool centre point, or of the tip link without a tool [m].
        resolution: Max step between checked states of motions that are not proven free [rad or m].
        certified_fraction: Fraction of the path, by Euclidean length in joint space and including the start
            correction, with free certificates (`CountedChecks.certified_fraction`); NaN if nothing can be
            proven. The rest was checked at steps of `resolution` and, where objects are close, between them; a warning
            gives the possible overlap.
        goal: Index of the reached goal; -1 if goals have no index.
        start_correction_waypoints: Number of waypoints at the beginning that belong to the start correction.
        clearance: Min clearance along the path.
        cartesian: Report of a Cartesian plan, otherwise None.
        trajectory: Timed samples, if timing was requested.
        moving: Trajectories of other robots that the trajectory is free among; `certified_fraction` and `clearance`
            are then those of all robots together, over the whole time.
        warnings: Warnings about a successful plan.
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
    certified_fraction: float = math.nan
    goal: int = -1
    start_correction_waypoints: int = 0
    clearance: PathClearance | None = None
    cartesian: CartesianReport | None = None
    trajectory: Trajectory | None = None
    moving: tuple[Trajectory, ...] = ()
    warnings: tuple[str, ...] = ()
    revision: int = 0
    times: tuple[StageTime, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", read_only(self.path))

    def __str__(self) -> str:
        parts = [f"{len(self.path)} waypoints"]
        if self.trajectory is not None:
            parts.append(f"{self.duration:.3f} s")
        proven = percent(self.certified_fraction)
        parts.append("nothing proven" if proven == "-" else f"{proven} % proven")
        if self.clearance is not None and self.clearance.closest.first:
            closest = self.clearance.closest
            parts.append(f"{1e3 * closest.distance:.1f} mm between {closest.first} and {closest.second}")
        parts += [f"warning: {warning}" for warning in self.warnings]
        return f"plan of {self.group} by {self.planner}: {', '.join(parts)}"

    @property
    def duration(self) -> float:
        """Duration of the trajectory [s]; 0 without a trajectory."""
        return 0.0 if self.trajectory is None else self.trajectory.duration

    def end_configuration(self) -> Mapping[str, float]:
        """Return the last waypoint as values by variable."""
        return frozendict(zip(self.variables, self.path[-1].tolist(), strict=True))


def check_alone(plan: Plan, name: str = "the plan") -> None:
    """Check that a plan can be executed without motions of other robots.

    Raises:
        InvalidRequestError: It was planned among moving robots, and is valid only together with their motions.
    """
    if plan.moving:
        joints = tuple(joint for other in plan.moving for joint in other.variables)
        text = (
            f"{name} is valid only together with the motions of other robots that it was planned among: merge their "
            f"trajectories with it, and execute the result as one motion (joints of the others: {listed(joints)})"
        )
        raise InvalidRequestError(text, stage="request", subjects=joints, remedy=TOGETHER)


@dataclass(frozen=True)
class GoalFailure:
    """Error of one goal that cannot be used, with the index of the goal."""

    goal: int
    error: RobotCellError


@dataclass(frozen=True)
class PlanFailure:
    """Diagnostics of a failed request, in `partial` of the error. Fields of stages that were not reached are empty.

    Attributes:
        start_pairs: Colliding pairs at the start.
        goals: Goals that could not be used.
        start_tree_size, goal_tree_size: Number of configurations in the search trees.
        nearest_approach: Min joint-space distance between the two trees; NaN if nothing was searched.
        blocking_pair: Pair that blocked most motions.
        blocked_motions: Number of the first 256 blocked motions that it blocked.
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
    """Return a fraction as a whole percentage, "100" only up to rounding; "-" for NaN."""
    return "-" if math.isnan(fraction) else f"{math.floor(100.0 * fraction + 1e-6)}"


def path_length(path: Array) -> float:
    """Return the Euclidean length of a path (n, dof) in joint space, rad and m alike."""
    return float(np.linalg.norm(path[1:] - path[:-1], axis=1).sum())
