"""Check of the section `simulation` of a cell file: names that the cell does not have."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.cell import RobotCell
from ..model.frames import FrameTree
from ..model.name_suggestions import unknown_name
from ..model.simulated_robot import SimulatedRobot
from ..model.simulated_sensors import JointTorqueSensor
from ..model.state import RobotCellState
from .finding import WARNING, Finding

ALL = "*"
REMEDY = "Correct the name in the section `simulation`; a simulation of this cell does not start."


def simulation_findings(cell: RobotCell, state: RobotCellState, robot: SimulatedRobot) -> Iterator[Finding]:
    """Find names of joints, bodies and frames that a simulation of the cell would refuse."""
    joints, bodies, frames = _names_of_joints(cell), set(cell.bodies), set(FrameTree(cell, state))
    used = [(f"`{key}`", name) for key in ("controllers", "drives") for name in getattr(robot, key)]
    moved = {name: each.joints for name, each in robot.sensors.items() if isinstance(each, JointTorqueSensor)}
    placed = {name: each.frame for name, each in robot.sensors.items() if not isinstance(each, JointTorqueSensor)}
    used += [(f"sensor {sensor}", name) for sensor, name in moved.items()]
    for place, name in used:
        if name not in joints:
            yield _finding(place, f"joint, group, robot or tool {name!r}", name, joints)
    for name in robot.unknown_bodies:
        if name not in bodies:
            yield _finding("`unknown_bodies`", f"body {name!r}", name, bodies)
    for sensor, name in placed.items():
        if name not in frames:
            yield _finding(f"sensor {sensor}", f"frame {name!r}", name, frames)


def _names_of_joints(cell: RobotCell) -> set[str]:
    """Return all names that select joints: those of tools also without their tool."""
    own = {variable.name for tool in cell.tools.values() for variable in tool.mechanism.variables}
    full = {f"{name}/{each.name}" for name, tool in cell.tools.items() for each in tool.mechanism.variables}
    groups = {group for robot in cell.robots.values() for group in robot.groups}
    return {ALL, *cell.variables, *own, *full, *groups, *cell.groups, *cell.robots, *cell.tools}


def _finding(place: str, what: str, name: str, existing: set[str]) -> Finding:
    return Finding(WARNING, "simulation", f"{place}: {unknown_name(what, name, existing - {ALL})}", REMEDY)
