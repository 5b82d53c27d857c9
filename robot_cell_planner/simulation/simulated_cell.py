"""Simulated cell with gravity, motors and contacts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import TracebackType

from ..collision.pairs.allowed_pairs import AllowedPairs
from ..errors import InvalidRequestError, UnknownNameError
from ..model.arguments import public
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.placement import Placements, placements
from ..model.pose import Pose
from ..model.simulated_robot import ControllerSettings, JointDrive
from ..model.state import BodyState, RobotCellState
from .assumptions import assume_masses_and_efforts, strengthen_motors
from .camera_view import CameraImage, CameraView
from .collision_filter import disable_allowed_collisions
from .commands import CommandLimits, JointCommand
from .contacts import ContactLog, ContactRecord
from .control.selection import ALL
from .disturbances import OF_FRAMES, Disturbance
from .engines.base import Engine, ObjectContact
from .engines.selection import make_engine
from .grasps import Grasps
from .images import Images
from .injection import Injection
from .joint_control import JointControl, apply_drives
from .measured_state import measured_state, moved_bodies
from .motors import Motors, SimulatedJointStates
from .multibody.multibodies import Multibodies
from .options import SimulationOptions
from .sensors import FramePoses, Sensors
from .spawning import spawn, with_body, without_body

STAGE = "simulation"
DEFAULT_OPTIONS = SimulationOptions()


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
        warnings: Warnings about assumptions and about motions before the start, as sentences.

    Raises:
        StateError, UnknownNameError, FrameCycleError: The state does not match the cell.
        LimitExceededError, GeometryError, NotSupportedError: The engine does not support the cell.
    """

    @public
    def __init__(self, cell: RobotCell, state: RobotCellState, options: SimulationOptions = DEFAULT_OPTIONS) -> None:
        cell.check_state(state)
        self.options = options
        self._cell = cell
        self._build(state)

    def _build(self, state: RobotCellState) -> None:
        """Build the simulation of a state, let objects come to rest, and start the time at 0."""
        cell, options = self._cell, self.options
        self._start = state
        self._still = Placements(placements(cell, state))
        self._multibodies = Multibodies(cell, state)
        assumptions = [
            text
            for item in self._multibodies.items
            for text in assume_masses_and_efforts(item, options.assumed_density)
        ]
        assumptions += strengthen_motors(cell, self._multibodies, self._still, options.gravity)
        drives = apply_drives(cell, self._multibodies, options.robot.drives)
        self._images: Images | None = None
        self._engine = make_engine(options.engine, self._multibodies, options)
        self._log = ContactLog()
        self._steps = 0
        self._end = 0.0
        try:
            disable_allowed_collisions(self._engine, AllowedPairs(cell, state))
            self._motors = Motors(self._engine, options)
            self._injection = Injection(self._engine, self._multibodies, self._motors)
            self.joint_names = self._motors.names
            self.driven_joints = self._motors.driven
            self._grasps: Grasps | None = None
            if options.grasp_assist:
                self._grasps = Grasps(
                    self._engine, self._multibodies, self._motors, options.friction, options.time_step
                )
            if drives or options.robot.controllers:
                self._control(drives)
            self._frames = FramePoses(self._engine, self._multibodies, self._still)
            images = self._images = Images(self._engine, self._multibodies, options)
            self._sensors = Sensors(cell, options.robot, self._engine, self._multibodies, self._frames, images)
            self.warnings = (*assumptions, *self._engine.assumptions, *self._motors.assumptions, *self._settle())
            if self._motors.control is not None:
                self._motors.control.assign(options.robot.controllers)
                self._motors.control.check_drives()
        except BaseException:
            self.close()
            raise

    @public
    def reset(self, state: RobotCellState | None = None) -> None:
        """Return to the start state, or begin in another one of the same cell; time continues.

        Controllers are kept; commands, grasps, contacts and disturbances end.

        Raises:
            RobotCellError: As the constructor; the simulation is closed then.
        """
        if state is not None:
            self._cell.check_state(state)
        steps, end = self._steps, self._end
        controllers = None if self._motors.control is None else self._motors.control.controllers
        self.close()
        self._build(state or self._start)
        self._steps, self._end = steps, end
        if controllers is not None:
            self._control({}).assign(controllers)

    def __enter__(self) -> SimulatedCell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the physics engine. No other method may be called afterwards."""
        self._engine.close()
        if self._images is not None:
            self._images.close()

    @property
    def engine(self) -> Engine:
        """The physics engine."""
        return self._engine

    def image(self, view: CameraView) -> CameraImage:
        """Return what a camera sees that is no sensor of the cell.

        Raises:
            NotSupportedError: PyBullet, which renders images, is not installed.
        """
        assert self._images is not None
        return self._images.of(view)

    @property
    def sensors(self) -> Sensors:
        """Sensors in `SimulationOptions.robot`."""
        return self._sensors

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
            if each.kind in OF_FRAMES and each.name not in self._multibodies.frames:
                self._still.world(each.name)  # raises if there is no such frame
        self._injection.begin(disturbances, self.time, clear)

    @property
    def disturbances(self) -> tuple[Disturbance, ...]:
        """Disturbances in force."""
        return self._injection.active.all

    @public
    def add_body(self, body: RigidBody, at: BodyState) -> None:
        """Add a body while the simulation runs; it moves if it has a mass. A reset keeps it, at the same place.

        Raises:
            DuplicateNameError: The cell has a frame of this name.
            UnknownNameError, StateError: There is no frame to which it is attached.
            SimulationError: It is attached to something that can move.
            GeometryError: A mesh cannot be read or used.
        """
        cell, start = with_body(self._cell, self._start, body, at)
        spawn(self._engine, self._multibodies, cell, start, body.name)
        self._take(cell, start)

    @public
    def remove_body(self, name: str) -> None:
        """Remove a body while the simulation runs, also from the hand that holds it. A reset does not bring it back.

        Frames that are attached to it stay where they were at the start.

        Raises:
            UnknownNameError: There is no such body.
            SimulationError: It carries or is attached to something that can move.
        """
        cell, start = without_body(self._cell, self._start, name)
        for number in self._multibodies.remove_body(name) if not self._start.bodies[name].hidden else ():
            if self._grasps is not None:
                self._grasps.let_go(name)
            self._engine.remove(number)
        self._injection.end_those_of_frames_that_are_gone()
        self._take(cell, start)

    def _take(self, cell: RobotCell, start: RobotCellState) -> None:
        """Go on with another set of bodies."""
        self._cell, self._start = cell, start
        self._still = self._frames.still = Placements(placements(cell, start))
        if self._images is not None:
            self._images.close()

    def _control(self, drives: Mapping[str, JointDrive]) -> JointControl:
        """Return the control of joints by efforts, which is made at its first use."""
        if self._motors.control is None:
            self._motors.control = JointControl(
                self._cell, self._start, self._multibodies, self._motors.setpoints, drives, self.options
            )
        return self._motors.control

    def _settle(self) -> list[str]:
        """Let objects come to rest and start the time; return warnings about large motions, as sentences."""
        for _ in range(round(self.options.settle_time / self.options.time_step)):
            self._advance()
        bodies = set(self._cell.bodies)
        self._log.restart(contact for contact in self.contacts() if {contact.first, contact.second} <= bodies)
        self._steps = 0
        return moved_bodies({name: (self._still.world(name), self.pose(name)) for name in self._free_bodies()})

    def _free_bodies(self) -> list[str]:
        """Return the bodies that move freely, without the bodies attached to them."""
        return [multibody.name for multibody in self._multibodies.items if not multibody.fixed]

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
        """Command joints by position [rad or m].

        The positions, and the velocities [rad/s or m/s] for the same joints, apply at `time` [s] (None: now). The
        motors extrapolate them, see `SimulationOptions.extrapolate_for`. Without velocities, these are computed from
        the preceding command. Positions beyond joint limits are clamped.

        Raises:
            UnknownNameError: A joint does not exist, or is a mimic joint.
            InvalidRequestError: A number is not finite, or the velocities are of other joints than the positions.
        """
        self._motors.set_targets(positions, velocities, self._moment(time))

    @public
    def set_velocities(self, velocities: Mapping[str, float], time: float | None = None) -> None:
        """Command joints by velocity [rad/s or m/s], for the duration `SimulationOptions.command_timeout`.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`.
        """
        self._motors.set_velocities(velocities, self._moment(time))

    @public
    def set_efforts(self, efforts: Mapping[str, float], time: float | None = None) -> None:
        """Command joints by effort [Nm or N], for the duration `SimulationOptions.command_timeout`.

        During that time only friction holds the joints.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`.
        """
        self._motors.set_efforts(efforts, self._moment(time))

    @public
    def limit_efforts(self, limits: Mapping[str, float]) -> None:
        """Bound the efforts of motors below their own limits [Nm or N], for example a gripper's force; 0 removes the
        bound.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`; also if a bound is negative.
        """
        self._motors.limit_efforts(limits)

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
        control = self._control({})
        control.assign(dict.fromkeys(names or (ALL,), controller))
        return tuple(joint for name in names or (ALL,) for joint in control.joints_named(name))

    @property
    def controllers(self) -> dict[str, ControllerSettings]:
        """Controller of each joint with a motor, by its name in the cell."""
        return self._control({}).controllers

    @property
    def command_limits(self) -> dict[str, CommandLimits]:
        """Limits of the commands of driven joints, by each name that commands may use."""
        return self._motors.limits

    def command(self, command: JointCommand, time: float | None = None) -> None:
        """Command joints as ros2_control hardware interfaces do, see `JointCommand`.

        Raises:
            UnknownNameError, InvalidRequestError: As for `set_targets`.
        """
        self._motors.command(command, self._moment(time))

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
        self._end = max(self._end, self._moment(time))
        while (self._steps + 0.5) * self.options.time_step <= self._end:
            self._advance()
            contacts = self.contacts()
            self._log.add(contacts, self.time)
            if self._grasps is not None:
                self._grasps.update(contacts)

    def _advance(self) -> None:
        self._injection.step(self.time)
        self._steps += 1
        self._motors.advance(self.time)
        self._engine.step()

    def joint_states(self) -> SimulatedJointStates:
        """Return the current states of all joints."""
        return self._motors.states()

    @public
    def pose(self, frame: str) -> Pose:
        """Return world_T_frame of any frame of the cell.

        Raises:
            UnknownNameError: The frame does not exist.
        """
        return self._frames.pose(frame)

    @public
    def body_pose(self, name: str) -> Pose:
        """Return world_T_body.

        Raises:
            UnknownNameError: The body does not exist.
        """
        if name not in self._cell.bodies:
            text = unknown_name(f"body {name!r}", name, self._cell.bodies)
            raise UnknownNameError(text, stage=STAGE, subjects=(name,))
        return self.pose(name)

    def body_poses(self) -> dict[str, Pose]:
        """Return world_T_body of every body that is not hidden, in the order of the cell."""
        return {name: self.body_pose(name) for name, body in self._start.bodies.items() if not body.hidden}

    def state(self) -> RobotCellState:
        """Return the current state of the cell: joint values and body poses. Attachments are those of the initial
        state."""
        return measured_state(self._start, self._motors.configuration(), self._free_bodies(), self.pose)

    def contacts(self) -> tuple[ObjectContact, ...]:
        """Return the current contacts by object name. A grasped body is in contact with the links that grip it."""
        contacts = self._engine.contacts()
        return contacts if self._grasps is None else tuple(sorted((*contacts, *self._grasps.contacts())))

    @property
    def held_bodies(self) -> tuple[str, ...]:
        """Return the bodies attached to a gripper, see `SimulationOptions.grasp_assist`."""
        return () if self._grasps is None else self._grasps.bodies

    @property
    def contact_log(self) -> tuple[ContactRecord, ...]:
        """Return all pairs in contact since the start, by time; bodies that rested on each other at the start are
        omitted."""
        return self._log.records

    @property
    def resting_pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of bodies that rested on each other at the start."""
        return tuple(sorted(self._log.resting))
