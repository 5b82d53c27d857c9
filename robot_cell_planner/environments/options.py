"""Options of environments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ..errors import InvalidRequestError
from ..model.arguments import checked_fields

STAGE = "environment"


class ActionKind(str, Enum):
    """Quantity that an action commands, each number from -1 to 1 as a fraction of the maximum.

    POSITION: a change of the joint positions, from rest to rest within the period. TWIST: the same, from the velocity
    of the tool centre point. VELOCITY: joint velocities. EFFORT: joint efforts.
    """

    POSITION = "position"
    TWIST = "twist"
    VELOCITY = "velocity"
    EFFORT = "effort"


BOUNDS = {
    "period": (0.002, 10.0),
    "episode_steps": (1, 1_000_000),
    "safety_margin": (0.0, 1.0),
    "speed": (1e-3, 1.0),
    "linear_speed": (1e-3, 10.0),
    "angular_speed": (1e-3, 100.0),
    "success_reward": (0.0, 1e6),
    "contact_cost": (0.0, 1e6),
}


@checked_fields
@dataclass(frozen=True)
class EnvironmentOptions:
    """Options of an environment.

    Attributes:
        action: What an action commands.
        group: Planning group that acts; "" for the main group.
        gripper: Name of the tool whose joint the last number of an action drives, from closed (-1) to open (1); "" for
            none.
        period: Time of an action [s]; a multiple of the simulation's time step.
        episode_steps: Actions in an episode, after which it is truncated.
        safety_layer: Whether an action whose motion is not certified as free, wherever the gripper's joint is in its
            range, is scaled back; for POSITION and TWIST.
        safety_margin: Clearance that its certificates prove in addition to the margins of the cell [m].
        speed: Largest joint velocity of an action as a fraction of the limits.
        linear_speed, angular_speed: Largest velocities of a TWIST action [m/s, rad/s].
        goal_conditioned: Whether observations are those of goal-conditioned learning: a dictionary of observation,
            achieved_goal and desired_goal.
        success_reward: Reward of the step that reaches the goal.
        contact_cost: What a step with a contact that the collision rules do not allow costs.

    Raises:
        InvalidRequestError: A value is out of range, or a safety layer is requested that the actions cannot have.
    """

    action: ActionKind = ActionKind.POSITION
    group: str = ""
    gripper: str = ""
    period: float = 0.1
    episode_steps: int = 100
    safety_layer: bool = False
    safety_margin: float = 0.002
    speed: float = 1.0
    linear_speed: float = 0.5
    angular_speed: float = 1.0
    goal_conditioned: bool = False
    success_reward: float = 5.0
    contact_cost: float = 1.0

    def __post_init__(self) -> None:
        for name, (lower, upper) in BOUNDS.items():
            value = getattr(self, name)
            if not (math.isfinite(value) and lower <= value <= upper):
                text = f"{name} is {value}, expected {lower:g} to {upper:g}"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,))
        if self.safety_layer and self.action not in (ActionKind.POSITION, ActionKind.TWIST):
            text = f"the safety layer certifies motions, which {self.action.value} actions do not define"
            raise InvalidRequestError(f"{text}; use position or twist", stage=STAGE, subjects=("safety_layer",))
