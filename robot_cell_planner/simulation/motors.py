"""Joint motors of a simulated cell: commands as input, joint states as output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError, InvalidRequestError
from .commands import CommandLimits, JointCommand
from .engines.base import Engine, JointHandle
from .joint_control import JointControl, MeasuredJoint
from .joint_names import JointNames
from .options import SimulationOptions
from .setpoints import DEFAULT_EFFORT, Mode, Setpoint, assumed_effort

STAGE = "simulation"
STUCK_EFFORT = 1e5  # [Nm or N]

Array = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SimulatedJointStates:
    """Measured joint states; the arrays are read-only.

    Attributes:
        names: As in the description if unambiguous, else "tool/joint".
        positions: (n,) [rad, m].
        velocities: (n,) [rad/s, m/s].
        efforts: (n,) efforts of the motors [Nm, N].
    """

    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array


class _Chain:
    """Joints of one engine body. `indices`: their places in the whole list; `setpoints`: None for mimic joints."""

    def __init__(self, body: int, joints: list[tuple[int, JointHandle]], options: SimulationOptions) -> None:
        self.body = body
        self.indices = [index for index, _ in joints]
        self.joints = [joint for _, joint in joints]
        self.links = [joint.address.link for joint in self.joints]
        self.setpoints = [None if joint.model.source else Setpoint(joint.model, options) for joint in self.joints]
        self.driven = [
            (index, joint.address.link, joint.model.name, setpoint)
            for index, (joint, setpoint) in enumerate(zip(self.joints, self.setpoints, strict=True))
            if setpoint is not None
        ]
        self.free: set[int] = set()  # joints without the engine's motor


class Motors:
    """All joints of an engine. Mimic joints are coupled by gears; every other joint has a motor.

    Attributes:
        names: Names of the joints.
        setpoints: Setpoints by name in the cell.
        control: Control of joints by efforts; None while the engine's motors drive all.
        stuck: Positions of joints that do not move, by name in the cell [rad or m].
        errors: Measured minus true positions, by name in the cell [rad or m].
        speed: Largest speed of a joint at the begin of the latest step [rad/s or m/s].
    """

    def __init__(self, engine: Engine, options: SimulationOptions) -> None:
        self._engine = engine
        self._step = options.time_step
        joints = engine.joints
        self.names = JointNames.of(joint.model for joint in joints)
        self._chains = [
            _Chain(body, [(i, joint) for i, joint in enumerate(joints) if joint.address.body == body], options)
            for body in sorted({joint.address.body for joint in joints})
        ]
        self.setpoints: dict[str, Setpoint] = {}
        self.control: JointControl | None = None
        self.stuck: dict[str, float] = {}
        self.errors: dict[str, float] = {}
        self.speed = 0.0
        self._of_tools: set[str] = set()
        for chain in self._chains:
            for joint, setpoint in zip(chain.joints, chain.setpoints, strict=True):
                engine.free(joint)
                if setpoint is None:
                    engine.gear(joint, next(other for other in joints if other.model.name == joint.model.source))
                else:
                    self.setpoints[joint.model.name] = setpoint
                    if joint.model.tool:
                        self._of_tools.add(joint.model.name)
        self._all = list(self.setpoints.values())

    @property
    def assumptions(self) -> list[str]:
        """Return the assumptions made for values that the models do not specify, as sentences."""
        weak = [
            joint.model
            for chain in self._chains
            for joint in chain.joints
            if not joint.model.source and not joint.model.limits.effort
        ]
        if not weak:
            return []
        effort = f"{DEFAULT_EFFORT[True]:g} Nm or {DEFAULT_EFFORT[False]:g} N"
        text = f"no effort limit is given for {', '.join(joint.name for joint in weak)}; {effort} is assumed"
        loaded = [joint for joint in weak if assumed_effort(joint) > DEFAULT_EFFORT[joint.revolute]]
        if loaded:
            names = ", ".join(f"{joint.name} {assumed_effort(joint):.0f}" for joint in loaded)
            text += f", more where the load needs it: {names}"
        return [text]

    def set_targets(self, positions: Mapping[str, float], velocities: Mapping[str, float] | None, time: float) -> None:
        """Set position commands [rad, m], with velocities [rad/s, m/s], see `SimulatedCell.set_targets`."""
        targets = self._checked(positions, "position")
        if velocities is None:
            for setpoint, position in targets:
                setpoint.command_position(position, None, time)
            return
        odd = sorted(set(velocities) ^ set(positions))
        if odd:
            text = f"velocities and positions are for different joints: {', '.join(odd[:5])}"
            raise InvalidRequestError(text, stage=STAGE, subjects=tuple(odd))
        self._checked(velocities, "velocity")
        for (setpoint, position), name in zip(targets, positions, strict=True):
            setpoint.command_position(position, float(velocities[name]), time)

    def set_velocities(self, velocities: Mapping[str, float], time: float) -> None:
        """Set velocity commands [rad/s, m/s], see `SimulatedCell.set_velocities`."""
        for setpoint, velocity in self._checked(velocities, "velocity"):
            setpoint.command_velocity(velocity, time)

    def set_efforts(self, efforts: Mapping[str, float], time: float) -> None:
        """Set effort commands [Nm, N], see `SimulatedCell.set_efforts`."""
        for setpoint, effort in self._checked(efforts, "effort"):
            setpoint.command_effort(effort, time)

    def limit_efforts(self, limits: Mapping[str, float]) -> None:
        """Set effort bounds [Nm, N], see `SimulatedCell.limit_efforts`."""
        checked = self._checked(limits, "effort limit")
        for name, value in limits.items():
            if value < 0.0:
                text = f"effort limit of joint {name} is {value}, expected at least 0"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,))
        for setpoint, limit in checked:
            setpoint.limit_effort(limit)

    def command(self, command: JointCommand, time: float) -> None:
        """Set the commands of a message, see `SimulatedCell.command`. None of them is set if one is wrong."""
        plain = {name: value for name, value in command.positions.items() if name not in command.velocities}
        guided = {name: value for name, value in command.positions.items() if name in command.velocities}
        held = {name: value for name, value in command.efforts.items() if name in command.positions}
        limits = {name: abs(value) for name, value in held.items() if self.is_of_tool(name)}
        driven = {name: value for name, value in command.velocities.items() if name not in command.positions}
        otherwise = {*command.positions, *command.velocities}
        efforts = {name: value for name, value in command.efforts.items() if name not in otherwise}
        self._checked(command.positions, "position")
        self._checked(command.velocities, "velocity")
        self._checked(limits, "effort limit")
        self._checked(efforts, "effort")
        self.set_targets(plain, None, time)
        self.set_targets(guided, {name: command.velocities[name] for name in guided}, time)
        self.limit_efforts(limits)
        self.set_velocities(driven, time)
        self.set_efforts(efforts, time)

    @property
    def limits(self) -> dict[str, CommandLimits]:
        """Limits of the commands of driven joints, by each name that commands may use."""
        setpoints = {name: self.setpoints[full] for name, full in self.names.full.items()}
        return {
            name: CommandLimits(each.lower, each.upper, each.largest_velocity, each.largest_effort)
            for name, each in setpoints.items()
        }

    def setpoint(self, name: str) -> Setpoint:
        """Return the setpoint of a joint with a motor.

        Raises:
            UnknownNameError, InvalidRequestError: As `JointNames.full_name`.
        """
        return self.setpoints[self.names.full_name(name)]

    def is_of_tool(self, name: str) -> bool:
        """Return whether a joint belongs to a tool."""
        return self.names.full_name(name) in self._of_tools

    def _checked(self, values: Mapping[str, float], what: str) -> list[tuple[Setpoint, float]]:
        result: list[tuple[Setpoint, float]] = []
        for name, value in values.items():
            setpoint = self.setpoint(name)
            if not math.isfinite(value):
                text = f"{what} of joint {name} is {value}, expected a finite number"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,))
            result.append((setpoint, float(value)))
        return result

    def advance(self, time: float) -> None:
        """Update the motors for the engine step that ends at `time` [s]."""
        control = self.control if self.control is not None and self.control.is_active else None
        self.speed = 0.0
        for chain in self._chains:
            values = self._engine.joint_values(chain.body, chain.links)
            self.speed = max(self.speed, *(abs(value[1]) for value in values))
            for index, _, name, setpoint in chain.driven:
                measured = values[index][0]
                if not math.isfinite(measured):
                    text = f"the physics diverged: joint {name} is {measured}"
                    raise InternalError(text, stage=STAGE, subjects=(name,))
                if self.errors:
                    measured += self.errors.get(name, 0.0)
                if control is None:
                    setpoint.advance(time, self._step, measured)
                else:
                    joint = MeasuredJoint(measured, *values[index][1:])
                    control.advance_setpoint(name, time, control.measure(name, joint))
        if control is not None:
            control.compute()
        for chain in self._chains:
            self._drive(chain, control)

    def _drive(self, chain: _Chain, control: JointControl | None) -> None:
        """Drive the joints of a chain in the next engine step."""
        by_position: list[tuple[int, tuple[float, float, float]]] = []
        by_effort: list[tuple[int, float]] = []
        for index, link, name, setpoint in chain.driven:
            if control is None:
                effort = setpoint.effort if setpoint.drives_by_effort else None
            else:
                effort = control.effort_at_link(name)
            if name in self.stuck:
                chain.free.discard(index)
                by_position.append((link, (self.stuck[name], 0.0, STUCK_EFFORT)))
                continue
            if effort is None:
                chain.free.discard(index)
                position = setpoint.before - (self.errors.get(name, 0.0) if self.errors else 0.0)
                by_position.append((link, (position, setpoint.velocity, setpoint.effort_limit)))
                continue
            if index not in chain.free:
                self._engine.free(chain.joints[index])
                chain.free.add(index)
            by_effort.append((link, effort))
        if by_position:
            self._engine.drive_positions(chain.body, *_columns(by_position))
        if by_effort:
            self._engine.drive_efforts(chain.body, *_columns(by_effort))

    @property
    def are_changed(self) -> bool:
        """Whether a setpoint has changed since the last call of `take_changes`."""
        return any(setpoint.changed for setpoint in self._all)

    def take_changes(self) -> bool:
        """Return whether a setpoint has changed since the last call."""
        changed = False
        for setpoint in self._all:
            if setpoint.changed:
                setpoint.changed, changed = False, True
        return changed

    def is_steady(self, time: float) -> bool:
        """Return whether no command will have another effect later than at a time [s]."""
        return all(setpoint.is_steady(time) for setpoint in self._all)

    def setpoint_values(self) -> list[float]:
        """Return positions and velocities of all setpoints."""
        return [value for setpoint in self._all for value in (setpoint.position, setpoint.velocity)]

    def states(self) -> SimulatedJointStates:
        """Return the current states of all joints, as measured at the motors."""
        control = self.control if self.control is not None and self.control.is_active else None
        rows = np.empty((3, len(self.names.all)))
        for chain in self._chains:
            values = self._engine.joint_values(chain.body, chain.links)
            for index, joint, value, setpoint in zip(chain.indices, chain.joints, values, chain.setpoints, strict=True):
                position, effort = value[0], _effort(setpoint, value[2])
                if control is not None and setpoint is not None:
                    driven = control.effort(joint.model.name)
                    position += control.offset(joint.model.name)
                    effort = effort if driven is None else driven
                position += self.errors.get(joint.model.name, 0.0)
                rows[:, index] = position, value[1], effort
        rows.flags.writeable = False
        return SimulatedJointStates(self.names.all, *rows)

    def configuration(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Return the values of the joints that are not mimic joints: of robots by name, of tools by tool and joint
        name."""
        robots: dict[str, float] = {}
        tools: dict[str, dict[str, float]] = {}
        for chain in self._chains:
            states = self._engine.joint_values(chain.body, chain.links)
            for index, *_ in chain.driven:
                model = chain.joints[index].model
                values = tools.setdefault(model.tool, {}) if model.tool else robots
                values[model.own_name] = float(states[index][0])
        return robots, tools


def _effort(setpoint: Setpoint | None, measured: float) -> float:
    """Return the effort of a motor [Nm or N], also if the engine does not measure it."""
    if setpoint is not None and setpoint.held_effort is not None:
        return setpoint.held_effort
    return setpoint.effort if setpoint is not None and setpoint.mode is Mode.EFFORT else measured


def _columns(rows: list[tuple[int, T]]) -> tuple[list[int], list[T]]:
    return [row[0] for row in rows], [row[1] for row in rows]
