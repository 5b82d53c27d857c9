"""Errors of the simulation."""

from __future__ import annotations

from .base import RobotCellError


class SimulationError(RobotCellError):
    """The simulation does not support the request."""

    code = 800
    remedy = "Read the message: it names the joint, body or setting."
    default_stage = "simulation"


class ControllerError(SimulationError):
    """A controller cannot serve the joints that it is chosen for."""

    code = 801
    remedy = "Choose another controller or other joints; docs/simulation.md has a table of what each needs."


class DisturbanceError(SimulationError):
    """A disturbance cannot be injected."""

    code = 802
    remedy = "Correct the number or name in the message; docs/simulation.md lists the kinds of disturbances."
