"""Every error of the suite: one base, a stable number for each kind, and what is needed to act on it.

An error names its stage, the things involved (joints, links, pairs, frames, files) and the numbers against their
limits. The names of compas_fab are kept where it has one. `ERRORS_BY_CODE` is the one table of numbers; the wire
(`ErrorReport.msg`) carries the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

# Bounds of what an error quotes: names and texts from outside can be of any size.
MAX_MESSAGE = 4_000  # [characters]
MAX_SUBJECT = 300
MAX_ENTRIES = 300  # subjects, and values


def bounded(text: str, most: int = MAX_MESSAGE) -> str:
    """The text, its middle left out if it has more than `most` characters."""
    if len(text) <= most:
        return text
    kept = most // 2
    return f"{text[:kept]} ... {len(text) - 2 * kept} characters left out ... {text[-kept:]}"


def _bounded_subjects(subjects: Iterable[object]) -> tuple[str, ...]:
    names = tuple(subjects)
    listed = tuple(bounded(str(name), MAX_SUBJECT) for name in names[:MAX_ENTRIES])
    return listed if len(names) <= MAX_ENTRIES else (*listed, f"and {len(names) - MAX_ENTRIES} more")


def told_apart(value: float, limit: float) -> tuple[str, str]:
    """Two numbers as text, with six digits or as many as it takes to see that they differ."""
    texts = [(f"{value:.{digits}g}", f"{limit:.{digits}g}") for digits in range(6, 18)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])


@dataclass(frozen=True)
class Value:
    """A number that matters for an error: what was found, and the limit that it was held against (None if none)."""

    name: str
    value: float
    limit: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.limit is None:
            return f"{self.name} = {self.value:.6g}{unit}"
        value, limit = told_apart(self.value, self.limit)
        return f"{self.name} = {value}{unit} (limit {limit}{unit})"


class RobotCellError(Exception):
    """Base of all errors of this package.

    What it quotes is bounded (MAX_MESSAGE, MAX_SUBJECT, MAX_ENTRIES), so that a name of megabytes is neither sent back
    nor logged whole.

    Attributes:
        code: stable number of the kind of error, the same on the wire.
        stage: where it happened ("read urdf", "inverse kinematics", "plan").
        message: one line for people.
        subjects: names of joints, links, pairs, frames, files or fields to blame.
        values: numbers against their limits.
        partial: what had been reached when it failed (a trajectory, the closest configuration), or None.
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
        return type(self).__name__

    def __str__(self) -> str:
        numbers = f" [{'; '.join(map(str, self.values))}]" if self.values else ""
        return f"{self.stage}: {self.message}{numbers}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Keyword arguments survive pickling, so that errors cross process borders whole."""
        return (_rebuild, (type(self), self.message, self.__dict__.copy()))


def _rebuild(kind: type[RobotCellError], message: str, attributes: dict[str, Any]) -> RobotCellError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(attributes)
    return error


class InternalError(RobotCellError):
    """A fault of this package itself, or of a native library below it."""

    code = 900


class WorkerCrashedError(RobotCellError):
    """The worker process that served the request died; it has been replaced."""

    code = 901
    default_stage = "worker"


class InvalidRequestError(RobotCellError):
    """A request or an option is malformed: a wrong length, a number that is not finite, contradictory fields."""

    code = 100
    default_stage = "request"


class InvalidValueError(InvalidRequestError, ValueError):
    """A value that no thing of the cell and no option can have: a wrong type or length, a number out of range.

    On the wire it is an invalid request. It is a ValueError too, for those who call constructors from Python.
    """

    @property
    def name(self) -> str:
        return InvalidRequestError.__name__

    def __str__(self) -> str:
        """Without the stage: those who met it say where."""
        return self.message


class UnknownNameError(RobotCellError):
    """A joint, link, group, frame, tool, body, planner or state of that name does not exist."""

    code = 101
    default_stage = "request"


class LimitExceededError(RobotCellError):
    """Something from outside is larger than this node accepts or can compute with (a count, a size, a number)."""

    code = 102
    default_stage = "request"


class CancelledError(RobotCellError):
    """The caller cancelled the request."""

    code = 103
    default_stage = "request"


class TimedOutError(RobotCellError):
    """The time limit, or the limit on counted work, ended before an answer was found."""

    code = 104
    default_stage = "request"


class NotSupportedError(RobotCellError):
    """The request is well formed, but this cell, solver or engine does not offer it."""

    code = 105
    default_stage = "request"


class FileError(RobotCellError):
    """A file is missing, unreadable, malformed, or of a version that is not known; the message names the place."""

    code = 200
    default_stage = "read file"


class ResourceError(RobotCellError):
    """A URI cannot be resolved, or leads out of the folders that are allowed."""

    code = 201
    default_stage = "resolve"


class GeometryError(RobotCellError):
    """A shape or mesh is degenerate, unbounded, empty, inverted or not finite."""

    code = 202
    default_stage = "geometry"


class ModelError(RobotCellError):
    """A robot, tool or cell contradicts itself: two links of one name, a joint to nowhere, a loop."""

    code = 203
    default_stage = "model"


class FrameCycleError(RobotCellError):
    """An attachment would close a loop of frames; `subjects` is the loop."""

    code = 204
    default_stage = "frames"


class DuplicateNameError(RobotCellError):
    """A name is already taken by another thing of the cell."""

    code = 205
    default_stage = "frames"


class StateError(RobotCellError):
    """A state does not fit its cell: a joint is missing, a body is not there, a tool is attached twice."""

    code = 206
    default_stage = "state"


class StaleStateError(RobotCellError):
    """The scene, or the measured joints, did not get as new as the request asked for within its time limit."""

    code = 207
    default_stage = "state"


class NoCellError(RobotCellError):
    """No cell has been received or loaded yet."""

    code = 208
    default_stage = "state"


class RevisionConflictError(RobotCellError):
    """A change was made for a revision that is no longer the current one."""

    code = 209
    default_stage = "change"


class JournalError(RobotCellError):
    """The journal cannot be written or read back."""

    code = 210
    default_stage = "journal"


class TargetModeMismatchError(RobotCellError):
    """The state cannot offer the target mode: no tool, or no workpiece, is attached to the group."""

    code = 300
    default_stage = "kinematics"


class InverseKinematicsError(RobotCellError):
    """No configuration was found for a target; the subclass, message and values say why."""

    code = 301
    default_stage = "inverse kinematics"


class OutOfReachError(InverseKinematicsError):
    """The target lies outside the reach of the arm; the closest configuration is in `partial`."""

    code = 302


class BeyondJointLimitsError(InverseKinematicsError):
    """Solutions exist, all of them beyond joint limits; `values` names the joints."""

    code = 303


class AllSolutionsInCollisionError(InverseKinematicsError):
    """Solutions exist, all of them in collision; `subjects` names the pairs."""

    code = 304


class JointLimitError(RobotCellError):
    """A configuration lies beyond a joint limit."""

    code = 305
    default_stage = "kinematics"


class CollisionCheckError(RobotCellError):
    """The state is in collision; `partial` is the collision report."""

    code = 400
    default_stage = "collision"


class PlanningError(RobotCellError):
    """No motion was found; base of the errors of planning."""

    code = 500
    default_stage = "plan"


class MPStartStateInCollisionError(PlanningError):
    """The start state is in collision; `subjects` names the pairs."""

    code = 501


class MPNoIKSolutionError(PlanningError):
    """A target of the motion has no inverse kinematic solution; `partial` is the trajectory up to it."""

    code = 502


class MPInterpolationInCollisionError(PlanningError):
    """A state along the motion is in collision; `partial` is the trajectory up to it."""

    code = 503


class MPMaxJumpError(PlanningError):
    """Joints would jump between neighbouring states; `partial` is the trajectory up to there."""

    code = 504


class GoalInCollisionError(PlanningError):
    """Every goal configuration is in collision; `subjects` names the pairs."""

    code = 505


class NotConnectedError(PlanningError):
    """No path between start and goal was found within the limits of the request."""

    code = 506


class ConstraintMismatchError(PlanningError):
    """Start and goal disagree with the path constraints, or with one another under them."""

    code = 507


class StartBeyondLimitsError(PlanningError):
    """The start state is beyond joint limits; `values` names them."""

    code = 508


class PathInvalidError(PlanningError):
    """A path that was about to be returned or used is in collision or beyond limits; the report is in `partial`."""

    code = 509


class TrajectoryError(RobotCellError):
    """A trajectory is malformed, or cannot be timed."""

    code = 600
    default_stage = "trajectory"


class TrajectoryLimitError(TrajectoryError):
    """A sample of a trajectory breaks a position, velocity, acceleration, jerk or effort limit."""

    code = 601


class TrajectoryInCollisionError(TrajectoryError):
    """A sample of a trajectory is in collision."""

    code = 602


class TrajectoryStartError(TrajectoryError):
    """A trajectory does not begin where the robot is."""

    code = 603


class ExecutionError(RobotCellError):
    """A motion could not be carried out."""

    code = 700
    default_stage = "execution"


class MotionBusyError(ExecutionError):
    """Another client owns the motion; `subjects` names it."""

    code = 701


class TrackingError(ExecutionError):
    """The robot does not follow: the path or goal tolerance was left."""

    code = 702


class FeedbackLostError(ExecutionError):
    """Joint states stopped, jumped, or are not finite."""

    code = 703


class StoppedError(ExecutionError):
    """The motion was ended by a stop: an emergency stop, a mode change, a new obstacle."""

    code = 704


class ServiceUnavailableError(ExecutionError):
    """A node, service or action that is needed did not answer; the message names it and the time waited."""

    code = 705


class ServerLostError(ServiceUnavailableError):
    """The node that served a request or carried out a goal ended before it was met; the goal is lost."""

    code = 706


class OutcomeUnknownError(ServiceUnavailableError):
    """No reply came to a request that must not be sent twice; it may have been met. The message says how to tell."""

    code = 707


def _table() -> dict[int, type[RobotCellError]]:
    table: dict[int, type[RobotCellError]] = {}
    pending: list[type[RobotCellError]] = [RobotCellError]
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        if kind is not RobotCellError:
            table.setdefault(kind.code, kind)  # a kind comes before those derived from it
    return dict(sorted(table.items()))


ERRORS_BY_CODE: dict[int, type[RobotCellError]] = _table()
