"""Motion plan requests of MoveIt as motion requests, and plans as robot trajectories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnostic_msgs.msg import KeyValue
from moveit_msgs.msg import Constraints, GenericTrajectory, MotionPlanRequest, MoveItErrorCodes, RobotTrajectory
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.msg import JointPath, MotionRequest, PathConstraint, StateRef, TimingOptions

from ...errors import InvalidRequestError, LimitExceededError, NotSupportedError, Value
from ...model.cell import RobotCell
from ...scene.scene import Scene
from ..conversions.basic import MAX_TIMEOUT, duration_to_message
from .error_codes import refused_as
from .goals import goals_to_spec, refuse_visibility
from .helper_frames import HelperFrames
from .path_constraints import path_constraints
from .planners import CIRC, OMPL, PILZ, planner_named
from .workspace import workspace_constraints

MAX_HINTS = 1000


@dataclass(frozen=True)
class Start:
    """The start state of a request: scene with its state, and the reference to it for the nodes."""

    scene: Scene
    reference: StateRef

    def with_frames(self, frames: HelperFrames) -> StateRef:
        """Return the reference to the state with helper frames."""
        return StateRef(
            min_revision=self.reference.min_revision,
            configuration=self.reference.configuration,
            changes=[*self.reference.changes, *frames.changes],
        )


@dataclass(frozen=True)
class Converted:
    """A request with warnings for its sender: fields that were served differently from their meaning in MoveIt."""

    request: MotionRequest
    warnings: tuple[str, ...]


def check_group(cell: RobotCell, name: str) -> str:
    """Return the name of an existing planning group; "" is the main group.

    Raises:
        RefusedError: It does not exist.
    """
    with refused_as(MoveItErrorCodes.INVALID_GROUP_NAME):
        return cell.group(name).name


def motion_request(
    message: MotionPlanRequest, start: Start, parameters: Mapping[str, str], reserve: float = 0.0
) -> Converted:
    """Return the request for the planning node. parameters: of the planner, as text. reserve [s]: time for what
    MoveIt's allowed_planning_time does not cover.

    Raises:
        RefusedError: The group, a link, or a constraint is unknown or cannot be served.
        RobotCellError: Another field is out of range or not supported.
    """
    group, frames = check_group(start.scene.cell, message.group_name), HelperFrames(start.scene)
    check_request(message, OMPL)
    planner, warning = planner_named(message.planner_id)
    request = MotionRequest(
        start=start.reference,
        group=group,
        goal=goals_to_spec(start.scene, group, message.goal_constraints, frames),
        constraints=constraints_of(message, start, frames),
        waypoint_suggestions=hints_of(message.reference_trajectories),
        timing=timing_options(message, start.scene, group),
    )
    request.options.planner = planner
    request.options.time_limit = duration_to_message(planning_time(message.allowed_planning_time, reserve))
    for key, value in parameters.items():
        request.options.planner_parameters.append(KeyValue(key=key, value=value))
    request.start.changes = [*request.start.changes, *frames.changes]
    return Converted(request, (warning,) if warning else ())


def check_request(message: MotionPlanRequest, pipeline: str) -> tuple[str, ...]:
    """Check the fields that no pipeline serves; return warnings with those that this pipeline leaves out.

    Raises:
        RobotCellError: There are constraints along a given sequence of states or on what a sensor sees, or the time
            limit is out of range.
    """
    if message.trajectory_constraints.constraints:
        text = "trajectory_constraints are not supported; use path_constraints, or a sequence of requests"
        raise NotSupportedError(text, subjects=("trajectory_constraints",))
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        refuse_visibility(message.path_constraints, "path_constraints")
    planning_time(message.allowed_planning_time)
    if pipeline == PILZ and message.reference_trajectories:
        return (f"reference_trajectories are not used by {message.planner_id}, whose path is given by its goal",)
    return ()


def constraints_of(message: MotionPlanRequest, start: Start, frames: HelperFrames) -> list[PathConstraint]:
    """Return what a request wants to hold along its path: its path constraints, without the point that defines an arc
    of CIRC, and its workspace.

    Raises:
        RefusedError: A constraint cannot be served.
    """
    constraints, group = message.path_constraints, check_group(start.scene.cell, message.group_name)
    if message.planner_id == CIRC:
        constraints = Constraints(
            joint_constraints=constraints.joint_constraints,
            orientation_constraints=constraints.orientation_constraints,
        )
    return [
        *path_constraints(start.scene, constraints, frames),
        *workspace_constraints(start.scene, group, message.workspace_parameters),
    ]


def planning_time(seconds: float, reserve: float = 0.0) -> float:
    """Return the time limit with a reserve [s]; 0 for the node's default.

    Raises:
        LimitExceededError: It is negative, too long or not a number.
    """
    if not 0.0 <= seconds <= MAX_TIMEOUT:
        numbers = (Value("allowed_planning_time", seconds, MAX_TIMEOUT, "s"),)
        text = f"allowed_planning_time is {seconds:g} s, expected 0 to {MAX_TIMEOUT:g} s"
        raise LimitExceededError(text, stage="request", subjects=("allowed_planning_time",), values=numbers)
    return min(seconds + reserve, MAX_TIMEOUT) if seconds else 0.0


# [s] between points; MoveIt's default is 0.1. Each point takes 0.03 ms on its way to the client. What is validated and
# streamed is the curve through positions, velocities and accelerations.
SAMPLE_PERIOD = 0.05


def scaling(value: float, field: str) -> float:
    """Return a scaling factor; 1 for 0, which MoveIt takes for its default.

    Raises:
        InvalidRequestError: It is not within 0 to 1.
    """
    if not 0.0 <= value <= 1.0:
        text = f"{field} is {value:g}, expected above 0 to 1 (0: 1)"
        raise InvalidRequestError(text, stage="request", subjects=(field,), values=(Value(field, value, 1.0),))
    return value or 1.0


def timing_options(message: MotionPlanRequest, scene: Scene, group: str) -> TimingOptions:
    """Return the timing of a planned motion: blended at its waypoints, as MoveIt's is."""
    return TimingOptions(
        method=TimingOptions.SMOOTH,
        sample_period=SAMPLE_PERIOD,
        velocity_scale=scaling(message.max_velocity_scaling_factor, "max_velocity_scaling_factor"),
        acceleration_scale=scaling(message.max_acceleration_scaling_factor, "max_acceleration_scaling_factor"),
        tool_speed=speed_limit(message.max_cartesian_speed, message.cartesian_speed_limited_link, scene, group),
    )


def speed_limit(speed: float, link: str, scene: Scene, group: str) -> float:
    """Return the speed limit of the tool centre point, or of the tip without a tool [m/s]; 0: none.

    Raises:
        InvalidRequestError: The speed is negative or not a number.
        NotSupportedError: The limited link is another one.
    """
    if not speed >= 0.0 or math.isinf(speed):
        text = f"max_cartesian_speed is {speed:g} m/s, expected a number from 0"
        raise InvalidRequestError(text, stage="request", subjects=("max_cartesian_speed",))
    if speed == 0.0:
        return 0.0
    tool = scene.cell.tool_of_group(scene.state, group)
    limited = scene.cell.tools[tool].tcp_frame if tool else scene.cell.tip_link(group)
    if link not in ("", limited):
        text = f"cartesian_speed_limited_link is {link!r}; the speed of {limited} can be limited in this group"
        raise NotSupportedError(text, stage="request", subjects=(link, limited))
    return speed


def hints_of(trajectories: Sequence[GenericTrajectory]) -> JointPath:
    """Return the configurations of reference trajectories, which the search tries first.

    Raises:
        NotSupportedError: A Cartesian trajectory, or trajectories of different joints.
        InvalidRequestError: A point with another number of positions than joints.
        LimitExceededError: Too many points.
    """
    path = JointPath()
    for trajectory in trajectories:
        if trajectory.cartesian_trajectory:
            text = "reference_trajectories with a Cartesian trajectory are not supported; give joint values"
            raise NotSupportedError(text, subjects=("reference_trajectories",))
        for part in trajectory.joint_trajectory:
            _add_hints(path, part)
    return path


def _add_hints(path: JointPath, part: JointTrajectory) -> None:
    field = "reference_trajectories"
    if path.joint_names and list(path.joint_names) != list(part.joint_names):
        raise NotSupportedError(f"{field} of different joints are not supported", subjects=(field,))
    path.joint_names = part.joint_names
    for point in part.points:
        if len(point.positions) != len(part.joint_names):
            counts = f"{len(point.positions)} positions for {len(part.joint_names)} joints"
            raise InvalidRequestError(f"{field} has a point with {counts}", subjects=(field,))
        path.positions.extend(point.positions)
    if len(path.positions) > MAX_HINTS * max(len(path.joint_names), 1):
        raise LimitExceededError(f"{field} has more than {MAX_HINTS} points", subjects=(field,))


def robot_trajectory(trajectory: JointTrajectory) -> RobotTrajectory:
    """Return the trajectory of a plan."""
    return RobotTrajectory(joint_trajectory=trajectory)
