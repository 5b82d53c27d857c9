"""Errors of Cartesian planning, each with the completed part of the path."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from ....collision.report import CollisionPair
from ....errors import (
    AllSolutionsInCollisionError,
    InverseKinematicsError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    MPTargetInCollisionError,
    PlanningError,
    Value,
)
from ....kinematics._kernels import ik_kernels
from ....kinematics.ik.failure import IkFailure
from ....kinematics.ik.options import IkOptions
from ....kinematics.ik.problem import IkProblem, ik_problem, unlimited, within_limits
from ....kinematics.ik.solver import solve
from ....kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from ....model.pose import Pose
from ....trajectory.limits import Array
from ...path.finish import Origin, bare_plan
from ...problem.context import PlanningContext, names_of
from ...problem.plan import CartesianReport
from ...problem.space import unit_of
from ..path.cartesian_path import CartesianPath
from ..path.options import CartesianOptions
from ..path.points import Edges, Point
from ..path.waypoints import FrameWaypoints

CONTINUED_ITERATIONS = 40  # of inverse kinematics beyond a limit


class TrackedPath(Protocol):
    """Interface of an IK tracker for error reports."""

    context: PlanningContext
    cartesian_path: CartesianPath
    options: CartesianOptions
    problem: IkProblem
    origin: Origin
    max_jumps: Array

    def note(self, text: str) -> None:
        """Add a line to the log."""

    def report(self) -> CartesianReport:
        """Return the report of the completed part."""

    def path(self) -> Array:
        """Return the configurations reached (n, dof)."""


class SolvedPath(TrackedPath, Protocol):
    """Interface of an IK tracker that searches solutions.

    unreachable: errors of searches that found none, by pose.
    """

    unreachable: dict[bytes, InverseKinematicsError]


def solution_at(tracked: SolvedPath, target: Array, waypoint: int, near: Array, free: bool) -> Array:
    """Return the solution at a pose (4, 4) nearest to a configuration. free: only collision-free solutions.

    A pose at which a search found no solution is not searched again: that takes longer than anything else.

    Raises:
        MPNoIKSolutionError, MPTargetInCollisionError: There is none, or only colliding ones.
    """
    context = tracked.context
    state = context.state.with_configuration(dict(zip(context.space.variables, near.tolist(), strict=True)))

    def explain(q: Array) -> tuple[str, ...]:
        return tuple(f"{pair.first} - {pair.second}" for pair in context.checks.checker.report(q).pairs)

    try:
        if target.tobytes() in tracked.unreachable:
            raise tracked.unreachable[target.tobytes()]
        valid = context.checks.state_free if free else None
        problem = ik_problem(
            context.cell, state, _as_target(tracked, target), context.space.group, context.space.variables
        )
        problem = within_limits(problem, context.space.definitions)
        found = solve(problem, IkOptions(max_solutions=1), valid, explain)
    except AllSolutionsInCollisionError as error:
        text = f"waypoint {waypoint} cannot be reached without collision: {error.message}"
        kind = MPTargetInCollisionError
        raise tracking_error(tracked, kind, text, target, waypoint, error.subjects, error.values) from error
    except InverseKinematicsError as error:
        tracked.unreachable[target.tobytes()] = error
        text = f"no inverse kinematics solution on the segment to waypoint {waypoint}: {error.message}"
        names, values = error.subjects, error.values
        raise tracking_error(tracked, MPNoIKSolutionError, text, target, waypoint, names, values, ik=error) from error
    return found.best


def _as_target(tracked: TrackedPath, target: Array) -> FrameTarget | PointAxisTarget:
    waypoints, frame = tracked.cartesian_path.waypoints, tracked.problem.frame
    tolerance, _ = waypoints.target(0).tolerances
    angle = waypoints.tolerance_angle
    if isinstance(waypoints, FrameWaypoints):
        return FrameTarget(
            pose=Pose.from_matrix(target),
            mode=TargetMode.FRAME,
            frame=frame,
            tolerance_position=tolerance,
            tolerance_angle=angle,
            tolerance_angles=waypoints.tolerance_angles,
        )
    x, y, z = target[:3, 3].tolist()
    along = target[:3, 2].tolist()
    return PointAxisTarget(
        point=(x, y, z),
        axis=(along[0], along[1], along[2]),
        mode=TargetMode.FRAME,
        frame=frame,
        tolerance_position=tolerance,
        tolerance_angle=angle,
    )


def collision_error(tracked: TrackedPath, point: Point, q: Array) -> PlanningError:
    """Return the error for a motion to a point that collides at q (dof,)."""
    waypoint = tracked.cartesian_path.segments[point.segment].waypoint
    found = tracked.context.checks.checker.report(q)
    text = f"the motion to waypoint {waypoint} is in collision: {found}"
    values = tuple(Value(f"{p.first} - {p.second}", p.distance, p.margin, "m") for p in found.pairs)
    target = tracked.cartesian_path.pose(point.segment, point.fraction)
    kind = MPInterpolationInCollisionError
    return tracking_error(tracked, kind, text, target, waypoint, names_of(found.pairs), values, pairs=found.pairs)


def deviation_error(tracked: TrackedPath, edge: Edges, distance: float, angle: float) -> PlanningError:
    """Return the error for a motion at min spacing that deviates from the path by a distance [m] and an angle [rad]."""
    options, number, end = tracked.options, int(edge.segments[0]), float(edge.ends[0])
    segment = tracked.cartesian_path.segments[number]
    text = f"the frame deviates from the segment to waypoint {segment.waypoint} between points at min spacing"
    values = (
        Value("deviation", distance, options.max_deviation or None, "m"),
        Value("deviation angle", angle, options.max_deviation_angle or None, "rad"),
    )
    target = tracked.cartesian_path.pose(number, end)
    return tracking_error(tracked, MPMaxJumpError, text, target, segment.waypoint, (tracked.problem.frame,), values)


def joint_jump_error(
    tracked: TrackedPath,
    q: Array,
    found: Array,
    segment: int,
    fraction: float,
    problem: IkProblem | None = None,
    target: Array | None = None,
) -> PlanningError:
    """Return the error for a joint jump from q (dof,) before a fraction of a segment. If the path continues without a
    jump beyond the limit of a joint, the error names that joint.

    problem, target: Those of a follower that jumps, if it is not the chain of the path, with its pose (4, 4).
    """
    waypoint, pose = tracked.cartesian_path.segments[segment].waypoint, tracked.cartesian_path.pose(segment, fraction)
    jumps = np.abs(found - q)
    worst = int(np.argmax(jumps / tracked.max_jumps))
    variable = tracked.context.space.definitions[worst]
    text = f"joint {variable.name} would jump on the segment to waypoint {waypoint}"
    limit, unit = float(tracked.max_jumps[worst]), unit_of(variable)
    values: tuple[Value, ...] = (
        Value(f"jump of {variable.name}", float(jumps[worst]), limit if np.isfinite(limit) else None, unit),
        Value("from", float(q[worst]), None, unit),
        Value("to", float(found[worst]), None, unit),
    )
    names: tuple[str, ...] = (variable.name,)
    limiting = _limit_passed(tracked, q, problem or tracked.problem, pose if target is None else target)
    if limiting is not None:
        side, at = limiting
        jumping = "it" if at.name == variable.name else f"joint {variable.name}"
        text = (
            f"joint {at.name} reaches its {side} limit on the segment to waypoint {waypoint}; beyond this limit, "
            f"{jumping} would have to jump"
        )
        names, values = tuple(dict.fromkeys((at.name, variable.name))), (*values, at)
    return tracking_error(tracked, MPMaxJumpError, text, pose, waypoint, names, values)


def _limit_passed(tracked: TrackedPath, q: Array, problem: IkProblem, target: Array) -> tuple[str, Value] | None:
    """Return the side and the value of the joint that would be furthest beyond its position limits, if the motion from
    q (dof,) to a pose (4, 4) of a chain were to continue without these limits and without a jump; None if it would not
    continue, or would not pass a limit."""
    variables = tracked.context.space.variables
    columns = [variables.index(name) for name in problem.joints.variables]
    lower, upper = problem.joints.limits[:2]
    free = unlimited(problem.joints).limits
    before = q[columns]
    found = before[None].copy()
    errors = ik_kernels.solve_many(
        problem.chain.table, target[None].copy(), problem.rotation_weights, found, free[0], free[1], problem.tolerance,
        CONTINUED_ITERATIONS, ik_kernels.STALL_TOLERANCE,
    )  # fmt: skip
    after = found[0]
    is_continued = (errors[0] <= problem.tolerance).all() and (
        np.abs(after - before) <= tracked.max_jumps[columns]
    ).all()
    excess = np.maximum(lower - after, after - upper)
    worst = int(np.argmax(excess))
    if not is_continued or not excess[worst] > 0.0:
        return None
    side, limit = ("upper", upper) if after[worst] > upper[worst] else ("lower", lower)
    variable = tracked.context.space.definitions[columns[worst]]
    return side, Value(variable.name, float(before[worst]), float(limit[worst]), unit_of(variable))


def tracking_error(
    tracked: TrackedPath,
    kind: type[PlanningError],
    text: str,
    target: Array,
    waypoint: int,
    subjects: tuple[str, ...],
    values: tuple[Value, ...],
    *,
    ik: InverseKinematicsError | None = None,
    pairs: tuple[CollisionPair, ...] = (),
) -> PlanningError:
    """Return the error for a path that fails before a pose (4, 4) on the segment to a waypoint."""
    tracked.note(f"failed: {text}")
    failure = ik.partial if ik is not None and isinstance(ik.partial, IkFailure) else None
    report = replace(
        tracked.report(),
        failed_frame=Pose.from_matrix(target),
        failed_waypoint=waypoint,
        ik="" if ik is None else str(ik),
        ik_failure=failure,
        pairs=pairs,
    )
    fraction = Value("fraction", report.fraction, 1.0)
    partial = bare_plan(tracked.context, tracked.path(), tracked.origin, cartesian=report)
    remedy = "" if ik is None else ik.own_remedy
    return kind(text, stage="follow", subjects=subjects, values=(fraction, *values), partial=partial, remedy=remedy)
