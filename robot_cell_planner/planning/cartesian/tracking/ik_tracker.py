"""Base class of trackers of a Cartesian path: points reached and their reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....errors import InverseKinematicsError, PlanningError, TimedOutError, Value
from ....kinematics._kernels import ik_kernels
from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array
from ...path.finish import Origin
from ...path.motion_checks import MotionChecks
from ...problem.context import PlanningContext
from ...problem.plan import CartesianReport
from ...problem.space import JointSpace
from ..path.cartesian_path import CartesianPath
from ..path.curves import is_rotation_in_place
from ..path.options import CartesianOptions
from ..path.points import Edges, Point
from .failures import collision_error, deviation_error, joint_jump_error, solution_at
from .manipulability import smallest_manipulability

MAX_ITERATIONS = 40
# Iterations that do not reduce the squared error below this fraction of the best one count as stalled.
STALL_TOLERANCE = 0.99
# Fraction of the tolerances that configurations are solved to, for smooth joint motion.
TOLERANCE_FRACTION = 1e-3
# Fractions of the motion between two points at which the deviation is measured.
DEVIATION_SAMPLES = np.arange(1, 8) / 8.0
# Fraction of the max deviation that is used, because it is only measured at these samples.
DEVIATION_FRACTION = 0.95
TRACKING_FRACTION = 0.5  # fraction of the progress before motions are checked


def max_jumps(space: JointSpace, options: CartesianOptions) -> Array:
    """Return the max change of each joint between points (dof,) [rad or m]; infinite without a limit."""
    angular = np.array([variable.angular for variable in space.definitions], dtype=bool)
    jumps = np.where(angular, options.max_jump_revolute, options.max_jump_prismatic)
    return np.where(jumps > 0.0, jumps, np.inf)


def within_tolerance(problem: IkProblem, errors: Array) -> NDArray[np.bool_]:
    """Return whether position and rotation errors (k, 2) are within the tolerances of a problem."""
    return np.asarray((errors[:, 0] <= problem.tolerance[0]) & (errors[:, 1] <= problem.tolerance[1]))


def solve_in_sequence(problem: IkProblem, start: Array, targets: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Solve inverse kinematics for targets (k, 4, 4), each from the solution before, the first from a start (dof,).

    Returns:
        Configurations (k, dof), and whether each converged.
    """
    limits = problem.joints.limits
    found, errors = ik_kernels.solve_in_sequence(
        problem.chain.table, targets, problem.rotation_weights, start, limits[0], limits[1],
        problem.tolerance * TOLERANCE_FRACTION, MAX_ITERATIONS, STALL_TOLERANCE,
    )  # fmt: skip
    return found, within_tolerance(problem, errors)


class IkTracker:
    """Tracks a Cartesian path from the start of a planning context.

    Attributes:
        start: Start of the joint path (dof,).
        points: Points reached so far, in order, without the start.
        complete: Whether the whole path was followed.
    """

    planner = ""

    def __init__(
        self, context: PlanningContext, cartesian_path: CartesianPath, problem: IkProblem, options: CartesianOptions
    ) -> None:
        self.context = context
        self.cartesian_path = cartesian_path
        self.options = options
        self.problem = problem
        self.origin = Origin(self.planner, options.seed, options.resolution)
        self.complete = False
        self.start = context.space.start
        self.points: list[Point] = []
        self.log: list[str] = []
        self.unreachable: dict[bytes, InverseKinematicsError] = {}  # by pose, see `solution_at`
        self.motions = MotionChecks(context.checks, options.search_step, options.resolution)
        self.tolerance = problem.tolerance * TOLERANCE_FRACTION
        self.max_jumps: Array = max_jumps(context.space, options)
        self.min_spacing = (options.min_step_distance, options.min_step_angle)

    def follow(self) -> None:
        """Follow the whole path.

        Raises:
            MPNoIKSolutionError, MPTargetInCollisionError, MPInterpolationInCollisionError, MPMaxJumpError: The path
                cannot be completed.
            TimedOutError: The state limit was reached.
        """
        raise NotImplementedError  # each strategy has its own

    def note(self, text: str) -> None:
        """Add a line to the log, if it is requested."""
        if self.options.verbose:
            self.log.append(text)

    def progress(self, done: float, waypoint: int | None = None) -> None:
        """Report the completed fraction, 0 to 1, and the current waypoint."""
        monitor = self.context.monitor
        monitor.fraction = done if np.isnan(monitor.fraction) else max(monitor.fraction, done)
        if waypoint is not None:
            monitor.step = waypoint

    def check_limits(self) -> None:
        """Check cancellation, time limit and state limit.

        Raises:
            CancelledError: The request was cancelled.
            TimedOutError: The time limit or the state limit was reached.
        """
        checks = self.context.checks
        checks.check()
        if checks.states > self.options.state_limit:
            numbers = (Value("states checked", checks.states, self.options.state_limit),)
            raise TimedOutError("the state limit was reached", stage="follow", values=numbers)

    # Configurations -------------------------------------------------------------------------------------------------

    def check_waypoints(self) -> None:
        """Check that each waypoint without a blend can be reached without collision.

        Raises:
            MPNoIKSolutionError, MPTargetInCollisionError: The first waypoint that cannot.
        """
        for index, target in enumerate(self.cartesian_path.targets):
            self.check_limits()
            if not self.cartesian_path.waypoints.segment(index).blend_radius:
                solution_at(self, target, index, self.start, free=True)

    def solve_from(self, starts: Array, targets: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Solve inverse kinematics for targets (k, 4, 4) from start values (k, dof), which may be beyond the limits;
        return configurations (k, dof) within them, and whether each converged.
        """
        problem = self.problem
        lower, upper = problem.joints.limits[0], problem.joints.limits[1]
        found = np.ascontiguousarray(np.clip(starts, lower, upper))
        errors = ik_kernels.solve_many(
            problem.chain.table, targets, problem.rotation_weights, found, lower, upper, self.tolerance, MAX_ITERATIONS,
            STALL_TOLERANCE,
        )  # fmt: skip
        return found, within_tolerance(problem, errors)

    def solve_in_sequence(self, start: Array, targets: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Solve inverse kinematics for targets (k, 4, 4), each from the solution before, the first from a start (dof,).

        Returns:
            Configurations (k, dof), and whether each converged.
        """
        return solve_in_sequence(self.problem, start, targets)

    # Motions --------------------------------------------------------------------------------------------------------

    def refine_points(self) -> PlanningError | None:
        """Add points where the frame deviates from the path by more than allowed, or where a joint would jump.

        Returns:
            The error of the first motion for which the min spacing is too large; the points end before it.
        """
        limits = self.options.max_deviation, self.options.max_deviation_angle
        bounds = [DEVIATION_FRACTION * limit if limit > 0.0 else np.inf for limit in limits]
        failure: PlanningError | None = None
        while self.points:
            self.check_limits()
            path, edges = self.path(), self.edges()
            too_far = (np.abs(np.diff(path, axis=0)) > self.max_jumps).any(axis=1)
            if min(bounds) < np.inf:
                distances, angles = self._deviations(path, edges)
                too_far |= (distances > bounds[0]) | (angles > bounds[1])
            selected = np.flatnonzero(too_far)
            if not len(selected):
                break
            added, converged = self.midpoints(path, edges, selected)
            spans = edges.ends - edges.begins
            failed = [
                index
                for index, is_converged in zip(selected.tolist(), converged, strict=True)
                if not (is_converged and self.can_halve(int(edges.segments[index]), float(spans[index])))
            ]
            if failed:
                failure = self._spacing_error(path, edges, failed[0])
            self.insert_midpoints(selected, added, edges, failed[0] if failed else len(self.points))
        return failure

    def midpoints(self, path: Array, edges: Edges, selected: NDArray[np.intp]) -> tuple[Array, NDArray[np.bool_]]:
        """Return configurations (k, dof) at the midpoints, on the path, of motions, and whether each converged."""
        targets = self.cartesian_path.poses(edges.segments[selected], edges.fractions(0.5)[selected])
        return self.solve_from(0.5 * (path[selected] + path[selected + 1]), targets)

    def can_halve(self, segment: int, span: float) -> bool:
        """Whether half of a span of a segment is at least the min spacing."""
        curve, half = self.cartesian_path.segments[segment].curve, 0.5 * span
        return half * curve.length >= self.min_spacing[0] or half * curve.angle >= self.min_spacing[1]

    def insert_midpoints(self, selected: NDArray[np.intp], added: Array, edges: Edges, end: int) -> None:
        """Insert points at the midpoints of selected motions; remove those from motion `end` on."""
        midpoints = edges.fractions(0.5)
        points_added = {
            index: Point(q, int(edges.segments[index]), float(midpoints[index]))
            for index, q in zip(selected.tolist(), added, strict=True)
        }
        points: list[Point] = []
        for index, point in enumerate(self.points[:end]):
            if index in points_added:
                points.append(points_added[index])
            points.append(point)
        self.points = points

    def _spacing_error(self, path: Array, edges: Edges, index: int) -> PlanningError:
        """Return the error for a motion that cannot be halved."""
        self.points = self.points[:index]
        if (np.abs(path[index + 1] - path[index]) > self.max_jumps).any():
            return joint_jump_error(
                self, path[index], path[index + 1], int(edges.segments[index]), float(edges.ends[index])
            )
        distances, angles = self._deviations(path[index : index + 2], edges.at(index))
        return deviation_error(self, edges.at(index), float(distances[0]), float(angles[0]))

    def check_motions(self) -> None:
        """Check that all motions between the points are free.

        Raises:
            MPInterpolationInCollisionError: The first collision; the points end before it.
        """
        blocked = self.first_blocked(self.path())
        if blocked is not None:
            raise self.collision_at(*blocked)

    def collision_at(self, index: int, q: Array) -> PlanningError:
        """Return the error of the motion to a point that collides at q (dof,); the points end before it."""
        point = self.points[index]
        self.points = self.points[:index]
        return collision_error(self, point, q)

    def first_blocked(self, path: Array) -> tuple[int, Array] | None:
        """Return the index of the first colliding motion of a path (n, dof) and the colliding configuration; None if
        all are free. The first point has to be free.
        """

        def check(fraction: float) -> None:
            self.check_limits()
            self.progress(TRACKING_FRACTION + (1.0 - TRACKING_FRACTION) * fraction)

        return self.motions.first_blocked(path, check)

    # Results --------------------------------------------------------------------------------------------------------

    def path(self) -> Array:
        """Return the start and all points, (n + 1, dof)."""
        return np.array([self.start, *(point.q for point in self.points)])

    def edges(self) -> Edges:
        """Return the motions between the points."""
        segments = np.array([point.segment for point in self.points], dtype=np.intp)
        ends = np.array([point.fraction for point in self.points])
        return Edges.to(segments, ends)

    def fraction(self) -> float:
        """Return the completed fraction of the path: by length, or by angle for a pure rotation."""
        if self.complete:
            return 1.0
        if not self.points:
            return 0.0
        return self.cartesian_path.fraction(self.points[-1].segment, self.points[-1].fraction)

    def parameters(self) -> Array:
        """Return the path parameters (n + 1,) of the joint path: length [m], or angle [rad] of pure rotations."""
        edges = self.edges()
        extents = np.array([segment.extent for segment in self.cartesian_path.segments])
        return np.concatenate(
            ([0.0], self.cartesian_path.starts[edges.segments] + edges.ends * extents[edges.segments])
        )

    def spacings(self) -> Array:
        """Return the largest spacing of points on each segment (p,) [m or rad]."""
        edges, segments = self.edges(), self.cartesian_path.segments
        extents, widest = np.array([segment.extent for segment in segments]), np.zeros(len(segments))
        np.maximum.at(widest, edges.segments, (edges.ends - edges.begins) * extents[edges.segments])
        return widest

    def stops(self) -> tuple[int, ...]:
        """Return the indices of the points of the joint path at which the motion has to rest."""
        return self.points_at_ends(self.cartesian_path.rests(self.spacings(), self.options.max_deviation))

    def points_at_ends(self, selected: NDArray[np.bool_]) -> tuple[int, ...]:
        """Return the indices of the points of the joint path at the ends of selected segments (p,)."""
        edges = self.edges()
        return tuple((np.flatnonzero((edges.ends == 1.0) & selected[edges.segments]) + 1).tolist())

    def speeds(self) -> Array:
        """Return the requested speed of the frame on the motion to each point (n,) [m/s]; 0 for none."""
        return np.array([self.cartesian_path.segments[point.segment].speed for point in self.points])

    def in_place(self) -> NDArray[np.bool_]:
        """Return whether the frame only rotates on the motion to each point (n,)."""
        segments = self.cartesian_path.segments
        return np.array([is_rotation_in_place(segments[point.segment].curve) for point in self.points], dtype=bool)

    def report(self) -> CartesianReport:
        path, edges = self.path(), self.edges()
        distances, angles = self._deviations(path, edges)
        segments = self.cartesian_path.segments
        return CartesianReport(
            self.fraction(),
            tuple(segments[point.segment].waypoint for point in self.points),
            tuple(segments[point.segment].parameter(point.fraction) for point in self.points),
            float(distances.max(initial=0.0)),
            float(angles.max(initial=0.0)),
            min_manipulability=smallest_manipulability(self.problem, path),
            log=tuple(self.log),
        )

    def _deviations(self, path: Array, edges: Edges) -> tuple[Array, Array]:
        """Return the max distance [m] and angle [rad] from the path on each motion, (k,)."""
        count = len(path) - 1
        if count < 1:
            return np.zeros(0), np.zeros(0)
        between = np.concatenate([path[:-1] + fraction * (path[1:] - path[:-1]) for fraction in DEVIATION_SAMPLES])
        fractions = np.concatenate([edges.fractions(fraction) for fraction in DEVIATION_SAMPLES])
        poses = self.problem.chain.forward_many(between)
        distances, angles = self.cartesian_path.distances(
            np.tile(edges.segments, len(DEVIATION_SAMPLES)), fractions, poses
        )
        return distances.reshape(-1, count).max(axis=0), angles.reshape(-1, count).max(axis=0)
