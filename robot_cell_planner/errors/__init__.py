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
from .base import drop_tracebacks as drop_tracebacks
from .cell import DuplicateNameError as DuplicateNameError
from .cell import FileError as FileError
from .cell import FrameCycleError as FrameCycleError
from .cell import GeometryError as GeometryError
from .cell import JournalError as JournalError
from .cell import ModelError as ModelError
from .cell import NoCellError as NoCellError
from .cell import ResourceError as ResourceError
from .cell import RevisionConflictError as RevisionConflictError
from .cell import StaleStateError as StaleStateError
from .cell import StateError as StateError
from .cell import TransformConnectivityError as TransformConnectivityError
from .cell import TransformError as TransformError
from .cell import TransformExtrapolationError as TransformExtrapolationError
from .cell import TransformLookupError as TransformLookupError
from .execution import CollisionAheadError as CollisionAheadError
from .execution import ExecutionError as ExecutionError
from .execution import FeedbackLostError as FeedbackLostError
from .execution import GoalToleranceError as GoalToleranceError
from .execution import MotionBusyError as MotionBusyError
from .execution import OutcomeUnknownError as OutcomeUnknownError
from .execution import ServerLostError as ServerLostError
from .execution import ServiceUnavailableError as ServiceUnavailableError
from .execution import StoppedError as StoppedError
from .execution import StopRequestedError as StopRequestedError
from .execution import TrackingError as TrackingError
from .execution import TrajectoryError as TrajectoryError
from .execution import TrajectoryExpiredError as TrajectoryExpiredError
from .execution import TrajectoryInCollisionError as TrajectoryInCollisionError
from .execution import TrajectoryLimitError as TrajectoryLimitError
from .execution import TrajectoryStartError as TrajectoryStartError
from .planning import AllSolutionsInCollisionError as AllSolutionsInCollisionError
from .planning import BeyondJointLimitsError as BeyondJointLimitsError
from .planning import BlockedByMovingRobotsError as BlockedByMovingRobotsError
from .planning import CollisionCheckError as CollisionCheckError
from .planning import ConstraintMismatchError as ConstraintMismatchError
from .planning import GoalInCollisionError as GoalInCollisionError
from .planning import InverseKinematicsError as InverseKinematicsError
from .planning import JointLimitError as JointLimitError
from .planning import MPInterpolationInCollisionError as MPInterpolationInCollisionError
from .planning import MPMaxJumpError as MPMaxJumpError
from .planning import MPNoIKSolutionError as MPNoIKSolutionError
from .planning import MPStartStateInCollisionError as MPStartStateInCollisionError
from .planning import MPTargetInCollisionError as MPTargetInCollisionError
from .planning import NotConnectedError as NotConnectedError
from .planning import OutOfReachError as OutOfReachError
from .planning import PathInvalidError as PathInvalidError
from .planning import PlanningError as PlanningError
from .planning import StartBeyondLimitsError as StartBeyondLimitsError
from .planning import TargetModeMismatchError as TargetModeMismatchError
from .requests import CancelledError as CancelledError
from .requests import InternalError as InternalError
from .requests import InvalidRequestError as InvalidRequestError
from .requests import InvalidValueError as InvalidValueError
from .requests import LimitExceededError as LimitExceededError
from .requests import NotActiveError as NotActiveError
from .requests import NotSupportedError as NotSupportedError
from .requests import TimedOutError as TimedOutError
from .requests import UnknownNameError as UnknownNameError
from .requests import WorkerCrashedError as WorkerCrashedError
from .simulation import ControllerError as ControllerError
from .simulation import DisturbanceError as DisturbanceError
from .simulation import SimulationError as SimulationError


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
