"""Goal configurations of a request: from joint values, named states, and inverse kinematics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..cell.cell import RobotCell
from ..cell.state import RobotCellState
from ..cell.suggestions import unknown_name
from ..errors import (
    AllSolutionsInCollisionError,
    GoalInCollisionError,
    InverseKinematicsError,
    JointLimitError,
    MPNoIKSolutionError,
    RobotCellError,
    UnknownNameError,
    Value,
)
from ..kinematics.ik_options import IkOptions
from ..kinematics.inverse import inverse_kinematics
from ..kinematics.targets import Target
from ..trajectory.limits import Array
from .checks import CountedChecks
from .job import names_of
from .plan import GoalFailure, PlanFailure
from .request import MotionRequest
from .space import JointSpace, unit_of

STAGE = "goals"


@dataclass(frozen=True, eq=False)
class GoalConfiguration:
    """A free configuration (dof,) at which a goal is reached, and the goal's number."""

    goal: int
    q: Array


def goal_configurations(
    cell: RobotCell, state: RobotCellState, space: JointSpace, request: MotionRequest, checks: CountedChecks
) -> list[GoalConfiguration]:
    """All free configurations that reach a goal, those nearest to the start first.

    Raises:
        JointLimitError, GoalInCollisionError, MPNoIKSolutionError: no goal can be used; each goal's reason is in the
            `PlanFailure` in `partial`.
        UnknownNameError: a joint or named state that does not exist.
        TargetModeMismatchError: the state cannot offer a target's mode.
    """
    goals = request.goals
    found: list[GoalConfiguration] = []
    failures: list[GoalFailure] = []
    for index in range(goals.count):
        try:
            found.extend(GoalConfiguration(index, q) for q in _reach(index, cell, state, space, request, checks))
        except (JointLimitError, GoalInCollisionError, MPNoIKSolutionError) as error:
            failures.append(GoalFailure(index, error))
    if not found:
        raise _no_goal(failures, checks)
    found.sort(key=lambda goal: float(np.linalg.norm(goal.q - space.start)))
    return found


def _reach(
    index: int,
    cell: RobotCell,
    state: RobotCellState,
    space: JointSpace,
    request: MotionRequest,
    checks: CountedChecks,
) -> list[Array]:
    goals = request.goals
    if index < len(goals.joint_goals):
        return _joint_goal(index, goals.joint_goals[index], space, checks)
    index -= len(goals.joint_goals)
    if index < len(goals.named_states):
        name = goals.named_states[index]
        values = cell.robot_of_group(space.group).named_state(space.group, name)
        return _joint_goal(index, {k: v for k, v in values.items() if k in space.variables}, space, checks, name)
    return _target_goal(goals.targets[index - len(goals.named_states)], cell, state, space, checks)


def _joint_goal(
    index: int, values: Mapping[str, float], space: JointSpace, checks: CountedChecks, name: str = ""
) -> list[Array]:
    what = f"named state {name}" if name else f"joint goal {index}"
    for joint in values:
        if joint not in space.variables:
            text = unknown_name(f"joint {joint!r} of {what}", joint, space.variables)
            raise UnknownNameError(text, stage=STAGE, subjects=(joint,))
    q = space.start.copy()
    for column, variable in enumerate(space.variables):
        q[column] = values.get(variable, q[column])
    _check_limits(q, space, what)
    if not checks.state_free(q):
        raise _in_collision(what, q, checks)
    return space.equivalents(q, continuous_only=True)


def _check_limits(q: Array, space: JointSpace, what: str) -> None:
    beyond = []
    for variable, value in zip(space.definitions, q.tolist(), strict=True):
        low, high = variable.limits.lower, variable.limits.upper
        if not low <= value <= high:
            beyond.append(Value(variable.name, value, low if value < low else high, unit_of(variable)))
    if beyond:
        names = tuple(value.name for value in beyond)
        text = f"{what} is beyond limits of joint {', '.join(names)}"
        raise JointLimitError(text, stage=STAGE, subjects=names, values=tuple(beyond))


def _in_collision(what: str, q: Array, checks: CountedChecks) -> GoalInCollisionError:
    report = checks.checker.report(q)
    text = f"{what} is in collision: {report}"
    return GoalInCollisionError(text, stage=STAGE, subjects=names_of(report), partial=report)


def _target_goal(
    target: Target, cell: RobotCell, state: RobotCellState, space: JointSpace, checks: CountedChecks
) -> list[Array]:
    def explain(q: Array) -> tuple[str, ...]:
        return tuple(f"{pair.first} - {pair.second}" for pair in checks.checker.report(q).pairs)

    try:
        result = inverse_kinematics(
            cell, state, target, space.group, IkOptions(), checks.state_free, explain, space.variables
        )
    except AllSolutionsInCollisionError as error:
        raise GoalInCollisionError(
            error.message, stage=STAGE, subjects=error.subjects, values=error.values, partial=error.partial
        ) from error
    except InverseKinematicsError as error:
        raise MPNoIKSolutionError(
            error.message, stage=STAGE, subjects=error.subjects, values=error.values, partial=error.partial
        ) from error
    return [q for solution in result.solutions for q in space.equivalents(solution, continuous_only=False)]


def _no_goal(failures: list[GoalFailure], checks: CountedChecks) -> RobotCellError:
    """The error of the only goal, or one that lists all."""
    kinds = {type(failure.error) for failure in failures}
    kind = next(iter(kinds)) if len(kinds) == 1 else GoalInCollisionError
    if len(kinds) > 1 and GoalInCollisionError not in kinds:
        kind = MPNoIKSolutionError
    messages = [f"goal {failure.goal}: {failure.error.message}" for failure in failures]
    text = failures[0].error.message if len(failures) == 1 else "no goal can be used: " + "; ".join(messages[:8])
    subjects = tuple(dict.fromkeys(name for failure in failures for name in failure.error.subjects))
    values = tuple(value for failure in failures for value in failure.error.values)[:16]
    partial = PlanFailure(goals=tuple(failures), states_checked=checks.states, motions_checked=checks.motions)
    return kind(text, stage=STAGE, subjects=subjects, values=values, partial=partial)
