"""Conversions of requests and results of inverse kinematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner import msg

from ...collision.report import CollisionPair
from ...errors import RobotCellError
from ...kinematics.ik.failure import IkFailure, IkFailureReason
from ...kinematics.ik.options import IkOrder, IkResult, IkSolver
from .basic import error_to_message
from .collisions import pair_to_message

ORDERS = {
    msg.IkOptions.NEAREST_TO_SEED: IkOrder.NEAREST_TO_SEED,
    msg.IkOptions.FARTHEST_FROM_LIMITS: IkOrder.FARTHEST_FROM_LIMITS,
    msg.IkOptions.MOST_MANIPULABLE: IkOrder.MOST_MANIPULABLE,
}
SOLVERS = {"": IkSolver.AUTO, "analytic": IkSolver.ANALYTIC, "numeric": IkSolver.NUMERIC}
NO_OTHERS: Mapping[str, float] = {}
REASONS = {reason: getattr(msg.IkFailure, reason.name) for reason in IkFailureReason}


def solved_to_message(found: IkResult, others: Mapping[str, float] = NO_OTHERS) -> msg.IkResult:
    """Return the result of a target with solutions.

    others: values of joints to add to the solutions, whose order is that of these joints then.
    """
    columns = zip(
        [_values(found.variables, row, others) for row in found.solutions],
        found.residuals.tolist(),
        found.limit_distances().tolist(),
        found.manipulabilities().tolist(),
        strict=True,
    )
    solutions = [
        msg.IkSolution(
            positions=positions,
            position_residual=distance,
            orientation_residual=angle,
            limit_distance=limit_distance,
            manipulability=manipulability,
        )
        for positions, (distance, angle), limit_distance, manipulability in columns
    ]
    return msg.IkResult(solutions=solutions, complete=found.complete, solver=found.solver)


def _values(variables: tuple[str, ...], q: NDArray[np.float64], others: Mapping[str, float]) -> list[float]:
    """Return the values of a configuration (n,), or those of all joints of `others` with the configuration in place."""
    own: list[float] = q.tolist()
    return list({**others, **dict(zip(variables, own, strict=True))}.values()) if others else own


def failed_to_message(
    error: RobotCellError,
    pairs: Sequence[CollisionPair] = (),
    others: Mapping[str, float] = NO_OTHERS,
    *,
    contacts: bool = True,
) -> msg.IkResult:
    """Return the result of a target without solution.

    pairs: collisions of the first rejected one; contacts: with points, normals and depths. others: as for
    `solved_to_message`, for the closest configuration.
    """
    result = msg.IkResult(error=error_to_message(error))
    if isinstance(error.partial, IkFailure):
        result.failure = ik_failure_to_message(error.partial, pairs, contacts=contacts)
        closest = error.partial.closest
        if closest is not None:
            result.failure.closest.positions = _values(closest.variables, np.asarray(closest.positions), others)
    return result


def ik_failure_to_message(
    failure: IkFailure, pairs: Sequence[CollisionPair] = (), *, contacts: bool = True
) -> msg.IkFailure:
    """Return why a target has no solution. pairs, contacts: as for `failed_to_message`."""
    message = msg.IkFailure(
        reason=REASONS[failure.reason],
        excess=failure.excess,
        joints=list(failure.joints),
        joint_excess=[float(value) for value in failure.joint_excess],
        pairs=[pair_to_message(pair, contacts=contacts) for pair in pairs],
    )
    closest = failure.closest
    if closest is not None:
        message.closest = msg.IkSolution(
            positions=np.asarray(closest.positions).tolist(),
            position_residual=float(closest.distance),
            orientation_residual=float(closest.angle),
            limit_distance=float(closest.limit_distance),
            manipulability=float(closest.manipulability),
        )
    return message
