"""What all stages of a request share, and the check of where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..cell.cell import RobotCell
from ..cell.state import RobotCellState
from ..collision.checker import CollisionChecker
from ..collision.report import CollisionReport
from ..collision.rules import CollisionOptions
from ..errors import MPStartStateInCollisionError, Value
from .checks import CountedChecks
from .plan import PlanFailure
from .space import JointSpace, joint_space
from .watch import Watch


@dataclass(frozen=True, eq=False)
class Job:
    """A request being served: the cell, the state it starts from, the joints that move, and the checks that count."""

    cell: RobotCell
    state: RobotCellState
    space: JointSpace
    checks: CountedChecks
    watch: Watch


def start_job(
    cell: RobotCell,
    state: RobotCellState,
    group: str,
    joints: Sequence[str],
    *,
    engine: str,
    extra_margin: float,
    state_limit: int,
    watch: Watch,
) -> Job:
    """The job of a request.

    Raises:
        StateError, UnknownNameError, FrameCycleError: the state does not fit the cell, or a name is not there.
        StartBeyondLimitsError: the state is beyond position limits.
    """
    cell.check_state(state)
    space = joint_space(cell, state, group, joints)
    rules = CollisionOptions(extra_margin=extra_margin)
    checker = CollisionChecker(cell, state, space.variables, engine=engine, options=rules)
    return Job(cell, state, space, CountedChecks(checker, watch, state_limit), watch)


def check_start(job: Job) -> None:
    """Refuse a start in collision.

    Raises:
        MPStartStateInCollisionError: with all pairs; `partial` is a `PlanFailure`.
    """
    if job.checks.state_free(job.space.start):
        return
    report = job.checks.checker.report(job.space.start)
    raise MPStartStateInCollisionError(
        f"the start state is in collision: {report}",
        stage="start",
        subjects=names_of(report),
        values=tuple(Value(f"{p.first} - {p.second}", p.distance, p.margin, "m") for p in report.pairs),
        partial=PlanFailure(start_pairs=report.pairs, states_checked=job.checks.states),
    )


def names_of(report: CollisionReport) -> tuple[str, ...]:
    """Who collides, each once."""
    return tuple(dict.fromkeys(name for pair in report.pairs for name in (pair.first, pair.second)))
