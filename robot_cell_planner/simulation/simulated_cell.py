"""A cell with gravity, motors and contacts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import TracebackType

import msgspec
import pybullet

from ..collision.pairs.allowed_pairs import AllowedPairs, SkippedPair
from ..errors import InvalidRequestError, UnknownNameError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.placement import Placements, placements
from ..model.pose import Pose
from ..model.state import RobotCellState
from .commands import JointCommand
from .contacts import Contact, ContactLog, ContactRecord
from .engine import BASE, Address, Engine
from .grasps import Grasps
from .motors import JointStates, Motors
from .multibody import Multibodies
from .options import SimulationOptions

STAGE = "simulation"
# What moves further than this while things come to rest is remarked on.
SETTLED_DISTANCE = 1e-3  # [m]
SETTLED_ANGLE = 0.01  # [rad]
DEFAULT_OPTIONS = SimulationOptions()


class SimulatedCell:
    """A cell in a physics engine of its own, from the state given.

    Joints are driven by motors as strong as their effort limits; joints that mimic others are geared to them. They hold
    the state given until they are commanded, by position, velocity or effort, each joint as it was commanded last.
    Bodies with a mass that nothing of a robot or tool carries move freely; all others stand still, or are fixed to what
    carries them. Contacts have friction, and a gripper holds what it closes on (`SimulationOptions.grasp_assist`).

    The same calls give the same results, to the last bit, in any process on one machine. Time starts at 0 after
    things have come to rest (`SimulationOptions.settle_time`).

    joint_names: of all joints: a joint's name in its description where that is clear, else "tool/joint"; commands
    understand both. driven_joints: those that can be commanded; the others mimic them. remarks: sentences on what was
    assumed, and on what moved before the start.

    Raises:
        StateError, UnknownNameError, FrameCycleError: the state does not fit the cell.
        LimitExceededError, GeometryError, NotSupportedError: the engine cannot take the cell.
    """

    @public
    def __init__(self, cell: RobotCell, state: RobotCellState, options: SimulationOptions = DEFAULT_OPTIONS) -> None:
        cell.check_state(state)
        self.options = options
        self._cell = cell
        self._start = state
        self._still = Placements(placements(cell, state))
        self._assemblies = Multibodies(cell, state, options.assumed_density)
        self._engine = Engine(self._assemblies, options)
        self._log = ContactLog()
        self._steps = 0
        self._end = 0.0
        try:
            self._let_pass(AllowedPairs(cell, state))
            self._motors = Motors(self._engine, options)
            self.joint_names = self._motors.names
            self.driven_joints = self._motors.driven
            self._holds: Grasps | None = None
            if options.grasp_assist:
                self._holds = Grasps(self._engine, self._assemblies, self._motors, options.friction, options.time_step)
            self.remarks = (*self._assemblies.assumptions, *self._motors.assumptions, *self._settle())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SimulatedCell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the physics engine; nothing else may be called afterwards."""
        self._engine.close()

    def _let_pass(self, rules: AllowedPairs) -> None:
        """Within an assembly, links pass through each other where the rules of the cell say that they may touch; and
        so does what never moves."""
        by_body: dict[int, list[Address]] = {}
        for address, owner in self._engine.owners.items():
            if owner in rules.by_name:
                by_body.setdefault(address[0], []).append(Address(*address))
        for links in by_body.values():
            for index, first in enumerate(links):
                for second in links[index + 1 :]:
                    one, other = self._engine.owners[first], self._engine.owners[second]
                    if one == other or isinstance(rules.pair(one, other), SkippedPair):
                        self._engine.ignore(first, second)
        anchored = self._engine.anchored
        for first in anchored:
            if first.link != BASE:
                for second in anchored:
                    if second.body != first.body:
                        self._engine.ignore(first, second)

    def _settle(self) -> list[str]:
        """Let things come to rest and begin to count time; what moved much, as sentences."""
        for _ in range(round(self.options.settle_time / self.options.time_step)):
            self._advance()
        bodies = set(self._cell.bodies)
        self._log.restart(contact for contact in self.contacts() if {contact.first, contact.second} <= bodies)
        self._steps = 0
        remarks: list[str] = []
        for name in self._free_bodies():
            distance, angle = self._still.world(name).distance_to(self.pose(name))
            if distance > SETTLED_DISTANCE or angle > SETTLED_ANGLE:
                way = f"{1000.0 * distance:.1f} mm and {math.degrees(angle):.1f} degrees"
                remarks.append(f"body {name} moved by {way} before it came to rest")
        return remarks

    def _free_bodies(self) -> list[str]:
        """Bodies that move freely; those that they carry are left out."""
        return [assembly.name for assembly in self._assemblies.items if not assembly.fixed]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.options.time_step

    @public
    def set_targets(
        self,
        positions: Mapping[str, float],
        velocities: Mapping[str, float] | None = None,
        time: float | None = None,
    ) -> None:
        """Command some joints by position [rad or m].

        The positions, with velocities [per s] for the same joints, are those for `time` [s] (None: now); the motors
        carry them on from there for a while, see `SimulationOptions.extrapolate_for`. Without velocities those follow
        from the command before. Positions beyond the limits of a joint count as the limit.

        Raises:
            UnknownNameError: a joint that there is not, or that mimics another.
            InvalidRequestError: a number that is not finite, or velocities of other joints than the positions.
        """
        self._motors.set_targets(positions, velocities, self._moment(time))

    @public
    def set_velocities(self, velocities: Mapping[str, float], time: float | None = None) -> None:
        """Command some joints by velocity [rad/s or m/s]; it counts for `SimulationOptions.command_timeout`.

        Raises:
            UnknownNameError, InvalidRequestError: as for `set_targets`.
        """
        self._motors.set_velocities(velocities, self._moment(time))

    @public
    def set_efforts(self, efforts: Mapping[str, float], time: float | None = None) -> None:
        """Command some joints by effort [Nm or N]; it counts for `SimulationOptions.command_timeout`, in which nothing
        but friction holds them.

        Raises:
            UnknownNameError, InvalidRequestError: as for `set_targets`.
        """
        self._motors.set_efforts(efforts, self._moment(time))

    @public
    def limit_efforts(self, limits: Mapping[str, float]) -> None:
        """Bound what some motors may do below their own limits [Nm or N], such as a gripper's force; 0 ends that.

        Raises:
            UnknownNameError, InvalidRequestError: as for `set_targets`; also a limit below 0.
        """
        self._motors.limit_efforts(limits)

    def command(self, command: JointCommand, time: float | None = None) -> None:
        """Command joints as ros2_control's hardware interfaces do: see `JointCommand`.

        Raises:
            UnknownNameError, InvalidRequestError: as for `set_targets`.
        """
        plain = {name: value for name, value in command.positions.items() if name not in command.velocities}
        guided = {name: value for name, value in command.positions.items() if name in command.velocities}
        held = {name: value for name, value in command.efforts.items() if name in command.positions}
        self.set_targets(plain, None, time)
        self.set_targets(guided, {name: command.velocities[name] for name in guided}, time)
        self.limit_efforts({name: abs(value) for name, value in held.items() if self._motors.is_of_tool(name)})
        driven = {name: value for name, value in command.velocities.items() if name not in command.positions}
        self.set_velocities(driven, time)
        otherwise = {*command.positions, *command.velocities}
        self.set_efforts({name: value for name, value in command.efforts.items() if name not in otherwise}, time)

    def _moment(self, time: float | None) -> float:
        if time is not None and not math.isfinite(time):
            raise InvalidRequestError(f"time is {time}, expected a finite number", stage=STAGE)
        return self.time if time is None else time

    @public
    def step(self, duration: float) -> None:
        """Let time pass [s]; what is shorter than a step of the engine is kept for the next call.

        Raises:
            InvalidRequestError: a duration below 0 or not finite.
        """
        if not (math.isfinite(duration) and duration >= 0.0):
            text = f"duration is {duration} s, expected a finite number of at least 0"
            raise InvalidRequestError(text, stage=STAGE, subjects=("duration",))
        self.step_to(self._end + duration)

    @public
    def step_to(self, time: float) -> None:
        """Let time pass until a moment [s], to the nearest step of the engine; nothing happens if it has passed.

        Raises:
            InvalidRequestError: a time that is not finite.
        """
        self._end = max(self._end, self._moment(time))
        while (self._steps + 0.5) * self.options.time_step <= self._end:
            self._advance()
            contacts = self.contacts()
            self._log.add(contacts, self.time)
            if self._holds is not None:
                self._holds.update(contacts)

    def _advance(self) -> None:
        self._steps += 1
        self._motors.advance(self.time)
        pybullet.stepSimulation(physicsClientId=self._engine.client)

    def joint_states(self) -> JointStates:
        """All joints as they are now."""
        return self._motors.states()

    @public
    def pose(self, frame: str) -> Pose:
        """world_T_frame of any frame of the cell.

        Raises:
            UnknownNameError: no such frame.
        """
        places = self._assemblies.places
        return self._engine.pose(places[frame]) if frame in places else self._still.world(frame)

    @public
    def body_pose(self, name: str) -> Pose:
        """world_T_body.

        Raises:
            UnknownNameError: no such body.
        """
        if name not in self._cell.bodies:
            text = unknown_name(f"body {name!r}", name, self._cell.bodies)
            raise UnknownNameError(text, stage=STAGE, subjects=(name,))
        return self.pose(name)

    def body_poses(self) -> dict[str, Pose]:
        """world_T_body of every body that is not hidden, in the order of the cell."""
        return {name: self.body_pose(name) for name, body in self._start.bodies.items() if not body.hidden}

    def state(self) -> RobotCellState:
        """The state of the cell as it is now: joint values and poses of bodies; what is attached to what stays as it
        was at the start."""
        robots, tools = self._motors.configuration()
        state = self._start.with_configuration(robots)
        for name, values in tools.items():
            state = state.with_tool(name, state.tools[name].with_configuration(values))
        for name in self._free_bodies():
            body = state.bodies[name]
            pose = self.pose(name)
            if body.attached_to:
                pose = self.pose(body.attached_to).inverse() @ pose
            state = state.with_body(name, msgspec.structs.replace(body, pose=pose))
        return state

    def contacts(self) -> tuple[Contact, ...]:
        """Things that touch now, by names; what is held touches what grips it."""
        contacts = self._engine.contacts()
        return contacts if self._holds is None else tuple(sorted((*contacts, *self._holds.contacts())))

    @property
    def held_bodies(self) -> tuple[str, ...]:
        """Bodies that are fixed to a gripper, see `SimulationOptions.grasp_assist`."""
        return () if self._holds is None else self._holds.bodies

    @property
    def contact_log(self) -> tuple[ContactRecord, ...]:
        """Every pair that has touched since the start, by time; bodies that rested on each other then are left out."""
        return self._log.records

    @property
    def resting_pairs(self) -> tuple[tuple[str, str], ...]:
        """Bodies that rested on each other at the start, by names."""
        return tuple(sorted(self._log.resting))
