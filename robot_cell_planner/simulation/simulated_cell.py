"""Simulated cell with gravity, motors and contacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, UnknownNameError
from ..model.arguments import public
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.pose import Pose
from ..model.simulated_robot import ControllerSettings
from ..model.state import BodyState, RobotCellState
from .camera_view import CameraImage, CameraView
from .cell_physics import CellPhysics
from .commands import CommandLimits, JointCommand
from .contacts import ContactRecord
from .control.selection import ALL
from .disturbances import OF_FRAMES, Disturbance
from .engines.base import Engine, ObjectContact, Placement
from .measured_state import measured_state
from .motors import SimulatedJointStates
from .options import SimulationOptions
from .sensors import Sensors

STAGE = "simulation"

Array = NDArray[np.float64]
DEFAULT_OPTIONS = SimulationOptions()


def _ignore(_: float) -> None:
    """Ignore how long objects have been coming to rest."""


class SimulatedCell:
    """Physics simulation of a cell, starting from a given state.

    Joints are driven by motors with the strength of their effort limits; mimic joints are coupled by gears. The motors
    hold the initial state until they are commanded by position, velocity or effort; the last command of each joint
    applies. Bodies with a mass that are not attached to a robot or tool move freely; all others are static, or fixed to
    their parent frame. Contacts have friction, and a closing gripper grasps bodies (`SimulationOptions.grasp_assist`).

    The same calls give exactly the same results in every process on one machine. Time starts at 0 after objects have
    come to rest (`SimulationOptions.settle_time`).

    Attributes:
        joint_names: Names of all joints: as in the description if unambiguous, else "tool/joint"; commands accept both.
        driven_joints: Joints that can be commanded; the others are mimic joints.
        names_of_joints: These names with the other ones that are accepted.
        warnings: Warnings about assumptions and about motions before the start, as sentences.

    Raises:
        StateError, UnknownNameError, FrameCycleError: The state does not match the cell.
        LimitExceededError, GeometryError, NotSupportedError: The engine does not support the cell.
    """

    @public
    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        options: SimulationOptions = DEFAULT_OPTIONS,
        *,
        on_settling: Callable[[float], object] = _ignore,
    ) -> None:
        """on_settling: called with the time for which objects have been coming to rest [s], after each step of it."""
        cell.check_state(state)
        self.options = options
        self._on_settling = on_settling
        self._end = 0.0
        self._begin(cell, state)

    def _begin(self, cell: RobotCell, state: RobotCellState) -> None:
        self._physics = CellPhysics(cell, state, self.options, self._on_settling)
        self.names_of_joints = self._physics.motors.names
        self.joint_names, self.driven_joints = self.names_of_joints.all, self.names_of_joints.driven
        self.warnings = self._physics.warnings

    @public
    def reset(self, state: RobotCellState | None = None) -> None:
        """Return to the start state, or begin in another one of the same cell; time continues.

        Controllers are kept; commands, grasps, contacts and disturbances end.

        Raises:
            RobotCellError: As the constructor; the simulation is closed then.
        """
        before = self._physics
        if state is not None:
            before.cell.check_state(state)
        controllers = None if before.motors.control is None else before.motors.control.controllers
        before.close()
        self._begin(before.cell, state or before.start)
        self._physics.steps = before.steps
        if controllers is not None:
            self._physics.control({}).assign(controllers)

    def __enter__(self) -> SimulatedCell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the physics engine. No other method may be called afterwards."""
        self._physics.close()

    @property
    def engine(self) -> Engine:
        """The physics engine, for programs that change its state: a rest of the simulation ends."""
        self._physics.rest.end()
        return self._physics.engine

    @property
    def placement(self) -> Placement:
        """Placement of everything in the engine."""
        return self._physics.engine.placement

    def bounds(self) -> tuple[Array, Array]:
        """Return the corners of the box around everything that moves [m]; around all if nothing does."""
        return self._physics.engine.bounds()

    @property
    def is_at_rest(self) -> bool:
        """Whether steps are skipped because nothing moves and nothing changes, see `SimulationOptions.rest_speed`."""
        return self._physics.rest.lasts

    def image(self, view: CameraView) -> CameraImage:
        """Return what a camera sees that is no sensor of the cell.

        Raises:
            NotSupportedError: PyBullet, which renders images, is not installed.
        """
        return self._physics.images.of(view)

    @property
    def sensors(self) -> Sensors:
        """Sensors in `SimulationOptions.robot`."""
        return self._physics.sensors

    @public
    def disturb(self, *disturbances: Disturbance, clear: bool = False) -> None:
        """Begin disturbances; each replaces the one of its kind and name. Those of command messages are stored only.

        Args:
            *disturbances: Disturbances, of which all begin or none.
            clear: End all others first.

        Raises:
            UnknownNameError: A frame or joint does not exist.
            DisturbanceError: A frame does not belong to anything that is simulated.
        """
        for each in disturbances:
            if each.kind in OF_FRAMES and not self._physics.is_simulated(each.name):
                self._physics.still.world(each.name)  # raises if there is no such frame
        self._physics.rest.end()
        self._physics.injection.begin(disturbances, self.time, clear)

    @property
    def disturbances(self) -> tuple[Disturbance, ...]:
        """Disturbances in force."""
        return self._physics.injection.active.all

    @public
    def add_body(self, body: RigidBody, at: BodyState) -> None:
        """Add a body while the simulation runs; it moves if it has a mass. A reset keeps it, at the same place.

        Raises:
            DuplicateNameError: The cell has a frame of this name.
            UnknownNameError, StateError: There is no frame to which it is attached.
            SimulationError: It is attached to something that can move.
            GeometryError: A mesh cannot be read or used.
        """
        self._physics.add_body(body, at)

    @public
    def remove_body(self, name: str) -> None:
        """Remove a body while the simulation runs, also from the hand that holds it. A reset does not bring it back.

        Frames that are attached to it stay where they were at the start.

        Raises:
            UnknownNameError: There is no such body.
            SimulationError: It carries or is attached to something that can move.
        """
        self._physics.remove_body(name)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._physics.time

    @public
    def set_targets(
        self,
        positions: Mapping[str, float],
        velocities: Mapping[str, float] | None = None,
        time: float | None = None,
    ) -> None:
        """Command joints by position [rad or m].

        The positions, and the velocities [rad/s or m/s] for the same joints, apply at `time` [s] (None: now). The
        motors extrapolate them, see `SimulationOptions.extrapolate_for`. Without velocities, these are computed from
        the preceding command. Positions beyond joint limits are clamped.

        Raises:
            UnknownNameError: A joint does not exist, or is a mimic joint.
            InvalidRequestError: A number is not finite, or the velocities are of other joints than the positions.
        """
        self._physics.motors.set_targets(positions, velocities, self._moment(time))

    @public
    def set_velocities(self, velocities: Mapping[str, float], time: float | None = None) -> None:
        """Command joints by velocity [rad/s or m/s], for the duration `SimulationOptions.command_timeout`.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`.
        """
        self._physics.motors.set_velocities(velocities, self._moment(time))

    @public
    def set_efforts(self, efforts: Mapping[str, float], time: float | None = None) -> None:
        """Command joints by effort [Nm or N], for the duration `SimulationOptions.command_timeout`.

        During that time only friction holds the joints.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`.
        """
        self._physics.motors.set_efforts(efforts, self._moment(time))

    @public
    def limit_efforts(self, limits: Mapping[str, float]) -> None:
        """Bound the efforts of motors below their own limits [Nm or N], for example a gripper's force; 0 removes the
        bound.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`; also if a bound is negative.
        """
        self._physics.motors.limit_efforts(limits)

    @public
    def set_controller(self, controller: ControllerSettings, *names: str) -> tuple[str, ...]:
        """Choose the controller of joints, which takes over in the next engine step without a jump.

        Args:
            controller: Settings of the controller, such as `ComputedTorque()`.
            *names: Joints, planning groups, robots or tools; none for the joints of all robots.

        Returns:
            The names of the joints.

        Raises:
            UnknownNameError: A name selects no joint with a motor.
            ControllerError: The controller cannot serve these joints.
        """
        control = self._physics.control({})
        self._physics.rest.end()
        control.assign(dict.fromkeys(names or (ALL,), controller))
        return tuple(joint for name in names or (ALL,) for joint in control.joints_named(name))

    @property
    def controllers(self) -> dict[str, ControllerSettings]:
        """Controller of each joint with a motor, by its name in the cell."""
        return self._physics.control({}).controllers

    @property
    def command_limits(self) -> dict[str, CommandLimits]:
        """Limits of the commands of driven joints, by each name that commands may use."""
        return self._physics.motors.limits

    def command(self, command: JointCommand, time: float | None = None) -> None:
        """Command joints as ros2_control hardware interfaces do, see `JointCommand`.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`.
        """
        self._physics.motors.command(command, self._moment(time))

    def _moment(self, time: float | None) -> float:
        if time is not None and not math.isfinite(time):
            raise InvalidRequestError(f"time is {time}, expected a finite number", stage=STAGE)
        return self.time if time is None else time

    @public
    def step(self, duration: float) -> None:
        """Advance the simulation by a duration [s]. Durations below one engine step accumulate until the next call.

        Raises:
            InvalidRequestError: The duration is negative or not finite.
        """
        if not (math.isfinite(duration) and duration >= 0.0):
            text = f"duration is {duration} s, expected a finite number of at least 0"
            raise InvalidRequestError(text, stage=STAGE, subjects=("duration",))
        self.step_to(self._end + duration)

    @public
    def step_to(self, time: float) -> None:
        """Advance the simulation to a time [s], to the nearest engine step. Has no effect if the time has passed.

        Raises:
            InvalidRequestError: The time is not finite.
        """
        self._end, physics = max(self._end, self._moment(time)), self._physics
        while (physics.steps + 0.5) * self.options.time_step <= self._end:
            physics.step()

    @public
    def follow(self, joints: tuple[str, ...], positions: Array, velocities: Array) -> None:
        """Move joints along a motion that is known in advance, one row of (k, n) for the end of each engine step.

        The same as `set_targets` and `step_to` for each row, in less time.

        Args:
            joints: Names of the joints (n).
            positions: Positions (k, n) [rad or m].
            velocities: Velocities (k, n) [rad/s or m/s].

        Raises:
            UnknownNameError: A joint does not exist, or is a mimic joint.
            InvalidRequestError: The arrays do not have n columns and as many rows, or a number is not finite.
        """
        if positions.ndim != 2 or positions.shape[1] != len(joints) or velocities.shape != positions.shape:
            text = f"positions of shape {positions.shape} and velocities of shape {velocities.shape}"
            raise InvalidRequestError(f"{text}, expected (k, {len(joints)}) of both", stage=STAGE)
        if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
            raise InvalidRequestError("a position or velocity is not finite", stage=STAGE)
        physics = self._physics
        setpoints = [physics.motors.setpoint(name) for name in joints]
        for position, velocity in zip(positions.tolist(), velocities.tolist(), strict=True):
            time = physics.time + self.options.time_step
            for setpoint, q, v in zip(setpoints, position, velocity, strict=True):
                setpoint.command_position(q, v, time)
            physics.step()
        self._end = max(self._end, physics.time)

    def joint_states(self) -> SimulatedJointStates:
        """Return the current states of all joints."""
        return self._physics.joint_states()

    @public
    def pose(self, frame: str) -> Pose:
        """Return world_T_frame of any frame of the cell.

        Raises:
            UnknownNameError: The frame does not exist.
        """
        return self._physics.frames.pose(frame)

    @public
    def body_pose(self, name: str) -> Pose:
        """Return world_T_body.

        Raises:
            UnknownNameError: The body does not exist.
        """
        if name not in self._physics.cell.bodies:
            text = unknown_name(f"body {name!r}", name, self._physics.cell.bodies)
            raise UnknownNameError(text, stage=STAGE, subjects=(name,))
        return self.pose(name)

    def body_poses(self) -> dict[str, Pose]:
        """Return world_T_body of every body that is not hidden, in the order of the cell."""
        return self._physics.body_poses()

    def state(self) -> RobotCellState:
        """Return the current state of the cell: joint values and body poses. Attachments are those of the initial
        state."""
        physics = self._physics
        return measured_state(physics.start, physics.motors.configuration(), physics.free_bodies(), self.pose)

    def contacts(self) -> tuple[ObjectContact, ...]:
        """Return the current contacts by object name. A grasped body is in contact with the links that grip it."""
        return self._physics.contacts()

    @property
    def held_bodies(self) -> tuple[str, ...]:
        """Return the bodies attached to a gripper, see `SimulationOptions.grasp_assist`."""
        return self._physics.held_bodies

    @property
    def contact_log(self) -> tuple[ContactRecord, ...]:
        """Return all pairs in contact since the start, by time; bodies that rested on each other at the start, and
        those that were removed, are omitted."""
        return self._physics.log.records

    @property
    def resting_pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of bodies that rested on each other at the start."""
        return tuple(sorted(self._physics.log.resting))
