"""Joints of a simulation that have a control law or a drive that is not ideal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ControllerError, UnknownNameError
from ..model.cell import RobotCell
from ..model.name_suggestions import listed, unknown_name
from ..model.simulated_robot import ControllerSettings, JointDrive, MotorControl
from ..model.state import RobotCellState
from .control.drives import Drives
from .control.laws import ControlInput
from .control.loop import ControlLoop
from .control.plant import Plant
from .control.selection import by_joint, joints_named
from .joint_names import JointNames
from .multibody.multibodies import Multibodies
from .options import SimulationOptions
from .setpoints import Setpoint
from .simulated_masses import simulated_masses

Array = NDArray[np.float64]


def apply_drives(cell: RobotCell, multibodies: Multibodies, drives: Mapping[str, JointDrive]) -> dict[str, JointDrive]:
    """Give joints the friction of their drives, in place; return the drives by joint.

    Raises:
        UnknownNameError: A name selects no joint with a motor.
    """
    if not drives:
        return {}
    chosen = by_joint(cell, drives, JointNames.of(multibodies.joints).full)
    for item in multibodies.items:
        for part in item.parts:
            if part.joint is not None and part.joint.name in chosen:
                drive, joint = chosen[part.joint.name], part.joint
                friction = joint.friction if drive.friction is None else drive.friction
                damping = joint.damping if drive.damping is None else drive.damping
                part.joint = replace(joint, friction=friction, damping=damping)
    return chosen


def check_unknown_bodies(cell: RobotCell, names: Iterable[str]) -> None:
    """Check that the bodies that controllers do not know exist.

    Raises:
        UnknownNameError: One of them does not.
    """
    for name in names:
        if name not in cell.bodies:
            text = unknown_name(f"body {name!r}", name, cell.bodies)
            raise UnknownNameError(f"`unknown_bodies`: {text}", stage="simulation", subjects=(name,))


class MeasuredJoint(NamedTuple):
    """Position [rad or m] and velocity of a joint in the engine, and the effort of the engine's motor."""

    position: float
    velocity: float
    effort: float


class JointControl:
    """Efforts of the joints with a control law or a drive that is not ideal.

    Attributes:
        efforts: Efforts of the motors in the latest period, by variable of the plant [Nm or N].
    """

    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        multibodies: Multibodies,
        setpoints: Mapping[str, Setpoint],
        drives: Mapping[str, JointDrive],
        options: SimulationOptions,
    ) -> None:
        self._cell = cell
        self._setpoints = setpoints
        self._period = options.time_step
        known = simulated_masses(cell, state, multibodies, options.robot.unknown_bodies)
        self._plant = Plant(known, state, options.gravity)
        models = {joint.name: joint for joint in multibodies.joints}
        self._aliases = JointNames.of(models.values()).full
        names = self._plant.variables
        for index, name in enumerate(names):
            if name in models:
                self._plant.damping[index], self._plant.friction[index] = models[name].damping, models[name].friction
        self._driven = self._plant  # what the drives move, of which the controllers may not know all
        if options.robot.unknown_bodies:
            self._driven = Plant(simulated_masses(cell, state, multibodies), state, options.gravity)
            self._driven.damping, self._driven.friction = self._plant.damping, self._plant.friction
        self._drives = Drives(self._driven, drives)
        self._plant.armature = self._driven.armature
        self._needy = [name for name in names if name in drives and drives[name].needs_effort_control]
        self.loop = ControlLoop(self._plant)
        self._index = {name: index for index, name in enumerate(names)}
        n = len(names)
        self._q, self._v, self._engine_efforts = self._start_values(state), np.zeros(n), np.zeros(n)
        self._previous_v, self.efforts, self._link_efforts = np.zeros(n), np.zeros(n), np.zeros(n)
        self._was_driven = np.zeros(n, dtype=bool)

    def _start_values(self, state: RobotCellState) -> Array:
        values = dict(state.configuration)
        for tool, at in state.tools.items():
            values.update({f"{tool}/{name}": value for name, value in at.configuration.items()})
        return np.array([values[name] for name in self._plant.variables])

    @property
    def is_active(self) -> bool:
        """Whether any joint needs efforts."""
        return bool(self.loop.effort_control.any()) or not self._drives.is_ideal

    @property
    def controllers(self) -> dict[str, ControllerSettings]:
        """Controller of each joint that is simulated."""
        return {name: self.loop.settings[name] for name in self._setpoints}

    def assign(self, controllers: Mapping[str, ControllerSettings]) -> None:
        """Choose controllers by names of joints, groups, robots or tools, all or none.

        Raises:
            UnknownNameError: A name selects no joint with a motor.
            ControllerError: A controller cannot serve its joints.
        """
        chosen = by_joint(self._cell, controllers, self._aliases)
        self._check_drives(chosen)
        by_settings: dict[ControllerSettings, list[str]] = {}
        for name, settings in chosen.items():
            by_settings.setdefault(settings, []).append(name)
        for settings, names in by_settings.items():
            self.loop.assign(names, settings)
        for name in chosen:
            self._setpoints[name].allow_deviation(bool(self.loop.compliant[self._index[name]]))

    def check_drives(self) -> None:
        """Check that every joint has a controller that its drive can have.

        Raises:
            ControllerError: A joint with the engine's motor has armature, backlash or a time constant.
        """
        self._check_drives(self.loop.settings)

    def _check_drives(self, controllers: Mapping[str, ControllerSettings]) -> None:
        names = [name for name in self._needy if isinstance(controllers.get(name), MotorControl)]
        if names:
            which = f"drive of joint {names[0]} has" if len(names) == 1 else f"drives of joints {listed(names)} have"
            text = f"the {which} armature, backlash or a time constant, which the motor of the engine"
            raise ControllerError(f"{text} does not have; choose another controller", subjects=tuple(names))

    def joints_named(self, name: str) -> tuple[str, ...]:
        """Return the joints that a name selects, see `selection.joints_named`."""
        return joints_named(self._cell, name, self._aliases)

    def measure(self, name: str, measured: MeasuredJoint) -> float:
        """Record the measured values of a joint; return the position of its motor."""
        index = self._index[name]
        position = measured.position + float(self._drives.offset[index])
        self._q[index], self._v[index], self._engine_efforts[index] = position, measured.velocity, measured.effort
        return position

    def advance_setpoint(self, name: str, time: float, measured: float) -> None:
        """Advance the setpoint of a joint to the end of the period; that of a joint that follows no positions rests."""
        index, setpoint = self._index[name], self._setpoints[name]
        self._previous_v[index] = setpoint.velocity
        if self.loop.follows[index] or setpoint.drives_by_effort:
            setpoint.advance(time, self._period, measured)
        else:
            setpoint.rest_at(measured)

    def compute(self) -> None:
        """Compute the efforts of the period from what was measured."""
        n = len(self._plant.variables)
        desired_q, desired_v, limits = self._q.copy(), np.zeros(n), np.zeros(n)
        commands, effort_mode, ahead = np.zeros(n), np.zeros(n, dtype=bool), np.zeros(n)
        for name, setpoint in self._setpoints.items():
            index = self._index[name]
            desired_q[index], desired_v[index] = setpoint.before, self._previous_v[index]
            ahead[index] = (setpoint.velocity - self._previous_v[index]) / self._period
            limits[index] = setpoint.effort_limit
            if setpoint.drives_by_effort:
                effort_mode[index], commands[index] = True, setpoint.effort
        self._plant.update(self._q, self._v)
        if self._driven is not self._plant:
            self._driven.update(self._q, self._v)
        driven = self.loop.effort_control | effort_mode
        # The engine reports no effort before its first step.
        motors = np.where(self._engine_efforts != 0.0, self._engine_efforts, self._plant.gravity)
        previous = np.where(self._was_driven, self.efforts, motors)
        given = ControlInput(self._period, self._q, self._v, desired_q, desired_v, ahead, commands, limits)
        if (driven & ~self._was_driven).any():
            self._drives.start(previous, driven & ~self._was_driven)
        requested = self.loop.efforts(given, effort_mode, previous)
        self.efforts, self._link_efforts = self._drives.advance(requested, self._driven, self._period)
        self._was_driven = driven

    def effort_at_link(self, name: str) -> float | None:
        """Return the effort that the drive applies in this period [Nm or N]; None if the engine's motor drives."""
        index = self._index[name]
        return float(self._link_efforts[index]) if self._was_driven[index] else None

    def effort(self, name: str) -> float | None:
        """Return the effort of a motor in the latest period; None for the motor of the engine."""
        index = self._index[name]
        return float(self.efforts[index]) if self._was_driven[index] else None

    def offset(self, name: str) -> float:
        """Return motor position minus link position [rad or m]."""
        return float(self._drives.offset[self._index[name]])
