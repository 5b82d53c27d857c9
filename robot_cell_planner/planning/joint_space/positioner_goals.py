"""Targets of an arm in a frame that a positioner moves, such as a turntable: values of its joints are chosen with the
configuration of the arm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import AllSolutionsInCollisionError, InverseKinematicsError
from ...kinematics.chain import joints_to
from ...kinematics.ik.composite import composite_inverse_kinematics
from ...kinematics.ik.options import IkOptions, IkResult
from ...kinematics.ik.seeds import halton
from ...kinematics.model import cell_model
from ...kinematics.targets import Target
from ...trajectory.limits import Array
from ..problem.context import PlanningContext
from ..problem.space import TURN, JointSpace

MAX_VALUES = 48  # values of the positioner at which the arm is solved for
MAX_REACHED = 3  # values at which it has free solutions
OPTIONS = IkOptions(max_solutions=16, max_restarts=10)

Explanation = Callable[[Array], tuple[str, ...]]


@dataclass(frozen=True)
class Positioner:
    """Positioner of a composite group, and the arm that works on its part.

    Attributes:
        arm: Planning group of the arm.
        variables: Planned joints between the world and the reference frame of the target.
    """

    arm: str
    variables: tuple[str, ...]


def positioner_of(context: PlanningContext, target: Target) -> Positioner | None:
    """Return the positioner that moves the reference frame of a target for a composite group; None if no group moves
    it, or if the target could be for several of the others.
    """
    cell, group = context.cell, context.space.group
    parts = cell.target_groups(group)
    if len(parts) < 2:
        return None
    moving = set(joints_to(cell_model(cell, context.state), target.reference_frame).variables)
    moving &= set(context.space.variables)
    arms = [part for part in parts if not moving & set(cell.group(part).variables)]
    if not moving or len(arms) != 1:
        return None
    return Positioner(arms[0], tuple(name for name in context.space.variables if name in moving))


def positioner_values(space: JointSpace, variables: tuple[str, ...]) -> Array:
    """Return values (k, n) of joints of a positioner, at most `MAX_VALUES`, those of the start first and the others in
    the order of their distance to it. One joint has values at equal distances, several have points of a sequence.
    """
    columns = [space.variables.index(name) for name in variables]
    start, angular = space.start[columns], np.array([space.definitions[column].angular for column in columns])
    lower, upper = space.lower[columns], space.upper[columns]
    lower = np.where(angular, np.maximum(lower, start - 0.5 * TURN), lower)
    upper = np.where(angular, np.minimum(upper, start + 0.5 * TURN), upper)
    others = MAX_VALUES - 1
    fractions = halton(others, len(columns), 0)
    if len(columns) == 1:
        fractions = np.linspace(0.0, 1.0, others)[:, None]
    values = lower + fractions * (upper - lower)
    order = np.argsort(np.linalg.norm(values - start, axis=1), kind="stable")
    return np.vstack((start, values[order]))


def solve_with_positioner(
    context: PlanningContext, target: Target, positioner: Positioner, explain: Explanation, check: Callable[[], None]
) -> IkResult:
    """Return free configurations of a composite group in which its arm reaches a target on the positioner: at the start
    values of the positioner if there are some, or else at up to `MAX_REACHED` values nearest to them.

    Args:
        explain: Returns the problems of a configuration, for the error.
        check: Called before each value of the positioner; may raise.

    Raises:
        AllSolutionsInCollisionError, InverseKinematicsError: No value has a free solution. The error is that of the
            first values, those of the start, or that of a collision if the arm reaches the target in one.
    """
    space, found, errors = context.space, list[IkResult](), list[InverseKinematicsError]()
    start = dict(zip(space.variables, space.start.tolist(), strict=True))
    rows: list[list[float]] = positioner_values(space, positioner.variables).tolist()
    for row in rows:
        check()
        placed = {**start, **dict(zip(positioner.variables, row, strict=True))}
        try:
            result = composite_inverse_kinematics(
                context.cell,
                context.state.with_configuration(placed),
                {positioner.arm: target},
                space.group,
                OPTIONS,
                context.checks.state_free,
                explain,
                space.variables,
            )
        except InverseKinematicsError as error:
            errors.append(error)
            continue
        found.append(result)
        if len(found) == MAX_REACHED or row is rows[0]:  # the positioner stays where the arm reaches the target
            break
    if not found:
        raise _no_solution(errors, len(rows), positioner)
    solutions, residuals = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("solutions", "residuals")
    )
    first = found[0]
    return IkResult(first.variables, solutions, residuals, first.solver, False, first.chains, first.limits)


def _no_solution(errors: list[InverseKinematicsError], count: int, positioner: Positioner) -> InverseKinematicsError:
    first = next((error for error in errors if isinstance(error, AllSolutionsInCollisionError)), errors[0])
    names = ", ".join(positioner.variables)
    text = f"{first.message}; {positioner.arm} has no free solution at any of {count} values of {names}"
    return first.with_message(text)
