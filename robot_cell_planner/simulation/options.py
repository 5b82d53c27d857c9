"""Options of the simulation, with their defaults and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..errors import InvalidRequestError, Value
from ..model.arguments import checked_fields
from ..model.value import Vector3, vector3


@checked_fields
@dataclass(frozen=True)
class SimulationOptions:
    """How a cell is simulated.

    time_step: of the physics [s]. gravity: [m/s2], in the world. settle_time: how long things may come to rest before
    the time starts [s]. friction: coefficient between any two things. spinning_friction: length of the lever with which
    a contact resists turning about its normal [m].

    grasp_assist: whether what a gripper holds is fixed to it, as strongly as by friction; see `holds`. Without that,
    contacts and their friction hold it: boxes well, other shapes less so.

    extrapolate_for: how long a position command is carried on with its velocity when the next one is late [s], no less
    than the execution's `longest_gap`; after that the joint holds the commanded position. command_timeout: how long a
    velocity or effort command counts [s]; after that the joint holds where it is. acceleration_factor: how much harder
    than the acceleration limits of the cell a joint may be pushed to reach its command. following_window: how far a
    joint that is blocked may lag behind its command, as time at its largest velocity [s].

    assumed_density: of links that move but have no mass in their description [kg/m3].

    Raises:
        InvalidRequestError: a number out of its bounds.
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

    def __post_init__(self) -> None:
        try:
            vector3(self.gravity, "gravity")
        except ValueError as error:
            raise InvalidRequestError(str(error), stage="simulation", subjects=("gravity",)) from error
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
    "assumed_density": (1.0, 30000.0),
}
