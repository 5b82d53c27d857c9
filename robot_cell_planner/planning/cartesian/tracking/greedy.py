"""Step-by-step tracking: each configuration is computed from the previous one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....errors import PlanningError
from ....trajectory.limits import Array
from ..path.points import Point
from ..redundancy.smoothing import null_spaces
from .failures import joint_jump_error, solution_at
from .ik_solutions import redundancy
from .ik_tracker import TRACKING_FRACTION, IkTracker
from .start_configurations import start_configurations

POINTS_PER_BATCH = 256  # points between checks of limits
SIDESTEPS = (0.05, 0.1, 0.2, 0.4)  # [rad or m] in the null space, tried in this order at a collision


class GreedyTracker(IkTracker):
    """Stays on the branch of inverse kinematics solutions on which it starts."""

    planner = "greedy"
    max_sidesteps = 100  # of a redundant task

    def follow(self) -> None:
        if not self.options.sample_start_configuration:
            self.follow_from(self.start)
            return
        best_failure: PlanningError | None = None
        for start in start_configurations(self):
            try:
                self.follow_from(start)
            except PlanningError as error:
                if best_failure is None or error.partial.cartesian.fraction > best_failure.partial.cartesian.fraction:
                    best_failure = error
            else:
                return
        if best_failure is not None:
            raise best_failure

    def follow_from(self, start: Array) -> None:
        """Follow the whole path from a configuration (dof,). Errors as for `follow`."""
        self.start, self.points, self.complete = start, [], False
        segments, fractions = self.cartesian_path.samples(self.options.max_step_distance, self.options.max_step_angle)
        failure = self._track(segments, fractions)
        failure = self.refine_points() or failure
        if self.options.check_collision:
            blocked = self.first_blocked(self.path())
            for _ in range(self.max_sidesteps):
                if blocked is None or not self._sidestep(blocked[0]):
                    break
                failure = self._track(segments, fractions)
                failure = self.refine_points() or failure
                blocked = self.first_blocked(self.path())
            if blocked is not None:
                raise self.collision_at(*blocked)
        if failure is not None:
            raise failure
        self.complete = True
        self.progress(1.0)

    def _sidestep(self, index: int) -> bool:
        """Replace the point after a colliding motion by the nearest one beside it in the null space that is reached
        without collision, and remove the points after it; return whether there is one.
        """
        redundant_joints = redundancy(self.problem)
        if not redundant_joints:
            return False
        point, before = self.points[index], self.points[index - 1].q if index else self.start
        bases = np.swapaxes(null_spaces(self.problem, point.q[None], redundant_joints), 1, 2)[0]
        sides = np.concatenate([step * side * bases for step in SIDESTEPS for side in (1.0, -1.0)])
        pose = self.cartesian_path.pose(point.segment, point.fraction)
        beside, converged = self.solve_from(point.q + sides, np.repeat(pose[None], len(sides), axis=0))
        converged &= (np.abs(beside - before) <= self.max_jumps).all(axis=1)
        for q in beside[converged]:
            self.check_limits()
            if self.motions.first_blocked(np.array((before, q))) is None:
                self.points[index:] = [Point(q, point.segment, point.fraction)]
                return True
        return False

    def _track(self, segments: NDArray[np.intp], fractions: Array) -> PlanningError | None:
        """Track all samples after the last point as far as joints can follow; return the error of the first failure."""
        q, done = self.start, 0
        if self.points:
            last = self.points[-1]
            q = last.q
            reached = (segments < last.segment) | ((segments == last.segment) & (fractions <= last.fraction))
            done = int(reached.sum())
        while done < len(segments):
            self.check_limits()
            batch = slice(done, done + POINTS_PER_BATCH)
            targets = self.cartesian_path.poses(segments[batch], fractions[batch])
            found, converged = self.solve_in_sequence(q, targets)
            steps = np.abs(np.diff(found, axis=0, prepend=q[None]))
            failed = np.flatnonzero(~converged | (steps > self.max_jumps).any(axis=1))
            count = int(failed[0]) if len(failed) else len(found)
            for index in range(count):
                self.add_point(found[index], int(segments[done + index]), float(fractions[done + index]))
            done += count
            q = self.points[-1].q if self.points else self.start
            if len(failed):
                try:
                    q = self.advance(q, int(segments[done]), float(fractions[done]))
                except PlanningError as error:
                    return error
                done += 1
            waypoint = self.cartesian_path.segments[int(segments[done - 1])].waypoint
            self.progress(TRACKING_FRACTION * done / len(segments), waypoint)
        return None

    def add_point(self, q: Array, segment: int, fraction: float) -> None:
        """Add a configuration (dof,) as the next point."""
        if self.options.verbose:
            where = self.cartesian_path.segments[segment]
            before = self.points[-1].q if self.points else self.start
            widest = float(np.abs(q - before).max())
            place = f"waypoint {where.waypoint} at {where.parameter(fraction):.6g}"
            self.note(f"{place}: reached, largest step {widest:.6g}")
        self.points.append(Point(q, segment, fraction))

    def advance(self, q: Array, segment: int, end: float) -> Array:
        """Continue from q (dof,), at the last point, to a fraction of a segment; steps are halved if joints would jump.

        Raises:
            MPNoIKSolutionError, MPMaxJumpError: The path cannot be continued.
        """
        last = self.points[-1] if self.points else None
        reached = last.fraction if last is not None and last.segment == segment else 0.0
        pending = [end]
        while pending:
            self.check_limits()
            fraction = pending[-1]
            target = self.cartesian_path.poses(np.array([segment]), np.array([fraction]))
            found, converged = self.solve_from(q[None], target)
            if not converged[0] or (np.abs(found[0] - q) > self.max_jumps).any():
                if self.can_halve(segment, fraction - reached):
                    pending.append(0.5 * (reached + fraction))
                    continue
                found[0] = self._solve_nearby(q, segment, fraction, found[0] if converged[0] else None)
            self.add_point(found[0], segment, fraction)
            q, reached = found[0], fraction
            pending.pop()
        return q

    def _solve_nearby(self, q: Array, segment: int, fraction: float, followed: Array | None) -> Array:
        """Return a solution near q found by a full inverse kinematics search, or raise the error."""
        waypoint = self.cartesian_path.segments[segment].waypoint
        found = followed
        if found is None:
            found = solution_at(self, self.cartesian_path.pose(segment, fraction), waypoint, q, free=False)
        if (np.abs(found - q) <= self.max_jumps).all():
            return found
        raise joint_jump_error(self, q, found, segment, fraction)
