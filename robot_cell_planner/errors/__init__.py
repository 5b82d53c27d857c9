"""Exceptions of this package: a common base class, and a stable numeric code for each type.

An error contains its stage, the objects involved (joints, links, pairs, frames, files) and the relevant values with
their limits. Names of compas_fab are used where they exist. `ERRORS_BY_CODE` is the table of all codes;
`ErrorReport.msg` uses the same codes.
"""

from __future__ import annotations

from .base import RobotCellError as RobotCellError
from .base import Value as Value
from .base import bounded as bounded
from .base import distinct_texts as distinct_texts


class InternalError(RobotCellError):
    """A defect in this package or in a native library that it uses."""

    code = 900
    remedy = "Please report it with the log and the request."


class WorkerCrashedError(RobotCellError):
    """The worker process that served the request died; it was replaced."""

    code = 901
    remedy = "Send the request again; if it happens again, report it with the request."
    default_stage = "worker"


class InvalidRequestError(RobotCellError):
    """A request or option is malformed: wrong length, a number that is not finite, or contradictory fields."""

    code = 100
    remedy = "Correct the field that the message names; units and shapes are in docs/interfaces.md."
    default_stage = "request"


class InvalidValueError(InvalidRequestError, ValueError):
    """A value is invalid: wrong type or length, or out of range.

    In messages it is reported as InvalidRequestError. It is also a ValueError, for constructors called from Python.
    """

    @property
    def name(self) -> str:
        """Name of the error type in messages."""
        return InvalidRequestError.__name__

    def __str__(self) -> str:
        """Return the message without the stage, which the caller adds."""
        return self.message


class UnknownNameError(RobotCellError):
    """A joint, link, group, frame, tool, body, planner or state with this name does not exist."""

    code = 101
    remedy = "Check the spelling: the message suggests similar names. `scene/get_cell` lists what the cell has."
    default_stage = "request"


class LimitExceededError(RobotCellError):
    """An input exceeds what the node accepts or can process (count, size or value)."""

    code = 102
    remedy = "Split the request, or raise the parameter of the node that bounds it (docs/parameters.md)."
    default_stage = "request"


class CancelledError(RobotCellError):
    """The caller cancelled the request."""

    code = 103
    remedy = "None: the client cancelled the request or stopped waiting for it."
    default_stage = "request"


class TimedOutError(RobotCellError):
    """The time limit, or the limit of counted work, was reached before a solution was found."""

    code = 104
    remedy = "Raise `time_limit` or `state_limit` of the request, or choose another planner."
    default_stage = "request"


class NotSupportedError(RobotCellError):
    """The request is valid, but this cell, solver or engine does not support it."""

    code = 105
    remedy = "Choose another option as the message says: another engine, planner, solver or control mode."
    default_stage = "request"


class NotActiveError(RobotCellError):
    """The node that the request was sent to is not active, or was deactivated; `subjects` names it."""

    code = 106
    remedy = "Activate the node with a lifecycle manager or with ros2 lifecycle set, or start it with `autostart`."
    default_stage = "lifecycle"


class FileError(RobotCellError):
    """A file is missing, unreadable, malformed, or of an unknown version; the message gives the position."""

    code = 200
    remedy = "Open the file at the position that the message gives."
    default_stage = "read file"


class ResourceError(RobotCellError):
    """A URI cannot be resolved, or resolves to a path outside the allowed folders."""

    code = 201
    remedy = "Add the folder to `resource_folders`, or the package to `resource_packages` or AMENT_PREFIX_PATH."
    default_stage = "resolve"


class GeometryError(RobotCellError):
    """A shape or mesh is degenerate, unbounded, empty, inverted or not finite."""

    code = 202
    remedy = "Repair the mesh (normals, holes, units), or replace it by a primitive or a convex hull."
    default_stage = "geometry"


class ModelError(RobotCellError):
    """A robot, tool or cell is inconsistent: duplicate link names, a joint to an unknown link, a kinematic loop."""

    code = 203
    remedy = "Correct the URDF, SRDF or cell file where the message points."
    default_stage = "model"


class FrameCycleError(RobotCellError):
    """An attachment would create a cycle of frames; `subjects` lists the cycle."""

    code = 204
    remedy = "Detach one of the objects that `subjects` lists before the change."
    default_stage = "frames"


class DuplicateNameError(RobotCellError):
    """The name is already used by another object of the cell."""

    code = 205
    remedy = "Choose another name, or remove the object that has it."
    default_stage = "frames"


class StateError(RobotCellError):
    """A state does not match its cell: a joint or body is missing, or two tools are attached to one tip link."""

    code = 206
    remedy = "Take the state from `scene/get_state`, and change that."
    default_stage = "state"


class StaleStateError(RobotCellError):
    """The scene or the measured joint state did not become as recent as requested within the time limit."""

    code = 207
    remedy = (
        "Check that joint states arrive and the scene node runs; raise the timeout of the request on a busy machine."
    )
    default_stage = "state"


class NoCellError(RobotCellError):
    """No cell has been received or loaded."""

    code = 208
    remedy = "Start the scene node with `cell_file`, or call `scene/load_cell`."
    default_stage = "state"


class RevisionConflictError(RobotCellError):
    """A change was requested for a revision that is not the current one."""

    code = 209
    remedy = "Read the state again, and repeat the change for the revision that is current."
    default_stage = "change"


class JournalError(RobotCellError):
    """The journal cannot be written or read."""

    code = 210
    remedy = "Check space and permissions of the disk. A damaged journal: see `journal_repair` in docs/scene.md."
    default_stage = "journal"


class TransformError(RobotCellError):
    """A transform could not be obtained from TF; base class of the errors below."""

    code = 211
    remedy = "See the errors 212 to 214."
    default_stage = "transform"


class TransformLookupError(TransformError, UnknownNameError):
    """Neither the cell nor TF has a frame of this name (tf2's LookupException)."""

    code = 212
    remedy = "Check the name of the frame, and that its publisher runs; raise `transform_timeout` if it starts late."


class TransformExtrapolationError(TransformError):
    """TF has no data about a frame at the requested time, only before or after it (tf2's ExtrapolationException)."""

    code = 213
    remedy = (
        "Use a stamp that TF has: clocks that differ between computers, or a buffer that is too short, are "
        "common causes."
    )


class TransformConnectivityError(TransformError):
    """TF does not connect two frames: they are in separate trees (tf2's ConnectivityException)."""

    code = 214
    remedy = "Publish the missing transform between the two trees."


class TargetModeMismatchError(RobotCellError):
    """The state does not support the target mode: no tool or no workpiece is attached to the group."""

    code = 300
    remedy = "Attach a tool or workpiece to the group, or choose another mode of the target."
    default_stage = "kinematics"


class InverseKinematicsError(RobotCellError):
    """No configuration was found for a target; the subclass, message and values describe the reason."""

    code = 301
    remedy = "See the errors 302 to 304; raise `max_restarts` for redundant arms."
    default_stage = "inverse kinematics"


class OutOfReachError(InverseKinematicsError):
    """The target is out of reach of the arm; `partial` contains the closest configuration."""

    code = 302
    remedy = "Move the target or the robot's base; `partial` has the closest configuration."


class BeyondJointLimitsError(InverseKinematicsError):
    """Solutions exist, but all are beyond joint limits; `values` names the joints."""

    code = 303
    remedy = (
        "Turn the target about its free axis, or choose another reference frame; check the limits that `values` names."
    )


class AllSolutionsInCollisionError(InverseKinematicsError):
    """Solutions exist, but all are in collision; `subjects` names the pairs."""

    code = 304
    remedy = "Move the objects in `subjects`, or allow the contact for this request if it is intended."


class JointLimitError(RobotCellError):
    """A configuration is beyond a joint limit."""

    code = 305
    remedy = "Move the joint inside its limits; within `start_limit_tolerance` a start is corrected with a warning."
    default_stage = "kinematics"


class CollisionCheckError(RobotCellError):
    """The state is in collision; `partial` is the collision report."""

    code = 400
    remedy = "Look at the pairs of the report. Allow a contact that is intended; change the state otherwise."
    default_stage = "collision"


class PlanningError(RobotCellError):
    """Base class of planning errors; raised directly if no motion was found."""

    code = 500
    remedy = "Raise the limits of the request, try another seed or planner, or add a waypoint."
    default_stage = "plan"


class MPStartStateInCollisionError(PlanningError):
    """The start state is in collision; `subjects` names the pairs."""

    code = 501
    remedy = (
        "Move the robot or the object apart, or allow the contact. A part held by a gripper that belongs to the "
        "robot's URDF needs the fingers as touch links; one held by a tool needs nothing."
    )


class MPNoIKSolutionError(PlanningError):
    """A target of the motion has no inverse kinematics solution; `partial` is the trajectory up to the failure."""

    code = 502
    remedy = "Check the target as for 301; for a line, shorten it to the last point of `partial`."


class MPInterpolationInCollisionError(PlanningError):
    """A state along the motion is in collision; `partial` is the trajectory up to the failure."""

    code = 503
    remedy = "Use `plan_motion` to plan around the obstacle, move the obstacle, or approach from another side."


class MPMaxJumpError(PlanningError):
    """Adjacent states differ by more than the allowed joint jump; `partial` is the trajectory up to the failure."""

    code = 504
    remedy = "Choose another start configuration; the arm passes a singularity or a joint limit here."


class GoalInCollisionError(PlanningError):
    """All goal configurations are in collision; `subjects` names the pairs."""

    code = 505
    remedy = "Choose another goal, or allow the contact if it is intended."


class NotConnectedError(PlanningError):
    """No path between start and goal was found within the limits of the request."""

    code = 506
    remedy = "Raise `state_limit` and `time_limit`, or check by `collision/check_states` that a passage exists."


class ConstraintMismatchError(PlanningError):
    """Start and goal violate the path constraints, or are inconsistent with each other under the constraints."""

    code = 507
    remedy = "Start and end within the constraints, or widen their tolerances."


class StartBeyondLimitsError(PlanningError):
    """The start state is beyond joint limits; `values` names the joints."""

    code = 508
    remedy = (
        "Move the robot inside its limits, or allow a start correction (`max_start_correction` in the options "
        "of the request). For small excesses raise the parameter `start_limit_tolerance` of the planning node."
    )


class PathInvalidError(PlanningError):
    """A path to be returned or executed is in collision or beyond limits; `partial` is the report."""

    code = 509
    remedy = "Plan again from the present state: the cell changed, or the path is from another cell."


class MPTargetInCollisionError(PlanningError):
    """Every configuration that reaches a waypoint is in collision; `subjects` names the pairs."""

    code = 510
    remedy = (
        "Move the waypoint or the obstacle, or allow the contact. With `skip_preplanning_collision_check` the path "
        "up to the obstacle is returned as `partial`."
    )


class TrajectoryError(RobotCellError):
    """A trajectory is malformed, or cannot be time-parameterised."""

    code = 600
    remedy = "Correct the points as the message says: times increase, and lengths equal the number of joints."
    default_stage = "trajectory"


class TrajectoryLimitError(TrajectoryError):
    """A trajectory sample violates a position, velocity, acceleration, jerk or effort limit."""

    code = 601
    remedy = "Slow the trajectory down by `time_parameterize`, or lower the scales of velocity and acceleration."


class TrajectoryInCollisionError(TrajectoryError):
    """A trajectory sample is in collision."""

    code = 602
    remedy = "Plan again in the present scene."


class TrajectoryStartError(TrajectoryError):
    """A trajectory does not start at the current configuration of the robot."""

    code = 603
    remedy = "Plan from the present state, or move to the first point first."


class ExecutionError(RobotCellError):
    """A motion could not be executed."""

    code = 700
    remedy = "Read the message: it names the controller, joint or option."
    default_stage = "execution"


class MotionBusyError(ExecutionError):
    """Another client holds the motion lock; `subjects` names it."""

    code = 701
    remedy = "Wait until the motion has ended, or cancel it; `execution/status` names the client."


class TrackingError(ExecutionError):
    """The robot deviates from the trajectory: the path or goal tolerance is exceeded."""

    code = 702
    remedy = "Lower the speed, check the payload and the controller's gains, or raise the path tolerance."


class FeedbackLostError(ExecutionError):
    """Joint states stopped, jumped, or are not finite."""

    code = 703
    remedy = "Check the driver and the network; raise `joint_state_timeout` if states come less often."


class StoppedError(ExecutionError):
    """The motion was stopped: emergency stop, mode change or new obstacle."""

    code = 704
    remedy = "Release the emergency stop or remove the obstacle, then plan again from where the robot stands."


class ServiceUnavailableError(ExecutionError):
    """A required node, service or action did not respond. The message gives its name and the time waited."""

    code = 705
    remedy = "Start the node, and check domain, namespace and discovery range; raise the timeout."


class ServerLostError(ServiceUnavailableError):
    """The node that processed a request or goal terminated before completion; the goal is lost."""

    code = 706
    remedy = "Send the goal again when the node runs again; robot_cell and the launch file restart it."


class OutcomeUnknownError(ServiceUnavailableError):
    """No reply was received for a request that must not be repeated; it may have been processed. The message says how
    to check."""

    code = 707
    remedy = "Ask the node for its state before sending the request again."


def _table() -> dict[int, type[RobotCellError]]:
    table: dict[int, type[RobotCellError]] = {}
    pending: list[type[RobotCellError]] = [RobotCellError]
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        if kind is not RobotCellError:
            table.setdefault(kind.code, kind)  # base types come before derived types
    return dict(sorted(table.items()))


ERRORS_BY_CODE: dict[int, type[RobotCellError]] = _table()
