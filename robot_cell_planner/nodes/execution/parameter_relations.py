"""Relations between parameters of the execution node, which are refused if they contradict each other."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ...trajectory.sampler import SamplerOptions
from ..common.parameters import Relation


def _sees_stop(horizon: float, acceleration: float, jerk: float, robots: Sequence[str]) -> bool:
    """Return whether a path is checked for longer ahead than a stop takes, if other robots may move meanwhile."""
    return not any(robots) or horizon > SamplerOptions(acceleration, jerk).stop_time


BELOW_GOAL_TIME = Relation(("gripper_goal_time",), operator.lt, "below gripper_goal_time")
LONGER_THAN_STOP = Relation(
    ("scale_acceleration", "scale_jerk", "independent_robots"),
    _sees_stop,
    "longer than a stop by scale_acceleration and scale_jerk, with independent_robots",
)
