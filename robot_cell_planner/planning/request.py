"""Requests for motions in joint space: where to, how to search, what to return."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from frozendict import frozendict

from ..errors import InvalidRequestError, LimitExceededError, Value
from ..kinematics.targets import FrameTarget, PointAxisTarget
from ..trajectory.timing import TimingOptions

STAGE = "request"
MAX_GOALS = 1000

Target: TypeAlias = FrameTarget | PointAxisTarget


@dataclass(frozen=True)
class PlanningOptions:
    """How a path is searched. What shapes it is counted in states, so that it repeats; the clock only aborts.

    planner: a name of `planners.PLANNERS`. planner_parameters: by name, as text; those not named have their defaults.
    seed: of everything random. state_limit: states to check in the search at most. time_limit [s]: the request is
    broken off after this; 0: never. simplify: leave out waypoints and cut corners. extra_margin [m]: distance to keep
    in addition to the margins of the cell. search_step [rad or m]: widest step between states checked while searching.
    resolution [rad or m]: widest step between states checked along the path that is returned. engine: of collision.

    Raises:
        InvalidRequestError: a value outside its range.
    """

    planner: str = "RRTConnect"
    planner_parameters: Mapping[str, str] = field(default_factory=frozendict)
    seed: int = 0
    state_limit: int = 1_000_000
    time_limit: float = 0.0
    simplify: bool = True
    extra_margin: float = 0.0
    search_step: float = 0.05
    resolution: float = 0.001
    engine: str = "coal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "planner_parameters", frozendict(self.planner_parameters))
        _within("seed", self.seed, 0, 2**63 - 1)
        _within("state_limit", self.state_limit, 1, 10**9)
        _within("time_limit", self.time_limit, 0.0, 1e6, "s")
        _within("extra_margin", self.extra_margin, 0.0, 10.0, "m")
        _within("resolution", self.resolution, 1e-5, 1.0)
        _within("search_step", self.search_step, self.resolution, 1.0)


@dataclass(frozen=True)
class Goals:
    """Where a motion may end: reaching any one of everything listed is enough.

    joint_goals: values by variable; a joint left out stays where it starts. named_states: of the group. targets: goal
    configurations are all their inverse kinematic solutions. Goals are numbered through in this order.

    Raises:
        InvalidRequestError: nothing is listed, or a joint value is not finite.
        LimitExceededError: more than a thousand goals.
    """

    joint_goals: tuple[Mapping[str, float], ...] = ()
    named_states: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()

    def __post_init__(self) -> None:
        goals = tuple(frozendict(goal) for goal in self.joint_goals)
        object.__setattr__(self, "joint_goals", goals)
        for index, goal in enumerate(goals):
            for joint, value in goal.items():
                if not math.isfinite(value):
                    text = f"joint {joint} of joint goal {index} is {value}, expected a finite number"
                    raise InvalidRequestError(text, stage=STAGE, subjects=(joint,))
        if self.count == 0:
            raise InvalidRequestError("no goal is given", stage=STAGE)
        if self.count > MAX_GOALS:
            numbers = (Value("goals", self.count, MAX_GOALS),)
            raise LimitExceededError(f"{self.count} goals are given", stage=STAGE, values=numbers)

    @property
    def count(self) -> int:
        return len(self.joint_goals) + len(self.named_states) + len(self.targets)


@dataclass(frozen=True)
class MotionRequest:
    """A motion to plan from the state that it is given with.

    group: planning group; "": the main group. joints: those of the group to move, the others are held; none: all.
    timing: how to time the path; None: not at all.

    Raises:
        InvalidRequestError: a joint is listed twice.
    """

    goals: Goals
    group: str = ""
    joints: tuple[str, ...] = ()
    options: PlanningOptions = field(default_factory=PlanningOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)

    def __post_init__(self) -> None:
        check_joints(self.joints)


def check_joints(joints: tuple[str, ...]) -> None:
    """Refuse joints that are listed twice.

    Raises:
        InvalidRequestError: one is.
    """
    if len(set(joints)) != len(joints):
        raise InvalidRequestError(f"a joint is listed twice: {', '.join(joints)}", stage=STAGE, subjects=joints)


def _within(name: str, value: float, low: float, high: float, unit: str = "") -> None:
    if not low <= value <= high:
        text = f"{name} is {value:g}, expected {low:g} to {high:g}"
        raise InvalidRequestError(text, stage=STAGE, values=(Value(name, value, high if value > high else low, unit),))
