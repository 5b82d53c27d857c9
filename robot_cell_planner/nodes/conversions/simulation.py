"""Requests to the simulated robot, and its disturbances."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import Vector3, Wrench

from robot_cell_planner import srv
from robot_cell_planner.msg import SimulationDisturbance

from ...errors import DisturbanceError, InvalidRequestError
from ...model.simulated_robot import NAME, ControllerSettings, controller_settings
from ...simulation.disturbances import Disturbance, DisturbanceKind
from ...simulation.operations import Continue, Operation, Pause, Reset, SetTimeFactor, Step


def controller_from_request(request: srv.SetJointController.Request) -> ControllerSettings:
    """Return the settings of a controller.

    Raises:
        InvalidRequestError: The lists have different lengths, or a setting is unknown or out of range.
    """
    names, values = list(request.setting_names), list(request.setting_values)
    if len(names) != len(values) or len(set(names)) != len(names):
        text = (
            f"there are {len(names)} setting_names and {len(values)} setting_values, expected one value for each name"
        )
        raise InvalidRequestError(text, subjects=("setting_names",))
    given: dict[str, Any] = dict(zip(names, values, strict=True))
    if request.frame:
        given["frame"] = request.frame
    return controller_settings({**given, NAME: request.type})


MAX_STEPS = 1_000_000


def operation_from_request(request: srv.ControlSimulation.Request) -> Operation | None:
    """Return the operation of a request; None if it requests the status alone.

    Raises:
        InvalidRequestError: The command does not exist, or the number of steps is out of range.
    """
    kinds: dict[int, Operation | None] = {
        request.STATUS: None,
        request.PAUSE: Pause(),
        request.CONTINUE: Continue(),
        request.STEP: Step(request.steps),
        request.RESET: Reset(),
        request.SET_TIME_FACTOR: SetTimeFactor(request.time_factor),
    }
    if request.command not in kinds:
        raise InvalidRequestError(f"command is {request.command}, expected 0 to 5", subjects=("command",))
    if request.command == request.STEP and not 1 <= request.steps <= MAX_STEPS:
        raise InvalidRequestError(f"steps is {request.steps}, expected 1 to {MAX_STEPS}", subjects=("steps",))
    return kinds[request.command]


def disturbance_from_message(message: SimulationDisturbance) -> Disturbance:
    """Return a disturbance.

    Raises:
        DisturbanceError: The kind does not exist, or a number is out of range.
    """
    kinds = [kind.value for kind in DisturbanceKind]
    if message.kind not in kinds:
        text = f"kind is {message.kind!r}, expected one of {', '.join(kinds)}"
        raise DisturbanceError(text, subjects=("kind",))
    force, torque = message.wrench.force, message.wrench.torque
    return Disturbance(
        DisturbanceKind(message.kind),
        message.name,
        message.value,
        (force.x, force.y, force.z),
        (torque.x, torque.y, torque.z),
        message.duration,
    )


def disturbance_to_message(disturbance: Disturbance) -> SimulationDisturbance:
    """Return the message of a disturbance."""
    (fx, fy, fz), (tx, ty, tz) = disturbance.force, disturbance.torque
    wrench = Wrench(force=Vector3(x=fx, y=fy, z=fz), torque=Vector3(x=tx, y=ty, z=tz))
    return SimulationDisturbance(
        kind=disturbance.kind.value,
        name=disturbance.name,
        value=disturbance.value,
        wrench=wrench,
        duration=disturbance.duration,
    )
