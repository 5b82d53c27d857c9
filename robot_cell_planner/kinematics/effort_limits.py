"""Effort limits compared with the efforts that the masses need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.cell import RobotCell
from ..model.mechanism import Variable
from ..model.random_configurations import random_configurations
from ..model.state import RobotCellState
from ..model.value import Vector3
from .dynamics import DOWN, Array, Dynamics

STATES = 300  # random configurations in which efforts are compared with limits
SEED = 1
MAX_FRACTION = 0.02  # of these configurations, in which a limit may be exceeded


@dataclass(frozen=True)
class WeakJoint:
    """A joint whose effort limit does not hold the masses that it carries.

    Attributes:
        name: Name of its variable.
        limit: Effort limit [Nm or N].
        needed: Largest effort that gravity requires [Nm or N].
        fraction: Of the configurations in which the limit is exceeded.
        angular: Whether it is revolute.
    """

    name: str
    limit: float
    needed: float
    fraction: float
    angular: bool

    def __str__(self) -> str:
        unit = "Nm" if self.angular else "N"
        return f"{self.name} ({self.limit:.3g} {unit}, {self.needed:.3g} needed; {self.fraction:.0%} of the states)"


def weak_joints(cell: RobotCell, state: RobotCellState, gravity: Vector3 = DOWN) -> tuple[WeakJoint, ...]:
    """Find joints that need more than their effort limit against gravity in more than 2 % of random configurations.

    Args:
        gravity: In the world frame [m/s2].
    """
    dynamics = Dynamics(cell, state, gravity)
    limited, columns, configurations = _random(cell, state, dynamics)
    efforts = np.abs(dynamics.gravity(configurations))[:, columns]
    found = []
    for variable, needed in zip(limited, efforts.T, strict=True):
        limit = variable.limits.effort or np.inf
        fraction = float(np.mean(needed > limit))
        if fraction > MAX_FRACTION:
            found.append(WeakJoint(variable.name, limit, float(needed.max()), fraction, variable.angular))
    return tuple(found)


def efforts_of_motions(cell: RobotCell, state: RobotCellState, gravity: Vector3 = DOWN) -> dict[str, float]:
    """Return the largest effort [Nm or N] of each joint with an effort limit, in random configurations that all joints
    leave with their acceleration limits in random directions.

    Args:
        gravity: In the world frame [m/s2].
    """
    dynamics = Dynamics(cell, state, gravity)
    limited, columns, configurations = _random(cell, state, dynamics)
    accelerations = np.zeros_like(configurations)
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), (STATES, len(limited)))
    accelerations[:, columns] = signs * [variable.limits.acceleration or 0.0 for variable in limited]
    efforts = np.abs(dynamics.inverse(configurations, None, accelerations))[:, columns].max(axis=0)
    return {variable.name: float(effort) for variable, effort in zip(limited, efforts, strict=True)}


def _random(cell: RobotCell, state: RobotCellState, dynamics: Dynamics) -> tuple[list[Variable], list[int], Array]:
    """Return the variables with effort limits, their columns, and random values of them among those of the state."""
    limited = [variable for variable in cell.variables.values() if variable.limits.effort]
    columns = [dynamics.variables.index(variable.name) for variable in limited]
    values = {**dict.fromkeys(dynamics.variables, 0.0), **state.configuration}
    configurations = np.tile([values[name] for name in dynamics.variables], (STATES, 1))
    configurations[:, columns] = random_configurations(limited, STATES, SEED)
    return limited, columns, configurations
