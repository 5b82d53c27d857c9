"""Measurements that a simulation sends from its process."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.value import Vector3
from .engines.base import Placement


@dataclass(frozen=True)
class Measurement:
    """Measurements of force-torque and joint torque sensors at a time [s].

    Attributes:
        moment: Time [s].
        wrenches: Force [N] and torque [Nm] by sensor.
        torques: Efforts by joint [Nm or N], by sensor.
    """

    moment: float
    wrenches: dict[str, tuple[Vector3, Vector3]]
    torques: dict[str, dict[str, float]]


@dataclass(frozen=True)
class ImagesDue:
    """Placement of all objects at a time [s], and the cameras whose images are due."""

    moment: float
    placement: Placement
    cameras: tuple[str, ...]
