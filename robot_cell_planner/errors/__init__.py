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


class WorkerCrashedError(RobotCellError):
    """The worker process that served the request died; it was replaced."""

    code = 901
    default_stage = "worker"


class InvalidRequestError(RobotCellError):
    """A request or option is malformed: wrong length, a number that is not finite, or contradictory fields."""

    code = 100
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
    default_stage = "request"


class LimitExceededError(RobotCellError):
    """An input exceeds what the node accepts or can process (count, size or value)."""

    code = 102
    default_stage = "request"


class CancelledError(RobotCellError):
    """The caller cancelled the request."""

    code = 103
    default_stage = "request"


class TimedOutError(RobotCellError):
    """The time limit, or the limit of counted work, was reached before a solution was found."""

    code = 104
    default_stage = "request"


class NotSupportedError(RobotCellError):
    """The request is valid, but this cell, solver or engine does not support it."""

    code = 105
    default_stage = "request"


class FileError(RobotCellError):
    """A file is missing, unreadable, malformed, or of an unknown version; the message gives the position."""

    code = 200
    default_stage = "read file"


class ResourceError(RobotCellError):
    """A URI cannot be resolved, or resolves to a path outside the allowed folders."""

    code = 201
    default_stage = "resolve"


class GeometryError(RobotCellError):
    """A shape or mesh is degenerate, unbounded, empty, inverted or not finite."""

    code = 202
    default_stage = "geometry"


class ModelError(RobotCellError):
    """A robot, tool or cell is inconsistent: duplicate link names, a joint to an unknown link, a kinematic loop."""

    code = 203
    default_stage = "model"


class FrameCycleError(RobotCellError):
    """An attachment would create a cycle of frames; `subjects` lists the cycle."""

    code = 204
    default_stage = "frames"


class DuplicateNameError(RobotCellError):
    """The name is already used by another object of the cell."""

    code = 205
    default_stage = "frames"


class StateError(RobotCellError):
    """A state does not match its cell: a joint or body is missing, or two tools are attached to one tip link."""

    code = 206
    default_stage = "state"


class StaleStateError(RobotCellError):
    """The scene or the measured joint state did not become as recent as requested within the time limit."""

    code = 207
    default_stage = "state"


class NoCellError(RobotCellError):
    """No cell has been received or loaded."""

    code = 208
    default_stage = "state"


class RevisionConflictError(RobotCellError):
    """A change was requested for a revision that is not the current one."""

    code = 209
    default_stage = "change"


class JournalError(RobotCellError):
    """The journal cannot be written or read."""

    code = 210
    default_stage = "journal"


class TransformError(RobotCellError):
    """A transform could not be obtained from TF; base class of the errors below."""

    code = 211
    default_stage = "transform"


class TransformLookupError(TransformError, UnknownNameError):
    """Neither the cell nor TF has a frame of this name (tf2's LookupException)."""

    code = 212


class TransformExtrapolationError(TransformError):
    """TF has no data about a frame at the requested time, only before or after it (tf2's ExtrapolationException)."""

    code = 213


class TransformConnectivityError(TransformError):
    """TF does not connect two frames: they are in separate trees (tf2's ConnectivityException)."""

    code = 214


class TargetModeMismatchError(RobotCellError):
    """The state does not support the target mode: no tool or no workpiece is attached to the group."""

    code = 300
    default_stage = "kinematics"


class InverseKinematicsError(RobotCellError):
    """No configuration was found for a target; the subclass, message and values describe the reason."""

    code = 301
    default_stage = "inverse kinematics"


class OutOfReachError(InverseKinematicsError):
    """The target is out of reach of the arm; `partial` contains the closest configuration."""

    code = 302


class BeyondJointLimitsError(InverseKinematicsError):
    """Solutions exist, but all are beyond joint limits; `values` names the joints."""

    code = 303


class AllSolutionsInCollisionError(InverseKinematicsError):
    """Solutions exist, but all are in collision; `subjects` names the pairs."""

    code = 304


class JointLimitError(RobotCellError):
    """A configuration is beyond a joint limit."""

    code = 305
    default_stage = "kinematics"


class CollisionCheckError(RobotCellError):
    """The state is in collision; `partial` is the collision report."""

    code = 400
    default_stage = "collision"


class PlanningError(RobotCellError):
    """Base class of planning errors; raised directly if no motion was found."""

    code = 500
    default_stage = "plan"


class MPStartStateInCollisionError(PlanningError):
    """The start state is in collision; `subjects` names the pairs."""

    code = 501


class MPNoIKSolutionError(PlanningError):
    """A target of the motion has no inverse kinematics solution; `partial` is the trajectory up to the failure."""

    code = 502


class MPInterpolationInCollisionError(PlanningError):
    """A state along the motion is in collision; `partial` is the trajectory up to the failure."""

    code = 503


class MPMaxJumpError(PlanningError):
    """Adjacent states differ by more than the allowed joint jump; `partial` is the trajectory up to the failure."""

    code = 504


class GoalInCollisionError(PlanningError):
    """All goal configurations are in collision; `subjects` names the pairs."""

    code = 505


class NotConnectedError(PlanningError):
    """No path between start and goal was found within the limits of the request."""

    code = 506


class ConstraintMismatchError(PlanningError):
    """Start and goal violate the path constraints, or are inconsistent with each other under the constraints."""

    code = 507


class StartBeyondLimitsError(PlanningError):
    """The start state is beyond joint limits; `values` names the joints."""

    code = 508


class PathInvalidError(PlanningError):
    """A path to be returned or executed is in collision or beyond limits; `partial` is the report."""

    code = 509


class TrajectoryError(RobotCellError):
    """A trajectory is malformed, or cannot be time-parameterised."""

    code = 600
    default_stage = "trajectory"


class TrajectoryLimitError(TrajectoryError):
    """A trajectory sample violates a position, velocity, acceleration, jerk or effort limit."""

    code = 601


class TrajectoryInCollisionError(TrajectoryError):
    """A trajectory sample is in collision."""

    code = 602


class TrajectoryStartError(TrajectoryError):
    """A trajectory does not start at the current configuration of the robot."""

    code = 603


class ExecutionError(RobotCellError):
    """A motion could not be executed."""

    code = 700
    default_stage = "execution"


class MotionBusyError(ExecutionError):
    """Another client holds the motion lock; `subjects` names it."""

    code = 701


class TrackingError(ExecutionError):
    """The robot deviates from the trajectory: the path or goal tolerance is exceeded."""

    code = 702


class FeedbackLostError(ExecutionError):
    """Joint states stopped, jumped, or are not finite."""

    code = 703


class StoppedError(ExecutionError):
    """The motion was stopped: emergency stop, mode change or new obstacle."""

    code = 704


class ServiceUnavailableError(ExecutionError):
    """A required node, service or action did not respond. The message gives its name and the time waited."""

    code = 705


class ServerLostError(ServiceUnavailableError):
    """The node that processed a request or goal terminated before completion; the goal is lost."""

    code = 706


class OutcomeUnknownError(ServiceUnavailableError):
    """No reply was received for a request that must not be repeated; it may have been processed. The message says how
    to check."""

    code = 707


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
