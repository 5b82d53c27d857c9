"""Joint motors of a simulated cell: commands as input, joint states as output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pybullet
from numpy.typing import NDArray

from ..errors import InternalError, InvalidRequestError, UnknownNameError
from ..model.name_suggestions import unknown_name
from .engine import Engine, JointHandle
from .options import SimulationOptions
from .setpoints import DEFAULT_EFFORT, Mode, Setpoint, assumed_effort

STAGE = "simulation"
# Fraction of its position error that a motor corrects in one step; at 1 the motors of a chain disturb each other.
POSITION_GAIN = 0.2
GEAR_ERP = 0.5
GEAR_FORCE = 1e4  # [N or Nm]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointStates:
    """Measured joint states.

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
    """Joints of one engine body. `frames`: their indices in the whole list; `setpoints`: None for mimic joints."""

    def __init__(self, body: int, joints: list[tuple[int, JointHandle]], options: SimulationOptions) -> None:
        self.body = body
        self.indices = [index for index, _ in joints]
        self.joints = [joint for _, joint in joints]
        self.links = [joint.address.link for joint in self.joints]
        self.setpoints = [None if joint.model.source else Setpoint(joint.model, options) for joint in self.joints]
        self.driven = [
            (index, link, setpoint)
            for index, (link, setpoint) in enumerate(zip(self.links, self.setpoints, strict=True))
            if setpoint is not None
        ]


class Motors:
    """All joints of an engine. Mimic joints are coupled by gears; every other joint has a motor.

    Attributes:
        names: Names of all joints, see `JointStates`.
        driven: Names of the joints with a motor.
    """

    def __init__(self, engine: Engine, options: SimulationOptions) -> None:
        self._client = engine.client
        self._step = options.time_step
        joints = engine.joints
        own = [joint.model.own_name for joint in joints]
        self.names = tuple(
            joint.model.own_name if own.count(joint.model.own_name) == 1 else joint.model.name for joint in joints
        )
        self._chains = [
            _Chain(body, [(i, joint) for i, joint in enumerate(joints) if joint.address.body == body], options)
            for body in sorted({joint.address.body for joint in joints})
        ]
        self._by_name: dict[str, Setpoint] = {}
        self._of_tools: set[str] = set()
        self.driven: tuple[str, ...] = ()
        for chain in self._chains:
            for index, joint, setpoint in zip(chain.indices, chain.joints, chain.setpoints, strict=True):
                self._free(joint)
                if setpoint is None:
                    self._gear(joint, next(other for other in joints if other.model.name == joint.model.source))
                else:
                    self._by_name[self.names[index]] = self._by_name[joint.model.name] = setpoint
                    self.driven += (self.names[index],)
                    if joint.model.tool:
                        self._of_tools |= {self.names[index], joint.model.name}

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
        loaded = [joint for joint in weak if assumed_effort(joint) > DEFAULT_EFFORT[joint.turns]]
        if loaded:
            names = ", ".join(f"{joint.name} {assumed_effort(joint):.0f}" for joint in loaded)
            text += f", more where the load needs it: {names}"
        return [text]

    def _free(self, joint: JointHandle) -> None:
        """Disable the default motor of the engine, which holds the joint against torques."""
        pybullet.setJointMotorControl2(
            *joint.address, pybullet.VELOCITY_CONTROL, force=joint.model.friction, physicsClientId=self._client
        )

    def _gear(self, follower: JointHandle, leader: JointHandle) -> None:
        constraint = pybullet.createConstraint(
            *follower.address,
            *leader.address,
            pybullet.JOINT_GEAR,
            follower.model.axis,
            (0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0),
            physicsClientId=self._client,
        )
        pybullet.changeConstraint(
            constraint,
            gearRatio=-follower.model.multiplier,
            relativePositionTarget=follower.model.offset,
            erp=GEAR_ERP,
            maxForce=GEAR_FORCE,
            physicsClientId=self._client,
        )

    def set_targets(self, positions: Mapping[str, float], velocities: Mapping[str, float] | None, time: float) -> None:
        """Set position commands, see `SimulatedCell.set_targets`."""
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
        """Set velocity commands, see `SimulatedCell.set_velocities`."""
        for setpoint, velocity in self._checked(velocities, "velocity"):
            setpoint.command_velocity(velocity, time)

    def set_efforts(self, efforts: Mapping[str, float], time: float) -> None:
        """Set effort commands, see `SimulatedCell.set_efforts`."""
        for setpoint, effort in self._checked(efforts, "effort"):
            setpoint.command_effort(effort, time)

    def limit_efforts(self, limits: Mapping[str, float]) -> None:
        """Set effort bounds, see `SimulatedCell.limit_efforts`."""
        checked = self._checked(limits, "effort limit")
        for name, value in limits.items():
            if value < 0.0:
                text = f"effort limit of joint {name} is {value}, expected at least 0"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,))
        for setpoint, limit in checked:
            setpoint.limit_effort(limit)

    def setpoint(self, name: str) -> Setpoint:
        """Return the setpoint of a joint with a motor."""
        return self._by_name[name]

    def is_of_tool(self, name: str) -> bool:
        """Return whether a joint belongs to a tool."""
        return name in self._of_tools

    def _checked(self, values: Mapping[str, float], what: str) -> list[tuple[Setpoint, float]]:
        result: list[tuple[Setpoint, float]] = []
        for name, value in values.items():
            if name not in self._by_name:
                text = unknown_name(f"driven joint {name!r}", name, self._by_name)
                raise UnknownNameError(text, stage=STAGE, subjects=(name,))
            if not math.isfinite(value):
                text = f"{what} of joint {name} is {value}, expected a finite number"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,))
            result.append((self._by_name[name], float(value)))
        return result

    def advance(self, time: float) -> None:
        """Update the motors for the engine step that ends at `time` [s]."""
        for chain in self._chains:
            states = pybullet.getJointStates(chain.body, chain.links, physicsClientId=self._client)
            links: list[int] = []
            setpoints: list[Setpoint] = []
            for index, link, setpoint in chain.driven:
                measured = states[index][0]
                if not math.isfinite(measured):
                    name = chain.joints[index].model.name
                    text = f"the physics diverged: joint {name} is {measured}"
                    raise InternalError(text, stage=STAGE, subjects=(name,))
                setpoint.advance(time, self._step, measured)
                if setpoint.mode is Mode.EFFORT:
                    self._push(chain.joints[index], setpoint.effort)
                else:
                    links.append(link)
                    setpoints.append(setpoint)
            pybullet.setJointMotorControlArray(
                chain.body,
                links,
                pybullet.POSITION_CONTROL,
                targetPositions=[setpoint.before for setpoint in setpoints],
                targetVelocities=[setpoint.velocity for setpoint in setpoints],
                forces=[setpoint.effort_limit for setpoint in setpoints],
                positionGains=[POSITION_GAIN] * len(links),
                velocityGains=[1.0] * len(links),
                physicsClientId=self._client,
            )

    def _push(self, joint: JointHandle, effort: float) -> None:
        self._free(joint)
        pybullet.setJointMotorControl2(
            *joint.address, pybullet.TORQUE_CONTROL, force=effort, physicsClientId=self._client
        )

    def states(self) -> JointStates:
        """Return the current states of all joints."""
        rows = np.empty((3, len(self.names)))
        for chain in self._chains:
            states = pybullet.getJointStates(chain.body, chain.links, physicsClientId=self._client)
            for index, state, setpoint in zip(chain.indices, states, chain.setpoints, strict=True):
                rows[:, index] = state[0], state[1], _effort(setpoint, state[3])
        return JointStates(self.names, *rows)

    def configuration(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Return the values of the joints that are not mimic joints: of robots by name, of tools by tool and joint
        name."""
        robots: dict[str, float] = {}
        tools: dict[str, dict[str, float]] = {}
        for chain in self._chains:
            states = pybullet.getJointStates(chain.body, chain.links, physicsClientId=self._client)
            for index, _, _ in chain.driven:
                model = chain.joints[index].model
                values = tools.setdefault(model.tool, {}) if model.tool else robots
                values[model.own_name] = float(states[index][0])
        return robots, tools


def _effort(setpoint: Setpoint | None, measured: float) -> float:
    """Return the effort of a motor [Nm or N], also if the engine does not measure it."""
    if setpoint is not None and setpoint.held_effort is not None:
        return setpoint.held_effort
    return setpoint.effort if setpoint is not None and setpoint.mode is Mode.EFFORT else measured
