"""Twists and poses of a frame as commands for joints: singularities, things in the way, and moving targets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..errors import InvalidRequestError, Value
from ..kinematics._kernels import chain_kernels
from ..kinematics.forward import chain_to
from ..kinematics.velocity import solve_velocity
from ..model.arguments import checked_fields
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from .limits import Array, MotionLimits
from .servo import Approach

PROBE = 1e-3  # [rad or m] along the motion, to see whether a singularity comes nearer
APPROACHING = 1e-4  # [m] by which a gap must shrink ahead to count as being approached
CREEPING = 0.02  # share of the speed below which nothing is let through, so that an approach ends


@checked_fields
@dataclass(frozen=True)
class FrameServoOptions:
    """linear_speed [m/s], angular_speed [rad/s]: of the frame at most. slow_below, stop_below: smallest singular values
    of the Jacobian, for motion towards a singularity. damping: of the inverse. gain [1/s]: speed per distance to a
    target. longest_step [s]: between two poses of a target that tell its velocity."""

    linear_speed: float = 0.25
    angular_speed: float = 1.0
    slow_below: float = 0.1
    stop_below: float = 0.02
    damping: float = 0.05
    gain: float = 4.0
    longest_step: float = 0.5

    def __post_init__(self) -> None:
        for name in ("linear_speed", "angular_speed", "slow_below", "gain", "longest_step"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                text = f"{name} of servo is {value:g}, expected a finite number above 0"
                raise InvalidRequestError(text, stage="servo", values=(Value(name, value),))
        if not 0.0 <= self.stop_below < self.slow_below:
            text = f"servo stops below the singular value {self.stop_below:g}, expected 0 to {self.slow_below:g}"
            raise InvalidRequestError(text, stage="servo", values=(Value("stop_below", self.stop_below),))


@dataclass(frozen=True, eq=False)
class FrameCommand:
    """velocities (dof,). limit_share, singularity_share: of the commanded speed that position and velocity limits, and
    singularities, leave. smallest_singular_value: of the Jacobian."""

    velocities: Array
    limit_share: float
    singularity_share: float
    smallest_singular_value: float


class FrameServo:
    """Joint velocities for twists of a frame that the variables of some limits move; all others stay as in a state.

    Raises:
        UnknownNameError: there is no such frame or variable.
    """

    def __init__(
        self, cell: RobotCell, state: RobotCellState, frame: str, limits: MotionLimits, options: FrameServoOptions
    ) -> None:
        self._table = chain_to(cell, state, frame, limits.variables).table
        self._approach = Approach(limits)
        self._options = options

    def _jacobians(self, rows: Array) -> tuple[Array, Array]:
        jacobians, _, poses = chain_kernels.jacobians_and_rates(self._table, rows, np.zeros_like(rows))
        return jacobians, poses

    def pose(self, positions: Array) -> Array:
        """Where the frame is in the world (4, 4)."""
        pose: Array = self._jacobians(positions[None])[1][0]
        return pose

    def command(self, positions: Array, twist: Array) -> FrameCommand:
        """Velocities for a twist (6,) in the axes of the world, linear part first.

        It is slowed as a whole, its direction kept: to the highest speeds, by joints near their limits, and towards
        singularities, in proportion to the smallest singular value between the two thresholds. Away from a singularity
        nothing is slowed.

        Raises:
            InvalidRequestError: the twist is not six finite numbers.
        """
        options = self._options
        jacobian = self._jacobians(positions[None])[0][0]
        scaled = twist * _share_of_speed(twist, options)
        found = solve_velocity(jacobian, scaled, self._approach.bounds(positions), damping=options.damping)
        smallest = found.smallest_singular_value
        share = 1.0
        if smallest < options.slow_below and self._nears_a_singularity(positions, found.velocities, smallest):
            share = max(0.0, (smallest - options.stop_below) / (options.slow_below - options.stop_below))
        return FrameCommand(share * found.velocities, found.scale, share, smallest)

    def _nears_a_singularity(self, positions: Array, velocities: Array, smallest: float) -> bool:
        fastest = float(np.abs(velocities).max(initial=0.0))
        if fastest == 0.0:
            return False
        probed = positions + PROBE * (velocities / fastest)
        return float(np.linalg.svd(self._jacobians(probed[None])[0][0], compute_uv=False)[-1]) < smallest


def _share_of_speed(twist: Array, options: FrameServoOptions) -> float:
    linear, angular = math.hypot(*twist[:3]), math.hypot(*twist[3:])
    shares = [1.0]
    if linear > 0.0:
        shares.append(options.linear_speed / linear)
    if angular > 0.0:
        shares.append(options.angular_speed / angular)
    return min(shares)


@dataclass(frozen=True, eq=False)
class PoseTracking:
    """A twist (6,) in the axes of the world, and how far the target is: [m] and [rad]."""

    twist: Array
    position_error: float
    orientation_error: float


class TargetTracker:
    """Follows a moving pose: the target's own velocity, and a share of the error on top of it.

    With the velocity v of the target known, the error e obeys e' = -gain e, so it dies out. v is taken from the last
    two poses; for a target whose acceleration is at most a, sampled every h seconds, it is wrong by at most 1.5 a h,
    and the error that remains is at most 1.5 a h / gain, as far as limits let the robot follow.
    """

    def __init__(self, options: FrameServoOptions) -> None:
        self._options = options
        self._pose: Array | None = None
        self._velocity = np.zeros(6)
        self._time = 0.0

    @property
    def has_target(self) -> bool:
        return self._pose is not None

    def take(self, pose: Array, time: float) -> None:
        """Another pose of the target (4, 4) in the world, at a time [s]; one that jumps has no velocity."""
        passed = time - self._time
        velocity = np.zeros(6)
        if self._pose is not None and 0.0 < passed <= self._options.longest_step:
            velocity = _difference(self._pose, pose) / passed
            if _share_of_speed(velocity, self._options) < 1.0:
                velocity = np.zeros(6)
        self._pose, self._velocity, self._time = pose, velocity, time

    def pursuit(self, frame: Array, time: float) -> PoseTracking:
        """The twist for a frame (4, 4) at a time [s]; there must be a target."""
        assert self._pose is not None
        ahead = min(max(time - self._time, 0.0), self._options.longest_step)
        target = self._pose.copy()
        target[:3, 3] += ahead * self._velocity[:3]
        target[:3, :3] = pin.exp3(ahead * self._velocity[3:]) @ target[:3, :3]
        error = _difference(frame, target)
        twist = self._velocity + self._options.gain * error
        return PoseTracking(twist, float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:])))


def _difference(first: Array, second: Array) -> Array:
    """Way and turn (6,) from one pose to another, in the axes of the world."""
    turn = pin.log3(second[:3, :3] @ first[:3, :3].T)
    return np.concatenate((second[:3, 3] - first[:3, 3], turn))


Gaps = Mapping[tuple[str, str], float]


def collision_share(now: Gaps, ahead: Gaps, slow_down: float, stop: float = 0.0) -> float:
    """Share of the commanded speed that things in the way leave.

    now, ahead: gaps [m], beyond safety margins, of pairs of things where the robot is, and the smallest on the way on
    which it would move on and stop. Only pairs that come nearer count: the share falls from 1 at `slow_down` [m] to 0
    at `stop` [m]. Pairs that are not listed are further away than that. Very small shares count as 0.
    """
    share = 1.0
    for pair, gap in ahead.items():
        if gap < now.get(pair, math.inf) - APPROACHING:
            share = min(share, (gap - stop) / (slow_down - stop))
    return share if share > CREEPING else 0.0
