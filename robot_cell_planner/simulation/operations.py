"""Operations on a running simulation."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.bodies import RigidBody
from ..model.simulated_robot import ControllerSettings
from ..model.state import BodyState
from .disturbances import Disturbance


@dataclass(frozen=True)
class SetController:
    """Choose the controller of joints; see `SimulatedCell.set_controller`. The answer is the names of the joints."""

    names: tuple[str, ...]
    controller: ControllerSettings


@dataclass(frozen=True)
class Disturb:
    """Begin disturbances, after ending the earlier ones if `clear`; see `SimulatedCell.disturb`."""

    disturbances: tuple[Disturbance, ...]
    clear: bool = False


@dataclass(frozen=True)
class Pause:
    """Stop the time of the simulation."""


@dataclass(frozen=True)
class Continue:
    """Continue the time of the simulation."""


@dataclass(frozen=True)
class Step:
    """Simulate a number of sample periods of a simulation that is paused, at its usual pace."""

    periods: int


@dataclass(frozen=True)
class Reset:
    """Return to the start state; time continues. Controllers are kept, disturbances end."""


@dataclass(frozen=True)
class SetTimeFactor:
    """Change the simulated seconds per second of the clock; stamps have to be in simulated time."""

    factor: float


@dataclass(frozen=True)
class AddBody:
    """Add a body; see `SimulatedCell.add_body`."""

    body: RigidBody
    at: BodyState


@dataclass(frozen=True)
class RemoveBody:
    """Remove a body; see `SimulatedCell.remove_body`."""

    name: str


Operation = AddBody | RemoveBody | SetController | Disturb | Pause | Continue | Step | Reset | SetTimeFactor


@dataclass(frozen=True)
class Request:
    """A numbered operation."""

    number: int
    operation: Operation
