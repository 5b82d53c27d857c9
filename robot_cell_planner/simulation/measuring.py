"""Sensors of a simulation at their rates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..model.simulated_sensors import CameraSensor, ForceTorqueSensor, JointTorqueSensor, SensorSettings
from ..model.value import Vector3
from .measurements import ImagesDue, Measurement
from .simulated_cell import SimulatedCell

ROUNDING = 1e-6  # of a number of measurements


class Measuring:
    """Measures by all sensors of a simulated cell, each at its rate.

    Args:
        simulated: Simulated cell.
        sensors: Sensors by name; one whose rate is above `rate` measures at `rate`.
        rate: Sample periods per second of simulated time.

    Attributes:
        measures: Whether there are sensors.
    """

    def __init__(self, simulated: SimulatedCell, sensors: Mapping[str, SensorSettings], rate: float) -> None:
        self._simulated, self._sensors = simulated, sensors
        self.measures = bool(sensors)
        self._per_period = {name: min(each.rate / rate, 1.0) for name, each in sensors.items()}

    def messages(self, period: int, moment: float) -> Iterator[Measurement | ImagesDue]:
        """Yield what is due at the end of a sample period, by its number, with a timestamp [s]."""
        due = {name: self._sensors[name] for name, share in self._per_period.items() if _is_due(period, share)}
        cameras = tuple(name for name, each in due.items() if isinstance(each, CameraSensor))
        if cameras:
            yield ImagesDue(moment, self._simulated.placement, cameras)
        wrenches = {name: self._wrench(name) for name, each in due.items() if isinstance(each, ForceTorqueSensor)}
        torques = {
            name: self._simulated.sensors.joint_torques(name)
            for name, each in due.items()
            if isinstance(each, JointTorqueSensor)
        }
        if wrenches or torques:
            yield Measurement(moment, wrenches, torques)

    def _wrench(self, name: str) -> tuple[Vector3, Vector3]:
        wrench = self._simulated.sensors.wrench(name)
        return _vector(wrench.force), _vector(wrench.torque)


def _is_due(period: int, share: float) -> bool:
    """Return whether a period is one of a share of all that are as even as possible, of which 0 is the first."""
    return math.ceil((period + 1) * share - ROUNDING) > math.ceil(period * share - ROUNDING)


def _vector(values: NDArray[np.float64]) -> Vector3:
    x, y, z = values.tolist()
    return x, y, z
