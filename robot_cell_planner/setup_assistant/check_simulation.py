"""Check of the section `simulation` of a cell file: what a simulation refuses of it."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.cell import RobotCell
from ..model.simulated_robot import SimulatedRobot
from ..model.state import RobotCellState
from ..simulation.robot_check import refused_settings
from .finding import WARNING, Finding

REMEDY = "Correct the section `simulation`; a simulation of this cell does not start."


def simulation_findings(cell: RobotCell, state: RobotCellState, robot: SimulatedRobot) -> Iterator[Finding]:
    """Find settings of simulated robots with which a simulation of the cell does not start."""
    return (Finding(WARNING, "simulation", text, REMEDY) for text in refused_settings(cell, state, robot))
