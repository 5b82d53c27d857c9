"""The section `simulation` of a cell file: controllers, drives and sensors of the simulated robot."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
from frozendict import frozendict

from ...errors import InvalidValueError
from ...model.simulated_robot import (
    NAME,
    ControllerSettings,
    JointDrive,
    SimulatedRobot,
    controller_settings,
)
from ...model.simulated_sensors import SensorSettings, sensor_settings
from ..common.resources import NO_ROOTS, ResourceRoots, read_text
from ..common.sections import ConfigurationFile, Section

STAGE = "read simulation settings"
SECTION = "simulation"
S = TypeVar("S", bound=msgspec.Struct)


def load_simulated_robot(file: str | Path, roots: ResourceRoots = NO_ROOTS) -> SimulatedRobot:
    """Load the settings of the simulated robot from a cell file; the defaults if it has no section `simulation`.

    Raises:
        FileError, ResourceError: The file is missing or malformed.
    """
    path = Path(file)
    parsed = ConfigurationFile(read_text(path, STAGE, roots.text_bytes), str(path), STAGE)
    return read_simulated_robot(parsed.root.section(SECTION))


def read_simulated_robot(section: Section) -> SimulatedRobot:
    """Read the section `simulation`.

    Raises:
        FileError: A key or value is not allowed.
    """
    section.allow("controllers", "drives", "unknown_bodies", "sensors")
    controllers = section.section("controllers")
    return SimulatedRobot(
        frozendict({name: _controller(controllers, name) for name in controllers.values}),
        frozendict({drive.name: _drive(drive) for drive in section.sections("drives")}),
        section.texts("unknown_bodies"),
        frozendict({sensor.name: _sensor(sensor) for sensor in section.sections("sensors")}),
    )


def _controller(section: Section, name: str) -> ControllerSettings:
    """Read a controller: its type alone, or a mapping with its type and settings."""
    is_type = isinstance(section.values[name], str)
    values = {NAME: section.text(name)} if is_type else dict(section.section(name).values)
    try:
        return controller_settings(values)
    except InvalidValueError as error:
        raise section.error(error.message, name) from error


def _drive(section: Section) -> JointDrive:
    section.allow(*JointDrive.__struct_fields__)
    values = {name: section.number(name) for name in section.values}
    try:
        return JointDrive(**values)
    except InvalidValueError as error:
        raise section.error(error.message) from error


def _sensor(section: Section) -> SensorSettings:
    try:
        return sensor_settings(section.name, section.values)
    except InvalidValueError as error:
        raise section.error(error.message) from error
