"""Following a route step by step: each configuration is the one that is reached from the one before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....errors import PlanningError
from ....kinematics._kernels import ik_kernels
from ....trajectory.limits import Array
from ..path.points import Point
from .failures import joint_jump, solution_at
from .ik_tracker import ITERATIONS, PATIENCE, SHARE_BEFORE_MOTIONS, IkTracker
from .start_configurations import start_configurations

POINTS_AT_ONCE = 256  # followed between two looks at the clock


class GreedyTracker(IkTracker):
    """Stays on the branch of inverse kinematics that it starts on."""

    planner = "greedy"

    def follow(self) -> None:
        if not self.options.sample_start_configuration:
            self.follow_from(self.start)
            return
        farthest: PlanningError | None = None
        for start in start_configurations(self):
            try:
                self.follow_from(start)
            except PlanningError as error:
                if farthest is None or error.partial.cartesian.fraction > farthest.partial.cartesian.fraction:
                    farthest = error
            else:
                return
        if farthest is not None:
            raise farthest

    def follow_from(self, start: Array) -> None:
        """Follow the whole route from a configuration (dof,); errors as of `follow`."""
        self.start, self.points, self.complete = start, [], False
        pieces, shares = self.route.samples(self.options.max_step_distance, self.options.max_step_angle)
        ending = self._steps(pieces, shares)
        ending = self.add_points() or ending
        if self.options.check_collision:
            self.check_motions()
        if ending is not None:
            raise ending
        self.complete = True
        self.progress(1.0)

    def _steps(self, pieces: NDArray[np.intp], shares: Array) -> PlanningError | None:
        """Go to all samples, as far as joints can follow; the error for where they cannot."""
        problem, q, done = self.problem, self.start, 0
        lower, upper = problem.joints.limits[0], problem.joints.limits[1]
        while done < len(pieces):
            self.check_limits()
            part = slice(done, done + POINTS_AT_ONCE)
            targets = self.route.poses(pieces[part], shares[part])
            found, left = ik_kernels.solve_in_sequence(
                problem.chain.table,
                targets,
                problem.free_rotation,
                q,
                lower,
                upper,
                self.tolerance,
                ITERATIONS,
                PATIENCE,
            )
            steps = np.abs(np.diff(found, axis=0, prepend=q[None]))
            bad = np.flatnonzero(~self.within(left) | (steps > self.max_jumps).any(axis=1))
            good = int(bad[0]) if len(bad) else len(found)
            for index in range(good):
                self.reach(found[index], int(pieces[done + index]), float(shares[done + index]))
            done += good
            q = self.points[-1].q if self.points else self.start
            if len(bad):
                try:
                    q = self.advance(q, int(pieces[done]), float(shares[done]))
                except PlanningError as error:
                    return error
                done += 1
            where = self.route.pieces[int(pieces[done - 1])].waypoint
            self.progress(SHARE_BEFORE_MOTIONS * done / len(pieces), where)
        return None

    def reach(self, q: Array, piece: int, share: float) -> None:
        """Take a configuration (dof,) as the next point."""
        if self.options.verbose:
            where = self.route.pieces[piece]
            before = self.points[-1].q if self.points else self.start
            widest = float(np.abs(q - before).max())
            self.note(f"waypoint {where.waypoint} at {where.parameter(share):.6g}: reached, widest step {widest:.6g}")
        self.points.append(Point(q, piece, share))

    def advance(self, q: Array, piece: int, end: float) -> Array:
        """Go on from q (dof,), where the points end, to a share of a piece, in halves where joints would jump.

        Raises:
            MPNoIKSolutionError, MPMaxJumpError: the way ends there.
        """
        last = self.points[-1] if self.points else None
        reached = last.share if last is not None and last.piece == piece else 0.0
        pending = [end]
        while pending:
            self.check_limits()
            share = pending[-1]
            target = self.route.poses(np.array([piece]), np.array([share]))
            found, got_there = self.approached(q[None], target)
            if not got_there[0] or (np.abs(found[0] - q) > self.max_jumps).any():
                if self._wide_enough(piece, share - reached):
                    pending.append(0.5 * (reached + share))
                    continue
                found[0] = self._last_resort(q, piece, share, found[0] if got_there[0] else None)
            self.reach(found[0], piece, share)
            q, reached = found[0], share
            pending.pop()
        return q

    def _wide_enough(self, piece: int, span: float) -> bool:
        """Whether half of a span of a piece is as wide as the narrowest spacing asked for."""
        way, half = self.route.pieces[piece].way, 0.5 * span
        return half * way.length >= self.least_spacing[0] or half * way.angle >= self.least_spacing[1]

    def _last_resort(self, q: Array, piece: int, share: float, followed: Array | None) -> Array:
        """A solution near q that following it step by step did not reach, or the error that says why there is none."""
        waypoint = self.route.pieces[piece].waypoint
        found = followed
        if found is None:
            found = solution_at(self, self.route.pose(piece, share), waypoint, q, free=False)
        if (np.abs(found - q) <= self.max_jumps).all():
            return found
        raise joint_jump(self, q, found, piece, share)
