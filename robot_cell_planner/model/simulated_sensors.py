"""Settings of simulated sensors: cameras, force-torque sensors and joint torque sensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from ..errors import InvalidValueError
from .arguments import check_fields
from .name_suggestions import unknown_name
from .value import check_name

NAME = "type"
MAX_PIXELS = 2048 * 2048
MAX_RATE = 1000.0  # [Hz]
BOUNDS = {
    "rate": (0.01, MAX_RATE),
    "width": (1, 4096),
    "height": (1, 4096),
    "view_angle": (0.01, math.pi - 0.01),
    "near": (1e-3, 1e3),
    "far": (1e-3, 1e4),
}


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field=NAME):
    """Base of sensor settings, whose numbers are checked by name."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name, (lower, upper) in BOUNDS.items():
            value = getattr(self, name, lower)
            if not lower <= value <= upper:
                text = f"{name} of {type(self).__name__} is {value}, expected {lower:g} to {upper:g}"
                raise InvalidValueError(text)


class CameraSensor(_Settings, frozen=True, tag="camera"):
    """Camera without distortion that sees colours, depth and objects.

    Attributes:
        frame: Frame of the cell that it is mounted on, with the axes of REP 103 for optical frames: z forward, x right,
            y down.
        width, height: Size [pixels].
        view_angle: Vertical angle of view [rad].
        near, far: Range in which it sees, along the view axis [m].
        rate: Images per second of simulated time.
    """

    frame: str
    width: int = 320
    height: int = 240
    view_angle: float = math.radians(50.0)
    near: float = 0.02
    far: float = 20.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width * self.height > MAX_PIXELS:
            raise InvalidValueError(
                f"a camera has {self.width} x {self.height} pixels, expected at most {MAX_PIXELS} in total"
            )
        if self.near >= self.far:
            raise InvalidValueError(f"near of a camera is {self.near:g} m, expected less than far, {self.far:g} m")


class ForceTorqueSensor(_Settings, frozen=True, tag="force_torque"):
    """Force-torque sensor at the joint or mount by which the rigid part of a frame is attached to its parent.

    It measures the load: force and torque that the part, and what it carries or touches, exerts on its parent, with
    weight and inertia, as the sensors of Gazebo do from child to parent.

    Attributes:
        frame: Frame of the cell, such as the last link of an arm, in whose axes and at whose origin it measures.
        rate: Measurements per second of simulated time.
    """

    frame: str
    rate: float = 250.0


class JointTorqueSensor(_Settings, frozen=True, tag="joint_torque"):
    """Sensors of the torque or force that joints transmit to their links, about or along their axes.

    Behind friction, armature and backlash of the drive; the efforts in joint states are those of the motors.

    Attributes:
        joints: Joint, planning group, robot or tool, or "*" for the joints of all robots.
        rate: Measurements per second of simulated time.
    """

    joints: str = "*"
    rate: float = 250.0


SensorSettings: TypeAlias = CameraSensor | ForceTorqueSensor | JointTorqueSensor
SENSORS: dict[str, type[SensorSettings]] = {
    str(kind.__struct_config__.tag): kind for kind in (CameraSensor, ForceTorqueSensor, JointTorqueSensor)
}


def sensor_settings(name: str, values: Mapping[str, Any]) -> SensorSettings:
    """Return the settings of a sensor from its `type` and attributes.

    Args:
        name: Name of the sensor, which is part of its topics.
        values: Type and attributes.

    Raises:
        InvalidValueError: The name does not fit a topic, there is no such type or attribute, an attribute is missing,
            or a value is out of range.
    """
    check_name(name, "sensor")
    if not (name.isascii() and name.isidentifier()):
        raise InvalidValueError(f"sensor {name!r} is no name of a topic; use letters, digits and underscores")
    tag = values.get(NAME)
    if not isinstance(tag, str) or tag not in SENSORS:
        raise InvalidValueError(f"sensor type {tag!r} does not exist; there are {', '.join(SENSORS)}")
    kind = SENSORS[tag]
    given = {key: value for key, value in values.items() if key != NAME}
    for key in given:
        if key not in kind.__struct_fields__:
            raise InvalidValueError(unknown_name(f"{key!r} of sensor type {tag}", key, kind.__struct_fields__))
    if "frame" in kind.__struct_fields__ and "frame" not in given:
        raise InvalidValueError(f"frame of sensor {name} is missing")
    for key, value in given.items():
        if isinstance(value, int) and not isinstance(value, bool) and key not in ("width", "height"):
            given[key] = float(value)
    return kind(**given)
