"""Where the simulated robot is, before and after a motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..errors import TrajectoryStartError, Value
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..planning.problem.plan import Plan
from ..trajectory.trajectory import Trajectory
from ..trajectory.validation import START_TOLERANCE
from .outcome import GOAL_TOLERANCE, STAGE

if TYPE_CHECKING:
    from ..simulation.simulated_cell import SimulatedCell

Command: TypeAlias = tuple[dict[str, float], dict[str, float] | None]  # positions and velocities by joint
BLOCK = 1000  # commands that are computed at once
SETTLE_TIME = 1.0  # [s] for joints to arrive at the end of a motion
# [rad or m] that the simulated robot may be away from the start of a plan: a motion may end GOAL_TOLERANCE beside its
# goal, from which the next one is planned.
AWAY = GOAL_TOLERANCE + START_TOLERANCE
REMEDY = "set the state to it: cell.apply(SetJoints(cell.simulation.state().configuration))"


def commands_of(trajectory: Trajectory, period: float) -> tuple[int, Iterator[Command]]:
    """Return the number of commands of a trajectory, one for each period [s], and the commands, which are computed as
    they are needed: those of a motion of hours would fill the memory."""
    count = math.ceil(trajectory.duration / period - 1e-9)

    def commands() -> Iterator[Command]:
        for first in range(1, count + 1, BLOCK):
            times = period * np.arange(first, min(first + BLOCK, count + 1), dtype=np.float64)
            rows = (trajectory.at(times, order).tolist() for order in (0, 1))
            for position, velocity in zip(*rows, strict=True):
                named = (dict(zip(trajectory.variables, values, strict=True)) for values in (position, velocity))
                yield next(named), next(named)

    return count, commands()


def reached_joints(plan: Plan, simulation: SimulatedCell) -> dict[str, float]:
    """Return the values of a plan's joints [rad or m] in the simulation."""
    reached = simulation.state().configuration
    return {name: reached[name] for name in plan.variables}


def check_simulated_start(name: str, plan: Plan, cell: RobotCell, simulation: SimulatedCell) -> None:
    """Check that the simulated robot is at the start of a plan. `OfflineCell.command` moves it, but not the state from
    which motions are planned.

    Raises:
        TrajectoryStartError: A joint is further away than `AWAY`.
    """
    starts = dict(zip(plan.variables, plan.path[0].tolist(), strict=True))
    for joint, position in reached_joints(plan, simulation).items():
        away = abs(position - starts[joint])
        if away > AWAY:
            unit = cell.variables[joint].unit
            where = f"{away:.4g} {unit} away from the simulated position of {joint}"
            text = f"{name}: the plan starts {where}; {REMEDY}"
            values = (Value(f"distance of {joint}", away, AWAY, unit),)
            raise TrajectoryStartError(text, stage=STAGE, subjects=(joint,), values=values)


def settle(
    plan: Plan, simulation: SimulatedCell, period: float, record: Callable[[float, RobotCellState], None]
) -> None:
    """Let joints that lag behind arrive at the end of a plan, within `SETTLE_TIME`.

    record: Called with the time [s] and the state after each period [s].
    """
    end = plan.end_configuration()
    until = simulation.time + SETTLE_TIME
    while simulation.time < until:
        reached = simulation.state()
        if all(abs(reached.configuration[name] - value) <= 0.5 * GOAL_TOLERANCE for name, value in end.items()):
            return
        simulation.set_targets(dict(end))
        simulation.step(period)
        record(simulation.time, simulation.state())
