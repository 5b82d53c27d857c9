"""A cell in a script: planning, simulation and recording."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ..collision.state_warnings import collision_warnings
from ..errors import InvalidRequestError, NotSupportedError
from ..io.cell_file.cell_file import load_cell
from ..io.cell_file.simulation_section import load_simulated_robot
from ..io.common.resources import NO_ROOTS, ResourceRoots
from ..kinematics.targets import TargetMode
from ..kinematics.transforms import world_pose
from ..model.arguments import public
from ..model.bodies import RigidBody
from ..model.cell import RobotCell
from ..model.geometry import Box, MeshUse, Shape
from ..model.pose import IDENTITY, Pose
from ..model.state import RobotCellState
from ..model.value import WORLD, Vector3
from ..planning.cartesian.path.options import CartesianOptions
from ..planning.cartesian.planner import CartesianRequest, plan_cartesian
from ..planning.joint_space.planner import plan_motion
from ..planning.problem.constraints import PathConstraint
from ..planning.problem.plan import Plan
from ..planning.problem.request import Goals, MotionRequest, PlanningOptions
from ..scene.changes import Change, apply_changes
from ..scene.scene import Scene
from ..scene.state_changes import Attach, Detach, SetJoints
from ..simulation.engines.names import BULLET
from ..simulation.options import SimulationOptions
from ..trajectory.timing import TimingOptions
from ..viewer import Recorder, show
from ..viewer.plans import plan_facts
from .bodies import BEGUN, addition, body_of_mesh
from .goals import NO_FRAMES, JointValues, LineArguments, MotionArguments, Names, Place, goals_of, line_waypoints
from .outcome import ExecutedMotion, check_start, executed_motion, whole_periods
from .replay import write_recorded
from .simulated_robot import Command, check_simulated_start, commands_of, reached_joints, settle

if TYPE_CHECKING:
    from typing import Unpack

    from ..simulation.simulated_cell import SimulatedCell

PERIOD = 0.01  # [s] period of commands to the simulated robot
NO_OPTIONS = PlanningOptions()
DEFAULT_TIMING = TimingOptions()
DEFAULT_SIMULATION = SimulationOptions()
STAGE = "request"
logger = logging.getLogger(__name__)


def _silent(_: str) -> None:
    """Discard a message."""


def _unwatched(_: str, __: float) -> None:
    """Discard the progress."""


class OfflineCell:
    """Cell with its current state, a simulation and a recording.

    Attributes:
        cell: Models of the cell.
        state: Start state of plans; updated by each executed motion and by `apply`.
        options: Planning options of requests that have none of their own.
        motions: Results of the motions that were executed.

    Args:
        report: Called with a line of text for each executed segment.
        on_progress: Called with the name of the segment that is executed, and the fraction of it that is done [0 to 1].
        simulation_options: Options of the simulation, such as the controllers of joints. `load` reads those of the cell
            file; `simulation.set_controller` changes them later.

    A start state in collision is logged as a warning.
    """

    @public
    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        *,
        options: PlanningOptions = NO_OPTIONS,
        report: Callable[[str], None] = _silent,
        on_progress: Callable[[str, float], None] = _unwatched,
        simulation_options: SimulationOptions = DEFAULT_SIMULATION,
    ) -> None:
        self.cell = self._simulated_cell = cell
        self.state = state
        self.options = options
        self.motions: list[ExecutedMotion] = []
        self._simulation: SimulatedCell | None = None
        self._closed = False
        self._recorder = Recorder()
        self._report = report
        self._on_progress = on_progress
        self._simulation_options = simulation_options
        for text in collision_warnings(cell, state, "the start state"):
            logger.warning(text)

    @classmethod
    @public
    def load(
        cls,
        cell_file: str | Path,
        *,
        seed: int = 0,
        roots: ResourceRoots = NO_ROOTS,
        report: Callable[[str], None] = _silent,
        on_progress: Callable[[str, float], None] = _unwatched,
        engine: str = BULLET,
    ) -> OfflineCell:
        """Load the cell and state of a cell file. `engine`: Physics engine of the simulation.

        Raises:
            FileError, ResourceError: As `load_cell`.
        """
        cell, state = load_cell(cell_file, roots)
        simulation = SimulationOptions(robot=load_simulated_robot(cell_file, roots), engine=engine)
        options = PlanningOptions(seed=seed)
        return cls(cell, state, options=options, report=report, on_progress=on_progress, simulation_options=simulation)

    def __enter__(self) -> OfflineCell:
        return self

    def _repr_html_(self) -> str:
        """Return the present state as a notebook shows it."""
        return show(self.cell, self.state)._repr_html_()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation. Motions cannot be executed afterwards."""
        if self._simulation is not None and not self._closed:
            self._simulation.close()
        self._closed = True

    @property
    def simulation(self) -> SimulatedCell:
        """Physics simulation, whose bodies move when pushed or grasped. It starts in the state of its first use.

        Raises:
            NotSupportedError: The physics engine is not installed, or the simulation was ended by `close`.
        """
        if self._closed:
            raise NotSupportedError("the simulation was ended by close()", stage=STAGE)
        if self._simulation is None:
            from ..simulation.simulated_cell import SimulatedCell

            self._simulation = SimulatedCell(self.cell, self.state, self._simulation_options)
            self._simulated_cell = self.cell
        return self._simulation

    # The scene.

    @public
    def pose(self, frame: str) -> Pose:
        """Return world_T_frame of any frame in the current state."""
        return world_pose(self.cell, self.state, frame)

    def apply(self, *changes: Change) -> None:
        """Apply scene changes to the planning scene, all or none. A simulation that has begun is not affected."""
        scene = apply_changes(Scene(self.cell, self.state), changes, world_pose)
        self.cell, self.state = scene.cell, scene.state

    @public
    def add_box(self, name: str, size: Vector3, pose: Pose = IDENTITY, *, attached_to: str = WORLD) -> None:
        """Add a box with edge lengths [m], centred at a pose in the frame `attached_to`.

        Raises:
            NotSupportedError: The simulation has begun.
            DuplicateNameError, UnknownNameError: The name is used, or there is no such frame.
        """
        self._add(RigidBody(name, (Shape(Box(size)),)), pose, attached_to)

    @public
    def add_mesh(
        self,
        name: str,
        file: str | Path,
        pose: Pose = IDENTITY,
        *,
        attached_to: str = WORLD,
        scale: float = 1.0,
        use: MeshUse = MeshUse.HULL,
    ) -> None:
        """Add the mesh of a file, in metres after the scale, at a pose in the frame `attached_to`.

        A size that is probably in mm is logged as a warning. use: What is checked; a hull also fills hollows and
        openings of the mesh.

        Raises:
            NotSupportedError: The simulation has begun.
            ResourceError, GeometryError: The file is missing, its format is not supported, or it has no faces.
            DuplicateNameError, UnknownNameError: The name is used, or there is no such frame.
        """
        self._add(body_of_mesh(name, file, scale, use), pose, attached_to)

    def _add(self, body: RigidBody, pose: Pose, attached_to: str) -> None:
        if self._simulation is not None:
            text = f"{body.name} cannot be added to a simulation that has begun; {BEGUN}"
            raise NotSupportedError(text, stage=STAGE, subjects=(body.name,))
        self.apply(addition(body, pose, attached_to))

    @public
    def attach(
        self,
        name: str,
        to: str,
        *,
        touch_links: Sequence[str] | None = None,
        touch_bodies: Sequence[str] | None = None,
    ) -> None:
        """Attach a body where it is to a frame, such as a gripper's tool centre point.

        Args:
            name: Name of the body.
            to: Frame, or planning group for a tool.
            touch_links: Links that the body may touch; None for those that it may touch already.
            touch_bodies: Bodies that it may touch; None as for links.
        """
        links, bodies = (None if names is None else tuple(names) for names in (touch_links, touch_bodies))
        self.apply(Attach(name, to, touch_links=links, touch_bodies=bodies))

    @public
    def detach(self, name: str) -> None:
        """Detach a body where it is. It may touch no links any more."""
        self.apply(Detach(name, touch_links=()))

    # Motions.

    @public
    def plan(
        self,
        *,
        named_state: Names = "",
        joints: JointValues | None = None,
        tool_at: Place = "",
        workpiece_at: Place = "",
        flange_at: Place = "",
        frame_at: Mapping[str, Place] = NO_FRAMES,
        pose: Pose = IDENTITY,
        goals: Goals | None = None,
        group: str = "",
        constraints: Sequence[PathConstraint] = (),
        options: PlanningOptions | None = None,
        timing: TimingOptions | None = DEFAULT_TIMING,
    ) -> Plan:
        """Plan a collision-free motion from the current state to a goal, without executing it.

        Exactly one kind of goal has to be given.

        Args:
            named_state: Named state of the group, or several of which one has to be reached.
            joints: Joint values, by name (others are kept) or in the order of the group [rad or m].
            tool_at: Frame in which the tool centre point has to reach `pose`, or its pose in the world.
            workpiece_at: Frame in which the attached workpiece has to reach `pose`, or its pose in the world.
            flange_at: Frame in which the last link of the group has to reach `pose`, or its pose in the world.
            frame_at: The same of another frame that the group moves, by its name: {"tcp": "above_part"}.
            pose: Target pose in that frame.
            goals: Several goals of any kinds, of which one has to be reached.
            group: Planning group; "" for the main group.
            constraints: Constraints that hold along the path.
            options: Planning options; None for those of this object.
            timing: Options of time parameterization; None for a path without times.

        Raises:
            InvalidRequestError: Not exactly one kind of goal is given.
            RobotCellError: As `plan_motion`.
        """
        frames = {TargetMode.TOOL: tool_at, TargetMode.WORKPIECE: workpiece_at, TargetMode.ROBOT: flange_at}
        requested = goals_of(self.cell, group, pose, named_state, joints, frames, goals, frame_at)
        request = MotionRequest(requested, group, (), options or self.options, timing, tuple(constraints))
        return plan_motion(self.cell, self.state, request)

    def move(self, name: str, **goal: Unpack[MotionArguments]) -> Plan:
        """Plan and execute a collision-free motion; the other arguments are those of `plan`.

        Args:
            name: Name of the segment.

        Raises:
            RobotCellError: As `plan` and `follow`.
        """
        return self.follow(name, self.plan(**goal))

    @public
    def plan_line(
        self,
        *,
        tool_at: Place = "",
        workpiece_at: Place = "",
        flange_at: Place = "",
        frame_at: Mapping[str, Place] = NO_FRAMES,
        pose: Pose = IDENTITY,
        group: str = "",
        free_axes: str = "",
        options: CartesianOptions | None = None,
        timing: TimingOptions | None = DEFAULT_TIMING,
    ) -> Plan:
        """Plan a straight line to a pose, without executing it; arguments as for `plan`. free_axes: Letters of the axes
        about which the rotation is free, such as "z"; "xyz" for a position only.

        Raises:
            InvalidRequestError: Not exactly one frame is given.
            RobotCellError: As `plan_cartesian`.
        """
        frames = {TargetMode.TOOL: tool_at, TargetMode.WORKPIECE: workpiece_at, TargetMode.ROBOT: flange_at}
        waypoints = line_waypoints(self.cell, group, pose, frames, free_axes, frame_at)
        request = CartesianRequest(waypoints, group, options=options or CartesianOptions(), timing=timing)
        return plan_cartesian(self.cell, self.state, request)

    def line(self, name: str, **goal: Unpack[LineArguments]) -> Plan:
        """Plan and execute a straight line to a pose; the other arguments are those of `plan_line`.

        Raises:
            RobotCellError: As `plan_line` and `follow`.
        """
        return self.follow(name, self.plan_line(**goal))

    @public
    def follow(self, name: str, plan: Plan) -> Plan:
        """Execute a plan that starts at the current state. `motions` gets its result. The joints of the state are
        those of the plan's end, or if it is not reached, those of the simulated robot.

        Raises:
            InvalidRequestError: The plan is a path without timing, or was planned among moving robots.
            TrajectoryStartError, UnknownNameError: The plan starts at another configuration, or is of another cell, or
                the simulated robot is elsewhere.
            ExecutionError, GoalToleranceError: Something touched that may not, a joint did not reach the goal, or a
                carried body is not where it was planned to be; `partial` is the ExecutedMotion.
        """
        if plan.trajectory is None:
            raise InvalidRequestError(f"{name}: the plan has no trajectory; request timing", stage=STAGE)
        check_start(name, plan, self.cell, self.state)
        check_simulated_start(name, plan, self.cell, self.simulation)
        start = self.simulation.time
        try:
            lag = self._carry_out(name, *commands_of(plan.trajectory, PERIOD), plan_facts(plan))
            settle(plan, self.simulation, PERIOD, self._recorder.add)
        except BaseException:  # such as the end of a notebook's cell by the user
            self.apply(SetJoints(reached_joints(plan, self.simulation)))
            raise
        self.apply(SetJoints(plan.end_configuration()))
        executed = executed_motion(self.cell, self.state, plan, self.simulation, lag, start)
        self.motions.append(executed)
        if executed.missed:
            self.apply(SetJoints(reached_joints(plan, self.simulation)))
        for contact in executed.near_contacts:
            text = "touched during the motion; the plan keeps them apart, but by less than the physics resolves"
            logger.warning(f"{name}: {contact.first} and {contact.second} {text}")
        executed.check()
        return plan

    @public
    def command(self, name: str, positions: Mapping[str, float], duration: float) -> None:
        """Command joints of the simulated robot to positions [rad or m] for a duration [s], for example a gripper.

        The planning state is not changed. duration: Above zero, at most an hour.
        """
        count = whole_periods(duration, PERIOD)
        self._carry_out(name, count, repeat((dict(positions), None), count), {})

    def _carry_out(self, name: str, count: int, commands: Iterable[Command], facts: dict[str, str]) -> dict[str, float]:
        """Send a number of commands to the simulation; return the max lag of each joint of the robots [rad or m]."""
        simulation = self.simulation
        start = simulation.time
        lag: dict[str, float] = {}
        for index, (positions, velocities) in enumerate(commands):
            self._on_progress(name, index / count)
            simulation.set_targets(positions, velocities)
            simulation.step(PERIOD)
            state = simulation.state()
            self._recorder.add(simulation.time, state)
            for joint in positions.keys() & state.configuration.keys():
                lag[joint] = max(lag.get(joint, 0.0), abs(positions[joint] - state.configuration[joint]))
        self._on_progress(name, 1.0)
        self._recorder.segment(name, start, simulation.time, facts)
        self._report(f"{name:24}{simulation.time - start:5.2f} s" + "".join(f"{v:>8} {k}" for k, v in facts.items()))
        return lag

    @public
    def write_replay(self, path: str | Path, summary: Mapping[str, str] | None = None) -> Path:
        """Write what was simulated, or the present state without any motion, as one HTML file for any browser; return
        its path. Objects that were added or removed since the simulation began are named by a warning in the log."""
        facts = {**(summary or {}), "planner": f"{self.options.planner}, seed {self.options.seed}"}
        return write_recorded(path, self._recorder, self._simulated_cell, Scene(self.cell, self.state), facts)
