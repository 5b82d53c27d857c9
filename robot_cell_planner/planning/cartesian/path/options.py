"""Options of Cartesian planning. Names, defaults and units are those of compas_fab where it has the option."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ....errors import InvalidRequestError, Value
from ....model.arguments import checked_fields
from ....model.start_limits import MAX_START_TOLERANCE, START_LIMIT_TOLERANCE

DEFAULT_STATE_LIMIT = 10_000_000


class Strategy(str, Enum):
    """How the configurations along the way are chosen.

    GRAPH: over the whole way, among all solutions of inverse kinematics: the branch, and what the task leaves free, so
    that joints travel little and keep away from limits, singular configurations and obstacles. GREEDY: each is the one
    that is nearest to the one before; quicker, and it ends where that branch ends.
    """

    GRAPH = "graph"
    GREEDY = "greedy"


@checked_fields
@dataclass(frozen=True)
class CartesianOptions:
    """How a Cartesian motion is followed.

    max_step_distance [m], max_step_angle [rad]: widest spacing of points along the path. min_step_distance [m],
    min_step_angle [rad]: narrowest spacing when a step is halved because joints would jump. max_jump_prismatic [m],
    max_jump_revolute [rad]: largest change of a joint from point to point; 0: not checked. check_collision: hold the
    points, and the motion between them, against the cell. skip_preplanning_collision_check: do not try the waypoints
    themselves before the motion is followed; None: try those of frames, and not those of points with axes, which are
    often very many. sample_start_configuration: begin in any configuration that has the frame where the state has it,
    its rotation about z free for points with axes, instead of the state's own. verbose: report every point tried.

    strategy: see there. max_deviation [m], max_deviation_angle [rad]: farthest that the frame may be from the way
    between two points, joints moving straight from one to the other; 0: it is reported and not limited. Points are
    added where it asks for them.

    extra_margin [m], search_step, resolution [rad or m], engine, seed, state_limit, time_limit [s] and
    start_limit_tolerance [rad or m]: as in `PlanningOptions`.

    Raises:
        InvalidRequestError: a value outside its range.
    """

    max_step_distance: float = 0.01
    max_step_angle: float = 0.1
    min_step_distance: float = 0.0001
    min_step_angle: float = 0.0001
    max_jump_prismatic: float = 0.1
    max_jump_revolute: float = math.pi / 2.0
    check_collision: bool = True
    skip_preplanning_collision_check: bool | None = None
    sample_start_configuration: bool = False
    verbose: bool = False
    strategy: Strategy = Strategy.GRAPH
    max_deviation: float = 0.0
    max_deviation_angle: float = 0.0
    extra_margin: float = 0.0
    search_step: float = 0.03
    resolution: float = 0.001
    engine: str = "coal"
    seed: int = 0
    state_limit: int = DEFAULT_STATE_LIMIT
    time_limit: float = 0.0
    start_limit_tolerance: float = START_LIMIT_TOLERANCE

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise InvalidRequestError(f"strategy is {self.strategy!r}, expected a Strategy", stage="request")
        for name, low, high in (
            ("max_step_distance", 1e-6, 100.0),
            ("max_step_angle", 1e-6, 2.0 * math.pi),
            ("min_step_distance", 1e-9, self.max_step_distance),
            ("min_step_angle", 1e-9, self.max_step_angle),
            ("max_jump_prismatic", 0.0, 1e6),
            ("max_jump_revolute", 0.0, 1e6),
            ("max_deviation", 0.0, 10.0),
            ("max_deviation_angle", 0.0, math.pi),
            ("extra_margin", 0.0, 10.0),
            ("resolution", 1e-5, 1.0),
            ("search_step", self.resolution, 1.0),
            ("seed", 0, 2**63 - 1),
            ("state_limit", 1, 10**9),
            ("time_limit", 0.0, 1e6),
            ("start_limit_tolerance", 0.0, MAX_START_TOLERANCE),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                text = f"{name} is {value:g}, expected {low:g} to {high:g}"
                limit = high if value > high else low
                raise InvalidRequestError(text, stage="request", values=(Value(name, value, limit),))
