"""Control laws of joints: efforts from measured and desired motion.

Each law serves some of the joints; its arrays (n,) are over all variables of the plant, of which it uses its own.
Derivations: B. Siciliano et al., Robotics: Modelling, Planning and Control (2009), chapter 8; K. Åström and R. Murray,
Feedback Systems (2008), chapter 10, for PID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...model.simulated_robot import (
    ComputedTorque,
    GravityCompensation,
    JointImpedance,
    PidControl,
    VelocityControl,
)
from .plant import MIN_INERTIA, Plant

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ControlInput:
    """Input of a control law at the beginning of a control period.

    Attributes:
        period: Control period [s].
        q, v: Measured positions and velocities (n,) [rad or m, and per s].
        desired_q, desired_v: Desired positions and velocities now (n,).
        desired_a: Desired accelerations during the period (n,).
        efforts: Commanded efforts (n,) [Nm or N], zero where none is valid.
        limits: Effort limits (n,).
    """

    period: float
    q: Array
    v: Array
    desired_q: Array
    desired_v: Array
    desired_a: Array
    efforts: Array
    limits: Array


class ControlLaw(Protocol):
    """Control law of some joints.

    Attributes:
        compensates: Whether it adds a model's efforts to a commanded effort.
        follows: Whether it follows commanded positions. Otherwise they are kept at the measured ones.
        compliant: Whether it may be pushed away from the commanded position without bound.
    """

    compensates: bool
    follows: bool
    compliant: bool

    def start(self, given: ControlInput, plant: Plant, efforts: Array) -> None:
        """Begin at a measured state, at which the motors have had the efforts (n,)."""

    def efforts(self, given: ControlInput, plant: Plant) -> Array:
        """Return the efforts (n,) of the period."""


class BoundedIntegral:
    """Integrals (n,) that stop at saturation: an error is not integrated while the effort is at its limit and the error
    has its sign (conditional integration)."""

    def __init__(self, n: int) -> None:
        self.value = np.zeros(n)

    def add(self, increment: Array, efforts: Array, limits: Array) -> None:
        """Add an increment where the efforts allow for it."""
        saturated = (np.abs(efforts) >= limits) & (increment * efforts > 0.0)
        self.value += np.where(saturated, 0.0, increment)


class PidLaw:
    """PID on the position error, with a low-pass filter of the derivative."""

    compensates, follows, compliant = False, True, False

    def __init__(self, settings: PidControl, n: int) -> None:
        self._settings = settings
        self._kp = self._kd = self._ki = np.zeros(n)
        self._integral = BoundedIntegral(n)
        self._rate = np.zeros(n)

    def start(self, given: ControlInput, plant: Plant, efforts: Array) -> None:
        settings, inertia = self._settings, plant.inertias
        w = settings.bandwidth
        n = np.ones_like(inertia)
        self._kp = inertia * w * w if settings.proportional is None else settings.proportional * n
        damping = 2.0 * settings.damping_ratio * w * inertia
        self._kd = damping if settings.derivative is None else settings.derivative * n
        slow = self._kp / settings.integral_time if settings.integral_time > 0.0 else 0.0 * n
        self._ki = slow if settings.integral is None else settings.integral * n
        self._rate = given.desired_v - given.v
        self._integral.value = efforts - self._kp * (given.desired_q - given.q) - self._kd * self._rate
        if not self._ki.any():
            self._integral.value = np.zeros_like(efforts)

    def efforts(self, given: ControlInput, plant: Plant) -> Array:
        error = given.desired_q - given.q
        fraction = given.period / (given.period + self._settings.filter_time)
        self._rate = self._rate + fraction * (given.desired_v - given.v - self._rate)
        result = self._kp * error + self._kd * self._rate + self._integral.value
        self._integral.add(self._ki * error * given.period, result, given.limits)
        return result


class VelocityLaw:
    """Proportional and integral control of the velocity, within a proportional control of the position."""

    compensates, follows, compliant = False, True, False

    def __init__(self, settings: VelocityControl, n: int) -> None:
        self._settings = settings
        self._gain = np.zeros(n)
        self._integral = BoundedIntegral(n)

    def start(self, given: ControlInput, plant: Plant, efforts: Array) -> None:
        self._gain = plant.inertias * self._settings.bandwidth
        self._integral.value = efforts - self._gain * self._error(given)
        if self._settings.integral_time == 0.0:
            self._integral.value = np.zeros_like(efforts)

    def _error(self, given: ControlInput) -> Array:
        position = self._settings.position_bandwidth * (given.desired_q - given.q)
        return given.desired_v + position - given.v

    def efforts(self, given: ControlInput, plant: Plant) -> Array:
        error = self._error(given)
        result = self._gain * error + self._integral.value
        if self._settings.integral_time > 0.0:
            slow = self._gain * error * (given.period / self._settings.integral_time)
            self._integral.add(slow, result, given.limits)
        return result


class GravityLaw:
    """Compensation of gravity, with optional damping."""

    compensates, follows, compliant = True, False, True

    def __init__(self, settings: GravityCompensation, n: int) -> None:
        self._rate = settings.damping_rate

    def start(self, given: ControlInput, plant: Plant, efforts: Array) -> None:
        pass  # it has no memory

    def efforts(self, given: ControlInput, plant: Plant) -> Array:
        return plant.gravity - self._rate * plant.inertias * given.v


class ComputedTorqueLaw:
    """Inverse dynamics of the commanded acceleration, corrected by a PID in units of acceleration."""

    compensates, follows, compliant = True, True, False

    def __init__(self, settings: ComputedTorque, n: int) -> None:
        self._kp = settings.bandwidth**2
        self._kd = 2.0 * settings.damping_ratio * settings.bandwidth
        self._ki = self._kp / settings.integral_time if settings.integral_time > 0.0 else 0.0
        self._integral = BoundedIntegral(n)

    def start(self, given: ControlInput, plant: Plant, efforts: Array) -> None:
        self._integral.value = np.zeros_like(efforts)

    def efforts(self, given: ControlInput, plant: Plant) -> Array:
        error = given.desired_q - given.q
        correction = self._kp * error + self._kd * (given.desired_v - given.v) + self._integral.value
        result = plant.inverse(given.desired_a + correction) + plant.known_friction(given.desired_v)
        self._integral.add(self._ki * error * given.period, result, given.limits)
        return result


class JointImpedanceLaw:
    """Springs and dampers of the joints, plus gravity compensation.

    The damping matrix 2 r sqrt(k M) gives all modes the damping ratio r.
    """

    compensates, follows, compliant = True, True, True

    def __init__(self, settings: JointImpedance, n: int) -> None:
        self._stiffness, self._ratio = settings.stiffness, settings.damping_ratio

    def start(self, given: ControlInput, plant: Plant, efforts: Array) -> None:
        pass  # it has no memory

    def efforts(self, given: ControlInput, plant: Plant) -> Array:
        values, vectors = np.linalg.eigh(plant.mass_matrix)
        stiffness, damping = stable_gains(values, self._stiffness, self._ratio, given.period)
        error, rate = vectors.T @ (given.desired_q - given.q), vectors.T @ (given.desired_v - given.v)
        return vectors @ (stiffness * error + damping * rate) + plant.gravity


def stable_gains(inertias: Array, stiffness: float, ratio: float, period: float) -> tuple[Array, Array]:
    """Return stiffness and damping (n,) of springs on separate inertias, with which a control period [s] is stable.

    The stiffness is at most inertia / period^2, and the damping that of an implicit step.
    """
    inertias = np.maximum(inertias, MIN_INERTIA)
    limited = np.minimum(stiffness, inertias / period**2)
    damping = 2.0 * ratio * np.sqrt(limited * inertias)
    return limited, damping * inertias / (inertias + period * damping)
