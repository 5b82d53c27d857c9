"""Analysis of inverse kinematics failures: reason and closest configuration."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...errors import (
    AllSolutionsInCollisionError,
    BeyondJointLimitsError,
    InverseKinematicsError,
    OutOfReachError,
    RobotCellError,
    TimedOutError,
    Value,
)
from ...errors.remedies import IN_METRES
from .._kernels import ik_kernels, wrapping_kernels
from .._kernels.pose_error_kernels import ANY_ROTATION, fill_error
from .options import ClosestConfiguration, limit_distances, manipulability
from .problem import IkProblem, is_proven_out_of_reach, unlimited
from .seeds import random_starts

Array = NDArray[np.float64]
STARTS = 24  # number of starts of each diagnostic search
ITERATIONS = 150
DIRECTIONS_MOVED = "directions moved"  # value of errors
RANK_SAMPLES = 4  # random configurations at which the rank of the Jacobian is evaluated
POSITION = 3  # directions that a target without an orientation constrains
SINGULAR = 1e-3  # configurations with a smaller singular value are singular
MILLIMETRES = 10.0  # [m] targets that are further out of reach are probably in mm
ROUNDED = 2e-3  # [m, rad] angles of three digits, such as 3.14 for pi, differ by less


class IkFailureReason(str, Enum):
    """Reason why a target has no solution."""

    OUT_OF_REACH = "out of reach"
    BEYOND_JOINT_LIMITS = "beyond joint limits"
    IN_COLLISION = "in collision"
    SINGULAR = "singular"
    NOT_FOUND = "not found"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, eq=False)
class IkFailure:
    """Details of an inverse kinematics failure, stored in `partial` of the error.

    Attributes:
        excess: Distance [m] by which the target is out of reach, in any orientation or in its own.
        joints, joint_excess: Joints beyond limits and by how much [rad, m], for the solution with the smallest excess.
        pairs: Reported problems of the first solution that was not valid.
        closest: Closest configuration within limits, valid or not, or None.
    """

    reason: IkFailureReason
    closest: ClosestConfiguration | None = None
    excess: float = 0.0
    joints: tuple[str, ...] = ()
    joint_excess: tuple[float, ...] = ()
    pairs: tuple[str, ...] = ()


@dataclass
class Traces:
    """Intermediate results of a search, used to explain a failure.

    Attributes:
        beyond: Solution (n,) beyond limits with the smallest excess.
        invalid: First solution that `is_valid` refused.
        closest: Configuration (n,) within limits with the smallest residual distance and angle.
    """

    beyond: Array | None = None
    beyond_excess: float = np.inf
    invalid: Array | None = None
    closest: Array | None = None
    left: tuple[float, float] = (np.inf, np.inf)

    def note_beyond(self, solutions: Array, problem: IkProblem) -> None:
        """Record solutions (k, n) found without limits."""
        for q in solutions.copy():
            excess = wrapping_kernels.wrap_into_limits(q, problem.start, problem.joints.limits, problem.joints.angular)
            if 0.0 < excess < self.beyond_excess:
                self.beyond, self.beyond_excess = q, excess

    def note_closest(self, q: Array, distance: float, angle: float) -> None:
        """Record a configuration (n,) within limits if it is the closest one so far."""
        if distance**2 + angle**2 < self.left[0] ** 2 + self.left[1] ** 2:
            self.closest, self.left = q.copy(), (distance, angle)


def closest_configuration(problem: IkProblem, q: Array, distance: float, angle: float) -> ClosestConfiguration:
    return ClosestConfiguration(
        variables=problem.joints.variables,
        positions=q,
        distance=distance,
        angle=angle,
        limit_distance=float(limit_distances(q[None], problem.joints.limits)[0]),
        manipulability=manipulability(problem.chain.jacobian(q)),
    )


def timed_out(problem: IkProblem, traces: Traces, timeout: float) -> TimedOutError:
    failure = IkFailure(IkFailureReason.TIMED_OUT, _closest(problem, traces))
    return TimedOutError(
        f"the time limit ended the search of frame {problem.frame}",
        stage="inverse kinematics",
        subjects=(problem.frame,),
        values=(Value("timeout", timeout, None, "s"),),
        partial=failure,
    )


def failure_of(problem: IkProblem, traces: Traces, pairs: tuple[str, ...], closed: bool) -> RobotCellError:
    """Return the error that describes best why a search failed.

    Args:
        problem: Problem that was not solved.
        traces: Intermediate results of the search.
        pairs: Problems of `traces.invalid`.
        closed: Whether an analytic solver that finds all solutions was used.
    """
    if traces.invalid is not None:
        return _in_collision(problem, traces, pairs, closed)
    proven = is_proven_out_of_reach(problem)
    _refine(problem, traces, beyond_limits=not proven)
    if traces.beyond is not None:
        return _beyond_limits(problem, traces, closed)
    closest = _closest(problem, traces)
    distance = _distance_of_point(problem)
    if distance > problem.tolerance[0]:
        text = f"the target of {problem.frame} lies {distance:.4g} m out of reach"
        values: tuple[Value, ...] = (Value("out of reach", distance, 0.0, "m"),)
        failure = IkFailure(IkFailureReason.OUT_OF_REACH, closest, distance)
        remedy = IN_METRES if distance > MILLIMETRES else ""
        return OutOfReachError(text, subjects=(problem.frame,), values=values, partial=failure, remedy=remedy)
    left, angle = traces.left
    values = (Value("distance left", left, problem.tolerance[0], "m"),)
    values = (*values, Value("angle left", angle, problem.tolerance[1], "rad"))
    constrained, moved = 6 - len(problem.free_axes), directions_moved(problem)
    if moved < constrained:
        failure = IkFailure(IkFailureReason.NOT_FOUND, closest, left)
        if left < ROUNDED and problem.tolerance[1] < angle < ROUNDED:
            text = _rounded_angles(problem, angle)
        else:
            values = (*values, Value(DIRECTIONS_MOVED, moved, constrained))
            text = _too_few_joints(problem, constrained, moved)
        return InverseKinematicsError(text, subjects=(problem.frame,), values=values, partial=failure)
    if closed or proven:
        text = f"the target of {problem.frame} is out of reach in its orientation"
        failure = IkFailure(IkFailureReason.OUT_OF_REACH, closest, left)
        return OutOfReachError(text, subjects=(problem.frame,), values=values, partial=failure)
    smallest = float(np.linalg.svd(problem.chain.jacobian(_found(traces)), compute_uv=False)[-1])
    if smallest < SINGULAR and left < 0.05 and angle < 0.1:
        text = f"the search of {problem.frame} ended in a singular configuration"
        values = (*values, Value("smallest singular value", smallest, SINGULAR))
        failure = IkFailure(IkFailureReason.SINGULAR, closest)
        return InverseKinematicsError(text, subjects=(problem.frame,), values=values, partial=failure)
    text = f"{problem.frame} can reach the target's point but not in its orientation as far as was searched"
    failure = IkFailure(IkFailureReason.NOT_FOUND, closest)
    return InverseKinematicsError(text, subjects=(problem.frame,), values=values, partial=failure)


def directions_moved(problem: IkProblem) -> int:
    """Return in how many directions, translations and rotations that the target constrains, the joints move the frame:
    the largest rank of the task Jacobian at random configurations.
    """
    starts = random_starts(RANK_SAMPLES, problem.joints.limits, problem.start, seed=0)
    jacobians = ik_kernels.task_jacobians(problem.chain.table, starts, problem.rotation_weights)
    return int(np.linalg.matrix_rank(jacobians, tol=SINGULAR).max())


def _too_few_joints(problem: IkProblem, constrained: int, moved: int) -> str:
    joints = sum(problem.chain.used)
    text = (
        f"the target of {problem.frame} was not reached: it constrains {constrained} directions, and the {joints} "
        f"joint{'s' * (joints > 1)} of the chain move{'s' * (joints == 1)} the frame in {moved} of them; give a pose "
        f"that these joints reach, or free rotations of the target"
    )
    if moved < POSITION:
        return text
    found = ["tolerance_angle 3.14 (orientation_tolerance of messages) for a position only"]
    if constrained == 6:
        found.insert(0, "tolerance_angles 3.14 (axis_tolerances) about single axes")
    if moved == 5 and constrained == 6:
        found.insert(0, "a PointAxisTarget or PointAxisWaypoints (type POINT_AXIS)")
    return f"{text}: {', or '.join(found)}"


def _rounded_angles(problem: IkProblem, angle: float) -> str:
    return (
        f"the target of {problem.frame} was not reached: its orientation differs by {angle:.3g} rad from those that "
        "the joints reach; if its angles are rounded, give more digits (pi is 3.141592653589793), else a "
        "tolerance_angle (orientation_tolerance of messages) above that"
    )


def _every_solution(problem: IkProblem, closed: bool) -> str:
    """Return the subject of a sentence about all solutions, or about those that were found without a closed form."""
    return f"every solution of {problem.frame}" + ("" if closed else " that was found (there may be others)")


def _in_collision(problem: IkProblem, traces: Traces, pairs: tuple[str, ...], closed: bool) -> RobotCellError:
    assert traces.invalid is not None
    closest = closest_configuration(problem, traces.invalid, *_residual(problem, traces.invalid))
    listed = f": {', '.join(pairs[:6])}" if pairs else ""
    return AllSolutionsInCollisionError(
        f"{_every_solution(problem, closed)} is in collision{listed}",
        subjects=pairs,
        partial=IkFailure(IkFailureReason.IN_COLLISION, closest, pairs=pairs),
    )


def _beyond_limits(problem: IkProblem, traces: Traces, closed: bool) -> RobotCellError:
    assert traces.beyond is not None
    lower, upper = problem.joints.limits[:2]
    values: list[Value] = []
    excesses: list[float] = []
    for index, name in enumerate(problem.joints.variables):
        value = float(traces.beyond[index])
        excess = max(lower[index] - value, value - upper[index])
        if excess > 0.0:
            limit = lower[index] if value < lower[index] else upper[index]
            unit = "rad" if problem.joints.angular[index] else "m"
            values.append(Value(name, value, float(limit), unit))
            excesses.append(float(excess))
    names = tuple(value.name for value in values)
    by = ", ".join(f"{name} by {excess:.4g}" for name, excess in zip(names, excesses, strict=True))
    return BeyondJointLimitsError(
        f"{_every_solution(problem, closed)} is beyond joint limits; the nearest exceeds {by}",
        subjects=names,
        values=tuple(values),
        partial=IkFailure(
            IkFailureReason.BEYOND_JOINT_LIMITS,
            _closest(problem, traces),
            joints=names,
            joint_excess=tuple(excesses),
        ),
    )


def _refine(problem: IkProblem, traces: Traces, beyond_limits: bool) -> None:
    """Search without limits for solutions `beyond_limits`, and within limits for the closest configuration."""
    joints = problem.joints
    starts = np.vstack((problem.start[None], random_starts(STARTS, joints.limits, problem.start, seed=0)))
    if beyond_limits and traces.beyond is None:
        free = unlimited(joints).limits
        found, _, _, _ = ik_kernels.search(
            problem.chain.table, problem.target, problem.rotation_weights, starts, free, joints.angular,
            problem.tolerance, ITERATIONS, 8, ik_kernels.STALL_TOLERANCE,
        )  # fmt: skip
        traces.note_beyond(found, problem)
    if traces.closest is None:
        _, _, closest, facts = ik_kernels.search(
            problem.chain.table, problem.target, problem.rotation_weights, starts, joints.limits, joints.angular,
            problem.tolerance, ITERATIONS, 1, ik_kernels.STRICT_STALL_TOLERANCE,
        )  # fmt: skip
        traces.note_closest(closest, float(facts[0]), float(facts[1]))


def _distance_of_point(problem: IkProblem) -> float:
    """Return the min distance [m] of the frame's origin from the target point in any orientation, without limits."""
    joints = problem.joints
    starts = np.vstack((problem.start[None], random_starts(STARTS, joints.limits, problem.start, seed=0)))
    free = unlimited(joints).limits
    _, _, _, facts = ik_kernels.search(
        problem.chain.table, problem.target, ANY_ROTATION, starts, free, joints.angular, problem.tolerance,
        ITERATIONS, 1, ik_kernels.STRICT_STALL_TOLERANCE,
    )  # fmt: skip
    return float(facts[0])


def _found(traces: Traces) -> Array:
    assert traces.closest is not None
    return traces.closest


def _closest(problem: IkProblem, traces: Traces) -> ClosestConfiguration | None:
    return None if traces.closest is None else closest_configuration(problem, traces.closest, *traces.left)


def _residual(problem: IkProblem, q: Array) -> tuple[float, float]:
    error = np.empty(6)
    distance, angle = fill_error(problem.target, problem.chain.forward(q.copy()), problem.rotation_weights, error)
    return float(distance), float(angle)
