"""Topics of simulated sensors: `sensors/<name>/...`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from frozendict import frozendict
from geometry_msgs.msg import WrenchStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import CameraInfo, Image, JointState, PointCloud2
from std_msgs.msg import String

from ...errors import InvalidRequestError, RobotCellError
from ...model.name_suggestions import unknown_name
from ...model.pose import IDENTITY
from ...model.simulated_sensors import CameraSensor, ForceTorqueSensor, SensorSettings
from ...simulation.camera_process import KINDS, POINTS, RGB, CameraFrame, CameraProcess, CameraStart, ImageRequest
from ...simulation.camera_view import CameraView
from ...simulation.measurements import ImagesDue, Measurement
from ..common.frame_names import FRAME_PREFIX, frame_in_tf
from ..common.lifecycle import ManagedNode
from ..common.node import LATCHED, reliable
from ..common.parameters import Parameter
from ..conversions.sensors import (
    camera_info,
    image_to_message,
    points_to_message,
    torques_to_message,
    wrench_to_message,
)

ALL = "*"
SENSORS = Parameter(
    "sensors",
    [""],
    "Sensors of the cell file that are published; * for all, none by default.",
    constraint='names of sensors in the section simulation of the cell file, or "*"',
)
TOPICS = {RGB: "image_raw", "depth": "depth_image", "segmentation": "segmentation_image", POINTS: "points"}
INFO, NAMES, WRENCH, TORQUES = "camera_info", "segmentation_names", "wrench", "joint_torques"
IMAGES_DEPTH, MEASUREMENTS_DEPTH = 2, 10

Publish = Callable[[Any, Any], None]  # publisher and message


def chosen_sensors(names: Sequence[str], sensors: Mapping[str, SensorSettings]) -> frozendict[str, SensorSettings]:
    """Return the sensors that the parameter names.

    Raises:
        InvalidRequestError: There is no sensor of a name.
    """
    requested = [name for name in names if name]
    for name in requested:
        if name != ALL and name not in sensors:
            text = f"parameter sensors: {unknown_name(f'sensor {name!r}', name, sensors)} in the cell file"
            raise InvalidRequestError(text, stage="parameters", subjects=("sensors", name))
    return frozendict({name: each for name, each in sensors.items() if ALL in requested or name in requested})


class SensorOutput:
    """Publishers of sensors, and the process that renders images, if there are cameras.

    Images are rendered while they have subscribers.

    Args:
        node: Node of the publishers, with the parameter frame_prefix.
        start: Cell, state and options of the simulation; its sensors are published.
        stamp: Stamp of a timestamp of the simulation.
        publish: Publishes a message from any thread.
        on_end: Called if the process of the cameras ends.

    Raises:
        RobotCellError: As `CameraProcess`.
    """

    def __init__(
        self,
        node: ManagedNode,
        start: CameraStart,
        stamp: Callable[[float], Time],
        publish: Publish,
        on_end: Callable[[RobotCellError], None],
    ) -> None:
        self._sensors, self._stamp, self._publish = start.options.robot.sensors, stamp, publish
        prefix = node.parameters[FRAME_PREFIX.name]
        self._frame = partial(frame_in_tf, prefix)  # of a sensor's messages
        self._images: dict[str, dict[str, Publisher[Any]]] = {}
        self._infos: dict[str, Publisher[Any]] = {}
        self._measured: dict[str, Publisher[Any]] = {}
        self._cameras: CameraProcess | None = None
        create = partial(self._create, node)
        names: list[Publisher[Any]] = []
        for name, settings in self._sensors.items():
            if isinstance(settings, CameraSensor):
                kinds = {kind: PointCloud2 if kind == POINTS else Image for kind in KINDS}
                self._images[name] = {kind: create(kinds[kind], name, TOPICS[kind], IMAGES_DEPTH) for kind in KINDS}
                self._infos[name] = create(CameraInfo, name, INFO, IMAGES_DEPTH)
                names.append(node.create_publisher(String, f"sensors/{name}/{NAMES}", LATCHED, always=True))
            elif isinstance(settings, ForceTorqueSensor):
                self._measured[name] = create(WrenchStamped, name, WRENCH, MEASUREMENTS_DEPTH)
            else:
                self._measured[name] = create(JointState, name, TORQUES, MEASUREMENTS_DEPTH)
        if self._images:
            self._cameras = CameraProcess(start, self._on_frame, on_end)
            node.on_release(self._cameras.close)
            for publisher in names:
                publisher.publish(String(data="\n".join(self._cameras.names)))

    @staticmethod
    def _create(node: ManagedNode, kind: type[Any], sensor: str, topic: str, depth: int) -> Publisher[Any]:
        return node.create_publisher(kind, f"sensors/{sensor}/{topic}", reliable(depth))

    @property
    def skipped(self) -> int:
        """Number of images that were not rendered, because rendering took too long."""
        return 0 if self._cameras is None else self._cameras.skipped

    def take(self, message: Measurement | ImagesDue) -> None:
        """Publish measurements, and let images be rendered."""
        if isinstance(message, ImagesDue):
            self._render(message)
            return
        stamp = self._stamp(message.moment)
        for name, (force, torque) in message.wrenches.items():
            settings = self._sensors[name]
            assert isinstance(settings, ForceTorqueSensor)
            self._publish(self._measured[name], wrench_to_message(force, torque, self._frame(settings.frame), stamp))
        for name, torques in message.torques.items():
            self._publish(self._measured[name], torques_to_message(torques, stamp))

    def _render(self, due: ImagesDue) -> None:
        kinds = {name: self._kinds(name) for name in due.cameras}
        requested = {name: found for name, found in kinds.items() if found}
        if requested and self._cameras is not None:
            self._cameras.render(ImageRequest(due.moment, due.placement, requested))

    def _kinds(self, camera: str) -> tuple[str, ...]:
        """Return the kinds of images with subscribers; colours for subscribers of the calibration alone."""
        kinds = tuple(kind for kind, each in self._images[camera].items() if each.get_subscription_count() > 0)
        return kinds or ((RGB,) if self._infos[camera].get_subscription_count() > 0 else ())

    def _on_frame(self, frame: CameraFrame) -> None:
        """Publish images; runs in the thread that receives them."""
        settings = self._sensors[frame.camera]
        assert isinstance(settings, CameraSensor)
        view = CameraView(IDENTITY, settings.width, settings.height, settings.view_angle, settings.near, settings.far)
        stamp, frame_id = self._stamp(frame.moment), self._frame(settings.frame)
        for kind, publisher in self._images[frame.camera].items():
            content: bytes = getattr(frame, kind)
            if content and kind == POINTS:
                self._publish(publisher, points_to_message(content, view, frame_id, stamp))
            elif content:
                self._publish(publisher, image_to_message(kind, content, view, frame_id, stamp))
        self._publish(self._infos[frame.camera], camera_info(view, frame_id, stamp))
