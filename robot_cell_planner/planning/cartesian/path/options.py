"""Options of Cartesian planning. Names, defaults and units are those of compas_fab where it has the option."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from frozendict import frozendict

from ....errors import InvalidRequestError
from ....model.arguments import checked_fields
from ...problem.doubts import MAX_TOLERANCE, in_degrees, in_millimetres
from ...problem.request import CommonOptions, check_range

DEFAULT_STATE_LIMIT = 10_000_000
UNLIMITED = ("max_jump_prismatic", "max_jump_revolute", "max_deviation", "max_deviation_angle")  # by 0


class CartesianStrategy(str, Enum):
    """Selection of configurations along the path.

    GRAPH: The branch and redundant degrees of freedom are optimized over the whole path among all inverse kinematics
    solutions, for short joint motions away from limits, singularities and obstacles. GREEDY: Each configuration is the
    nearest to the previous one, except that redundant arms step aside at collisions; faster, but fails where the branch
    ends.
    """

    GRAPH = "graph"
    GREEDY = "greedy"


@checked_fields
@dataclass(frozen=True)
class CartesianOptions(CommonOptions):
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
            case. A timed motion that deviates further has a warning.

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
    strategy: CartesianStrategy = CartesianStrategy.GRAPH
    max_deviation: float = 0.0
    max_deviation_angle: float = 0.0
    search_step: float = 0.03
    state_limit: int = DEFAULT_STATE_LIMIT
    MEANING_NONE: ClassVar[Mapping[str, str]] = frozendict(
        {**CommonOptions.MEANING_NONE, **dict.fromkeys(UNLIMITED, "a number; 0 for no limit")}
    )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about values that are probably in millimetres or degrees."""
        distance = in_millimetres("a max_step_distance", self.max_step_distance, MAX_TOLERANCE)
        angle = in_degrees("a max_step_angle", self.max_step_angle, math.pi)
        return distance + angle + in_degrees("a max_jump_revolute", self.max_jump_revolute, 2.0 * math.pi)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.strategy, CartesianStrategy):
            raise InvalidRequestError(f"strategy is {self.strategy!r}, expected a CartesianStrategy", stage="request")
        check_range("max_step_distance", self.max_step_distance, 1e-6, 100.0, "m")
        check_range("max_step_angle", self.max_step_angle, 1e-6, 2.0 * math.pi, "rad")
        check_range("min_step_distance", self.min_step_distance, 1e-9, self.max_step_distance, "m")
        check_range("min_step_angle", self.min_step_angle, 1e-9, self.max_step_angle, "rad")
        check_range("max_jump_prismatic", self.max_jump_prismatic, 0.0, 1e6, "m")
        check_range("max_jump_revolute", self.max_jump_revolute, 0.0, 1e6, "rad")
        check_range("max_deviation", self.max_deviation, 0.0, 10.0, "m")
        check_range("max_deviation_angle", self.max_deviation_angle, 0.0, math.pi, "rad")
