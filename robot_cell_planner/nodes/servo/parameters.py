"""Parameters of servo, and settings of a session."""

from __future__ import annotations

from dataclasses import dataclass

from robot_cell_planner.msg import ServoOptions

from ...errors import InvalidRequestError, Value
from ...trajectory.servo_frames import FrameServoOptions
from ..common.parameters import Parameter, Parameters, Relation
from ..conversions.basic import duration_from_message
from ..motion.trajectory_goals import LOWEST_SCALE

SERVO_PARAMETERS = (
    Parameter(
        "servo_rate", 125.0, "Rate at which servo turns commands into joint velocities [Hz].", 20.0, 250.0, running=True
    ),
    Parameter(
        "servo_incoming_command_timeout",
        0.2,
        "Time without commands after which servo stops [s].",
        0.01,
        10.0,
        running=True,
        relation=Relation(("servo_rate",), lambda timeout, rate: timeout * rate >= 1.0, "at least 1 / servo_rate"),
    ),
    Parameter("servo_linear_speed", 0.25, "Maximum linear speed of the servoed frame [m/s].", 1e-4, 10.0, running=True),
    Parameter(
        "servo_angular_speed", 1.0, "Maximum angular speed of the servoed frame [rad/s].", 1e-4, 20.0, running=True
    ),
    Parameter(
        "servo_collision_proximity_threshold",
        0.1,
        "Distance to an obstacle at which servo slows down [m].",
        1e-3,
        10.0,
        running=True,
    ),
    Parameter(
        "servo_lower_singularity_threshold",
        0.1,
        "Smallest singular value of the Jacobian below which motion towards a singularity slows down.",
        1e-3,
        10.0,
        constraint="above servo_hard_stop_singularity_threshold",
    ),
    Parameter(
        "servo_hard_stop_singularity_threshold",
        0.02,
        "Smallest singular value of the Jacobian at which motion towards a singularity stops.",
        0.0,
        10.0,
        constraint="below servo_lower_singularity_threshold",
    ),
    Parameter(
        "servo_gain", 4.0, "Proportional gain of pose tracking: speed per distance to the target [1/s].", 0.1, 50.0
    ),
    Parameter(
        "servo_look_ahead",
        0.25,
        "Time beyond the stopping time for which servo checks the path ahead for collisions [s].",
        0.05,
        5.0,
    ),
)


@dataclass(frozen=True)
class ServoSettings:
    """Settings of a session: speeds and singularities, fraction of the joints' velocity limits, slow_down_distance [m],
    timeout of commands [s], rate at which they become joint velocities [Hz]."""

    frames: FrameServoOptions
    velocity_scale: float
    slow_down_distance: float
    timeout: float
    rate: float


def servo_settings(options: ServoOptions, parameters: Parameters) -> ServoSettings:
    """Convert a ServoOptions message to settings.

    Raises:
        InvalidRequestError: A number is out of range.
    """
    frames = FrameServoOptions(
        linear_speed=_or_default(options, "linear_speed", "servo_linear_speed", parameters),
        angular_speed=_or_default(options, "angular_speed", "servo_angular_speed", parameters),
        slow_below=parameters["servo_lower_singularity_threshold"],
        stop_below=parameters["servo_hard_stop_singularity_threshold"],
        gain=parameters["servo_gain"],
    )
    if not LOWEST_SCALE <= options.velocity_scale <= 1.0:
        values = (Value("velocity_scale", options.velocity_scale, 1.0),)
        text = f"velocity_scale is {options.velocity_scale:g}, expected {LOWEST_SCALE:g} to 1"
        raise InvalidRequestError(text, stage="servo", subjects=("velocity_scale",), values=values)
    timeout = _within(
        "command_timeout", duration_from_message(options.command_timeout), "servo_incoming_command_timeout"
    )
    period = 1.0 / parameters["servo_rate"]
    if 0.0 < timeout < period:  # each command would be too old when servo reads it
        values = (Value("command_timeout", timeout, period, "s"),)
        text = f"command_timeout is {timeout:g} s, expected 0 or at least 1 / servo_rate, {period:g} s"
        raise InvalidRequestError(text, stage="servo", subjects=("command_timeout",), values=values)
    return ServoSettings(
        frames,
        options.velocity_scale,
        _or_default(options, "slow_down_distance", "servo_collision_proximity_threshold", parameters),
        timeout or parameters["servo_incoming_command_timeout"],
        parameters["servo_rate"],
    )


def _or_default(options: ServoOptions, field: str, name: str, parameters: Parameters) -> float:
    """Return the value of a field, or of the parameter `name` if the field is 0; the range is that of the parameter."""
    return _within(field, float(getattr(options, field)), name) or float(parameters[name])


def _within(field: str, value: float, name: str) -> float:
    parameter = next(parameter for parameter in SERVO_PARAMETERS if parameter.name == name)
    if not (value == 0.0 or parameter.lower <= value <= parameter.upper):
        text = f"{field} is {value:g}, expected 0 or {parameter.lower:g} to {parameter.upper:g}"
        raise InvalidRequestError(
            text, stage="servo", subjects=(field,), values=(Value(field, value, parameter.upper),)
        )
    return value
