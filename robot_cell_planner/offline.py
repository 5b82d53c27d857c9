"""Offline use of a cell in scripts, without ROS: planning, simulation and recording.

```python
with OfflineCell.load("config/demo/cell.yaml", seed=1, report=print) as cell:
    cell.move("to above the workpiece", tool_at="above_pick")
    cell.write_replay("replay.html")
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import numpy as np

from .errors import InvalidRequestError
from .io.cell_file.cell_file import load_cell
from .kinematics.targets import FrameTarget, TargetMode
from .kinematics.transforms import world_pose
from .model.arguments import public
from .model.cell import RobotCell
from .model.pose import IDENTITY, Pose
from .model.state import RobotCellState
from .planning.cartesian.path.waypoints import FrameWaypoints
from .planning.cartesian.planner import CartesianRequest, plan_cartesian
from .planning.joint_space.planner import plan_motion
from .planning.problem.plan import Plan
from .planning.problem.request import Goals, MotionRequest, PlanningOptions
from .scene.changes import Change, apply_changes
from .scene.scene import Scene
from .scene.state_changes import SetJoints
from .simulation.simulated_cell import SimulatedCell
from .viewer import Recorder, write_html
from .viewer.plans import plan_facts

PERIOD = 0.01  # [s] period of commands to the simulated robot
NO_OPTIONS = PlanningOptions()
STAGE = "request"
Command: TypeAlias = tuple[dict[str, float], dict[str, float] | None]  # positions and velocities by joint


def _silent(_: str) -> None:
    """Discard a message."""


class OfflineCell:
    """Cell with its current state, a simulation and a recording.

    Attributes:
        cell: Models of the cell.
        state: Start state of plans; updated by each executed motion and by `apply`.
        simulation: Physics simulation, whose bodies move when pushed or grasped.
        options: Planning options.

    Args:
        report: Called with a line of text for each executed segment.
    """

    @public
    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        *,
        options: PlanningOptions = NO_OPTIONS,
        report: Callable[[str], None] = _silent,
    ) -> None:
        self.cell = cell
        self.state = state
        self.options = options
        self.simulation = SimulatedCell(cell, state)
        self._recorder = Recorder()
        self._report = report

    @classmethod
    @public
    def load(cls, cell_file: str | Path, *, seed: int = 0, report: Callable[[str], None] = _silent) -> OfflineCell:
        """Load the cell and state of a cell file.

        Raises:
            FileError, ResourceError: As `load_cell`.
        """
        cell, state = load_cell(cell_file)
        return cls(cell, state, options=PlanningOptions(seed=seed), report=report)

    def __enter__(self) -> OfflineCell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation."""
        self.simulation.close()

    @public
    def pose(self, frame: str) -> Pose:
        """Return world_T_frame of any frame in the current state."""
        return world_pose(self.cell, self.state, frame)

    def apply(self, *changes: Change) -> None:
        """Apply scene changes to the planning scene, all or none. The simulation is not affected."""
        scene = apply_changes(Scene(self.cell, self.state), changes, world_pose)
        self.cell, self.state = scene.cell, scene.state

    @public
    def move(
        self, name: str, *, tool_at: str = "", workpiece_at: str = "", pose: Pose = IDENTITY, named_state: str = ""
    ) -> Plan:
        """Plan and execute a collision-free motion to a goal.

        Exactly one of the three goals has to be given.

        Args:
            name: Name of the segment.
            tool_at: Frame in which the tool centre point has to reach `pose`.
            workpiece_at: Frame in which the attached workpiece has to reach `pose`.
            pose: Target pose in that frame.
            named_state: Named state of the robot.

        Raises:
            InvalidRequestError: Not exactly one goal is given.
            RobotCellError: As `plan_motion`.
        """
        if sum(map(bool, (tool_at, workpiece_at, named_state))) != 1:
            raise InvalidRequestError(f"{name}: expected one of tool_at, workpiece_at, named_state", stage=STAGE)
        if named_state:
            goals = Goals(named_states=(named_state,))
        else:
            mode, frame = _goal_frame(name, tool_at, workpiece_at)
            goals = Goals(targets=(FrameTarget(mode=mode, pose=pose, reference_frame=frame),))
        return self.follow(name, plan_motion(self.cell, self.state, MotionRequest(goals, options=self.options)))

    @public
    def line(self, name: str, *, tool_at: str = "", workpiece_at: str = "", pose: Pose = IDENTITY) -> Plan:
        """Plan and execute a straight line to a pose; arguments as for `move`.

        Raises:
            InvalidRequestError: Not exactly one goal is given.
            RobotCellError: As `plan_cartesian`.
        """
        mode, frame = _goal_frame(name, tool_at, workpiece_at)
        waypoints = FrameWaypoints((pose,), mode=mode, reference_frame=frame)
        return self.follow(name, plan_cartesian(self.cell, self.state, CartesianRequest(waypoints)))

    @public
    def follow(self, name: str, plan: Plan) -> Plan:
        """Execute a plan that starts at the current state.

        Raises:
            InvalidRequestError: The plan is a path without timing.
        """
        if plan.trajectory is None:
            raise InvalidRequestError(f"{name}: the plan has no times; ask for them", stage=STAGE)
        times = np.arange(PERIOD, plan.duration + PERIOD, PERIOD)
        positions, velocities = (plan.trajectory.at(times, order).tolist() for order in (0, 1))
        named = ([dict(zip(plan.variables, row, strict=True)) for row in rows] for rows in (positions, velocities))
        self._carry_out(name, zip(*named, strict=True), plan_facts(plan))
        self.apply(SetJoints(plan.end_configuration()))
        return plan

    @public
    def command(self, name: str, positions: Mapping[str, float], duration: float) -> None:
        """Command joints of the simulated robot to positions [rad or m] for a duration [s], for example a gripper.

        The planning state is not changed.
        """
        self._carry_out(name, round(duration / PERIOD) * [(dict(positions), None)], {})

    def _carry_out(self, name: str, commands: Iterable[Command], facts: dict[str, str]) -> None:
        simulation = self.simulation
        start = simulation.time
        for positions, velocities in commands:
            simulation.set_targets(positions, velocities)
            simulation.step(PERIOD)
            self._recorder.add(simulation.time, simulation.state())
        self._recorder.segment(name, start, simulation.time, facts)
        self._report(f"{name:24}{simulation.time - start:5.2f} s" + "".join(f"{v:>8} {k}" for k, v in facts.items()))

    @public
    def write_replay(self, path: str | Path, summary: Mapping[str, str] | None = None) -> Path:
        """Write the recording as one HTML file that plays offline in any browser, and return its path."""
        facts = {**(summary or {}), "planner": f"{self.options.planner}, seed {self.options.seed}"}
        return write_html(path, self.cell, self._recorder.recording(facts), f"Cell {self.cell.name}")


def _goal_frame(name: str, tool_at: str, workpiece_at: str) -> tuple[TargetMode, str]:
    if bool(tool_at) == bool(workpiece_at):
        raise InvalidRequestError(f"{name}: expected one of tool_at and workpiece_at", stage=STAGE)
    return (TargetMode.TOOL, tool_at) if tool_at else (TargetMode.WORKPIECE, workpiece_at)
