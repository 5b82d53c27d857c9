"""Check of the settings of a simulated robot against its cell, without a physics engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ParamSpec

from ..errors import RobotCellError
from ..model.cell import RobotCell
from ..model.placement import Placements, placements
from ..model.simulated_robot import SimulatedRobot
from ..model.state import RobotCellState
from .control.selection import joints_named
from .joint_control import JointControl, apply_drives, check_unknown_bodies
from .joint_names import JointNames
from .multibody.multibodies import Multibodies
from .options import SimulationOptions
from .sensor_places import SensorPlaces
from .setpoints import Setpoint

P = ParamSpec("P")
CONTROLLERS, DRIVES = "`controllers`: ", "`drives`: "


def refused_settings(cell: RobotCell, state: RobotCellState, robot: SimulatedRobot) -> Iterator[str]:
    """Find what a simulation of the cell refuses of the settings of its robots, as clauses.

    Controllers are checked with their drives if the names of both exist.
    """
    if robot == SimulatedRobot():
        return
    try:
        multibodies = Multibodies(cell, state)
    except RobotCellError as error:
        yield f"the settings cannot be checked: {error.message}"
        return
    for name in robot.unknown_bodies:
        yield from _refusal(check_unknown_bodies, cell, (name,))
    driven = JointNames.of(multibodies.joints).full
    unknown = [
        place + text
        for place, names in ((CONTROLLERS, robot.controllers), (DRIVES, robot.drives))
        for name in names
        for text in _refusal(joints_named, cell, name, driven)
    ]
    yield from unknown
    if not unknown:
        yield from (CONTROLLERS + text for text in _refusal(_assign, cell, state, multibodies, robot))
    places = SensorPlaces(cell, multibodies, Placements(placements(cell, state)))
    for name, sensor in robot.sensors.items():
        yield from _refusal(places.check, name, sensor)


def _assign(cell: RobotCell, state: RobotCellState, multibodies: Multibodies, robot: SimulatedRobot) -> None:
    """Give the joints their controllers and drives as a simulation does."""
    options = SimulationOptions(robot=robot)
    drives = apply_drives(cell, multibodies, robot.drives)
    setpoints = {joint.name: Setpoint(joint, options) for joint in multibodies.joints if not joint.source}
    control = JointControl(cell, state, multibodies, setpoints, drives, options)
    control.assign(robot.controllers)
    control.check_drives()


def _refusal(check: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Iterator[str]:
    """Return the message of the error that a check raises, if it does."""
    try:
        check(*args, **kwargs)
    except RobotCellError as error:
        yield error.message
