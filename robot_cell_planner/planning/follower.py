"""What all strategies of following a route share: the points reached, what is known of them, and errors that say why
the way ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..cell.pose import Pose
from ..collision.report import CollisionPair
from ..errors import (
    AllSolutionsInCollisionError,
    InverseKinematicsError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    PlanningError,
    TimedOutError,
    Value,
)
from ..kinematics import kernels
from ..kinematics.ik_failure import IkFailure
from ..kinematics.ik_options import IkOptions
from ..kinematics.ik_problem import IkProblem
from ..kinematics.inverse import inverse_kinematics
from ..kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from ..trajectory.limits import Array
from .cartesian_options import CartesianOptions
from .finish import Origin, bare_plan
from .job import Job, names_of
from .manipulability import smallest_manipulability
from .path_tools import densify
from .plan import CartesianReport
from .route import Route
from .space import unit_of

ITERATIONS = 40
# An iteration that does not bring the squared error below this share of the best one is no progress.
PATIENCE = 0.99
# Configurations are brought nearer to their targets than asked for, so that the joints move smoothly.
SHARE_OF_TOLERANCE = 1e-3
# Places between two points, as shares of the way from one to the other, at which the deviation is measured.
BETWEEN = np.arange(1, 8) / 8.0
# The deviation is limited to this share of what is allowed, for what may lie between those places.
SHARE_OF_DEVIATION = 0.95
SHARE_BEFORE_MOTIONS = 0.5  # of all that is to be done, as the progress tells it
STATES_AT_ONCE = 16  # held against the cell between two looks at whether one is blocked


@dataclass(frozen=True, eq=False)
class Point:
    """A configuration (dof,) at a share of a piece of the route, 0 to 1."""

    q: Array
    piece: int
    share: float


@dataclass(frozen=True, eq=False)
class Edges:
    """The motions between points, the first from the start: the piece that each lies on (k,), and at which shares of it
    it begins and ends (k,)."""

    pieces: NDArray[np.intp]
    begins: Array
    ends: Array

    def shares(self, between: float) -> Array:
        """Shares (k,) of the pieces at a share of each motion."""
        return np.asarray(self.begins + between * (self.ends - self.begins))


class Follower:
    """Follows a route from the start of a job.

    start (dof,): where the path begins. points: what was reached so far, in order; the start is not among them.
    complete: all of the way was.
    """

    planner = ""

    def __init__(self, job: Job, route: Route, problem: IkProblem, options: CartesianOptions) -> None:
        self.job = job
        self.route = route
        self.options = options
        self.problem = problem
        self.origin = Origin(self.planner, options.seed, options.search_step)
        self.complete = False
        self.start = job.space.start
        self.points: list[Point] = []
        self.log: list[str] = []
        self.tolerance = problem.tolerance * SHARE_OF_TOLERANCE
        angular = np.array([variable.angular for variable in job.space.definitions], dtype=bool)
        jumps = np.where(angular, options.max_jump_revolute, options.max_jump_prismatic)
        self.max_jumps: Array = np.where(jumps > 0.0, jumps, np.inf)
        self.least_spacing = (options.min_step_distance, options.min_step_angle)

    def follow(self) -> None:
        """Follow the whole route.

        Raises:
            MPNoIKSolutionError, MPInterpolationInCollisionError, MPMaxJumpError: the way ends.
            TimedOutError: the limit on states is used up.
        """
        raise NotImplementedError

    def note(self, text: str) -> None:
        """Add a line to the log, if one is wanted."""
        if self.options.verbose:
            self.log.append(text)

    def progress(self, done: float, waypoint: int | None = None) -> None:
        """Tell how much of the whole is done, 0 to 1, and which waypoint it is at."""
        watch = self.job.watch
        watch.fraction = done if np.isnan(watch.fraction) else max(watch.fraction, done)
        if waypoint is not None:
            watch.step = waypoint

    def check_limits(self) -> None:
        """Raises CancelledError, TimedOutError: see `Watch`; and the latter when the limit on states is used up."""
        checks = self.job.checks
        self.job.watch.check(checks.states)
        if checks.states > self.options.state_limit:
            numbers = (Value("states checked", checks.states, self.options.state_limit),)
            raise TimedOutError("the limit on states ended the request", stage="follow", values=numbers)

    # Single configurations ------------------------------------------------------------------------------------------

    def try_waypoints(self) -> None:
        """See that each waypoint that is met exactly can be reached for itself, free of collision.

        Raises:
            MPNoIKSolutionError, MPInterpolationInCollisionError: the first one that cannot.
        """
        for index, target in enumerate(self.route.targets):
            self.check_limits()
            if not self.route.waypoints.segment(index).blend_radius:
                self.solution_at(target, index, self.start, free=True)

    def approached(self, starts: Array, targets: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Configurations (k, dof) brought from starts (k, dof) to targets (k, 4, 4), and whether each got there."""
        problem, found = self.problem, np.array(starts, order="C")
        lower, upper = problem.joints.limits[0], problem.joints.limits[1]
        left = kernels.approach_many(
            problem.chain.table, targets, problem.freedom, found, lower, upper, self.tolerance, ITERATIONS, PATIENCE
        )
        return found, self.within(left)

    def within(self, left: Array) -> NDArray[np.bool_]:
        """Whether what is left (k, 2) is within the tolerances."""
        return np.asarray((left[:, 0] <= self.problem.tolerance[0]) & (left[:, 1] <= self.problem.tolerance[1]))

    def solution_at(self, target: Array, waypoint: int, near: Array, free: bool) -> Array:
        """The solution at a pose (4, 4) that is nearest to a configuration; free: of those that are free of collision.

        Raises:
            MPNoIKSolutionError, MPInterpolationInCollisionError: there is none, or none that is valid.
        """
        job = self.job
        state = job.state.with_configuration(dict(zip(job.space.variables, near.tolist(), strict=True)))
        try:
            valid = job.checks.state_free if free else None
            found = inverse_kinematics(
                job.cell, state, self._as_target(target), job.space.group, IkOptions(max_solutions=1), valid,
                self._explain, job.space.variables,
            )  # fmt: skip
        except AllSolutionsInCollisionError as error:
            text = f"waypoint {waypoint} cannot be reached free of collision: {error.message}"
            kind = MPInterpolationInCollisionError
            raise self.ended(kind, text, target, waypoint, error.subjects, error.values) from error
        except InverseKinematicsError as error:
            text = f"no inverse kinematic solution on the way to waypoint {waypoint}: {error.message}"
            names, values = error.subjects, error.values
            raise self.ended(MPNoIKSolutionError, text, target, waypoint, names, values, ik=error) from error
        return found.best

    def _as_target(self, target: Array) -> FrameTarget | PointAxisTarget:
        waypoints = self.route.waypoints
        tolerance = waypoints.tolerance_position * waypoints.native_scale
        if not self.route.axis_only:
            return FrameTarget(
                pose=Pose.from_matrix(target),
                mode=TargetMode.FRAME,
                frame=self.problem.frame,
                tolerance_position=tolerance,
                tolerance_angle=waypoints.tolerance_angle,
            )
        x, y, z = target[:3, 3].tolist()
        along = target[:3, 2].tolist()
        return PointAxisTarget(
            point=(x, y, z),
            axis=(along[0], along[1], along[2]),
            mode=TargetMode.FRAME,
            frame=self.problem.frame,
            tolerance_position=tolerance,
            tolerance_angle=waypoints.tolerance_angle,
        )

    def _explain(self, q: Array) -> tuple[str, ...]:
        return tuple(f"{pair.first} - {pair.second}" for pair in self.job.checks.checker.report(q).pairs)

    # Motions --------------------------------------------------------------------------------------------------------

    def add_points(self) -> PlanningError | None:
        """Add points where the frame leaves the way by more than is allowed, or where a joint would jump.

        Returns the error for the first place where no spacing is narrow enough; the points end before it.
        """
        limits = self.options.max_deviation, self.options.max_deviation_angle
        wanted = [SHARE_OF_DEVIATION * limit if limit > 0.0 else np.inf for limit in limits]
        ending: PlanningError | None = None
        while self.points:
            self.check_limits()
            path, edges = self.path(), self.edges()
            too_far = (np.abs(np.diff(path, axis=0)) > self.max_jumps).any(axis=1)
            if min(wanted) < np.inf:
                distances, angles = self._deviations(path, edges)
                too_far |= (distances > wanted[0]) | (angles > wanted[1])
            chosen = np.flatnonzero(too_far)
            if not len(chosen):
                break
            added, got_there = self.middles(path, edges, chosen)
            pairs = zip(chosen.tolist(), got_there, strict=True)
            bad = [index for index, fits in pairs if not (fits and self.may_halve(edges, index))]
            if bad:
                ending = self._too_wide(path, edges, bad[0])
            self._insert(chosen, added, edges, bad[0] if bad else len(self.points))
        return ending

    def middles(self, path: Array, edges: Edges, chosen: NDArray[np.intp]) -> tuple[Array, NDArray[np.bool_]]:
        """Configurations (k, dof) halfway on the route between the ends of motions, and whether each got there."""
        targets = self.route.poses(edges.pieces[chosen], edges.shares(0.5)[chosen])
        return self.approached(0.5 * (path[chosen] + path[chosen + 1]), targets)

    def may_halve(self, edges: Edges, index: int) -> bool:
        """Whether half of a motion is still as wide as the narrowest spacing asked for."""
        way = self.route.pieces[int(edges.pieces[index])].way
        half = 0.5 * float(edges.ends[index] - edges.begins[index])
        return half * way.length >= self.least_spacing[0] or half * way.angle >= self.least_spacing[1]

    def _insert(self, chosen: NDArray[np.intp], added: Array, edges: Edges, end: int) -> None:
        """Put points in the middle of chosen motions; those from the motion `end` on are dropped."""
        middles = edges.shares(0.5)
        new = {
            index: Point(q, int(edges.pieces[index]), float(middles[index]))
            for index, q in zip(chosen.tolist(), added, strict=True)
        }
        points: list[Point] = []
        for index, point in enumerate(self.points[:end]):
            if index in new:
                points.append(new[index])
            points.append(point)
        self.points = points

    def _too_wide(self, path: Array, edges: Edges, index: int) -> PlanningError:
        """The error for a motion that would have to be halved, and cannot be."""
        self.points = self.points[:index]
        if (np.abs(path[index + 1] - path[index]) > self.max_jumps).any():
            return self.jump(path[index], path[index + 1], int(edges.pieces[index]), float(edges.ends[index]))
        distances, angles = self._deviations(path[index : index + 2], _at(edges, index))
        piece = self.route.pieces[int(edges.pieces[index])]
        text = f"the frame leaves the way to waypoint {piece.waypoint} between points of the narrowest spacing"
        values = (
            Value("deviation", float(distances[0]), self.options.max_deviation or None, "m"),
            Value("deviation angle", float(angles[0]), self.options.max_deviation_angle or None, "rad"),
        )
        target = self.route.pose(int(edges.pieces[index]), float(edges.ends[index]))
        return self.ended(MPMaxJumpError, text, target, piece.waypoint, (self.problem.frame,), values)

    def check_motions(self) -> None:
        """Hold all motions between the points against the cell.

        Raises:
            MPInterpolationInCollisionError: at the first collision on the way; the points end before it.
        """
        blocked = self.first_blocked(self.path())
        if blocked is None:
            return
        index, q = blocked
        point = self.points[index]
        self.points = self.points[:index]
        waypoint = self.route.pieces[point.piece].waypoint
        found = self.job.checks.checker.report(q)
        text = f"the motion to waypoint {waypoint} is in collision: {found}"
        values = tuple(Value(f"{p.first} - {p.second}", p.distance, p.margin, "m") for p in found.pairs)
        target = self.route.pose(point.piece, point.share)
        kind = MPInterpolationInCollisionError
        raise self.ended(kind, text, target, waypoint, names_of(found.pairs), values, pairs=found.pairs)

    def first_blocked(self, path: Array) -> tuple[int, Array] | None:
        """The first motion of a path (n, dof) that is in collision, and the configuration at which it is; its first
        point is known to be free."""
        if len(path) < 2:
            return None
        samples, places = densify(path, self.options.search_step)
        checks = self.job.checks
        for begin in range(1, len(samples), STATES_AT_ONCE):
            self.check_limits()
            self.progress(SHARE_BEFORE_MOTIONS + (1.0 - SHARE_BEFORE_MOTIONS) * begin / len(samples))
            part = slice(begin, begin + STATES_AT_ONCE)
            blocked = np.flatnonzero(~checks.batch_free(samples[part]))
            if len(blocked):
                index = begin + int(blocked[0])
                edge = min(int(np.ceil(places[index] - 1e-9)) - 1, len(path) - 2)
                checks.motions += edge + 1
                return max(edge, 0), samples[index]
        checks.motions += len(path) - 1
        return None

    # Errors ---------------------------------------------------------------------------------------------------------

    def jump(self, q: Array, found: Array, piece: int, share: float) -> PlanningError:
        """The error for joints that would jump from q (dof,) on the way to a share of a piece."""
        waypoint = self.route.pieces[piece].waypoint
        jumps = np.abs(found - q)
        worst = int(np.argmax(jumps / self.max_jumps))
        variable = self.job.space.definitions[worst]
        text = f"joint {variable.name} would jump on the way to waypoint {waypoint}"
        limit, unit = float(self.max_jumps[worst]), unit_of(variable)
        values = (
            Value(f"jump of {variable.name}", float(jumps[worst]), limit if np.isfinite(limit) else None, unit),
            Value("from", float(q[worst]), None, unit),
            Value("to", float(found[worst]), None, unit),
        )
        return self.ended(MPMaxJumpError, text, self.route.pose(piece, share), waypoint, (variable.name,), values)

    def ended(
        self,
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
        self.note(f"ended: {text}")
        failure = ik.partial if ik is not None and isinstance(ik.partial, IkFailure) else None
        report = replace(
            self.report(),
            failed_frame=Pose.from_matrix(target),
            failed_waypoint=waypoint,
            ik="" if ik is None else str(ik),
            ik_failure=failure,
            pairs=pairs,
        )
        fraction = Value("fraction", report.fraction, 1.0)
        partial = bare_plan(self.job, self.path(), self.origin, cartesian=report)
        return kind(text, stage="follow", subjects=subjects, values=(fraction, *values), partial=partial)

    # What is known of it --------------------------------------------------------------------------------------------

    def path(self) -> Array:
        """The start and all points, (n + 1, dof)."""
        return np.array([self.start, *(point.q for point in self.points)])

    def edges(self) -> Edges:
        """The motions between the points."""
        pieces = np.array([point.piece for point in self.points], dtype=np.intp)
        ends = np.array([point.share for point in self.points])
        begins = np.concatenate(([0.0], ends[:-1]))[: len(ends)]
        begins[begins == 1.0] = 0.0
        return Edges(pieces, begins, ends)

    def fraction(self) -> float:
        """Share of the way that was reached: by length, or by angle where the motion only turns."""
        if self.complete:
            return 1.0
        if not self.points:
            return 0.0
        return self.route.fraction(self.points[-1].piece, self.points[-1].share)

    def parameters(self) -> Array:
        """Path parameter (n + 1,) of the path: metres travelled, or rad where a piece only turns."""
        edges = self.edges()
        measures = np.array([piece.measure for piece in self.route.pieces])
        return np.concatenate(([0.0], self.route.starts[edges.pieces] + edges.ends * measures[edges.pieces]))

    def stops(self) -> tuple[int, ...]:
        """Indices in the path of the points at which the motion has to rest."""
        edges, count = self.edges(), len(self.route.pieces)
        measures = np.array([piece.measure for piece in self.route.pieces])
        widest = np.zeros(count)
        np.maximum.at(widest, edges.pieces, (edges.ends - edges.begins) * measures[edges.pieces])
        rests = self.route.rests(widest, self.options.max_deviation)
        return tuple((np.flatnonzero((edges.ends == 1.0) & rests[edges.pieces]) + 1).tolist())

    def speeds(self) -> Array:
        """Speed of the frame [m/s] wanted on the motion to each point (n,); 0: none."""
        return np.array([self.route.pieces[point.piece].speed for point in self.points])

    def report(self) -> CartesianReport:
        path, edges = self.path(), self.edges()
        distances, angles = self._deviations(path, edges)
        pieces = self.route.pieces
        return CartesianReport(
            self.fraction(),
            tuple(pieces[point.piece].waypoint for point in self.points),
            tuple(pieces[point.piece].parameter(point.share) for point in self.points),
            float(distances.max(initial=0.0)),
            float(angles.max(initial=0.0)),
            min_manipulability=smallest_manipulability(self.problem, path),
            log=tuple(self.log),
        )

    def _deviations(self, path: Array, edges: Edges) -> tuple[Array, Array]:
        """Largest distance from the way [m] and angle [rad] on each motion, (k,)."""
        count = len(path) - 1
        if count < 1:
            return np.zeros(0), np.zeros(0)
        between = np.concatenate([path[:-1] + share * (path[1:] - path[:-1]) for share in BETWEEN])
        shares = np.concatenate([edges.shares(share) for share in BETWEEN])
        poses = self.problem.chain.forward_many(between)
        distances, angles = self.route.distances(np.tile(edges.pieces, len(BETWEEN)), shares, poses)
        return distances.reshape(-1, count).max(axis=0), angles.reshape(-1, count).max(axis=0)


def _at(edges: Edges, index: int) -> Edges:
    part = slice(index, index + 1)
    return Edges(edges.pieces[part], edges.begins[part], edges.ends[part])
