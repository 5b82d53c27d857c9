"""Options of the simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..errors import InvalidRequestError, Value
from ..model.arguments import checked_fields
from ..model.simulated_robot import SimulatedRobot
from ..model.value import Vector3, vector3
from .engines.names import BULLET, ENGINES

NO_SETTINGS = SimulatedRobot()


@checked_fields
@dataclass(frozen=True)
class SimulationOptions:
    """Options of the simulation.

    Attributes:
        time_step: Physics time step [s].
        gravity: Gravity in the world frame [m/s2].
        settle_time: Duration for which objects come to rest before time starts [s].
        friction: Friction coefficient between any two objects.
        spinning_friction: Lever arm of the friction torque about the contact normal [m].
        grasp_assist: Whether grasped bodies are attached to the gripper with the strength of friction, see `grasps`.
            Otherwise contact friction holds them, which works well for boxes and less well for other shapes.
        extrapolate_for: How long a position command is extrapolated with its velocity if the next one is late [s], at
            least the execution's `max_command_gap`; afterwards the joint holds the commanded position.
        command_timeout: Validity of a velocity or effort command [s]; afterwards the joint holds its position.
        acceleration_factor: Max acceleration of a joint when tracking its command, as a multiple of the cell's
            acceleration limit.
        following_window: Max lag of a blocked joint behind its command, as time at its max velocity [s].
        rest_speed: Speed of joints and bodies [rad/s or m/s] below which, after 0.2 s without any change, steps are not
            computed until something changes; 0: all steps are computed.
        robot: Controllers and drives of joints.
        engine: Physics engine, "bullet" or "mujoco".
        assumed_density: Density of moving links without a mass in their description [kg/m3]; it is lowered where the
            effort limits of the joints would not hold them.

    Raises:
        InvalidRequestError: A value is out of range.
    """

    time_step: float = 0.002
    gravity: Vector3 = (0.0, 0.0, -9.81)
    settle_time: float = 0.5
    friction: float = 0.8
    spinning_friction: float = 0.005
    extrapolate_for: float = 0.1
    command_timeout: float = 0.1
    acceleration_factor: float = 2.0
    following_window: float = 0.05
    grasp_assist: bool = True
    assumed_density: float = 1000.0
    rest_speed: float = 1e-8
    robot: SimulatedRobot = NO_SETTINGS
    engine: str = BULLET

    def __post_init__(self) -> None:
        try:
            vector3(self.gravity, "gravity")
        except ValueError as error:
            raise InvalidRequestError(str(error), stage="simulation", subjects=("gravity",)) from error
        if self.engine not in ENGINES:
            text = f"engine is {self.engine!r}, expected one of: {', '.join(ENGINES)}"
            raise InvalidRequestError(text, stage="simulation", subjects=("engine",))
        for field in fields(self):
            if field.name in BOUNDS:
                lower, upper = BOUNDS[field.name]
                value = getattr(self, field.name)
                if not (math.isfinite(value) and lower <= value <= upper):
                    raise InvalidRequestError(
                        f"{field.name} is {value}, expected {lower:g} to {upper:g}",
                        stage="simulation",
                        subjects=(field.name,),
                        values=(Value(field.name, value, upper if value > upper else lower),),
                    )


BOUNDS: dict[str, tuple[float, float]] = {
    "time_step": (1e-4, 0.01),
    "settle_time": (0.0, 60.0),
    "friction": (0.0, 10.0),
    "spinning_friction": (0.0, 1.0),
    "extrapolate_for": (0.0, 1.0),
    "command_timeout": (0.001, 60.0),
    "acceleration_factor": (1.0, 1000.0),
    "following_window": (0.001, 10.0),
    "rest_speed": (0.0, 1e-3),
    "assumed_density": (1.0, 30000.0),
}
