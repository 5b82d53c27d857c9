"""Exceptions of this package: a common base class, and a stable numeric code for each type.

An error contains its stage, the objects involved (joints, links, pairs, frames, files) and the relevant values with
their limits. Names of compas_fab are used where they exist. `ERRORS_BY_CODE` is the table of all codes;
`ErrorReport.msg` uses the same codes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

# Bounds of quoted text, because names and texts from outside can have any size.
MAX_MESSAGE = 4_000  # [characters]
MAX_SUBJECT = 300
MAX_ENTRIES = 300  # of subjects and of values


def bounded(text: str, max_length: int = MAX_MESSAGE) -> str:
    """Return the text, with its middle omitted if it has more than `max_length` characters."""
    if len(text) <= max_length:
        return text
    half = max_length // 2
    return f"{text[:half]} ... {len(text) - 2 * half} characters left out ... {text[-half:]}"


def _bounded_subjects(subjects: Iterable[object]) -> tuple[str, ...]:
    names = tuple(subjects)
    listed = tuple(bounded(str(name), MAX_SUBJECT) for name in names[:MAX_ENTRIES])
    return listed if len(names) <= MAX_ENTRIES else (*listed, f"and {len(names) - MAX_ENTRIES} more")


def distinct_texts(value: float, limit: float) -> tuple[str, str]:
    """Format two numbers with six digits, or with as many as needed to distinguish them."""
    texts = [(f"{value:.{digits}g}", f"{limit:.{digits}g}") for digits in range(6, 18)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])


@dataclass(frozen=True)
class Value:
    """Number related to an error: the value and the limit that it was checked against (None if there is none)."""

    name: str
    value: float
    limit: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.limit is None:
            return f"{self.name} = {self.value:.6g}{unit}"
        value, limit = distinct_texts(self.value, self.limit)
        return f"{self.name} = {value}{unit} (limit {limit}{unit})"


class RobotCellError(Exception):
    """Base class of all errors of this package.

    Quoted text is bounded (MAX_MESSAGE, MAX_SUBJECT, MAX_ENTRIES), so that very long names are neither returned nor
    logged in full.

    Attributes:
        code: Stable number of the error type, also used in messages.
        stage: Operation that failed ("read urdf", "inverse kinematics", "plan").
        message: Description in one line.
        subjects: Names of the joints, links, pairs, frames, files or fields that caused the error.
        values: Relevant numbers and their limits.
        partial: Partial result (a trajectory, the closest configuration), or None.
    """

    code: ClassVar[int] = 900
    default_stage: ClassVar[str] = "internal"

    def __init__(
        self,
        message: str,
        *,
        stage: str = "",
        subjects: tuple[str, ...] = (),
        values: tuple[Value, ...] = (),
        partial: Any = None,
    ) -> None:
        message = bounded(message)
        super().__init__(message)
        self.message = message
        self.stage = bounded(stage or self.default_stage, MAX_SUBJECT)
        self.subjects = _bounded_subjects(subjects)
        self.values = tuple(values)[:MAX_ENTRIES]
        self.partial = partial

    @property
    def name(self) -> str:
        """Name of the error type."""
        return type(self).__name__

    def __str__(self) -> str:
        numbers = f" [{'; '.join(map(str, self.values))}]" if self.values else ""
        return f"{self.stage}: {self.message}{numbers}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Preserve keyword arguments in pickling, so that errors can be passed between processes."""
        return (_rebuild, (type(self), self.message, self.__dict__.copy()))


def _rebuild(kind: type[RobotCellError], message: str, attributes: dict[str, Any]) -> RobotCellError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(attributes)
    return error


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
