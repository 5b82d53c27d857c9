"""Tasks: where an episode starts, what its goal is, and how far it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..model.value import Vector3
from ..simulation.simulated_cell import SimulatedCell

Array = NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True)
class Region:
    """Box in the world, from which positions are drawn uniformly; `lower` and `upper` are opposite corners [m]."""

    lower: Vector3
    upper: Vector3

    def __post_init__(self) -> None:
        if not all(low <= high for low, high in zip(self.lower, self.upper, strict=True)):
            text = f"a region from {self.lower} to {self.upper} is empty, expected lower and then upper corners"
            raise InvalidRequestError(text, stage="environment")

    def draw(self, random: Random) -> Array:
        """Return a position (3,)."""
        return np.asarray(random.uniform(self.lower, self.upper))


class Task(Protocol):
    """A task of an environment. Goals and what is achieved are vectors of `goal_size` numbers."""

    @property
    def goal_size(self) -> int:
        """Number of values of a goal."""

    @property
    def tolerance(self) -> float:
        """Distance from the goal that counts as success."""

    @property
    def ends_at_success(self) -> bool:
        """Whether success ends the episode."""

    @property
    def start_spread(self) -> float:
        """Largest deviation of the acting joints at the start from the state of the cell [rad or m]."""

    def start(self, state: RobotCellState, random: Random) -> RobotCellState:
        """Return the state of the cell at the start of an episode; the acting joints are drawn by the environment."""

    def goal(self, random: Random) -> Array:
        """Return the goal of an episode (goal_size,)."""

    def achieved(self, simulated: SimulatedCell) -> Array:
        """Return what is compared with the goal (goal_size,)."""

    def features(self, simulated: SimulatedCell) -> Array:
        """Return observations of the task beyond joints, tool centre point, goal and what is achieved."""

    def reward(self, achieved: Array, goal: Array) -> Array:
        """Return the reward of states (..., goal_size) for goals of the same shape, without bonus and costs."""

    def failed(self, simulated: SimulatedCell) -> bool:
        """Return whether the episode has failed for good."""


class _PositionTask:
    """Base of tasks whose goal is a position."""

    goal_size = 3
    ends_at_success = True

    def reward(self, achieved: Array, goal: Array) -> Array:
        """Return the negative distance [m]."""
        return np.asarray(-np.linalg.norm(achieved - goal, axis=-1), dtype=np.float64)

    def failed(self, simulated: SimulatedCell) -> bool:
        """Return False: the goal can always be tried again."""
        return False


@dataclass(frozen=True)
class Reach(_PositionTask):
    """A frame has to reach a position.

    Attributes:
        frame: Frame that moves, such as the tool centre point.
        region: Where goals are drawn from.
        tolerance: Distance that counts as success [m].
        start_spread: Largest deviation of the acting joints at the start from the state of the cell [rad or m].
    """

    frame: str
    region: Region
    tolerance: float = 0.03
    start_spread: float = 0.3

    def start(self, state: RobotCellState, random: Random) -> RobotCellState:
        """Return the state unchanged."""
        return state

    def goal(self, random: Random) -> Array:
        """Return a position of the region."""
        return self.region.draw(random)

    def achieved(self, simulated: SimulatedCell) -> Array:
        """Return the position of the frame."""
        return np.array(simulated.pose(self.frame).position)

    def features(self, simulated: SimulatedCell) -> Array:
        """Return nothing."""
        return np.zeros(0)


@dataclass(frozen=True)
class MoveBody(_PositionTask):
    """A body has to reach a position: pushed, picked and placed, or inserted.

    Attributes:
        body: Body that is moved; it is free, or attached to the tool as a peg is.
        start_region: Where the body starts; None for its pose in the cell's state.
        region: Where goals are drawn from; of one point for an insertion.
        tolerance: Distance that counts as success [m].
        tip: Point of the body that has to reach the goal, in its frame [m].
        start_spread: As for `Reach`.
    """

    body: str
    region: Region
    start_region: Region | None = None
    tolerance: float = 0.03
    tip: Vector3 = (0.0, 0.0, 0.0)
    start_spread: float = 0.0

    def start(self, state: RobotCellState, random: Random) -> RobotCellState:
        """Return the state with the body at a random place."""
        if self.start_region is None:
            return state
        x, y, z = self.start_region.draw(random).tolist()
        turn = random.uniform(-math.pi, math.pi)
        body = msgspec.structs.replace(state.bodies[self.body], pose=Pose.from_rpy((x, y, z), (0.0, 0.0, turn)))
        return state.with_body(self.body, body)

    def goal(self, random: Random) -> Array:
        """Return a position of the region."""
        return self.region.draw(random)

    def achieved(self, simulated: SimulatedCell) -> Array:
        """Return the position of the tip of the body."""
        return np.array((simulated.pose(self.body) @ Pose(self.tip)).position)

    def features(self, simulated: SimulatedCell) -> Array:
        """Return the orientation of the body as a quaternion (x, y, z, w) with w >= 0."""
        quaternion = np.array(simulated.pose(self.body).quaternion)
        return quaternion if quaternion[3] >= 0.0 else -quaternion


@dataclass(frozen=True)
class Balance:
    """A passive joint has to stay near zero, and the joint that acts too: the cart-pole.

    Attributes:
        joint: Joint that balances, without a motor of its own.
        max_angle: Angle at which the episode fails [rad].
        carrier: Joint that acts.
        max_travel: Position at which the episode fails [m].
        start_spread: Largest deviation of both joints at the start [rad or m].
    """

    joint: str = "pole_joint"
    max_angle: float = 0.21
    carrier: str = "cart_joint"
    max_travel: float = 2.4
    start_spread: float = 0.05
    goal_size: int = field(default=2, init=False)
    tolerance: float = field(default=0.0, init=False)
    ends_at_success: bool = field(default=False, init=False)

    def start(self, state: RobotCellState, random: Random) -> RobotCellState:
        """Return the state with a random angle of the joint."""
        return state.with_configuration({self.joint: float(random.uniform(-self.start_spread, self.start_spread))})

    def goal(self, random: Random) -> Array:
        """Return zeros."""
        return np.zeros(2)

    def achieved(self, simulated: SimulatedCell) -> Array:
        """Return travel and angle."""
        names, positions = simulated.joint_names, simulated.joint_states().positions
        return positions[[names.index(self.carrier), names.index(self.joint)]]

    def features(self, simulated: SimulatedCell) -> Array:
        """Return the velocity of the joint."""
        return simulated.joint_states().velocities[[simulated.joint_names.index(self.joint)]]

    def reward(self, achieved: Array, goal: Array) -> Array:
        """Return 1 for each step in which the joint is balanced."""
        upright = (np.abs(achieved[..., 1]) <= self.max_angle) & (np.abs(achieved[..., 0]) <= self.max_travel)
        return np.where(upright, 1.0, 0.0)

    def failed(self, simulated: SimulatedCell) -> bool:
        """Return whether the joint has fallen, or the carrier has left its range."""
        return not bool(self.reward(self.achieved(simulated), np.zeros(2)))
