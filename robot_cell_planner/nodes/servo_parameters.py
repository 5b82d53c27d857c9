"""Parameters of servo, and the options of one that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidRequestError, Value
from ..trajectory.servo_frames import FrameServoOptions
from .conversions.basic import duration_from_message
from .parameters import Parameter, Parameters

SERVO_PARAMETERS = (
    Parameter("servo_rate", 125.0, "Rate at which commands become joint velocities [Hz].", 20.0, 250.0, running=True),
    Parameter("servo_timeout", 0.2, "Without commands for this long it comes to rest [s].", 0.01, 10.0, running=True),
    Parameter("servo_linear_speed", 0.25, "Highest speed of a frame in servo [m/s].", 1e-4, 10.0, running=True),
    Parameter("servo_angular_speed", 1.0, "Highest turning speed of it [rad/s].", 1e-4, 20.0, running=True),
    Parameter(
        "servo_slow_down_distance", 0.1, "Gap to what is ahead at which servo slows down [m].", 1e-3, 10.0, running=True
    ),
    Parameter(
        "servo_slow_below", 0.1, "Smallest singular value below which motion to a singularity slows.", 1e-3, 10.0
    ),
    Parameter("servo_stop_below", 0.02, "Smallest singular value at which it stops.", 0.0, 10.0),
    Parameter("servo_gain", 4.0, "Speed of a tracking frame per distance to its target [1/s].", 0.1, 50.0),
    Parameter("servo_look_ahead", 0.25, "How far ahead servo has the way checked, beyond the stop [s].", 0.05, 5.0),
)


@dataclass(frozen=True)
class ServoSettings:
    """What one session of servo keeps to: speeds and singularities, share of the joints' velocity limits,
    slow_down_distance [m], timeout of commands [s]."""

    frames: FrameServoOptions
    velocity_scale: float
    slow_down_distance: float
    timeout: float


def servo_settings(options: Any, parameters: Parameters) -> ServoSettings:
    """The settings that a ServoOptions message means.

    Raises:
        InvalidRequestError: a number outside its range.
    """
    frames = FrameServoOptions(
        linear_speed=_or_default(options, "linear_speed", parameters["servo_linear_speed"]),
        angular_speed=_or_default(options, "angular_speed", parameters["servo_angular_speed"]),
        slow_below=parameters["servo_slow_below"],
        stop_below=parameters["servo_stop_below"],
        gain=parameters["servo_gain"],
    )
    if not 0.0 < options.velocity_scale <= 1.0:
        values = (Value("velocity_scale", options.velocity_scale, 1.0),)
        text = f"velocity_scale is {options.velocity_scale:g}, expected above 0 and at most 1"
        raise InvalidRequestError(text, stage="servo", subjects=("velocity_scale",), values=values)
    timeout = duration_from_message(options.command_timeout)
    if timeout < 0.0:
        raise InvalidRequestError("command_timeout is below 0", stage="servo", subjects=("command_timeout",))
    return ServoSettings(
        frames,
        options.velocity_scale,
        _or_default(options, "slow_down_distance", parameters["servo_slow_down_distance"]),
        timeout or parameters["servo_timeout"],
    )


def _or_default(options: Any, field: str, default: float) -> float:
    value = float(getattr(options, field))
    if not (math.isfinite(value) and value >= 0.0):
        text = f"{field} is {value:g}, expected a finite number of at least 0"
        raise InvalidRequestError(text, stage="servo", subjects=(field,))
    return value or default
