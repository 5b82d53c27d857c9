"""Sensors of a simulated cell."""

from __future__ import annotations

from typing import TypeVar

from ..errors import UnknownNameError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.placement import Placements
from ..model.pose import Pose
from ..model.simulated_robot import SimulatedRobot
from ..model.simulated_sensors import CameraSensor, ForceTorqueSensor, JointTorqueSensor
from .camera_view import CameraImage, CameraView
from .engines.base import Engine, JointHandle, Wrench
from .force_sensing import ForceSensing
from .images import Images
from .multibody.multibodies import Multibodies, PartFrame
from .sensor_places import SensorPlaces

STAGE = "simulation"
S = TypeVar("S", CameraSensor, ForceTorqueSensor, JointTorqueSensor)


class FramePoses:
    """Poses of the frames of a cell in an engine.

    still: Poses of frames that belong to nothing that is simulated.
    """

    def __init__(self, engine: Engine, multibodies: Multibodies, still: Placements) -> None:
        self._engine, self._multibodies, self.still = engine, multibodies, still

    def pose(self, frame: str) -> Pose:
        """Return world_T_frame.

        Raises:
            UnknownNameError: The frame does not exist.
        """
        found = self._multibodies.frames.get(frame)
        return self._engine.pose(found) if found is not None else self.still.world(frame)

    def is_still(self, frame: str) -> bool:
        """Return whether a frame can never move."""
        found = self._multibodies.frames.get(frame)
        return found is None or self._multibodies.numbered[found.multibody].still


def view_of(camera: CameraSensor, pose: Pose) -> CameraView:
    """Return what a camera sees from a pose in the world."""
    return CameraView(pose, camera.width, camera.height, camera.view_angle, camera.near, camera.far)


class Sensors:
    """Sensors of a simulated cell, by their names in `SimulatedRobot.sensors`.

    Measurements are those after the latest time step, and have no effect on the motion of anything.

    Raises:
        UnknownNameError: A frame or joint does not exist.
        SimulationError: Nothing is mounted at the frame of a force-torque sensor.
    """

    def __init__(
        self,
        cell: RobotCell,
        robot: SimulatedRobot,
        engine: Engine,
        multibodies: Multibodies,
        frames: FramePoses,
        images: Images,
    ) -> None:
        self._settings = robot.sensors
        self._engine, self._frames, self._images = engine, frames, images
        self._forces = ForceSensing(engine)
        self._mounts: dict[str, PartFrame] = {}
        self._joints: dict[str, dict[str, tuple[JointHandle, PartFrame]]] = {}
        places = SensorPlaces(cell, multibodies, frames.still)
        for name, settings in robot.sensors.items():
            match settings:
                case ForceTorqueSensor():
                    self._mounts[name] = places.mount(name, settings)
                case JointTorqueSensor():
                    self._joints[name] = _links(places.joints(name, settings), engine, multibodies)
                case _:
                    places.check(name, settings)
        watched = {frame for joints in self._joints.values() for _, frame in joints.values()}
        for frame in {*self._mounts.values(), *watched}:
            self._forces.watch(frame)

    @public
    def image(self, name: str) -> CameraImage:
        """Return what a camera sees.

        Raises:
            UnknownNameError: There is no such camera.
            NotSupportedError: PyBullet, which renders images, is not installed.
        """
        camera = self._settings_of(name, CameraSensor)
        return self._images.of(view_of(camera, self._frames.pose(camera.frame)))

    @public
    def wrench(self, name: str) -> Wrench:
        """Return the load on a force-torque sensor, at the origin and in the axes of its frame, see
        `ForceTorqueSensor`.

        Raises:
            UnknownNameError: There is no such sensor.
        """
        self._settings_of(name, ForceTorqueSensor)
        return self._forces.load(self._mounts[name])

    @public
    def joint_torques(self, name: str) -> dict[str, float]:
        """Return the efforts that joints transmit to their links [Nm or N], by joint.

        Raises:
            UnknownNameError: There is no such sensor.
        """
        self._settings_of(name, JointTorqueSensor)
        return {joint: self._forces.joint_effort(*where) for joint, where in self._joints[name].items()}

    def _settings_of(self, name: str, kind: type[S]) -> S:
        found = self._settings.get(name)
        if isinstance(found, kind):
            return found
        known = [each for each, settings in self._settings.items() if isinstance(settings, kind)]
        text = unknown_name(f"{kind.__name__} {name!r}", name, known)
        raise UnknownNameError(text, stage=STAGE, subjects=(name,))


def _links(
    joints: tuple[str, ...], engine: Engine, multibodies: Multibodies
) -> dict[str, tuple[JointHandle, PartFrame]]:
    """Return each joint with the part that it moves."""
    handles = {joint.model.name: joint for joint in engine.joints}
    parts = {
        part.joint.name: PartFrame(number, index)
        for number, item in multibodies.numbered.items()
        for index, part in enumerate(item.parts)
        if part.joint is not None
    }
    return {name: (handles[name], parts[name]) for name in joints}
