"""Cartesian servo: joint commands for twists and moving target poses, with singularity and collision scaling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from frozendict import frozendict

from ..errors import InvalidRequestError, Value
from ..kinematics._kernels import chain_kernels
from ..kinematics.forward import chain_to
from ..kinematics.velocity import solve_velocity
from ..model.arguments import checked_fields
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from .limits import Array, MotionLimits
from .servo import Approach

PROBE = 1e-3  # [rad or m], step of the fastest joint to test whether a motion leads to a singularity or an object
APPROACHING = 1e-4  # [m], minimum decrease of a distance ahead that counts as an approach, not near the stop distance
ROUNDING = 1e-6  # [m], accuracy of distances
CREEPING = 0.02  # fraction of the speed below which the command is zero, so that an approach ends


@checked_fields
@dataclass(frozen=True)
class FrameServoOptions:
    """Options of the Cartesian servo.

    Attributes:
        linear_speed, angular_speed: Maximum speeds of the frame [m/s, rad/s].
        slow_below, stop_below: Thresholds of the smallest singular value of the Jacobian at which motion towards a
            singularity is slowed down and stopped.
        damping: Damping of the inverse, at least 0.
        gain: Speed per distance to a target [1/s].
        longest_step: Maximum time between two target poses from which the target velocity is computed [s].

    Raises:
        InvalidRequestError: A value is out of range.
    """

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
        if not (math.isfinite(self.damping) and self.damping >= 0.0):
            text = f"damping of servo is {self.damping:g}, expected a finite number of at least 0"
            raise InvalidRequestError(text, stage="servo", values=(Value("damping", self.damping),))
        if not 0.0 <= self.stop_below < self.slow_below:
            text = f"servo stops below the singular value {self.stop_below:g}, expected 0 to {self.slow_below:g}"
            raise InvalidRequestError(text, stage="servo", values=(Value("stop_below", self.stop_below),))


@dataclass(frozen=True, eq=False)
class FrameCommand:
    """Result of a Cartesian servo step.

    Attributes:
        velocities: Joint velocities (dof,) [rad/s or m/s].
        limit_fraction: Fraction of the commanded speed that position and velocity limits allow.
        singularity_fraction: Fraction of the commanded speed that singularities allow.
        smallest_singular_value: Of the Jacobian.
    """

    velocities: Array
    limit_fraction: float
    singularity_fraction: float
    smallest_singular_value: float


class FrameServo:
    """Joint velocities for twists of a frame, moved by the variables of given limits; other joints keep their values.

    Raises:
        UnknownNameError: The frame or a variable does not exist.
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
        """Return the pose of the frame in the world (4, 4) at positions (dof,)."""
        pose: Array = self._jacobians(positions[None])[1][0]
        return pose

    def command(self, positions: Array, twist: Array) -> FrameCommand:
        """Return joint velocities for a twist (6,) in the axes of the world, linear part first.

        The twist is scaled as a whole, so that its direction is kept: to the maximum speeds, by joints near their
        limits, and towards singularities, in proportion to the smallest singular value between both thresholds. Motion
        away from a singularity is not slowed down.

        Raises:
            InvalidRequestError: The twist is not six finite numbers.
        """
        options = self._options
        jacobian = self._jacobians(positions[None])[0][0]
        scaled = twist * _speed_fraction(twist, options)
        found = solve_velocity(jacobian, scaled, self._approach.bounds(positions), damping=options.damping)
        smallest = found.smallest_singular_value
        fraction = 1.0
        if smallest < options.slow_below and self._nears_a_singularity(positions, found.velocities, smallest):
            fraction = max(0.0, (smallest - options.stop_below) / (options.slow_below - options.stop_below))
        return FrameCommand(fraction * found.velocities, found.scale, fraction, smallest)

    def _nears_a_singularity(self, positions: Array, velocities: Array, smallest: float) -> bool:
        if not velocities.any():
            return False
        probed = probed_positions(positions, velocities)
        return float(np.linalg.svd(self._jacobians(probed[None])[0][0], compute_uv=False)[-1]) < smallest


def probed_positions(positions: Array, velocities: Array) -> Array:
    """Return positions (dof,) after a small step in the direction of velocities (dof,), which does not depend on the
    speed; the same positions for zero velocities."""
    fastest = float(np.abs(velocities).max(initial=0.0))
    probed: Array = positions if fastest == 0.0 else positions + PROBE * (velocities / fastest)
    return probed


def _speed_fraction(twist: Array, options: FrameServoOptions) -> float:
    linear, angular = math.hypot(*twist[:3]), math.hypot(*twist[3:])
    fractions = [1.0]
    if linear > 0.0:
        fractions.append(options.linear_speed / linear)
    if angular > 0.0:
        fractions.append(options.angular_speed / angular)
    return min(fractions)


@dataclass(frozen=True, eq=False)
class PoseTracking:
    """Twist (6,) in the axes of the world, and the remaining distance to the target [m] and [rad]."""

    twist: Array
    position_error: float
    orientation_error: float


class TargetTracker:
    """Pose tracking: the velocity of the target plus a feedback term proportional to the error.

    With the target velocity v known, the error e obeys e' = -gain e and decays. v is estimated from the last two poses.
    For a target with acceleration at most a, sampled every h seconds, its error is at most 1.5 a h, and the remaining
    tracking error is at most 1.5 a h / gain, as long as limits let the robot follow.
    """

    def __init__(self, options: FrameServoOptions) -> None:
        self._options = options
        self._pose: Array | None = None
        self._velocity = np.zeros(6)
        self._time = 0.0

    def take(self, pose: Array, time: float) -> None:
        """Add a target pose (4, 4) in the world at a time [s]; a pose that jumps has zero velocity."""
        passed = time - self._time
        velocity = np.zeros(6)
        if self._pose is not None and 0.0 < passed <= self._options.longest_step:
            velocity = _difference(self._pose, pose) / passed
            if _speed_fraction(velocity, self._options) < 1.0:
                velocity = np.zeros(6)
        self._pose, self._velocity, self._time = pose, velocity, time

    def track_pose(self, frame: Array, time: float) -> PoseTracking:
        """Return the twist for a frame (4, 4) at a time [s]; a target is required."""
        assert self._pose is not None
        ahead = min(max(time - self._time, 0.0), self._options.longest_step)
        target = self._pose.copy()
        target[:3, 3] += ahead * self._velocity[:3]
        target[:3, :3] = pin.exp3(ahead * self._velocity[3:]) @ target[:3, :3]
        error = _difference(frame, target)
        twist = self._velocity + self._options.gain * error
        return PoseTracking(twist, float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:])))


def _difference(first: Array, second: Array) -> Array:
    """Return the translation and rotation (6,) from one pose to another, in the axes of the world."""
    turn = pin.log3(second[:3, :3] @ first[:3, :3].T)
    return np.concatenate((second[:3, 3] - first[:3, 3], turn))


Gaps = Mapping[tuple[str, str], float]
NO_GAPS: Gaps = frozendict()


def collision_fraction(
    now: Gaps, ahead: Gaps, slow_down: float, stop: float = 0.0, probed: Gaps = NO_GAPS, steps: float = 0.0
) -> float:
    """Return the fraction of the commanded speed that distances between collision objects allow.

    Only pairs that approach each other count: the fraction decreases from 1 at `slow_down` [m] to 0 at `stop` [m]. Very
    small fractions count as 0. So does that of a pair that would come as near as `stop` before the first prediction:
    thin objects can pass through each other between two predictions.

    Args:
        now: Distances beyond safety margins of nearby pairs at the current state [m]; pairs that are not listed are
            farther away.
        ahead: Minimum distances of these pairs on the predicted motion and stop [m].
        slow_down: Distance at which the speed starts to decrease [m].
        stop: Distance at which the speed is zero [m].
        probed: Distances of these pairs at `probed_positions` of the commanded motion [m]; without one, that ahead.
        steps: Length of the motion to the first prediction, as a multiple of that to `probed_positions`.
    """
    for pair, gap in now.items():
        nearer = gap - probed.get(pair, gap)
        if nearer > ROUNDING and nearer * steps >= gap - stop:
            return 0.0
    fraction = 1.0
    for pair, gap in ahead.items():
        if _is_approached(now.get(pair, math.inf), probed.get(pair, gap), gap, stop):
            fraction = min(fraction, (gap - stop) / (slow_down - stop))
    return fraction if fraction > CREEPING else 0.0


def _is_approached(now: float, probed: float, ahead: float, stop: float) -> bool:
    """Return whether a pair counts as approaching [m].

    A slow motion decreases a distance by less than any threshold within the time looked ahead, but not before it ends
    in contact. Near the stop distance, therefore, the direction of the motion decides. A step whose length does not
    depend on the speed decreases the distance by more than the accuracy of distances, unless the motion leads away or
    is parallel to the surface (within 0.06 degrees at a radius of 1 m). A motion that passes this test must still not
    cross the stop distance.
    """
    if now - ahead > APPROACHING:
        return True
    if ahead > stop + APPROACHING:
        return False
    return now - probed > ROUNDING or ahead < stop - ROUNDING <= now
