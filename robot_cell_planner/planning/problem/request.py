"""Requests for joint-space motions: goals, search options and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TypeAlias

from frozendict import frozendict

from ...errors import InvalidRequestError, LimitExceededError, Value
from ...kinematics.targets import FrameTarget, PointAxisTarget, doubts_of
from ...model.arguments import checked_fields
from ...model.joint_arrays import check_distinct
from ...model.start_limits import MAX_START_TOLERANCE, START_LIMIT_TOLERANCE
from ...model.value import Vector3, check_joint_value
from ...trajectory.timing import TimingOptions
from ...trajectory.trajectory import Trajectory
from .constraints import MAX_CONSTRAINTS, PathConstraint
from .doubts import MAX_REGION, constraint_doubts, in_millimetres, timing_doubts
from .objective import Objective
from .planner_info import AUTOMATIC

STAGE = "request"
MAX_GOALS = 1000
MAX_PARTS = 100
MAX_SUGGESTIONS = 1000
UNTIL_LIMIT = -1
MAX_START_CORRECTION = 1.0  # [rad or m]

Target: TypeAlias = FrameTarget | PointAxisTarget


@checked_fields
@dataclass(frozen=True)
class CommonOptions:
    """Options common to joint-space and Cartesian planning.

    Effort is counted in states, so that results are repeatable; the clock can only abort.

    Attributes:
        seed: Seed of all random numbers.
        state_limit: Max number of states checked in the search. The path that was found is verified completely, which
            may exceed it.
        time_limit: Time after which the request is aborted [s]; 0 for none.
        extra_margin: Distance to keep in addition to the margins of the cell [m].
        search_step: Max step between states checked during the search [rad or m].
        resolution: Max step between states checked along the returned path [rad or m].
        engine: Collision engine.
        start_limit_tolerance: A start beyond a position limit by at most this is moved to the limit, with a warning
            [rad or m].
        certify: Prove motions free where possible; otherwise only states are checked.

    Raises:
        InvalidRequestError: A value is out of range.
    """

    seed: int = 0
    state_limit: int = 1_000_000
    time_limit: float = 0.0
    extra_margin: float = 0.0
    search_step: float = 0.05
    resolution: float = 0.001
    engine: str = "coal"
    start_limit_tolerance: float = START_LIMIT_TOLERANCE
    certify: bool = True
    MEANING_NONE: ClassVar[Mapping[str, str]] = frozendict({"time_limit": "a number; 0 for no time limit"})

    def __post_init__(self) -> None:
        check_range("seed", self.seed, 0, 2**63 - 1)
        check_range("state_limit", self.state_limit, 1, 10**9)
        check_range("time_limit", self.time_limit, 0.0, 1e6, "s")
        check_range("extra_margin", self.extra_margin, 0.0, 10.0, "m")
        check_range("resolution", self.resolution, 1e-5, 1.0)
        check_range("search_step", self.search_step, self.resolution, 1.0)
        check_range("start_limit_tolerance", self.start_limit_tolerance, 0.0, MAX_START_TOLERANCE)


class Coordination(str, Enum):
    """Method for the robots of a composite group."""

    COUPLED = "coupled"  # all joints together, on straight motions in their joint space
    PRIORITISED = "prioritised"  # one robot after the other, each among the motions of those before; else coupled
    FASTEST = "fastest"  # the shorter one of both


@checked_fields
@dataclass(frozen=True)
class PlanningOptions(CommonOptions):
    """Options of joint-space planning.

    Attributes:
        planner: Name in `registry.PLANNERS`.
        planner_parameters: Parameters by name, as text; others have their defaults.
        objective: Quantity to minimize.
        improvement_states: Number of states to check for optimization after the first path; -1: up to
            `state_limit`.
        simplify: Remove unnecessary waypoints.
        tighten: Cut corners and shorten the path around obstacles.
        max_start_correction: Max motion of a joint out of a start in collision or beyond limits [rad or m]; 0: not
            allowed.
        coordination: How the robots of a composite group are planned.

    Raises:
        InvalidRequestError: A value is out of range.
    """

    planner: str = AUTOMATIC
    planner_parameters: Mapping[str, str] = field(default_factory=frozendict)
    objective: Objective = Objective.JOINT_LENGTH
    improvement_states: int = 0
    simplify: bool = True
    tighten: bool = True
    max_start_correction: float = 0.0
    coordination: Coordination = Coordination.COUPLED

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "planner_parameters", frozendict(self.planner_parameters))
        check_range("improvement_states", self.improvement_states, UNTIL_LIMIT, 10**9)
        check_range("max_start_correction", self.max_start_correction, 0.0, MAX_START_CORRECTION)


@checked_fields
@dataclass(frozen=True)
class GoalRegion:
    """Poses around a target within a box of positions and a box of rotations in the target's axes.

    Attributes:
        position_extent: Half sizes of the position box [m]; infinite for free, up to 3 m.
        rotation_extent: Half sizes of the box of rotation vectors [rad]; infinite for free.

    Raises:
        InvalidRequestError: An extent is negative or not a number.
    """

    center: FrameTarget
    position_extent: Vector3 = (0.0, 0.0, 0.0)
    rotation_extent: Vector3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("position_extent", "rotation_extent"):
            extent = getattr(self, name)
            if len(extent) != 3 or any(not value >= 0.0 for value in extent):
                raise InvalidRequestError(f"{name} is {list(extent)}, expected three numbers from 0", stage=STAGE)


PartGoal: TypeAlias = Mapping[str, float] | str | FrameTarget | PointAxisTarget


@checked_fields
@dataclass(frozen=True)
class SimultaneousGoal:
    """Goals of the planning groups of a composite group, all of which are reached at the end of the motion.

    Attributes:
        parts: Goal by planning group: values by variable, the name of a named state of that group, or a target. Groups
            and joints that are not listed keep their start values. A target may refer to a frame that another group
            moves.

    Raises:
        InvalidRequestError: No goal is given, or a joint value is not finite.
        LimitExceededError: There are more than 100 groups.
    """

    parts: Mapping[str, PartGoal]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidRequestError("a simultaneous goal has no goal of any group", stage=STAGE)
        check_count("groups of a simultaneous goal", len(self.parts), MAX_PARTS)
        parts = {name: frozendict(goal) if isinstance(goal, Mapping) else goal for name, goal in self.parts.items()}
        object.__setattr__(self, "parts", frozendict(parts))
        _check_finite([goal for goal in parts.values() if isinstance(goal, Mapping)], "simultaneous goal")


@checked_fields
@dataclass(frozen=True)
class Goals:
    """Alternative goals of a motion; reaching any one of them is sufficient.

    Attributes:
        joint_goals: Values by variable; joints that are not listed keep their start values.
        named_states: Named states of the group.
        targets: Targets; goal configurations are all their inverse kinematics solutions. For a composite group: a
            target of one robot in a frame that others move, such as a part on a turntable, whose values are chosen.
        regions: Regions; goal configurations are sampled in them.
        simultaneous: Goals of the planning groups of a composite group at once.

    Goals are numbered consecutively in this order.

    Raises:
        InvalidRequestError: No goal is given, or a joint value is not finite.
        LimitExceededError: There are more than 1000 goals.
    """

    joint_goals: tuple[Mapping[str, float], ...] = ()
    named_states: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    regions: tuple[GoalRegion, ...] = ()
    simultaneous: tuple[SimultaneousGoal, ...] = ()

    def __post_init__(self) -> None:
        goals = tuple(frozendict(goal) for goal in self.joint_goals)
        object.__setattr__(self, "joint_goals", goals)
        _check_finite(goals, "joint goal")
        if self.count == 0:
            raise InvalidRequestError("no goal is given", stage=STAGE)
        check_count("goals", self.count, MAX_GOALS)

    @property
    def count(self) -> int:
        kinds = (self.joint_goals, self.named_states, self.targets, self.regions, self.simultaneous)
        return sum(map(len, kinds))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about targets and regions, such as a tolerance that is probably in degrees."""
        parts = [part for goal in self.simultaneous for part in goal.parts.values()]
        targets = (part for part in parts if isinstance(part, FrameTarget | PointAxisTarget))
        extents = (extent for region in self.regions for extent in region.position_extent)
        large = (text for extent in extents for text in in_millimetres("an extent of a region", extent, MAX_REGION))
        centers = (region.center for region in self.regions)
        return (*doubts_of((*self.targets, *targets, *centers)), *dict.fromkeys(large))


@checked_fields
@dataclass(frozen=True)
class MotionRequest:
    """Motion to plan from a given state.

    Attributes:
        group: Planning group; "" for the main group.
        joints: Joints of the group to move, the others are fixed; empty for all. The columns of a plan have the order
            of the group.
        constraints: Constraints that hold along the path.
        waypoint_suggestions: Configurations, as values by variable, that the path may pass; tried in this order.
        timing: Options of time parameterization; None for no timing.
        moving: Trajectories of other robots that move meanwhile. Their times count from the start of the planned
            motion; before its first and after its last sample, a robot is at rest.

    Raises:
        InvalidRequestError: A joint is listed twice.
        LimitExceededError: There are more than 32 constraints, 1000 suggestions or 100 trajectories.
    """

    goals: Goals
    group: str = ""
    joints: tuple[str, ...] = ()
    options: PlanningOptions = field(default_factory=PlanningOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)
    constraints: tuple[PathConstraint, ...] = ()
    waypoint_suggestions: tuple[Mapping[str, float], ...] = ()
    moving: tuple[Trajectory, ...] = ()

    def __post_init__(self) -> None:
        check_distinct(self.joints, STAGE)
        check_count("trajectories of moving robots", len(self.moving), MAX_PARTS)
        object.__setattr__(self, "waypoint_suggestions", check_suggestions(self.waypoint_suggestions))
        check_count("constraints", len(self.constraints), MAX_CONSTRAINTS)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about values that are probably in millimetres or degrees."""
        found = (*self.goals.warnings, *constraint_doubts(self.constraints), *timing_doubts(self.timing))
        return tuple(dict.fromkeys(found))


def check_suggestions(suggestions: Iterable[Mapping[str, float]]) -> tuple[Mapping[str, float], ...]:
    """Return an immutable copy of waypoint suggestions.

    Raises:
        InvalidRequestError: A value is not finite.
        LimitExceededError: There are more than 1000.
    """
    found = tuple(frozendict(suggestion) for suggestion in suggestions)
    check_count("waypoint suggestions", len(found), MAX_SUGGESTIONS)
    _check_finite(found, "waypoint suggestion")
    return found


def check_count(what: str, count: int, maximum: int) -> None:
    """Reject counts above a maximum.

    Raises:
        LimitExceededError: The count is above it.
    """
    if count > maximum:
        text = f"{count} {what} are given, expected at most {maximum}"
        raise LimitExceededError(text, stage=STAGE, subjects=(what,), values=(Value(what, count, maximum),))


def _check_finite(rows: Iterable[Mapping[str, float]], what: str) -> None:
    for index, row in enumerate(rows):
        for joint, value in row.items():
            try:
                check_joint_value(value, f"joint {joint} of {what} {index}")
            except ValueError as error:
                raise InvalidRequestError(str(error), stage=STAGE, subjects=(joint,)) from error


def check_range(name: str, value: float, low: float, high: float, unit: str = "") -> None:
    """Reject a value outside of a range.

    Raises:
        InvalidRequestError: The value and the range.
    """
    if not low <= value <= high:
        text = f"{name} is {value:g}, expected {low:g} to {high:g}"
        raise InvalidRequestError(text, stage=STAGE, values=(Value(name, value, high if value > high else low, unit),))
