"""Settings of a simulated robot: the controller and the drive of each joint, and its sensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from frozendict import frozendict

from ..errors import InvalidValueError
from .arguments import check_fields
from .name_suggestions import unknown_name
from .simulated_sensors import SensorSettings

MAX_BANDWIDTH = 1000.0  # [rad/s]
MAX_DAMPING_RATIO = 100.0
MAX_TIME = 1000.0  # [s]
MAX_GAIN = 1e9
NAME = "type"


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field=NAME):
    """Base of controller settings, whose numbers are checked by name."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, float):
                _check(type(self).__name__, name, value)


def _check(kind: str, name: str, value: float) -> None:
    upper = next((bound for part, bound in BOUNDS.items() if part in name), MAX_GAIN)
    if not (math.isfinite(value) and 0.0 <= value <= upper):
        raise InvalidValueError(f"{name} of {kind} is {value}, expected 0 to {upper:g}")


BOUNDS = {"bandwidth": MAX_BANDWIDTH, "ratio": MAX_DAMPING_RATIO, "time": MAX_TIME}


class MotorControl(_Settings, frozen=True, tag="motor"):
    """The motor of the physics engine: an ideal servo that follows position and velocity commands within the effort
    limit of the joint."""


class PidControl(_Settings, frozen=True, tag="pid"):
    """PID controller of each joint by itself, with a filtered derivative and a bounded integral.

    Attributes:
        bandwidth: Bandwidth of the gains that are not given [rad/s], for the inertia that the joint moves when the
            controller starts.
        damping_ratio: Damping ratio of these gains.
        integral_time: Time constant of the integral; 0 for none [s].
        filter_time: Time constant of the filter of the derivative [s].
        proportional: Gain [Nm/rad or N/m]; None for the one of the bandwidth.
        derivative: Gain [Nm s/rad or N s/m]; None for the one of the bandwidth.
        integral: Gain [Nm/(rad s) or N/(m s)]; None for the proportional gain over the integral time.
    """

    bandwidth: float = 40.0
    damping_ratio: float = 1.0
    integral_time: float = 0.2
    filter_time: float = 0.002
    proportional: float | None = None
    derivative: float | None = None
    integral: float | None = None


class VelocityControl(_Settings, frozen=True, tag="velocity"):
    """Velocity loop with integral, as in industrial drives; a position command closes a position loop around it.

    Attributes:
        bandwidth: Bandwidth of the velocity loop [rad/s], for the inertia that the joint moves when it starts.
        integral_time: Time constant of the integral; 0 for none [s].
        position_bandwidth: Gain of the position loop [1/s].
    """

    bandwidth: float = 80.0
    integral_time: float = 0.05
    position_bandwidth: float = 20.0


class TorqueControl(_Settings, frozen=True, tag="torque"):
    """Commanded efforts go to the drive as they are. Without a valid effort command the motor of the engine holds the
    joint, as a brake."""


class GravityCompensation(_Settings, frozen=True, tag="gravity_compensation"):
    """Efforts that compensate gravity, plus commanded efforts. Position and velocity commands have no effect.

    Attributes:
        damping_rate: Damping as the rate at which a velocity decays [1/s].
    """

    damping_rate: float = 0.0


class ComputedTorque(_Settings, frozen=True, tag="computed_torque"):
    """Inverse dynamics of the commanded acceleration plus that of a PID controller.

    Attributes:
        bandwidth: Bandwidth of the position error [rad/s].
        damping_ratio: Its damping ratio.
        integral_time: Time constant of the integral; 0 for none [s].
    """

    bandwidth: float = 60.0
    damping_ratio: float = 1.0
    integral_time: float = 0.1


class JointImpedance(_Settings, frozen=True, tag="joint_impedance"):
    """Spring and damper of each joint about its commanded position, plus gravity compensation.

    Attributes:
        stiffness: Stiffness [Nm/rad or N/m].
        damping_ratio: Damping ratio, for the inertia that the joint moves.
    """

    stiffness: float = 200.0
    damping_ratio: float = 1.0


class CartesianImpedance(_Settings, frozen=True, tag="cartesian_impedance"):
    """Spring and damper of a frame about its commanded pose, plus gravity compensation.

    Attributes:
        frame: Frame that is held; "" for the tool centre point, or without a tool the tip, of the largest planning
            group of the controller's joints.
        stiffness: Translational stiffness [N/m].
        rotational_stiffness: Rotational stiffness [Nm/rad].
        damping_ratio: Damping ratio, for the inertia of the arm at the frame.
        nullspace_stiffness: Stiffness of the joints about their commanded positions where that does not move the
            frame [Nm/rad or N/m].
    """

    frame: str = ""
    stiffness: float = 1000.0
    rotational_stiffness: float = 50.0
    damping_ratio: float = 1.0
    nullspace_stiffness: float = 10.0


ControllerSettings: TypeAlias = (
    MotorControl
    | PidControl
    | VelocityControl
    | TorqueControl
    | GravityCompensation
    | ComputedTorque
    | JointImpedance
    | CartesianImpedance
)
CONTROLLERS: dict[str, type[ControllerSettings]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        MotorControl,
        PidControl,
        VelocityControl,
        TorqueControl,
        GravityCompensation,
        ComputedTorque,
        JointImpedance,
        CartesianImpedance,
    )
}


def controller_settings(values: Mapping[str, Any]) -> ControllerSettings:
    """Return the settings of a controller from its `type` and attributes.

    Raises:
        InvalidValueError: There is no such type or attribute, or a value is out of range.
    """
    name = values.get(NAME)
    if not isinstance(name, str) or name not in CONTROLLERS:
        raise InvalidValueError(f"controller {name!r} does not exist; there are {', '.join(CONTROLLERS)}")
    kind = CONTROLLERS[name]
    given = {key: value for key, value in values.items() if key != NAME}
    for key, value in given.items():
        if key not in kind.__struct_fields__:
            raise InvalidValueError(unknown_name(f"{key!r} of controller {name}", key, kind.__struct_fields__))
        if isinstance(value, int) and not isinstance(value, bool):
            given[key] = float(value)
    return kind(**given)


class JointDrive(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Drive of a joint: what is between the controller and the link.

    Attributes:
        friction: Static friction [Nm or N]; None for that of the description.
        damping: Viscous friction [Nm s/rad or N s/m]; None for that of the description.
        armature: Inertia of rotor and gear at the joint [kg m2 or kg].
        backlash: Play between motor and link [rad or m]. The position is measured at the motor.
        time_constant: Time constant of the effort [s].
    """

    friction: float | None = None
    damping: float | None = None
    armature: float = 0.0
    backlash: float = 0.0
    time_constant: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        for name, upper in DRIVE_BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and 0.0 <= value <= upper):
                raise InvalidValueError(f"{name} of a drive is {value}, expected 0 to {upper:g}")

    @property
    def needs_effort_control(self) -> bool:
        """Whether the motor of the engine cannot represent this drive."""
        return self.armature > 0.0 or self.backlash > 0.0 or self.time_constant > 0.0


DRIVE_BOUNDS = {"friction": 1e6, "damping": 1e6, "armature": 1e4, "backlash": 0.5, "time_constant": 10.0}


class SimulatedRobot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Simulation data of a cell's robots, beyond their models.

    Attributes:
        controllers: Controllers by name of a joint, planning group, robot or tool, or "*" for the joints of all robots;
            later entries override earlier ones. Other joints have `MotorControl`.
        drives: Drives by the same names.
        unknown_bodies: Attached bodies that the dynamic model of the controllers leaves out, as an unknown payload.
        sensors: Sensors by name.
    """

    controllers: frozendict[str, ControllerSettings] = frozendict()
    drives: frozendict[str, JointDrive] = frozendict()
    unknown_bodies: tuple[str, ...] = ()
    sensors: frozendict[str, SensorSettings] = frozendict()

    def __post_init__(self) -> None:
        check_fields(self)
