"""Following lines step by step: each configuration is the one that damped least squares reaches from the one before."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..cell.pose import Pose
from ..collision.report import CollisionPair
from ..errors import (
    AllSolutionsInCollisionError,
    InverseKinematicsError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    PlanningError,
    Value,
)
from ..kinematics import kernels
from ..kinematics.ik_options import IkOptions
from ..kinematics.ik_problem import IkProblem, ik_problem
from ..kinematics.inverse import inverse_kinematics
from ..kinematics.targets import FrameTarget, TargetMode
from ..trajectory.limits import Array
from .cartesian_options import CartesianOptions
from .finish import Origin, bare_plan
from .job import Job, names_of
from .plan import CartesianReport
from .space import unit_of
from .waypoints import FrameWaypoints, Line

PLANNER = "greedy"
ITERATIONS = 40
# An iteration that does not bring the squared error below this share of the best one is no progress.
PATIENCE = 0.99
NO_WAY = 1e-9  # [m or rad]: a line that is shorter leads nowhere
# Configurations are brought nearer to their targets than asked for, so that the joints move smoothly.
SHARE_OF_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Point:
    """A configuration (dof,) on the way to a waypoint, at a share of that line, 0 to 1."""

    q: Array
    waypoint: int
    share: float


class GreedyFollower:
    """Follows the lines through waypoints, from the start of a job.

    points: what was reached so far, in order; the start is not among them. complete: all of the way was.
    """

    def __init__(self, job: Job, waypoints: FrameWaypoints, options: CartesianOptions) -> None:
        self.job = job
        self.origin = Origin(PLANNER, options.seed, options.search_step)
        self.complete = False
        self.options = options
        self.points: list[Point] = []
        self._waypoints = waypoints
        self._problem: IkProblem = ik_problem(
            job.cell, job.state, waypoints.target(0), job.space.group, job.space.variables
        )
        self._tolerance = self._problem.tolerance * SHARE_OF_TOLERANCE
        self.lines = self._lines()
        angular = np.array([variable.angular for variable in job.space.definitions], dtype=bool)
        jumps = np.where(angular, options.max_jump_revolute, options.max_jump_prismatic)
        self._max_jumps: Array = np.where(jumps > 0.0, jumps, np.inf)

    def _lines(self) -> list[Line]:
        """The lines in the world; each begins exactly where the one before ends."""
        job, waypoints = self.job, self._waypoints
        targets = [
            ik_problem(job.cell, job.state, waypoints.target(index), job.space.group, job.space.variables).target
            for index in range(len(waypoints.poses))
        ]
        start = self._problem.chain.forward(job.space.start.copy())
        return [Line.between(first, last) for first, last in pairwise([start, *targets])]

    # Before the motion ----------------------------------------------------------------------------------------------

    def try_waypoints(self) -> None:
        """See that each waypoint for itself can be reached free of collision.

        Raises:
            MPNoIKSolutionError, MPInterpolationInCollisionError: the first one that cannot.
        """
        for index in range(len(self.lines)):
            self._any_solution(index, 1.0, self.job.space.start, free=True)

    # The motion -----------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Follow all lines.

        Raises:
            MPNoIKSolutionError, MPInterpolationInCollisionError, MPMaxJumpError: the way ends.
        """
        q = self.job.space.start
        for index, line in enumerate(self.lines):
            if line.measure < NO_WAY:
                continue
            count = self._steps(line)
            shares = np.arange(1, count + 1) / count
            reached = 0.0
            for share, target in zip(shares.tolist(), line.poses(shares), strict=True):
                q = self._advance(q, index, reached, share, target)
                reached = share
            self.job.watch.fraction = self.fraction()
        self.complete = True

    def _steps(self, line: Line) -> int:
        wanted = max(line.length / self.options.max_step_distance, line.angle / self.options.max_step_angle)
        return max(1, math.ceil(wanted - 1e-9))

    def _advance(self, q: Array, index: int, reached: float, share: float, target: Array) -> Array:
        """Go on from q at `reached` to `share` of a line, in halves where joints would jump."""
        pending = [(share, target)]
        while pending:
            self.job.watch.check(self.job.checks.states)
            share, target = pending[-1]
            found = self._followed(q, target)
            if found is None or (np.abs(found - q) > self._max_jumps).any():
                middle = 0.5 * (reached + share)
                if self._may_halve(self.lines[index], share - reached):
                    pending.append((middle, self.lines[index].poses([middle])[0]))
                    continue
                found = self._last_resort(q, index, share, found)
            if self.options.check_collision:
                self._check_motion(q, found, index, share)
            self.points.append(Point(found, index, share))
            q, reached = found, share
            pending.pop()
        return q

    def _may_halve(self, line: Line, span: float) -> bool:
        half = 0.5 * span
        return (
            half * line.length >= self.options.min_step_distance or half * line.angle >= self.options.min_step_angle
        )

    def _followed(self, q: Array, target: Array) -> Array | None:
        problem = self._problem
        found = q.copy()
        lower, upper = problem.joints.limits[0], problem.joints.limits[1]
        distance, angle = kernels.approach(
            problem.chain.table, target, problem.freedom, found, lower, upper, self._tolerance, ITERATIONS, PATIENCE
        )
        within = distance <= problem.tolerance[0] and angle <= problem.tolerance[1]
        return found if within else None

    def _last_resort(self, q: Array, index: int, share: float, followed: Array | None) -> Array:
        """A solution near q that following it step by step did not reach, or the error that says why there is none."""
        found = followed if followed is not None else self._any_solution(index, share, q, free=False)
        jumps = np.abs(found - q)
        if (jumps <= self._max_jumps).all():
            return found
        worst = int(np.argmax(jumps / self._max_jumps))
        variable = self.job.space.definitions[worst]
        text = f"joint {variable.name} would jump on the way to waypoint {index}"
        values = (
            Value(f"jump of {variable.name}", float(jumps[worst]), float(self._max_jumps[worst]), unit_of(variable)),
            Value("from", float(q[worst]), None, unit_of(variable)),
            Value("to", float(found[worst]), None, unit_of(variable)),
        )
        raise self._ended(MPMaxJumpError, text, index, share, (variable.name,), values)

    def _any_solution(self, index: int, share: float, near: Array, free: bool) -> Array:
        """The solution nearest to a configuration; free: of those that are free of collision.

        Raises:
            MPNoIKSolutionError, MPInterpolationInCollisionError: there is none, or none that is valid.
        """
        job = self.job
        state = job.state.with_configuration(dict(zip(job.space.variables, near.tolist(), strict=True)))
        target = self._target(index, share)
        try:
            options = IkOptions(max_solutions=1)
            valid = job.checks.state_free if free else None
            result = inverse_kinematics(
                job.cell, state, target, job.space.group, options, valid, self._explain, job.space.variables
            )
        except AllSolutionsInCollisionError as error:
            text = f"waypoint {index} cannot be reached free of collision: {error.message}"
            raise self._ended(
                MPInterpolationInCollisionError, text, index, share, error.subjects, error.values
            ) from error
        except InverseKinematicsError as error:
            text = f"no inverse kinematic solution on the way to waypoint {index}: {error.message}"
            raise self._ended(
                MPNoIKSolutionError, text, index, share, error.subjects, error.values, ik=str(error)
            ) from error
        return result.best

    def _target(self, index: int, share: float) -> FrameTarget:
        waypoints = self._waypoints
        pose = Pose.from_matrix(self.lines[index].poses([share])[0])
        return FrameTarget(
            pose=pose,
            mode=TargetMode.FRAME,
            frame=self._problem.frame,
            tolerance_position=waypoints.tolerance_position * waypoints.native_scale,
            tolerance_angle=waypoints.tolerance_angle,
        )

    def _explain(self, q: Array) -> tuple[str, ...]:
        return tuple(f"{pair.first} - {pair.second}" for pair in self.job.checks.checker.report(q).pairs)

    def _check_motion(self, q: Array, found: Array, index: int, share: float) -> None:
        checks = self.job.checks
        if checks.motion_free(q, found, self.options.search_step):
            return
        found_there = checks.checker.report(checks.last_blocked)
        pairs = found_there.pairs
        text = f"the motion to waypoint {index} is in collision: {found_there}"
        values = tuple(Value(f"{p.first} - {p.second}", p.distance, p.margin, "m") for p in pairs)
        raise self._ended(
            MPInterpolationInCollisionError, text, index, share, names_of(found_there.pairs), values, pairs=pairs
        )

    def _ended(
        self,
        kind: type[PlanningError],
        text: str,
        index: int,
        share: float,
        subjects: tuple[str, ...],
        values: tuple[Value, ...],
        *,
        ik: str = "",
        pairs: tuple[CollisionPair, ...] = (),
    ) -> PlanningError:
        """The error for a way that ends before `share` of the line to waypoint `index`."""
        report = replace(
            self.report(),
            failed_frame=Pose.from_matrix(self.lines[index].poses([share])[0]),
            failed_waypoint=index,
            ik=ik,
            pairs=pairs,
        )
        fraction = Value("fraction", report.fraction, 1.0)
        partial = bare_plan(self.job, self.path(), self.origin, cartesian=report)
        return kind(text, stage="follow", subjects=subjects, values=(fraction, *values), partial=partial)

    # What is known of it --------------------------------------------------------------------------------------------

    def path(self) -> Array:
        """The start and all points, (n + 1, dof)."""
        return np.array([self.job.space.start, *(point.q for point in self.points)])

    def fraction(self) -> float:
        """Share of the way that was reached: by length, or by angle where the motion only turns."""
        if self.complete:
            return 1.0
        if not self.points:
            return 0.0
        lengths = np.array([line.length for line in self.lines])
        extents = lengths if lengths.sum() > 1e-9 else np.array([line.angle for line in self.lines])
        total = float(extents.sum())
        last = self.points[-1]
        return float(extents[: last.waypoint].sum() + last.share * extents[last.waypoint]) / total

    def parameters(self) -> Array:
        """Path parameter (n + 1,) of the path: metres travelled, or rad where a line only turns."""
        starts = np.concatenate(([0.0], np.cumsum([line.measure for line in self.lines])))
        places = [starts[point.waypoint] + point.share * self.lines[point.waypoint].measure for point in self.points]
        return np.array([0.0, *places])

    def stops(self) -> tuple[int, ...]:
        """Indices in the path of the waypoints."""
        return tuple(index for index, point in enumerate(self.points, start=1) if point.share == 1.0)

    def report(self) -> CartesianReport:
        deviation, angle = self._deviation()
        return CartesianReport(
            self.fraction(),
            tuple(point.waypoint for point in self.points),
            tuple(point.share for point in self.points),
            deviation,
            angle,
        )

    def _deviation(self) -> tuple[float, float]:
        """Largest distance from the lines and angle, halfway between the points."""
        path = self.path()
        if len(path) < 2:
            return 0.0, 0.0
        poses = self._problem.chain.forward_many(0.5 * (path[:-1] + path[1:]))
        waypoints = np.array([point.waypoint for point in self.points])
        shares = np.array([point.share for point in self.points])
        before = np.concatenate(([0.0], np.where(shares[:-1] == 1.0, 0.0, shares[:-1])))
        off, turned = 0.0, 0.0
        for index, line in enumerate(self.lines):
            mine = waypoints == index
            if mine.any():
                distances, angles = line.distance_from(0.5 * (before[mine] + shares[mine]), poses[mine])
                off, turned = max(off, float(distances.max())), max(turned, float(angles.max()))
        return off, turned
