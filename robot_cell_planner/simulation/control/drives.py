"""Drives: what a motor's effort becomes at its link, by time constant, armature and backlash."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...model.simulated_robot import JointDrive
from .plant import Plant

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
AT_REST = 1e-3  # [rad/s or m/s] velocity below which static friction opposes the other efforts
OBSERVED_WITHIN = 0.01  # [s] time constant of the efforts that are observed
MIN_ROTOR = 0.02  # of the inertia that the joint moves, for the motor in the play of a joint without armature


class Drives:
    """Drives of the joints of a plant; arrays (n,) are in the order of its variables.

    - The effort follows its command with a time constant.
    - The rotor of the motor moves freely within the play of the gear, and hits its ends without bouncing; the link gets
      the effort only at an end. The measured position is that of the motor.
    - The armature's fraction of the effort is computed with the plant's equations of motion, because the physics engine
      has no such inertia. What the plant does not contain, such as grasped bodies, added masses and contacts, is
      observed: efforts that explain the measured accelerations, through a low-pass filter. (A disturbance observer, see
      A. De Luca et al., Collision detection and safe reaction with the DLR-III lightweight manipulator arm, IROS 2006.)

    Attributes:
        offset: Motor position minus link position (n,) [rad or m].
    """

    def __init__(self, plant: Plant, drives: Mapping[str, JointDrive]) -> None:
        found = [drives.get(name, JointDrive()) for name in plant.variables]
        self._time_constant = np.array([drive.time_constant for drive in found])
        self._half_play = 0.5 * np.array([drive.backlash for drive in found])
        plant.armature = np.array([drive.armature for drive in found])
        self.is_ideal = not any(drive.needs_effort_control for drive in found)
        self._efforts = np.zeros(len(found))
        self.offset = np.zeros(len(found))
        self._speed = np.zeros(len(found))  # of the motor relative to the link, in the play
        self._external = np.zeros(len(found))  # observed efforts
        self._before: tuple[Array, Array, Array] | None = None  # velocity, mass matrix and net effort of a period

    def start(self, efforts: Array, joints: Mask) -> None:
        """Begin to drive joints whose motors have had the efforts (n,) for long."""
        self._efforts = np.where(joints, efforts, self._efforts)
        self.offset = np.where(joints, np.sign(efforts) * self._half_play, self.offset)
        self._speed = np.where(joints, 0.0, self._speed)
        self._external, self._before = np.where(joints, 0.0, self._external), None

    def advance(self, commands: Array, plant: Plant, period: float) -> tuple[Array, Array]:
        """Advance by a control period [s]; return the efforts of the motors and those at the links (n,)."""
        if self.is_ideal:
            return commands, commands
        slow = self._time_constant > 0.0
        fraction = np.where(slow, -np.expm1(-period / np.where(slow, self._time_constant, 1.0)), 1.0)
        self._efforts = self._efforts + fraction * (commands - self._efforts)
        passed = np.where(self._engaged(plant, period), self._efforts, 0.0)
        return self._efforts, self._without_armature(passed, plant, period)

    def _engaged(self, plant: Plant, period: float) -> Mask:
        """Move the motors in their play; return whether each is at the end that it pushes against."""
        play = self._half_play > 0.0
        if not play.any():
            return np.ones_like(play)
        rotor = np.maximum(plant.armature, MIN_ROTOR * plant.inertias)
        self._speed = self._speed + self._efforts / rotor * period
        offset = self.offset + self._speed * period
        bounded = np.clip(offset, -self._half_play, self._half_play)
        at_end = np.abs(offset) >= self._half_play
        self._speed = np.where(at_end, 0.0, self._speed)
        self.offset = np.where(play, bounded, 0.0)
        return ~play | (at_end & (self.offset * self._efforts >= 0.0))

    def _without_armature(self, efforts: Array, plant: Plant, period: float) -> Array:
        """Return the efforts (n,) that move the links as the given ones would with the armature."""
        if not plant.armature.any():
            return efforts
        if self._before is not None:
            v, mass, net = self._before
            missing = mass @ ((plant.v - v) / period) - net
            self._external = self._external - np.expm1(-period / OBSERVED_WITHIN) * (missing - self._external)
        bias = plant.inverse(np.zeros_like(efforts)) + plant.damping * plant.v
        accelerations = np.linalg.solve(plant.mass_matrix, self._net(efforts - bias + self._external, plant))
        result = np.asarray(efforts - plant.armature * accelerations)
        links = plant.mass_matrix - np.diag(plant.armature)
        self._before = plant.v.copy(), links, self._net(result - bias, plant)
        return result

    @staticmethod
    def _net(efforts: Array, plant: Plant) -> Array:
        """Return efforts (n,) less those of static friction, which opposes them at rest."""
        held = np.clip(efforts, -plant.friction, plant.friction)
        return efforts - np.where(np.abs(plant.v) < AT_REST, held, plant.friction * np.sign(plant.v))
