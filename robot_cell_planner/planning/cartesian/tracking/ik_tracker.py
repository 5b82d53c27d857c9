"""What all strategies of following a route share: the points reached, and what is known of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....errors import PlanningError, TimedOutError, Value
from ....kinematics._kernels import ik_kernels
from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array
from ...path.finish import Origin
from ...path.motion_checks import MotionChecks
from ...problem.context import PlanningContext
from ...problem.plan import CartesianReport
from ..path.cartesian_path import CartesianPath
from ..path.options import CartesianOptions
from ..path.points import Edges, Point
from .failures import blocked_motion, joint_jump, off_the_route, solution_at
from .manipulability import smallest_manipulability

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


class IkTracker:
    """Follows a route from the start of a job.

    start (dof,): where the path begins. points: what was reached so far, in order; the start is not among them.
    complete: all of the way was.
    """

    planner = ""

    def __init__(
        self, job: PlanningContext, route: CartesianPath, problem: IkProblem, options: CartesianOptions
    ) -> None:
        self.job = job
        self.route = route
        self.options = options
        self.problem = problem
        self.origin = Origin(self.planner, options.seed, options.resolution)
        self.complete = False
        self.start = job.space.start
        self.points: list[Point] = []
        self.log: list[str] = []
        self.motions = MotionChecks(job.checks, options.search_step, options.resolution)
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
        """Raises:
        CancelledError: the request is cancelled.
        TimedOutError: its time limit has passed, or its limit on states is used up.
        """
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
                solution_at(self, target, index, self.start, free=True)

    def approached(self, starts: Array, targets: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Configurations (k, dof) brought from starts (k, dof) to targets (k, 4, 4), and whether each got there."""
        problem, found = self.problem, np.array(starts, order="C")
        lower, upper = problem.joints.limits[0], problem.joints.limits[1]
        left = ik_kernels.solve_many(
            problem.chain.table,
            targets,
            problem.free_rotation,
            found,
            lower,
            upper,
            self.tolerance,
            ITERATIONS,
            PATIENCE,
        )
        return found, self.within(left)

    def within(self, left: Array) -> NDArray[np.bool_]:
        """Whether what is left (k, 2) is within the tolerances."""
        return np.asarray((left[:, 0] <= self.problem.tolerance[0]) & (left[:, 1] <= self.problem.tolerance[1]))

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
            return joint_jump(self, path[index], path[index + 1], int(edges.pieces[index]), float(edges.ends[index]))
        distances, angles = self._deviations(path[index : index + 2], edges.at(index))
        return off_the_route(self, edges.at(index), float(distances[0]), float(angles[0]))

    def check_motions(self) -> None:
        """See that all motions between the points are free.

        Raises:
            MPInterpolationInCollisionError: at the first collision on the way; the points end before it.
        """
        blocked = self.first_blocked(self.path())
        if blocked is None:
            return
        index, q = blocked
        point = self.points[index]
        self.points = self.points[:index]
        raise blocked_motion(self, point, q)

    def first_blocked(self, path: Array) -> tuple[int, Array] | None:
        """The first motion of a path (n, dof) that is in collision, and the configuration at which it is; its first
        point is known to be free."""

        def look(share: float) -> None:
            self.check_limits()
            self.progress(SHARE_BEFORE_MOTIONS + (1.0 - SHARE_BEFORE_MOTIONS) * share)

        return self.motions.first_blocked(path, look)

    # What is known of it --------------------------------------------------------------------------------------------

    def path(self) -> Array:
        """The start and all points, (n + 1, dof)."""
        return np.array([self.start, *(point.q for point in self.points)])

    def edges(self) -> Edges:
        """The motions between the points."""
        pieces = np.array([point.piece for point in self.points], dtype=np.intp)
        ends = np.array([point.share for point in self.points])
        return Edges.to(pieces, ends)

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
