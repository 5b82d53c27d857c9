"""Following a route on the cheapest way through the graph of all inverse kinematic solutions along it."""

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
from ..path.samples import Samples, route_samples
from ..redundancy.self_motion import STEPS, traced
from ..redundancy.smoothing import smoothed
from ..tracking.greedy import GreedyTracker
from ..tracking.ik_solutions import redundancy
from ..tracking.manipulability import manipulabilities
from ..tracking.start_configurations import start_configurations
from .branches import Motions, off_branch
from .construction import ladder_of
from .graph import BLOCKED, FREE, TURN, UNKNOWN, Ladder

HELD_AROUND = 8  # points to either side of a collision that smoothing leaves alone
TRACED_AROUND = 4  # rungs to either side of where the ladder ends
MOST_CLIMBS = 5000  # ways up the ladder that are tried
SMOOTHINGS = 4  # with more and more held, until the path is free


class LadderTracker(GreedyTracker):
    """Chooses the branch, and what the task leaves free, over the whole route."""

    planner = "graph"

    def __init__(
        self, job: PlanningContext, route: CartesianPath, problem: IkProblem, options: CartesianOptions
    ) -> None:
        super().__init__(job, route, problem, options)
        self.redundant = redundancy(problem) > 0
        self._traced: dict[int, int] = {}  # how often the solutions of a rung were
        self._sorted_out: set[int] = set()  # rungs to which all motions were looked at

    def follow(self) -> None:
        samples = route_samples(self.route, self.options, self.redundant)
        starts = self._starts()
        self.start = starts[0]
        if not len(samples.pieces):
            self.complete = True
            return
        try:
            self._climb(samples, starts)
        except PlanningError as ending:
            self._follow_closely(ending)
        self.complete = True
        self.progress(1.0)

    def _climb(self, samples: Samples, starts: Array) -> None:
        """Find the cheapest way up the ladder that proves free; errors as of `follow`."""
        ladder = ladder_of(self, samples, starts)
        highest = -1
        for _ in range(MOST_CLIMBS):
            self.check_limits()
            rung = ladder.climb()
            way, owners = ladder.cheapest(rung)
            self.start = way[0]
            if self.redundant and self._blocked(ladder, owners):
                continue
            path, broken = self._filled(samples, way, rung)
            if broken is None:
                broken = self._settle(samples, path)
            if broken is not None:
                self._take_out(ladder, samples, owners, broken)
                continue
            if rung == ladder.top:
                return
            ending = self._go_on(samples, ladder, rung, path[-1])
            if ending is None:
                return
            if rung <= highest and not self._trace(ladder, samples, rung):
                raise ending
            highest = max(highest, rung)
        numbers = (Value("climbs", MOST_CLIMBS, MOST_CLIMBS),)
        raise TimedOutError("the limit on ways through the graph ended the request", stage="follow", values=numbers)

    def _follow_closely(self, ending: PlanningError) -> None:
        """Try it step by step, where the graph came to an end; the error of whoever got further."""
        self.note("the graph came to an end; following step by step")
        start, points = self.start, self.points
        try:
            self.follow_from(self.job.space.start if not self.options.sample_start_configuration else start)
        except PlanningError as error:
            if error.partial.cartesian.fraction > ending.partial.cartesian.fraction:
                raise
            self.start, self.points = start, points
            raise ending from error

    # The ladder -----------------------------------------------------------------------------------------------------

    def _starts(self) -> Array:
        if self.options.sample_start_configuration:
            return start_configurations(self)
        return np.ascontiguousarray(self.start[None])

    def _trace(self, ladder: Ladder, samples: Samples, rung: int) -> bool:
        """Trace what the task leaves free on the rungs around the highest one that is reached, each time more finely;
        whether that added anything to the ladder."""
        freedom = redundancy(self.problem)
        added = 0
        for number in range(max(1, rung + 1 - TRACED_AROUND), min(ladder.top, rung + 1 + TRACED_AROUND) + 1):
            level = self._traced.get(number, 0)
            if not freedom or level == len(STEPS):
                continue
            self._traced[number] = level + 1
            pose = samples.poses[samples.rungs[number - 1]]

            def project(configurations: Array, pose: Array = pose) -> tuple[Array, NDArray[np.bool_]]:
                self.check_limits()
                return self.approached(configurations, np.repeat(pose[None], len(configurations), axis=0))

            found = traced(self.problem, ladder.nodes[number], STEPS[level], freedom, project)
            if len(found):
                ladder.extend(number, found, manipulabilities(self.problem, found))
            added += len(found)
        if freedom:
            self.note(f"{added} solutions traced around rung {rung + 1}")
        return added > 0

    # What is found out lazily ---------------------------------------------------------------------------------------

    def _blocked(self, ladder: Ladder, owners: NDArray[np.int64]) -> bool:
        """Whether a solution on the way is in collision. On rungs where one is, all solutions are looked at."""
        if not self.options.check_collision:
            return False
        unknown = [rung for rung, owner in enumerate(owners.tolist()) if ladder.verdicts[rung][owner] == UNKNOWN]
        if not unknown:
            return False
        on_way = np.array([ladder.nodes[rung][owners[rung]] for rung in unknown])
        free = self.job.checks.batch_free(on_way)
        for rung, is_free in zip(unknown, free.tolist(), strict=True):
            verdicts = ladder.verdicts[rung].copy()
            verdicts[owners[rung]] = FREE if is_free else BLOCKED
            if not is_free:
                others = np.flatnonzero(verdicts == UNKNOWN)
                verdicts[others] = np.where(self.job.checks.batch_free(ladder.nodes[rung][others]), FREE, BLOCKED)
            ladder.judge(rung, verdicts)
        blocked = np.flatnonzero(~free)
        if len(blocked):
            self.note(f"rungs in collision on the way: {[unknown[index] for index in blocked.tolist()]}")
        return bool(len(blocked))

    def _filled(self, samples: Samples, way: Array, rung: int) -> tuple[Array, int | None]:
        """The path (k + 1, dof) through all samples up to a rung of the ladder, or the first sample that it cannot be
        continued to on one branch."""
        if rung == 0:
            return way, None
        places = np.concatenate(([-1], samples.rungs[:rung]))
        motions = Motions(way[:-1], way[1:], places[:-1], places[1:], np.arange(rung))
        path = np.empty((int(places[-1]) + 2, way.shape[1]))
        path[places + 1] = way
        bad = np.flatnonzero(off_branch(self, samples, motions, path))
        return path, int(places[bad[0] + 1]) if len(bad) else None

    def _take_out(self, ladder: Ladder, samples: Samples, owners: NDArray[np.int64], sample: int) -> None:
        """Take out of the ladder what leads over a sample: the solutions of its rung that are in collision, or the
        motion to it alone."""
        rung = 1 + int(np.searchsorted(samples.rungs, sample))
        if not self.redundant and self._blocked(ladder, owners[: rung + 1]):
            return
        pairs = owners[None, rung - 1 : rung + 1]
        if rung not in self._sorted_out:
            # Where one motion fails others of the same kind would fail after it, one by one.
            self._sorted_out.add(rung)
            pairs = np.vstack((pairs, self._off_branch(ladder, samples, rung)))
        self.note(f"{samples.place(self.route, sample)}: {len(pairs)} motions leave their branch or are in collision")
        ladder.deny(rung, pairs)

    def _off_branch(self, ladder: Ladder, samples: Samples, rung: int) -> NDArray[np.intp]:
        """Those pairs (k, 2) of neighbouring solutions on a rung and the one below that no motion on one branch
        connects."""
        pairs = ladder.neighbours(rung)
        if not len(pairs):
            return pairs
        first, last = ladder.nodes[rung - 1][pairs[:, 0]], ladder.nodes[rung][pairs[:, 1]]
        last = last - TURN * np.round((last - first) / TURN) * (self.problem.joints.angular > 0.0)
        begin, end = int(samples.rungs[rung - 2]) if rung > 1 else -1, int(samples.rungs[rung - 1])
        numbers = np.arange(len(pairs))
        begins, ends = np.full_like(numbers, begin), np.full_like(numbers, end)
        return np.asarray(pairs[off_branch(self, samples, Motions(first, last, begins, ends, numbers))])

    # The path -------------------------------------------------------------------------------------------------------

    def _settle(self, samples: Samples, path: Array) -> int | None:
        """Take a path as the points, smoothed where the task leaves something free, with points added where they are
        wanted. Returns the first sample that it cannot be continued to, without a collision or within the limits on
        jumps and deviations; the points are those of the path all the same."""
        if self.redundant and len(path) > 2:
            held = np.zeros(len(path), dtype=bool)
            held[0] = True
            for _ in range(SMOOTHINGS):
                failed = self._take(samples, self._smoothed(samples, path, held))
                if failed is None:
                    return None
                held[max(0, failed + 1 - HELD_AROUND) : failed + 2 + HELD_AROUND] = True
        return self._take(samples, path)

    def _smoothed(self, samples: Samples, path: Array, held: NDArray[np.bool_]) -> Array:
        edges = samples.part(len(path) - 1)
        measures = np.array([piece.measure for piece in self.route.pieces])[edges.pieces]
        poses = samples.poses[: len(path) - 1]

        def project(configurations: Array) -> tuple[Array, NDArray[np.bool_]]:
            self.check_limits()
            return self.approached(configurations, poses)

        return smoothed(self.problem, path, measures * (edges.ends - edges.begins), held, project)

    def _take(self, samples: Samples, path: Array) -> int | None:
        """Take a path through the samples as the points; the first sample that it cannot be continued to."""
        wanted = samples.wanted[samples.wanted < len(path) - 1]
        pieces, shares = samples.pieces, samples.shares
        self.points = [Point(path[index + 1], int(pieces[index]), float(shares[index])) for index in wanted.tolist()]
        if self.add_points() is not None:
            return self._after(samples, len(path))
        if not self.options.check_collision:
            return None
        blocked = self.first_blocked(self.path())
        if blocked is None:
            return None
        self.points = self.points[: blocked[0]]
        return self._after(samples, len(path))

    def _after(self, samples: Samples, count: int) -> int:
        """The first sample after the last point."""
        if not self.points:
            return 0
        last = self.points[-1]
        before = (samples.pieces < last.piece) | ((samples.pieces == last.piece) & (samples.shares <= last.share))
        return min(int(before.sum()), count - 2)

    def _go_on(self, samples: Samples, ladder: Ladder, rung: int, q: Array) -> PlanningError | None:
        """Follow step by step from the highest rung that is reached, at q (dof,), and add what that reaches to the
        ladder. Returns the error for where it ends; None: it came to the end of the route, and the points are all."""
        first = int(samples.rungs[rung - 1]) + 1 if rung else 0
        if first and (not self.points or self._after(samples, first + 1) < first):
            self.points.append(Point(q, int(samples.pieces[first - 1]), float(samples.shares[first - 1])))
        try:
            for sample in range(first, len(samples.pieces)):
                count = len(self.points)
                q = self.advance(q, int(samples.pieces[sample]), float(samples.shares[sample]))
                if self.options.check_collision:
                    self._check_new_motions(count)
                above = int(np.searchsorted(samples.rungs, sample))
                if samples.rungs[above] == sample:
                    ladder.add(above + 1, q, float(manipulabilities(self.problem, q[None])[0]))
            ending = self.add_points()
            if ending is None and self.options.check_collision:
                self.check_motions()
        except PlanningError as error:
            return error
        return ending

    def _check_new_motions(self, count: int) -> None:
        """Hold the motions after the first `count` points against the cell; errors as of `check_motions`."""
        path = self.path()[count:]
        if self.first_blocked(path) is not None:
            self.check_motions()
