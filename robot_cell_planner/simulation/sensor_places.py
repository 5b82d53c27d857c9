"""Where the sensors of a simulated cell are: the part behind a force-torque sensor, the joints of a torque sensor."""

from __future__ import annotations

from ..errors import SimulationError, UnknownNameError
from ..model.cell import RobotCell
from ..model.placement import Placements
from ..model.simulated_sensors import ForceTorqueSensor, JointTorqueSensor, SensorSettings
from .control.selection import joints_named
from .joint_names import JointNames
from .multibody.multibodies import Multibodies, PartFrame

STAGE = "simulation"


class SensorPlaces:
    """Places of sensors among the multibodies of a cell. `still`: Poses of frames that belong to no multibody."""

    def __init__(self, cell: RobotCell, multibodies: Multibodies, still: Placements) -> None:
        self._cell, self._multibodies, self._still = cell, multibodies, still
        self._driven = JointNames.of(multibodies.joints).full

    def check(self, name: str, sensor: SensorSettings) -> None:
        """Check that a sensor has a place.

        Raises:
            UnknownNameError: Its frame or joints do not exist.
            SimulationError: Nothing is mounted at the frame of a force-torque sensor.
        """
        if isinstance(sensor, JointTorqueSensor):
            self.joints(name, sensor)
        elif isinstance(sensor, ForceTorqueSensor):
            self.mount(name, sensor)
        else:
            self._check_frame(name, sensor.frame)

    def joints(self, name: str, sensor: JointTorqueSensor) -> tuple[str, ...]:
        """Return the joints that a sensor measures.

        Raises:
            UnknownNameError: They do not exist.
        """
        try:
            return joints_named(self._cell, sensor.joints, self._driven)
        except UnknownNameError as error:
            raise _of_sensor(name, error) from error

    def mount(self, name: str, sensor: ForceTorqueSensor) -> PartFrame:
        """Return the part that a sensor carries.

        Raises:
            UnknownNameError: Its frame does not exist.
            SimulationError: Nothing is mounted there.
        """
        self._check_frame(name, sensor.frame)
        found = self._multibodies.frames.get(sensor.frame)
        if found is None or found.part == 0:  # the first part of a multibody stands in the world, or moves freely
            text = f"{sensor.frame} is not attached to a joint or mount, expected a frame behind one"
            raise SimulationError(f"sensor {name}: {text}", subjects=(name, sensor.frame))
        return found

    def _check_frame(self, name: str, frame: str) -> None:
        try:
            if frame not in self._multibodies.frames:
                self._still.world(frame)
        except UnknownNameError as error:
            raise _of_sensor(name, error) from error


def _of_sensor(name: str, error: UnknownNameError) -> UnknownNameError:
    return UnknownNameError(f"sensor {name}: {error.message}", stage=STAGE, subjects=(name, *error.subjects))
