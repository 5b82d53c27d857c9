"""Coordinated Cartesian motion of a composite group: its first robot follows the path, the others keep their place
relative to it, as two arms that carry one workpiece do, or follow paths in its frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import (
    InverseKinematicsError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    NotSupportedError,
    PlanningError,
    TargetModeMismatchError,
    TrajectoryError,
    Value,
)
from ...kinematics.ik.options import IkOptions
from ...kinematics.ik.problem import ik_problem, within_limits
from ...kinematics.ik.solver import solve
from ...kinematics.targets import FrameTarget, TargetMode
from ...model.pose import IDENTITY, Pose
from ...trajectory.limits import Array
from ...trajectory.timing import TimedMotion
from ...trajectory.trajectory import Trajectory
from ..path.finish import bare_plan
from ..path.motion_checks import MotionChecks
from ..problem.context import PlanningContext
from ..problem.plan import CartesianReport
from ..problem.request import STAGE
from .deviations import places_on_path
from .followers import Follower, check_relative_paths, relative_path
from .path.options import CartesianOptions
from .path.points import Point
from .path.waypoints import Waypoints
from .tracking.failures import collision_error, joint_jump_error, tracking_error
from .tracking.ik_tracker import (
    DEVIATION_FRACTION,
    DEVIATION_SAMPLES,
    IkTracker,
    max_jumps,
    solve_in_sequence,
)

# Max change of the relative pose, unless the options have deviations [m], [rad].
MAX_DISTANCE = 1e-4
MAX_ANGLE = 1e-3
RELATIVE_FRACTION = 0.5  # of the allowed change, for the rounding of a corner of a path
LONGER = 1.0 + 1e-9  # for rounding of steps


class CoordinatedTracker:
    """Tracks a Cartesian path with the leader, and solves for the followers at its points.

    Points are added until the relative poses change by no more than allowed between points. Collisions are checked for
    all robots together, with what they carry. The configurations of the start fix the branch of each follower.
    """

    def __init__(
        self, context: PlanningContext, leader: IkTracker, followers: Sequence[Follower], options: CartesianOptions
    ) -> None:
        self.context = context
        self.leader = leader
        self.followers = tuple(followers)
        self.options = options
        self.cartesian_path, self.problem, self.origin = leader.cartesian_path, leader.problem, leader.origin
        self.max_jumps = max_jumps(context.space, options)
        self.allowed = (options.max_deviation or MAX_DISTANCE, options.max_deviation_angle or MAX_ANGLE)
        self._path: Array = context.space.start[None]
        self._relative_paths = [follower.path for follower in self.followers if follower.path is not None]
        self._waypoints = np.array([segment.waypoint for segment in self.cartesian_path.segments], dtype=np.intp)

    def check_waypoints(self) -> None:
        """Do nothing: whether a waypoint is free depends on where the followers are then."""

    def follow(self) -> None:
        """Follow the whole path. Errors as for `IkTracker.follow`."""
        failure: PlanningError | None = None
        try:
            self.leader.follow()
        except PlanningError as error:
            failure = error
        failure = self._add_relative_points() or failure
        failure = self._solve() or failure
        failure = self._refine() or failure
        if self.options.check_collision:
            self._check_motions()
        if failure is not None:
            raise self._with_all_robots(failure)

    def _add_relative_points(self) -> PlanningError | None:
        """Add points where a relative path has steps above the max step between points; return the error of the first
        motion that cannot be halved."""
        limits = self.options.max_step_distance, self.options.max_step_angle
        while self._relative_paths and self.leader.points:
            edges = self.leader.edges()
            waypoints, spans = self._waypoints[edges.segments], edges.ends - edges.begins
            lengths = np.max([path.lengths[waypoints] for path in self._relative_paths], axis=0) * spans
            angles = np.max([path.angles[waypoints] for path in self._relative_paths], axis=0) * spans
            selected = np.flatnonzero((lengths > limits[0] * LONGER) | (angles > limits[1] * LONGER))
            if not len(selected):
                return None
            added, converged = self.leader.midpoints(self.leader.path(), edges, selected)
            if not converged.all():
                index = int(selected[np.flatnonzero(~converged)[0]])
                return self._too_far(index, float(lengths[index]), float(angles[index]))
            self.leader.insert_midpoints(selected, added, edges, len(self.leader.points))
            self._path = self._leader_path()
        return None

    def _leader_path(self) -> Array:
        """Return the points of the leader with the others at the start (n + 1, dof)."""
        leader_path = self.leader.path()
        path = np.tile(self.context.space.start, (len(leader_path), 1))
        path[:, : leader_path.shape[1]] = leader_path
        return path

    def _can_halve(self, segment: int, span: float) -> bool:
        """Whether half of a span of a segment is at least the min spacing, for the leader or a relative path."""
        if self.leader.can_halve(segment, span):
            return True
        waypoint, least = self._waypoints[segment], self.leader.min_spacing
        return any(
            0.5 * span * path.lengths[waypoint] >= least[0] or 0.5 * span * path.angles[waypoint] >= least[1]
            for path in self._relative_paths
        )

    def _solve(self) -> PlanningError | None:
        """Solve for the followers at all points; return the error of the first point that cannot be reached, before
        which the points end."""
        leader_path, path = self.leader.path(), self._leader_path()
        poses, edges = self.leader.problem.chain.forward_many(leader_path), self.leader.edges()
        reached, first = len(leader_path), -1
        for number, follower in enumerate(self.followers):
            if len(leader_path) < 2:
                break
            targets = poses[1:] @ follower.relative(self._waypoints[edges.segments], edges.ends)
            found, converged = solve_in_sequence(
                follower.problem, follower.problem.start, np.ascontiguousarray(targets)
            )
            path[1:, follower.columns] = found
            jumps = (np.abs(np.diff(path, axis=0)) > self.max_jumps)[:, follower.columns].any(axis=1)
            failed = np.flatnonzero(~converged | jumps)
            if len(failed) and failed[0] + 1 < reached:
                reached, first = int(failed[0]) + 1, number
        self._path = path[:reached]
        if first < 0:
            return None
        points = self.leader.points
        self.leader.points, self.leader.complete = points[: reached - 1], False
        relative = self.followers[first].relative(self._waypoints[edges.segments], edges.ends)[reached - 1]
        return self._unreachable(self.followers[first], poses[reached] @ relative, points[reached - 1], path[reached])

    def _unreachable(self, follower: Follower, target: Array, point: Point, found: Array) -> PlanningError:
        """Return the error for a pose (4, 4) that a follower cannot reach, or only by a jump: to `found` (dof,), or, if
        inverse kinematics has not converged there, to a solution that a search finds."""
        cell, names, q = self.context.cell, self.context.space.variables, self._path[-1]
        state = self.context.state.with_configuration(dict(zip(names, q.tolist(), strict=True)))
        requested = FrameTarget(pose=Pose.from_matrix(target), mode=TargetMode.FRAME, frame=follower.problem.frame)
        waypoint = self.cartesian_path.segments[point.segment].waypoint
        try:
            problem = ik_problem(cell, state, requested, follower.group)
            best = solve(within_limits(problem, self.context.space.definitions), IkOptions(max_solutions=1)).best
        except InverseKinematicsError as error:
            text = (
                f"{follower.group} cannot keep its relative pose on the segment to waypoint {waypoint}: {error.message}"
            )
            kind, subjects = MPNoIKSolutionError, (follower.group, *error.subjects)
            return tracking_error(self, kind, text, target, waypoint, subjects, error.values, ik=error)
        if (np.abs(found - q) <= self.max_jumps).all():
            found = q.copy()
            found[[names.index(name) for name in problem.joints.variables]] = best
        return joint_jump_error(self, q, found, point.segment, point.fraction, follower.problem, target)

    def _refine(self) -> PlanningError | None:
        """Add points where a relative pose changes by more than allowed between points.

        Returns:
            The error of the first motion that cannot be halved, or of the first point that a follower cannot reach; the
                points end before it.
        """
        while self.leader.points:
            self.leader.check_limits()
            distances, angles = self._deviations()
            too_far = (distances > DEVIATION_FRACTION * self.allowed[0]) | (
                angles > DEVIATION_FRACTION * self.allowed[1]
            )
            selected = np.flatnonzero(too_far)
            if not len(selected):
                return None
            edges = self.leader.edges()
            added, converged = self.leader.midpoints(self.leader.path(), edges, selected)
            spans = edges.ends - edges.begins
            for index, is_converged in zip(selected.tolist(), converged, strict=True):
                if not (is_converged and self._can_halve(int(edges.segments[index]), float(spans[index]))):
                    return self._too_far(index, float(distances[index]), float(angles[index]))
            self.leader.insert_midpoints(selected, added, edges, len(self.leader.points))
            failure = self._solve()
            if failure is not None:
                return self._refine() or failure  # that of the earlier point, if there is one
        return None

    def _too_far(self, index: int, distance: float, angle: float) -> PlanningError:
        point = self.leader.points[index]
        self._cut(index)
        waypoint = self.cartesian_path.segments[point.segment].waypoint
        text = (
            f"the robots leave their relative poses on the segment to waypoint {waypoint} between points at min spacing"
        )
        target = self.cartesian_path.pose(point.segment, point.fraction)
        names = tuple(follower.group for follower in self.followers)
        return tracking_error(self, MPMaxJumpError, text, target, waypoint, names, self._values(distance, angle))

    def _values(self, distance: float, angle: float) -> tuple[Value, Value]:
        return (
            Value("change of the relative position", distance, self.allowed[0], "m"),
            Value("change of the relative orientation", angle, self.allowed[1], "rad"),
        )

    def _cut(self, count: int) -> None:
        """Keep the first points."""
        self.leader.points, self.leader.complete = self.leader.points[:count], False
        self._path = self._path[: count + 1]

    def _check_motions(self) -> None:
        def check(_: float) -> None:
            self.leader.check_limits()

        motions = MotionChecks(self.context.checks, self.options.search_step, self.options.resolution)
        blocked = motions.first_blocked(self._path, check)
        if blocked is not None:
            index, q = blocked
            point = self.leader.points[index]
            self._cut(index)
            raise collision_error(self, point, q)

    def _with_all_robots(self, failure: PlanningError) -> PlanningError:
        """Return a failure of the leader with the part of the plan of all robots."""
        own = self.report()
        if failure.partial is not None and failure.partial.cartesian is not None:
            own = replace(
                failure.partial.cartesian,
                fraction=own.fraction, waypoint_of_point=own.waypoint_of_point,
                parameter_of_point=own.parameter_of_point, max_deviation=own.max_deviation,
                max_deviation_angle=own.max_deviation_angle,
            )  # fmt: skip
        failure.partial = bare_plan(self.context, self.path(), self.origin, cartesian=own)
        return failure

    # Results --------------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Add a line to the log, if it is requested."""
        self.leader.note(text)

    def path(self) -> Array:
        """Return the start and all points, (n + 1, dof)."""
        return self._path

    def stops(self) -> tuple[int, ...]:
        """Return the indices of the points at which the motion has to rest, because of corners of a path."""
        if not self._relative_paths:
            return self.leader.stops()
        spacings, allowed = self.leader.spacings(), RELATIVE_FRACTION * self.allowed[0]
        extents = np.array([segment.extent for segment in self.cartesian_path.segments])
        rests = self.cartesian_path.rests(spacings, allowed)
        for path in self._relative_paths:
            rests |= path.rests(extents, spacings, allowed)
        return self.leader.points_at_ends(rests)

    def all_waypoints(self) -> tuple[int, ...]:
        """Return the indices of the points at the waypoints."""
        return self.leader.points_at_ends(np.ones(len(self.cartesian_path.segments), dtype=bool))

    def report(self) -> CartesianReport:
        """Return the report of the leader; deviations include those of the followers from their relative poses."""
        own = self.leader.report()
        distances, angles = self._deviations()
        return replace(
            own,
            max_deviation=max(own.max_deviation, float(distances.max(initial=0.0))),
            max_deviation_angle=max(own.max_deviation_angle, float(angles.max(initial=0.0))),
        )

    def keeps_relative_poses(self, motion: TimedMotion) -> bool:
        """Return whether the relative poses change by no more than allowed at all samples of a motion."""
        distances, angles = self._trajectory_changes(motion.trajectory, motion.passing_times)
        return not ((distances > self.allowed[0]).any() or (angles > self.allowed[1]).any())

    def check_motion(self, motion: TimedMotion) -> None:
        """Check that the relative poses are held at all samples of a motion.

        Raises:
            TrajectoryError: They change by more than allowed.
        """
        if not self.keeps_relative_poses(motion):
            distances, angles = self._trajectory_changes(motion.trajectory, motion.passing_times)
            names = tuple(follower.group for follower in self.followers)
            text = "the robots leave their relative poses along the trajectory; a smaller max_step_distance keeps them"
            values = self._values(float(distances.max()), float(angles.max()))
            raise TrajectoryError(text, stage="timing", subjects=names, values=values)

    def _trajectory_changes(self, trajectory: Trajectory, passing_times: Array) -> tuple[Array, Array]:
        waypoints, fractions = self._places(trajectory, passing_times)
        return self._changes(trajectory.positions, waypoints, fractions, along=True)

    def _deviations(self) -> tuple[Array, Array]:
        """Return the largest change of a relative pose on each motion between points, (k,) [m] and [rad]."""
        path, count = self._path, len(self._path) - 1
        if count < 1:
            return np.zeros(0), np.zeros(0)
        between = np.concatenate([path[:-1] + fraction * np.diff(path, axis=0) for fraction in DEVIATION_SAMPLES])
        edges = self.leader.edges()
        waypoints = np.tile(self._waypoints[edges.segments], len(DEVIATION_SAMPLES))
        fractions = np.concatenate([edges.fractions(fraction) for fraction in DEVIATION_SAMPLES])
        distances, angles = self._changes(between, waypoints, fractions)
        return distances.reshape(-1, count).max(axis=0), angles.reshape(-1, count).max(axis=0)

    def _places(self, trajectory: Trajectory, passing_times: Array) -> tuple[NDArray[np.intp], Array]:
        """Return the waypoints (n,) that the samples of a trajectory along the path lead to, and the fractions (n,) of
        the ways to them."""
        edges = self.leader.edges()
        if len(self._path) < 2:
            return np.zeros(len(trajectory), dtype=np.intp), np.zeros(len(trajectory))
        found, along = places_on_path(self._path, passing_times, trajectory.times, trajectory.positions)
        return self._waypoints[edges.segments[found]], edges.begins[found] + along * (edges.ends - edges.begins)[found]

    def _changes(
        self, configurations: Array, waypoints: NDArray[np.intp], fractions: Array, along: bool = False
    ) -> tuple[Array, Array]:
        """Return the largest deviation of a relative pose at configurations (n, dof), (n,) [m] and [rad].

        Args:
            waypoints, fractions: Waypoint that each leads to, and fraction of the way to it (n,).
            along: Whether distances along a relative path do not count.
        """
        chain = self.leader.problem.chain
        own = np.ascontiguousarray(configurations[:, : len(self.leader.start)])
        poses = chain.forward_many(own)
        found = np.array(
            [
                follower.deviations(poses, configurations, waypoints, fractions, along=along)
                for follower in self.followers
            ]
        )
        return found[:, 0].max(axis=0), found[:, 1].max(axis=0)


def coordinated_tracker(
    context: PlanningContext,
    groups: Sequence[str],
    options: CartesianOptions,
    leader_of: Callable[[str, CartesianOptions], IkTracker],
    relative_paths: Mapping[str, Waypoints],
) -> CoordinatedTracker:
    """Return the tracker of a composite group.

    Args:
        groups: Groups of the composite group; the first one is the leader.
        leader_of: Makes the tracker of a group with options.
        relative_paths: Waypoints in frames that the leader moves, by follower.

    Raises:
        NotSupportedError: The start would be chosen, which the relative poses are taken from.
        TargetModeMismatchError: The leader does not have the frame of the waypoints.
        InvalidRequestError, UnknownNameError: As from `relative_path`.
    """
    if options.sample_start_configuration:
        text = f"{context.space.group} consists of several robots, whose relative poses are those of the start state"
        raise NotSupportedError(
            f"{text}: sample_start_configuration is not supported", stage=STAGE, subjects=tuple(groups)
        )
    # Where the leader collides depends on the followers: collisions are checked afterwards, of all robots together.
    try:
        leader = leader_of(groups[0], replace(options, check_collision=False))
    except TargetModeMismatchError as error:
        text = f"{error.message}; {groups[0]} follows the waypoints, as it is the first robot of {context.space.group}"
        raise error.changed(f"{text}: give them in mode ROBOT, or list the robot that is meant first") from error
    check_relative_paths(relative_paths, groups, leader.cartesian_path)
    column, followers = len(leader.start), []
    for group in groups[1:]:
        waypoints = relative_paths.get(group)
        target = FrameTarget(pose=IDENTITY) if waypoints is None else waypoints.target(0)
        problem = ik_problem(context.cell, context.state, target, group)
        problem = within_limits(problem, context.space.definitions)
        count = len(problem.start)
        follower = Follower(group, problem, leader.problem, slice(column, column + count))
        path = None if waypoints is None else relative_path(context, follower, waypoints)
        followers.append(replace(follower, path=path))
        column += count
    return CoordinatedTracker(context, leader, followers, options)
