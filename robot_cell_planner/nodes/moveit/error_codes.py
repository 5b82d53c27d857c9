"""Errors as MoveItErrorCodes, always with a message and a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from moveit_msgs.msg import MoveItErrorCodes

from ... import errors
from ...errors import RobotCellError

M = MoveItErrorCodes
SOURCE = "robot_cell_planner"
# The value of an error, or of the nearest of its base classes.
VALUES: Mapping[type[RobotCellError], int] = {
    RobotCellError: M.FAILURE,
    errors.CancelledError: M.PREEMPTED,
    errors.TimedOutError: M.TIMED_OUT,
    errors.NotActiveError: M.COMMUNICATION_FAILURE,
    errors.StateError: M.INVALID_ROBOT_STATE,
    errors.StaleStateError: M.ROBOT_STATE_STALE,
    errors.NoCellError: M.ROBOT_STATE_STALE,
    errors.TransformError: M.FRAME_TRANSFORM_FAILURE,
    errors.TargetModeMismatchError: M.INVALID_LINK_NAME,
    errors.InverseKinematicsError: M.NO_IK_SOLUTION,
    errors.JointLimitError: M.INVALID_ROBOT_STATE,
    errors.PlanningError: M.PLANNING_FAILED,
    errors.MPStartStateInCollisionError: M.START_STATE_IN_COLLISION,
    errors.MPNoIKSolutionError: M.NO_IK_SOLUTION,
    errors.GoalInCollisionError: M.GOAL_IN_COLLISION,
    errors.MPTargetInCollisionError: M.GOAL_IN_COLLISION,
    errors.StartBeyondLimitsError: M.START_STATE_INVALID,
    errors.PathInvalidError: M.INVALID_MOTION_PLAN,
    errors.TrajectoryError: M.INVALID_MOTION_PLAN,
    errors.TrajectoryInCollisionError: M.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE,
    errors.TrajectoryStartError: M.START_STATE_INVALID,
    errors.ExecutionError: M.CONTROL_FAILED,
    errors.FeedbackLostError: M.ROBOT_STATE_STALE,
    errors.StoppedError: M.PREEMPTED,
    errors.ServiceUnavailableError: M.COMMUNICATION_FAILURE,
    errors.ServerLostError: M.COMMUNICATION_FAILURE,
    errors.OutcomeUnknownError: M.COMMUNICATION_FAILURE,
    errors.WorkerCrashedError: M.CRASH,
}
GOALS = "goals"  # stage of errors of the goals of a motion
# Stages of a ConstraintMismatchError.
MISMATCHES = {"start": M.START_STATE_VIOLATES_PATH_CONSTRAINTS, GOALS: M.GOAL_VIOLATES_PATH_CONSTRAINTS}


class RefusedError(RobotCellError):
    """A request that is refused with a given value of MoveItErrorCodes; `cause` is the error."""

    def __init__(self, value: int, cause: RobotCellError) -> None:
        super().__init__(
            cause.message, stage=cause.stage, subjects=cause.subjects, values=cause.values, partial=cause.partial
        )
        self.value = value
        self.cause = cause


@contextmanager
def refused_as(value: int) -> Iterator[None]:
    """Give errors of the block a value of MoveItErrorCodes; the innermost block counts."""
    try:
        yield
    except RefusedError:
        raise
    except RobotCellError as error:
        raise RefusedError(value, error) from error


def value_of(error: RobotCellError) -> int:
    """Return the value of MoveItErrorCodes of an error."""
    if isinstance(error, RefusedError):
        return error.value
    if isinstance(error, errors.ConstraintMismatchError):
        return MISMATCHES.get(error.stage, M.INVALID_MOTION_PLAN)
    if isinstance(error, errors.JointLimitError) and error.stage == GOALS:
        return M.GOAL_STATE_INVALID
    return next(VALUES[kind] for kind in type(error).__mro__ if kind in VALUES)


def error_code(error: RobotCellError) -> MoveItErrorCodes:
    """Return the message of an error: its value, its text with stage and numbers, and its name as the source."""
    cause = error.cause if isinstance(error, RefusedError) else error
    return MoveItErrorCodes(
        val=value_of(error), message=str(cause), source=f"{SOURCE}: {cause.name} ({cause.code}, docs/errors.md)"
    )


def success(*warnings: str) -> MoveItErrorCodes:
    """Return the code of a success. warnings: what the caller should know about it."""
    return MoveItErrorCodes(val=M.SUCCESS, message="; ".join(warnings), source=SOURCE)
