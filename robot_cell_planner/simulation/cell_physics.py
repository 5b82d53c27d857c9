"""Everything that is simulated of a cell, advanced step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..collision.pairs.allowed_pairs import AllowedPairs
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.placement import Placements, placements
from ..model.pose import Pose
from ..model.simulated_robot import JointDrive
from ..model.state import BodyState, RobotCellState
from .approximate_contacts import pairs_of_pieces_alone
from .assumptions import assume_masses_and_efforts, strengthen_motors
from .collision_filter import disable_allowed_collisions, disable_between_anchored
from .contacts import ContactLog
from .end_stops import EndStops
from .engines.base import ObjectContact
from .engines.selection import make_engine
from .grasps import Grasps
from .images import Images
from .injection import Injection
from .joint_control import JointControl, apply_drives, check_unknown_bodies
from .measured_state import moved_bodies
from .motors import Motors, SimulatedJointStates
from .multibody.multibodies import Multibodies
from .options import SimulationOptions
from .rest import Rest
from .sensors import FramePoses, Sensors
from .spawning import spawn, with_body, without_body

OF_PIECES = (
    "are not simulated, because the convex pieces of their meshes overlap at the start, and the triangles do not"
)


class Observed(NamedTuple):
    """What is reported of a simulation at rest; `bodies`: world_T_body."""

    contacts: tuple[ObjectContact, ...]
    states: SimulatedJointStates
    bodies: dict[str, Pose]


class CellPhysics:
    """Engine, motors, grasps, disturbances and sensors of a cell, which start from a state; objects have come to rest.

    Attributes:
        cell: Models of the cell, with the bodies that were added.
        start: State at the start.
        engine: The physics engine.
        motors: All joints.
        injection: Disturbances.
        frames: Poses of frames.
        images: Images of cameras.
        sensors: Sensors of the options.
        log: Contacts since the start.
        rest: Whether steps can be skipped.
        warnings: Warnings about assumptions and about motions before the start, as sentences.
        steps: Number of engine steps since the start.

    Raises:
        LimitExceededError, GeometryError, NotSupportedError: The engine does not support the cell.
    """

    def __init__(
        self, cell: RobotCell, state: RobotCellState, options: SimulationOptions, on_settling: Callable[[float], object]
    ) -> None:
        """on_settling: see `SimulatedCell`."""
        self.cell, self.start, self._options = cell, state, options
        self.still = Placements(placements(cell, state))
        self._multibodies = Multibodies(cell, state)
        assumptions = [
            text
            for item in self._multibodies.items
            for text in assume_masses_and_efforts(item, options.assumed_density)
        ]
        assumptions += strengthen_motors(cell, self._multibodies, self.still, options.gravity)
        check_unknown_bodies(cell, options.robot.unknown_bodies)
        drives = apply_drives(cell, self._multibodies, options.robot.drives)
        self._passing = pairs_of_pieces_alone(cell, state)
        self.engine = make_engine(options.engine, self._multibodies, options)
        self.images = Images(self.engine, self._multibodies, options)
        self.log = ContactLog()
        self.steps = 0
        self._all_bodies: dict[str, Pose] | None = None  # poses at their first report, of those that are still for good
        self._moving_bodies: list[str] = []
        try:
            self._set_up(drives)
            self.warnings = (
                *assumptions,
                *self.engine.assumptions,
                *(f"contacts of {first} and {second} {OF_PIECES}" for first, second in self._passing),
                *self.motors.assumptions,
                *self._settle(on_settling),
            )
            if self.motors.control is not None:
                self.motors.control.assign(options.robot.controllers)
                self.motors.control.check_drives()
        except BaseException:
            self.close()
            raise

    def _set_up(self, drives: Mapping[str, JointDrive]) -> None:
        options = self._options
        disable_allowed_collisions(self.engine, AllowedPairs(self.cell, self.start))
        for first, second in self._passing:
            self.engine.let_pass(first, second, True)
        self.motors = Motors(self.engine, options)
        self._end_stops = EndStops(self.engine)
        self._at_rest = Observed((), self.motors.states(), {})
        self.rest = Rest(self.engine, self.motors, options.rest_speed, options.time_step)
        self.injection = Injection(self.engine, self._multibodies, self.motors)
        self._grasps: Grasps | None = None
        if options.grasp_assist:
            self._grasps = Grasps(self.engine, self._multibodies, self.motors, options.friction, options.time_step)
        if drives or options.robot.controllers:
            self.control(drives)
        self.frames = FramePoses(self.engine, self._multibodies, self.still)
        self.sensors = Sensors(self.cell, options.robot, self.engine, self._multibodies, self.frames, self.images)

    def _settle(self, on_settling: Callable[[float], object]) -> list[str]:
        """Let objects come to rest and start the time; return warnings about large motions, as sentences."""
        for step in range(round(self._options.settle_time / self._options.time_step)):
            self._advance()
            on_settling((step + 1) * self._options.time_step)
        bodies = set(self.cell.bodies)
        self.log.restart(contact for contact in self.contacts() if {contact.first, contact.second} <= bodies)
        self.steps = 0
        return moved_bodies({name: (self.still.world(name), self.frames.pose(name)) for name in self.free_bodies()})

    def close(self) -> None:
        """Release the memory of the engine."""
        self.engine.close()
        self.images.close()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.steps * self._options.time_step

    def step(self) -> None:
        """Advance by one engine step, log contacts, and begin and end grasps; at rest, only time advances."""
        if self.rest.goes_on():
            self.steps += 1
            self.log.add(self._at_rest.contacts, self.time)
            return
        self._advance()
        contacts = self.contacts()
        self.log.add(contacts, self.time)
        if self._grasps is not None:
            self._grasps.update(contacts)
        self._take_rest(contacts)

    def _take_rest(self, contacts: tuple[ObjectContact, ...]) -> None:
        """Skip the steps from now on if everything is at rest."""
        if self.injection.active.all:
            self.rest.end()
            return
        if self.rest.is_reached(self.time, contacts, self.held_bodies):
            self._at_rest = Observed(self.contacts(), self.motors.states(), self.body_poses())
            self.rest.begin()

    def _advance(self) -> None:
        self.injection.step(self.time)
        self.steps += 1
        self.motors.advance(self.time)
        self.engine.step()
        self._end_stops.hold()

    def joint_states(self) -> SimulatedJointStates:
        """Return the current states of all joints."""
        return self._at_rest.states if self.rest.lasts else self.motors.states()

    def body_poses(self) -> dict[str, Pose]:
        """Return world_T_body of every body that is not hidden, in the order of the cell."""
        if self.rest.lasts:
            return dict(self._at_rest.bodies)
        if self._all_bodies is None:
            shown = [name for name, body in self.start.bodies.items() if not body.hidden]
            self._all_bodies = {name: self.frames.pose(name) for name in shown}
            self._moving_bodies = [name for name in shown if not self.frames.is_still(name)]
        return self._all_bodies | {name: self.frames.pose(name) for name in self._moving_bodies}

    def contacts(self) -> tuple[ObjectContact, ...]:
        """Return the current contacts by object name; a grasped body is in contact with the links that grip it."""
        contacts = self.engine.contacts()
        held = () if self._grasps is None else self._grasps.contacts()
        return tuple(sorted((*contacts, *held))) if held else contacts

    def free_bodies(self) -> list[str]:
        """Return the bodies that move freely, without the bodies attached to them."""
        return [multibody.name for multibody in self._multibodies.items if not multibody.fixed]

    @property
    def held_bodies(self) -> tuple[str, ...]:
        """Bodies attached to a gripper."""
        return () if self._grasps is None else self._grasps.bodies

    def is_simulated(self, frame: str) -> bool:
        """Return whether a frame belongs to a part of the engine."""
        return frame in self._multibodies.frames

    def control(self, drives: Mapping[str, JointDrive]) -> JointControl:
        """Return the control of joints by efforts, which is made at its first use."""
        if self.motors.control is None:
            self.motors.control = JointControl(
                self.cell, self.start, self._multibodies, self.motors.setpoints, drives, self._options
            )
        return self.motors.control

    def add_body(self, body: RigidBody, at: BodyState) -> None:
        """Add a body, see `SimulatedCell.add_body`."""
        self.rest.end()
        cell, start = with_body(self.cell, self.start, body, at)
        spawn(self.engine, self._multibodies, cell, start, body.name)
        self._take(cell, start)

    def remove_body(self, name: str) -> None:
        """Remove a body, see `SimulatedCell.remove_body`."""
        self.rest.end()
        cell, start = without_body(self.cell, self.start, name)
        for number in self._multibodies.remove_body(name) if not self.start.bodies[name].hidden else ():
            if self._grasps is not None:
                self._grasps.let_go(name)
            disable_between_anchored(self.engine, self.engine.remove(number))
        self.log.remove(name)
        self.injection.end_those_of_frames_that_are_gone()
        self._take(cell, start)

    def _take(self, cell: RobotCell, start: RobotCellState) -> None:
        """Go on with another set of bodies."""
        self.cell, self.start, self._all_bodies = cell, start, None
        self.still = self.frames.still = Placements(placements(cell, start))
        if self._grasps is not None:
            self._grasps.refresh()
        self.images.close()
