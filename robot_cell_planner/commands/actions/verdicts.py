"""What the verification of a plan found, in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...errors import PathInvalidError, RobotCellError, StateError, TrajectoryStartError, distinct_texts
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...planning.path.plan_check import END_TOLERANCE
from ...planning.problem.plan import Plan

START_REMEDY = (
    "Repeat the --from and --from-joint that the plan was made with; of several plans, each begins where the one "
    "before ends. From a robot that has moved, plan again."
)
MOVED_REMEDY = "Plan from where the robot is (`robot_cell plan @running`), or move it back by a plan to that start."
CELL_REMEDY = "Give the cell file that the plan was made for, or plan again."


def explained(
    violations: Iterable[RobotCellError], cell: RobotCell, state: RobotCellState, plan: Plan
) -> Iterator[RobotCellError]:
    """Yield the violations of a plan; those about another start say which joint differs most."""
    for error in violations:
        if isinstance(error, StateError) and error.subjects == ("cell",):
            error.remedy = CELL_REMEDY
        elif isinstance(error, StateError) or (isinstance(error, PathInvalidError) and _is_about_start(error)):
            error = error.with_message(f"{error.message}; {difference(cell, state, plan)}")
            error.remedy = START_REMEDY
        yield error


def explained_start(error: TrajectoryStartError, cell: RobotCell, state: RobotCellState, plan: Plan) -> RobotCellError:
    """Return the error about a robot that is not where a plan begins, with the joint that differs most."""
    found = error.with_message(f"{error.message}; {difference(cell, state, plan)}")
    found.remedy = MOVED_REMEDY
    return found


def _is_about_start(error: RobotCellError) -> bool:
    return "begin at the state" in error.message


def difference(cell: RobotCell, state: RobotCellState, plan: Plan) -> str:
    """Return the joint of a plan that differs most in a state from where the plan begins, with both values."""
    begin = dict(zip(plan.variables, plan.path[0].tolist(), strict=True))
    if unknown := sorted(begin.keys() - state.configuration.keys()):
        return f"the cell has no joint {', '.join(unknown)}"
    worst = max(begin, key=lambda name: abs(begin[name] - state.configuration[name]))
    if abs(begin[worst] - state.configuration[worst]) <= END_TOLERANCE:
        return "the plan's joints are where it begins, so that another joint, a tool or a body differs"
    unit = cell.variables[worst].unit
    first, here = distinct_texts(begin[worst], state.configuration[worst])
    return f"{worst} differs most: the plan begins at {first} {unit}, and this state has {here} {unit}"
