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
    """Selection of configurations along the path.

    GRAPH: The branch and redundant degrees of freedom are optimized over the whole path among all inverse kinematics
    solutions, for short joint motions away from limits, singularities and obstacles. GREEDY: Each configuration is the
    nearest to the previous one; faster, but fails where the branch ends.
    """

    GRAPH = "graph"
    GREEDY = "greedy"


@checked_fields
@dataclass(frozen=True)
class CartesianOptions:
    """Options of a Cartesian motion.

    Attributes:
        max_step_distance, max_step_angle: Max spacing of points along the path [m], [rad].
        min_step_distance, min_step_angle: Min spacing when steps are halved because of joint jumps [m], [rad].
        max_jump_prismatic, max_jump_revolute: Max change of a joint between points [m], [rad]; 0 for no limit.
        check_collision: Check points, and motions between them, for collisions.
        skip_preplanning_collision_check: Do not check the waypoints themselves before following the path. None:
            check waypoints with poses, but not points with axes, which are often numerous.
        sample_start_configuration: Start in any configuration with the same pose of the frame, instead of that of
            the state. For points with axes, the rotation about z is free.
        verbose: Log every tried point.
        strategy: Selection of configurations.
        max_deviation, max_deviation_angle: Max deviation of the frame from the path between points, where joints
            move linearly [m], [rad]; 0 for no limit. Points are added as needed. The deviation is reported in any
            case.
        extra_margin, search_step, resolution, engine, seed, state_limit, time_limit, start_limit_tolerance: As in
            `PlanningOptions`.

    Raises:
        InvalidRequestError: A value is out of range.
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
