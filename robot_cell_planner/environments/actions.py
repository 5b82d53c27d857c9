"""Actions: from numbers between -1 and 1 to commands of the simulated joints."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError
from ..kinematics.differential import jacobians, moved_frame
from ..model.cell import RobotCell
from ..model.mechanism import JointLimits
from ..model.state import RobotCellState
from ..simulation.options import SimulationOptions
from ..simulation.setpoints import DEFAULT_ACCELERATION, DEFAULT_EFFORT, DEFAULT_VELOCITY
from ..simulation.simulated_cell import SimulatedCell
from .options import STAGE, ActionKind, EnvironmentOptions

DAMPING = 0.02  # of the pseudoinverse of the Jacobian, relative to its largest singular value
# Peaks of the motion from rest to rest 10 s^3 - 15 s^4 + 6 s^5, for a distance and a time of 1.
PEAK_VELOCITY = 1.875
PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)
MIN_TIMEOUT = 2.0  # time steps in which a command has to be valid, so that each step has one whatever the rounding

Array = NDArray[np.float64]


class Actuation:
    """Commands of the acting joints.

    Args:
        cell: Models of the cell.
        state: State in which episodes start.
        options: Kind and period of the actions.
        simulation: Options of the simulation that carries them out.
        free_joint: Joint that nothing drives or holds; "" for none.

    Attributes:
        names: Names of the acting joints.
        size: Numbers of an action.
        commanded: Positions at which the latest motion ended (n,).
        lower, upper: Position limits (n,).

    Raises:
        InvalidRequestError: The period is not a multiple of the time step, or commands expire within two time steps.
    """

    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        options: EnvironmentOptions,
        simulation: SimulationOptions,
        free_joint: str = "",
    ) -> None:
        self._steps, self._free = _steps(options.period, simulation.time_step), free_joint
        expires = free_joint or options.action in (ActionKind.VELOCITY, ActionKind.EFFORT)
        self._parts = _parts(self._steps, simulation) if expires else [slice(0, self._steps)]
        self._cell, self._state, self._options = cell, state, options
        self.names = cell.group(options.group).variables
        limits = [cell.variables[name].limits for name in self.names]
        angular = [cell.variables[name].angular for name in self.names]
        self.lower = np.array([limit.lower for limit in limits])
        self.upper = np.array([limit.upper for limit in limits])
        self._velocity = options.speed * _values(limits, "velocity", angular, DEFAULT_VELOCITY)
        acceleration = _values(limits, "acceleration", angular, DEFAULT_ACCELERATION)
        self._effort = _values(limits, "effort", angular, DEFAULT_EFFORT)
        period = options.period
        self._step = np.minimum(self._velocity * period / PEAK_VELOCITY, acceleration * period**2 / PEAK_ACCELERATION)
        self._gripper = gripper_variable(cell, options.gripper) if options.gripper else None
        arm = 6 if options.action is ActionKind.TWIST else len(self.names)
        self.size = arm + (1 if self._gripper else 0)
        self.commanded = np.zeros(len(self.names))

    def start(self, state: RobotCellState) -> None:
        """Begin an episode at a state."""
        self._state = state
        self.commanded = np.array([state.configuration[name] for name in self.names])

    def target(self, action: Array) -> Array:
        """Return the configuration (n,) that a POSITION or TWIST action moves to."""
        change = action[: len(self.names)] * self._step
        if self._options.action is ActionKind.TWIST:
            change = self._change_of_twist(action[:6])
        return np.clip(self.commanded + change, self.lower, self.upper)

    def _change_of_twist(self, action: Array) -> Array:
        """Return the change of the joints that moves the tool centre point with a twist, within a step's limits."""
        speeds = np.repeat((self._options.linear_speed, self._options.angular_speed), 3)
        frame = moved_frame(self._cell, self._state, self._options.group)
        found = jacobians(
            self._cell, self._state, self._options.group, frame, configurations=self.commanded[None]
        ).jacobian[0]
        size = DAMPING * np.linalg.norm(found, 2)
        inverse = found.T @ np.linalg.inv(found @ found.T + size**2 * np.eye(6))
        change = inverse @ (action * speeds) * self._options.period
        return np.asarray(change / max(1.0, float(np.max(np.abs(change) / self._step))))

    def move(self, simulated: SimulatedCell, target: Array) -> None:
        """Move from rest to rest to a configuration (n,) in the period, along a straight line in joint space."""
        start, period = self.commanded, self._options.period
        fraction = (np.arange(1, self._steps + 1) / self._steps)[:, None]
        progress = fraction**3 * (10.0 - 15.0 * fraction + 6.0 * fraction**2)
        rate = 30.0 * fraction**2 * (1.0 - fraction) ** 2 / period
        positions, velocities = start + progress * (target - start), rate * (target - start)
        for part in self._parts:
            self._release(simulated)
            simulated.follow(self.names, positions[part], velocities[part])
        self.commanded = target

    def drive(self, simulated: SimulatedCell, action: Array) -> None:
        """Drive the joints by velocity or effort for the period."""
        values = action[: len(self.names)]
        for part in self._parts:
            self._release(simulated)
            if self._options.action is ActionKind.VELOCITY:
                simulated.set_velocities(self._named(values * self._velocity))
            else:
                simulated.set_efforts(self._named(values * self._effort))
            simulated.step((part.stop - part.start) * simulated.options.time_step)

    def _release(self, simulated: SimulatedCell) -> None:
        """Let the free joint move freely until commands expire."""
        if self._free:
            simulated.set_efforts({self._free: 0.0})

    def grip(self, simulated: SimulatedCell, action: Array) -> None:
        """Command the gripper with the last number of an action, if there is one."""
        if self._gripper:
            name, limits = self._gripper
            simulated.set_targets(
                {name: limits.lower + 0.5 * (float(action[-1]) + 1.0) * (limits.upper - limits.lower)}
            )

    def _named(self, values: Array) -> dict[str, float]:
        return dict(zip(self.names, values.tolist(), strict=True))


def _steps(period: float, time_step: float) -> int:
    """Return the number of time steps in a period.

    Raises:
        InvalidRequestError: It is not a whole number.
    """
    exact = period / time_step
    steps = round(exact)
    if steps < 1 or abs(exact - steps) > 1e-6 * exact:
        near = sorted({max(math.floor(exact), 1), math.floor(exact) + 1})
        text = f"period is {period:g} s, expected a multiple of the simulation's time_step of {time_step:g} s, such as "
        text += " or ".join(f"{count * time_step:g}" for count in near)
        raise InvalidRequestError(text, stage=STAGE, subjects=("period", "time_step"))
    return steps


def _parts(steps: int, simulation: SimulationOptions) -> list[slice]:
    """Split a period of some time steps into parts in which a velocity or effort command does not expire.

    Raises:
        InvalidRequestError: Commands expire too soon.
    """
    valid = simulation.command_timeout / simulation.time_step
    if valid < MIN_TIMEOUT:
        text = f"the simulation's command_timeout is {simulation.command_timeout:g} s, expected at least "
        text += f"{MIN_TIMEOUT:g} time steps of {simulation.time_step:g} s for actions by velocity or effort"
        raise InvalidRequestError(text, stage=STAGE, subjects=("command_timeout",))
    length = math.floor(valid - 0.5)
    return [slice(begin, min(begin + length, steps)) for begin in range(0, steps, length)]


def _values(limits: list[JointLimits], name: str, angular: list[bool], default: dict[bool, float]) -> Array:
    return np.array(
        [getattr(limit, name) or default[revolute] for limit, revolute in zip(limits, angular, strict=True)]
    )


def gripper_variable(cell: RobotCell, tool: str) -> tuple[str, JointLimits]:
    """Return the name in the cell, and the limits, of the joint of a gripper that actions drive."""
    variable = cell.tools[tool].mechanism.variables[0]
    return f"{tool}/{variable.name}", variable.limits
