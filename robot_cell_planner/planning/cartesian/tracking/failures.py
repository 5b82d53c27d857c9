"""Why a way ended: the errors of Cartesian planning, each with the part that was reached."""

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
    PlanningError,
    Value,
)
from ....kinematics.ik.failure import IkFailure
from ....kinematics.ik.options import IkOptions
from ....kinematics.ik.problem import IkProblem
from ....kinematics.ik.solver import inverse_kinematics
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


class TrackedPath(Protocol):
    """What is known of a path that is being followed: the part of an IK tracker that its errors report."""

    job: PlanningContext
    route: CartesianPath
    options: CartesianOptions
    problem: IkProblem
    origin: Origin
    max_jumps: Array

    def note(self, text: str) -> None:
        """Add a line to the log."""

    def report(self) -> CartesianReport:
        """How far the path got."""

    def path(self) -> Array:
        """The configurations (n, dof) that were reached."""


def solution_at(tracked: TrackedPath, target: Array, waypoint: int, near: Array, free: bool) -> Array:
    """The solution at a pose (4, 4) that is nearest to a configuration; free: of those that are free of collision.

    Raises:
        MPNoIKSolutionError, MPInterpolationInCollisionError: there is none, or none that is valid.
    """
    job = tracked.job
    state = job.state.with_configuration(dict(zip(job.space.variables, near.tolist(), strict=True)))

    def explain(q: Array) -> tuple[str, ...]:
        return tuple(f"{pair.first} - {pair.second}" for pair in job.checks.checker.report(q).pairs)

    try:
        valid = job.checks.state_free if free else None
        found = inverse_kinematics(
            job.cell, state, _as_target(tracked, target), job.space.group, IkOptions(max_solutions=1), valid,
            explain, job.space.variables,
        )  # fmt: skip
    except AllSolutionsInCollisionError as error:
        text = f"waypoint {waypoint} cannot be reached free of collision: {error.message}"
        kind = MPInterpolationInCollisionError
        raise ended(tracked, kind, text, target, waypoint, error.subjects, error.values) from error
    except InverseKinematicsError as error:
        text = f"no inverse kinematic solution on the way to waypoint {waypoint}: {error.message}"
        names, values = error.subjects, error.values
        raise ended(tracked, MPNoIKSolutionError, text, target, waypoint, names, values, ik=error) from error
    return found.best


def _as_target(tracked: TrackedPath, target: Array) -> FrameTarget | PointAxisTarget:
    waypoints, frame = tracked.route.waypoints, tracked.problem.frame
    tolerance = waypoints.tolerance_position * waypoints.native_scale
    if not tracked.route.axis_only:
        return FrameTarget(
            pose=Pose.from_matrix(target),
            mode=TargetMode.FRAME,
            frame=frame,
            tolerance_position=tolerance,
            tolerance_angle=waypoints.tolerance_angle,
        )
    x, y, z = target[:3, 3].tolist()
    along = target[:3, 2].tolist()
    return PointAxisTarget(
        point=(x, y, z),
        axis=(along[0], along[1], along[2]),
        mode=TargetMode.FRAME,
        frame=frame,
        tolerance_position=tolerance,
        tolerance_angle=waypoints.tolerance_angle,
    )


def blocked_motion(tracked: TrackedPath, point: Point, q: Array) -> PlanningError:
    """The error for a motion to a point that collides at q (dof,)."""
    waypoint = tracked.route.pieces[point.piece].waypoint
    found = tracked.job.checks.checker.report(q)
    text = f"the motion to waypoint {waypoint} is in collision: {found}"
    values = tuple(Value(f"{p.first} - {p.second}", p.distance, p.margin, "m") for p in found.pairs)
    target = tracked.route.pose(point.piece, point.share)
    kind = MPInterpolationInCollisionError
    return ended(tracked, kind, text, target, waypoint, names_of(found.pairs), values, pairs=found.pairs)


def off_the_route(tracked: TrackedPath, edge: Edges, distance: float, angle: float) -> PlanningError:
    """The error for a motion of the narrowest spacing that leaves the route by too much, by a distance [m] and an angle
    [rad]."""
    options, number, end = tracked.options, int(edge.pieces[0]), float(edge.ends[0])
    piece = tracked.route.pieces[number]
    text = f"the frame leaves the way to waypoint {piece.waypoint} between points of the narrowest spacing"
    values = (
        Value("deviation", distance, options.max_deviation or None, "m"),
        Value("deviation angle", angle, options.max_deviation_angle or None, "rad"),
    )
    target = tracked.route.pose(number, end)
    return ended(tracked, MPMaxJumpError, text, target, piece.waypoint, (tracked.problem.frame,), values)


def joint_jump(tracked: TrackedPath, q: Array, found: Array, piece: int, share: float) -> PlanningError:
    """The error for joints that would jump from q (dof,) on the way to a share of a piece."""
    waypoint = tracked.route.pieces[piece].waypoint
    jumps = np.abs(found - q)
    worst = int(np.argmax(jumps / tracked.max_jumps))
    variable = tracked.job.space.definitions[worst]
    text = f"joint {variable.name} would jump on the way to waypoint {waypoint}"
    limit, unit = float(tracked.max_jumps[worst]), unit_of(variable)
    values = (
        Value(f"jump of {variable.name}", float(jumps[worst]), limit if np.isfinite(limit) else None, unit),
        Value("from", float(q[worst]), None, unit),
        Value("to", float(found[worst]), None, unit),
    )
    target = tracked.route.pose(piece, share)
    return ended(tracked, MPMaxJumpError, text, target, waypoint, (variable.name,), values)


def ended(
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
    """The error for a way that ends before a pose (4, 4) on the way to a waypoint."""
    tracked.note(f"ended: {text}")
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
    partial = bare_plan(tracked.job, tracked.path(), tracked.origin, cartesian=report)
    return kind(text, stage="follow", subjects=subjects, values=(fraction, *values), partial=partial)
