"""Requests for motions in joint space: where to, how to search, what to return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from frozendict import frozendict

from ...errors import InvalidRequestError, LimitExceededError, Value
from ...kinematics.targets import FrameTarget, PointAxisTarget
from ...model.arguments import checked_fields
from ...model.start_limits import MAX_START_TOLERANCE, START_LIMIT_TOLERANCE
from ...model.value import Vector3, check_joint_value
from ...trajectory.timing import TimingOptions
from .constraints import MAX_CONSTRAINTS, PathConstraint
from .objective import Objective
from .planner_info import AUTOMATIC

STAGE = "request"
MAX_GOALS = 1000
MAX_SUGGESTIONS = 1000
UNTIL_LIMIT = -1

Target: TypeAlias = FrameTarget | PointAxisTarget


@checked_fields
@dataclass(frozen=True)
class PlanningOptions:
    """How a path is searched. What shapes it is counted in states, so that it repeats; the clock only aborts.

    planner: a name of `registry.PLANNERS`. planner_parameters: by name, as text; those not named have their defaults.
    seed: of everything random. state_limit: states to check in the search at most. time_limit [s]: the request is
    broken off after this; 0: never. objective: what to make small. improvement_states: states to check on improving
    after the first path; -1: until `state_limit`. simplify: leave out waypoints that are not needed. tighten: cut
    corners, and pull the path tight around obstacles. jiggle [rad or m]: farthest that a joint may move to get out of a
    start in collision or beyond limits; 0: not allowed. extra_margin [m]: distance to keep in addition to the margins
    of the cell. search_step [rad or m]: widest step between states checked while searching.
    resolution [rad or m]: widest step between states checked along the path that is returned. engine: of collision.
    certify: prove motions free where that can be done; otherwise states alone are checked. start_limit_tolerance [rad
    or m]: a start that is beyond a position limit by no more than this is moved to the limit, with a warning.

    Raises:
        InvalidRequestError: a value outside its range.
    """

    planner: str = AUTOMATIC
    planner_parameters: Mapping[str, str] = field(default_factory=frozendict)
    seed: int = 0
    state_limit: int = 1_000_000
    time_limit: float = 0.0
    objective: Objective = Objective.JOINT_LENGTH
    improvement_states: int = 0
    simplify: bool = True
    tighten: bool = True
    jiggle: float = 0.0
    extra_margin: float = 0.0
    search_step: float = 0.05
    resolution: float = 0.001
    engine: str = "coal"
    certify: bool = True
    start_limit_tolerance: float = START_LIMIT_TOLERANCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "planner_parameters", frozendict(self.planner_parameters))
        _within("seed", self.seed, 0, 2**63 - 1)
        _within("state_limit", self.state_limit, 1, 10**9)
        _within("time_limit", self.time_limit, 0.0, 1e6, "s")
        _within("improvement_states", self.improvement_states, UNTIL_LIMIT, 10**9)
        _within("jiggle", self.jiggle, 0.0, 1.0)
        _within("start_limit_tolerance", self.start_limit_tolerance, 0.0, MAX_START_TOLERANCE)
        _within("extra_margin", self.extra_margin, 0.0, 10.0, "m")
        _within("resolution", self.resolution, 1e-5, 1.0)
        _within("search_step", self.search_step, self.resolution, 1.0)


@checked_fields
@dataclass(frozen=True)
class GoalRegion:
    """All poses around a target within boxes of positions and rotations, along and about the target's axes.

    position_extent [m]: allowed either way along x, y, z. rotation_extent [rad]: either way of the components of the
    rotation vector. Infinite: free, for positions within 3 m.

    Raises:
        InvalidRequestError: a negative extent, or one that is no number.
    """

    center: FrameTarget
    position_extent: Vector3 = (0.0, 0.0, 0.0)
    rotation_extent: Vector3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("position_extent", "rotation_extent"):
            extent = getattr(self, name)
            if len(extent) != 3 or any(not value >= 0.0 for value in extent):
                raise InvalidRequestError(f"{name} is {list(extent)}, expected three numbers from 0", stage=STAGE)


@checked_fields
@dataclass(frozen=True)
class Goals:
    """Where a motion may end: reaching any one of everything listed is enough.

    joint_goals: values by variable; a joint left out stays where it starts. named_states: of the group. targets: goal
    configurations are all their inverse kinematic solutions. regions: goal configurations are sampled in them. Goals
    are numbered through in this order.

    Raises:
        InvalidRequestError: nothing is listed, or a joint value is not finite.
        LimitExceededError: more than a thousand goals.
    """

    joint_goals: tuple[Mapping[str, float], ...] = ()
    named_states: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    regions: tuple[GoalRegion, ...] = ()

    def __post_init__(self) -> None:
        goals = tuple(frozendict(goal) for goal in self.joint_goals)
        object.__setattr__(self, "joint_goals", goals)
        _check_finite(goals, "joint goal")
        if self.count == 0:
            raise InvalidRequestError("no goal is given", stage=STAGE)
        check_count("goals", self.count, MAX_GOALS)

    @property
    def count(self) -> int:
        return len(self.joint_goals) + len(self.named_states) + len(self.targets) + len(self.regions)


@checked_fields
@dataclass(frozen=True)
class MotionRequest:
    """A motion to plan from the state that it is given with.

    group: planning group; "": the main group. joints: those of the group to move, the others are held; none: all.
    constraints: what must hold all along. waypoint_suggestions: configurations, values by variable, that the path could
    well pass; they are tried in their order. timing: how to time the path; None: not at all.

    Raises:
        InvalidRequestError: a joint is listed twice.
        LimitExceededError: more than 32 constraints or a thousand suggestions.
    """

    goals: Goals
    group: str = ""
    joints: tuple[str, ...] = ()
    options: PlanningOptions = field(default_factory=PlanningOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)
    constraints: tuple[PathConstraint, ...] = ()
    waypoint_suggestions: tuple[Mapping[str, float], ...] = ()

    def __post_init__(self) -> None:
        check_joints(self.joints)
        object.__setattr__(self, "waypoint_suggestions", check_suggestions(self.waypoint_suggestions))
        check_count("constraints", len(self.constraints), MAX_CONSTRAINTS)


def check_joints(joints: tuple[str, ...]) -> None:
    """Refuse joints that are listed twice.

    Raises:
        InvalidRequestError: one is.
    """
    if len(set(joints)) != len(joints):
        raise InvalidRequestError(f"a joint is listed twice: {', '.join(joints)}", stage=STAGE, subjects=joints)


def check_suggestions(suggestions: Iterable[Mapping[str, float]]) -> tuple[Mapping[str, float], ...]:
    """Suggestions that no caller can change any more.

    Raises:
        InvalidRequestError: a value is not finite.
        LimitExceededError: more than a thousand.
    """
    found = tuple(frozendict(suggestion) for suggestion in suggestions)
    check_count("waypoint suggestions", len(found), MAX_SUGGESTIONS)
    _check_finite(found, "waypoint suggestion")
    return found


def check_count(what: str, count: int, most: int) -> None:
    """Refuse more things than are planned for.

    Raises:
        LimitExceededError: there are more.
    """
    if count > most:
        text = f"{count} {what} are given, expected at most {most}"
        raise LimitExceededError(text, stage=STAGE, subjects=(what,), values=(Value(what, count, most),))


def _check_finite(rows: Iterable[Mapping[str, float]], what: str) -> None:
    for index, row in enumerate(rows):
        for joint, value in row.items():
            try:
                check_joint_value(value, f"joint {joint} of {what} {index}")
            except ValueError as error:
                raise InvalidRequestError(str(error), stage=STAGE, subjects=(joint,)) from error


def _within(name: str, value: float, low: float, high: float, unit: str = "") -> None:
    if not low <= value <= high:
        text = f"{name} is {value:g}, expected {low:g} to {high:g}"
        raise InvalidRequestError(text, stage=STAGE, values=(Value(name, value, high if value > high else low, unit),))
