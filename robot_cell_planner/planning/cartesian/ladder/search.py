"""Tracking of a Cartesian path along the shortest path in the graph of all inverse kinematics solutions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....errors import PlanningError, TimedOutError, Value
from ....kinematics.ik.problem import IkProblem
from ....trajectory.limits import Array
from ...problem.context import PlanningContext
from ..path.cartesian_path import CartesianPath
from ..path.options import CartesianOptions
from ..path.points import Point
from ..path.samples import Samples, sample_path
from ..redundancy.self_motion import STEPS, trace_self_motion
from ..redundancy.smoothing import smooth
from ..tracking.greedy import GreedyTracker
from ..tracking.ik_solutions import redundancy
from ..tracking.manipulability import manipulabilities
from ..tracking.start_configurations import start_configurations
from .branches import Motions, leaves_branch
from .construction import ladder_of
from .graph import BLOCKED, FREE, TURN, UNKNOWN, Ladder

FIXED_AROUND = 8  # points on either side of a collision that smoothing does not move
TRACED_AROUND = 4  # rungs on either side of the highest reachable one
CHECKED_AROUND = 32  # nodes of a rung next to one in collision that are checked with it
MAX_PATHS = 5000  # max number of ladder paths that are tried
MAX_SMOOTHINGS = 4  # max attempts, with more points fixed each time


class LadderTracker(GreedyTracker):
    """Selects the branch, and redundant degrees of freedom, over the whole path."""

    planner = "graph"
    max_sidesteps = 0  # the graph has found no way around

    def __init__(
        self, context: PlanningContext, cartesian_path: CartesianPath, problem: IkProblem, options: CartesianOptions
    ) -> None:
        super().__init__(context, cartesian_path, problem, options)
        self.redundant = redundancy(problem) > 0
        self._traced: dict[int, int] = {}  # number of traces by rung
        # Nodes of the rung below and of the rung whose edges to each other were all checked, by rung.
        self._checked_nodes: dict[int, tuple[int, int]] = {}

    def follow(self) -> None:
        samples = sample_path(self.cartesian_path, self.options, self.redundant)
        starts = self._starts()
        self.start = starts[0]
        if not len(samples.segments):
            self.complete = True
            return
        try:
            self._search_ladder(samples, starts)
        except PlanningError as failure:
            self._follow_stepwise(failure)
        self.complete = True
        self.progress(1.0)

    def _search_ladder(self, samples: Samples, starts: Array) -> None:
        """Find the shortest valid path in the ladder. Errors as for `follow`."""
        ladder = ladder_of(self, samples, starts)
        highest_rung = -1
        for _ in range(MAX_PATHS):
            self.check_limits()
            rung = ladder.find_paths()
            rung_path, node_indices = ladder.shortest_path(rung)
            self.start = rung_path[0]
            if self.redundant and self._blocked(ladder, node_indices):
                continue
            path, broken = self._fill(samples, rung_path, rung)
            if broken is None:
                broken = self._accept(samples, path)
            if broken is not None:
                self._remove(ladder, samples, node_indices, broken)
                continue
            if rung == ladder.top:
                return
            failure = self._continue_stepwise(samples, ladder, rung, path[-1])
            if failure is None:
                return
            if rung <= highest_rung and not self._trace(ladder, samples, rung):
                raise failure
            highest_rung = max(highest_rung, rung)
        numbers = (Value("paths", MAX_PATHS, MAX_PATHS),)
        raise TimedOutError("the limit on paths through the graph was reached", stage="follow", values=numbers)

    def _follow_stepwise(self, failure: PlanningError) -> None:
        """Follow the path step by step after the graph search failed; raise the error of the longer attempt."""
        self.note("no path through the graph; following step by step")
        start, points = self.start, self.points
        try:
            self.follow_from(self.context.space.start if not self.options.sample_start_configuration else start)
        except PlanningError as error:
            if error.partial.cartesian.fraction > failure.partial.cartesian.fraction:
                raise
            self.start, self.points = start, points
            raise failure from error

    # Ladder ---------------------------------------------------------------------------------------------------------

    def _starts(self) -> Array:
        if self.options.sample_start_configuration:
            return start_configurations(self)
        return np.ascontiguousarray(self.start[None])

    def _trace(self, ladder: Ladder, samples: Samples, rung: int) -> bool:
        """Trace the self-motion on the rungs around the highest reachable one, with a smaller step each time; return
        whether solutions were added.
        """
        redundant_joints = redundancy(self.problem)
        added = 0
        for number in range(max(1, rung + 1 - TRACED_AROUND), min(ladder.top, rung + 1 + TRACED_AROUND) + 1):
            level = self._traced.get(number, 0)
            if not redundant_joints or level == len(STEPS):
                continue
            self._traced[number] = level + 1
            pose = samples.poses[samples.rungs[number - 1]]

            def project(configurations: Array, pose: Array = pose) -> tuple[Array, NDArray[np.bool_]]:
                self.check_limits()
                return self.solve_from(configurations, np.repeat(pose[None], len(configurations), axis=0))

            found = trace_self_motion(self.problem, ladder.nodes[number], STEPS[level], redundant_joints, project)
            if len(found):
                ladder.extend(number, found, manipulabilities(self.problem, found))
            added += len(found)
        if redundant_joints:
            self.note(f"{added} solutions traced around rung {rung + 1}")
        return added > 0

    # Lazy evaluation ------------------------------------------------------------------------------------------------

    def _blocked(self, ladder: Ladder, node_indices: NDArray[np.int64]) -> bool:
        """Return whether a node on a ladder path is in collision. The nodes around such a node are checked too."""
        if not self.options.check_collision:
            return False
        unknown = [
            rung
            for rung, node_index in enumerate(node_indices.tolist())
            if ladder.verdicts[rung][node_index] == UNKNOWN
        ]
        if not unknown:
            return False
        on_way = np.array([ladder.nodes[rung][node_indices[rung]] for rung in unknown])
        free = self.context.checks.batch_free(on_way)
        for rung, is_free in zip(unknown, free.tolist(), strict=True):
            verdicts = ladder.verdicts[rung].copy()
            verdicts[node_indices[rung]] = FREE if is_free else BLOCKED
            if not is_free:
                others = np.flatnonzero(verdicts == UNKNOWN)
                if len(others) > CHECKED_AROUND:
                    apart = np.abs(ladder.nodes[rung][others] - ladder.nodes[rung][node_indices[rung]]).max(axis=1)
                    others = others[np.argpartition(apart, CHECKED_AROUND)[:CHECKED_AROUND]]
                verdicts[others] = np.where(self.context.checks.batch_free(ladder.nodes[rung][others]), FREE, BLOCKED)
            ladder.mark(rung, verdicts)
        blocked = np.flatnonzero(~free)
        if len(blocked):
            self.note(f"rungs in collision on the path: {[unknown[index] for index in blocked.tolist()]}")
        return bool(len(blocked))

    def _fill(self, samples: Samples, rung_path: Array, rung: int) -> tuple[Array, int | None]:
        """Return the path (k + 1, dof) through all samples up to a rung, and the first sample that is not on one
        branch, or None.
        """
        if rung == 0:
            return rung_path, None
        sample_indices = np.concatenate(([-1], samples.rungs[:rung]))
        motions = Motions(rung_path[:-1], rung_path[1:], sample_indices[:-1], sample_indices[1:], np.arange(rung))
        path = np.empty((int(sample_indices[-1]) + 2, rung_path.shape[1]))
        path[sample_indices + 1] = rung_path
        leaving = np.flatnonzero(leaves_branch(self, samples, motions, path))
        return path, int(sample_indices[leaving[0] + 1]) if len(leaving) else None

    def _remove(self, ladder: Ladder, samples: Samples, node_indices: NDArray[np.int64], sample: int) -> None:
        """Remove the cause of a failure at a sample from the ladder: colliding nodes of its rung, or else the edges to
        it.
        """
        rung = 1 + int(np.searchsorted(samples.rungs, sample))
        if not self.redundant and self._blocked(ladder, node_indices[: rung + 1]):
            return
        # Similar edges would fail one after the other, so all are checked.
        pairs = np.vstack((node_indices[None, rung - 1 : rung + 1], self._pairs_off_branch(ladder, samples, rung)))
        self.note(
            f"{samples.describe(self.cartesian_path, sample)}: {len(pairs)} motions leave their branch or collide"
        )
        ladder.remove_edges(rung, pairs)

    def _pairs_off_branch(self, ladder: Ladder, samples: Samples, rung: int) -> NDArray[np.intp]:
        """Return the pairs (k, 2) of neighbouring nodes on a rung and the one below that no motion on one branch
        connects, of those with a node that was added since the last call.
        """
        below, here = self._checked_nodes.get(rung, (0, 0))
        counts = len(ladder.nodes[rung - 1]), len(ladder.nodes[rung])
        if counts == (below, here):
            return np.empty((0, 2), dtype=np.intp)
        self._checked_nodes[rung] = counts
        pairs = ladder.neighbours(rung)
        pairs = pairs[(pairs[:, 0] >= below) | (pairs[:, 1] >= here)]
        if not len(pairs):
            return pairs
        first, last = ladder.nodes[rung - 1][pairs[:, 0]], ladder.nodes[rung][pairs[:, 1]]
        last = last - TURN * np.round((last - first) / TURN) * (self.problem.joints.angular > 0.0)
        begin, end = int(samples.rungs[rung - 2]) if rung > 1 else -1, int(samples.rungs[rung - 1])
        numbers = np.arange(len(pairs))
        begins, ends = np.full_like(numbers, begin), np.full_like(numbers, end)
        return np.asarray(pairs[leaves_branch(self, samples, Motions(first, last, begins, ends, numbers))])

    # Path -----------------------------------------------------------------------------------------------------------

    def _accept(self, samples: Samples, path: Array) -> int | None:
        """Set the points to a path, smoothed if the task is redundant, with points added as needed.

        Returns:
            The first sample at which the path collides or exceeds limits on jumps and deviations, or None. The
                points are those of the path in any case.
        """
        if self.redundant and len(path) > 2:
            fixed = np.zeros(len(path), dtype=bool)
            fixed[0] = True
            for _ in range(MAX_SMOOTHINGS):
                failed = self._set_points(samples, self._smoothed(samples, path, fixed))
                if failed is None:
                    return None
                fixed[max(0, failed + 1 - FIXED_AROUND) : failed + 2 + FIXED_AROUND] = True
        return self._set_points(samples, path)

    def _smoothed(self, samples: Samples, path: Array, fixed: NDArray[np.bool_]) -> Array:
        edges = samples.part(len(path) - 1)
        extents = np.array([segment.extent for segment in self.cartesian_path.segments])[edges.segments]
        poses = samples.poses[: len(path) - 1]

        def project(configurations: Array) -> tuple[Array, NDArray[np.bool_]]:
            self.check_limits()
            return self.solve_from(configurations, poses)

        return smooth(self.problem, path, extents * (edges.ends - edges.begins), fixed, project)

    def _set_points(self, samples: Samples, path: Array) -> int | None:
        """Set the points to a path through the samples; return the first sample at which it is invalid, or None."""
        requested = samples.requested[samples.requested < len(path) - 1]
        segments, fractions = samples.segments, samples.fractions
        self.points = [
            Point(path[index + 1], int(segments[index]), float(fractions[index])) for index in requested.tolist()
        ]
        if self.refine_points() is not None:
            return self._next_sample(samples, len(path))
        if not self.options.check_collision:
            return None
        blocked = self.first_blocked(self.path())
        if blocked is None:
            return None
        self.points = self.points[: blocked[0]]
        return self._next_sample(samples, len(path))

    def _next_sample(self, samples: Samples, count: int) -> int:
        """Return the first sample after the last point, or else the last one of a path (count, dof)."""
        return min(self._reached_samples(samples), count - 2)

    def _reached_samples(self, samples: Samples) -> int:
        """Return the number of samples up to the last point."""
        if not self.points:
            return 0
        last = self.points[-1]
        before = (samples.segments < last.segment) | (
            (samples.segments == last.segment) & (samples.fractions <= last.fraction)
        )
        return int(before.sum())

    def _continue_stepwise(self, samples: Samples, ladder: Ladder, rung: int, q: Array) -> PlanningError | None:
        """Follow the path step by step from the highest reachable rung, at q (dof,), and add the solutions to the
        ladder.

        Returns:
            The error at its end; None if it reached the end of the path, with all points.
        """
        first = int(samples.rungs[rung - 1]) + 1 if rung else 0
        if self._reached_samples(samples) < first:
            self.points.append(Point(q, int(samples.segments[first - 1]), float(samples.fractions[first - 1])))
        try:
            for sample in range(first, len(samples.segments)):
                count = len(self.points)
                q = self.advance(q, int(samples.segments[sample]), float(samples.fractions[sample]))
                if self.options.check_collision:
                    self._check_new_motions(count)
                above = int(np.searchsorted(samples.rungs, sample))
                if samples.rungs[above] == sample:
                    ladder.add(above + 1, q, float(manipulabilities(self.problem, q[None])[0]))
            failure = self.refine_points()
            if failure is None and self.options.check_collision:
                self.check_motions()
        except PlanningError as error:
            return error
        return failure

    def _check_new_motions(self, count: int) -> None:
        """Check the motions after the first `count` points. Errors as for `check_motions`."""
        path = self.path()[count:]
        if self.first_blocked(path) is not None:
            self.check_motions()
