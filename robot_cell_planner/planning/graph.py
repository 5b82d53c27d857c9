"""Following a route on the cheapest way through the graph of all inverse kinematic solutions along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import PlanningError, TimedOutError, Value
from ..kinematics import kernels
from ..kinematics.ik_problem import IkProblem
from ..trajectory.limits import Array
from .cartesian_options import CartesianOptions
from .follower import ITERATIONS, PATIENCE, SHARE_BEFORE_MOTIONS, Edges, Point
from .greedy import GreedyFollower
from .job import Job
from .ladder import BLOCKED, FREE, TURN, UNKNOWN, Ladder
from .manipulability import manipulabilities
from .route import Route
from .smoothing import smoothed
from .solutions import redundancy, solutions_along, sweep_step
from .starts import start_configurations

# Widest spacing of what is followed between rungs [m], [rad].
FINEST_DISTANCE, FINEST_ANGLE = 0.05, 0.25
# Rungs may be further apart where a task leaves something free, for then each has very many solutions:
RUNG_DISTANCE, RUNG_ANGLE = 0.03, 0.15
# and where there are more rungs than this, up to these.
MANY_RUNGS = 120
WIDE_RUNG_DISTANCE, WIDE_RUNG_ANGLE = 0.1, 0.4
# Halfway along a motion on one branch, joints are nearer to their mean than this share of the motion.
MIDDLE_SHARE = 0.25
ROUNDING = 1e-6  # [rad or m]
HALVINGS = 7  # of a motion to see whether it stays on one branch
HELD_AROUND = 8  # points to either side of a collision that smoothing leaves alone
REACH_OF_REDUNDANT = 0.8  # [rad or m] largest step of a joint between rungs where there is something free to choose
MOST_CLIMBS = 5000  # ways up the ladder that are tried
SMOOTHINGS = 4  # with more and more held, until the path is free


@dataclass(frozen=True, eq=False)
class Samples:
    """Places along the route that are followed: pieces (k,), shares (k,) and poses (k, 4, 4). wanted: indices of those
    that the points of the path shall be; rungs: of those that are rungs of the ladder. Both end with the last."""

    pieces: NDArray[np.intp]
    shares: Array
    poses: Array
    wanted: NDArray[np.intp]
    rungs: NDArray[np.intp]

    def part(self, count: int) -> Edges:
        """The motions to the first `count` of them."""
        shares = self.shares[:count]
        begins = np.concatenate(([0.0], shares[:-1]))[:count]
        begins[begins == 1.0] = 0.0
        return Edges(self.pieces[:count], begins, shares)


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions between samples: configurations first, last (k, dof), samples begins, ends (k,), -1 for the start, and
    which of some longer motions each is part of, origins (k,)."""

    first: Array
    last: Array
    begins: NDArray[np.intp]
    ends: NDArray[np.intp]
    origins: NDArray[np.intp]

    def chosen(self, rows: NDArray[np.bool_]) -> Motions:
        return Motions(self.first[rows], self.last[rows], self.begins[rows], self.ends[rows], self.origins[rows])


class GraphFollower(GreedyFollower):
    """Chooses the branch, and what the task leaves free, over the whole route."""

    planner = "graph"

    def __init__(self, job: Job, route: Route, problem: IkProblem, options: CartesianOptions) -> None:
        super().__init__(job, route, problem, options)
        self.redundant = redundancy(problem) > 0
        self._free: set[bytes] = set()  # motions that are
        self._sorted_out: set[int] = set()  # rungs to which all motions were looked at

    def follow(self) -> None:
        samples = self._samples()
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
        ladder = self._ladder(samples, starts)
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
            if rung <= highest:
                raise ending
            highest = rung
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

    def _samples(self) -> Samples:
        """What is followed: the points asked for, and more of them where those are far apart."""
        options, route = self.options, self.route
        pieces, shares, wanted = [], [], []
        filled = 0
        for index, piece in enumerate(route.pieces):
            way = piece.way
            asked = max(way.length / options.max_step_distance, way.angle / options.max_step_angle)
            count = max(1, math.ceil(asked - 1e-9))
            parts = max(1, math.ceil(max(way.length / FINEST_DISTANCE, way.angle / FINEST_ANGLE) / count - 1e-9))
            total = count * parts
            pieces.append(np.full(total, index))
            shares.append(np.arange(1, total + 1) / total)
            wanted.append(filled + parts * np.arange(1, count + 1) - 1)
            filled += total
        if not filled:
            empty = np.empty(0, dtype=np.intp)
            return Samples(empty, np.empty(0), np.empty((0, 4, 4)), empty, empty)
        owners, places = np.concatenate(pieces).astype(np.intp), np.concatenate(shares)
        poses = route.poses(owners, places)
        return Samples(owners, places, poses, np.concatenate(wanted), self._rungs(owners, places))

    def _rungs(self, pieces: NDArray[np.intp], shares: Array) -> NDArray[np.intp]:
        """Which samples are rungs: all, or where the task leaves something free as many as its way needs."""
        count = len(pieces)
        if not self.redundant:
            return np.arange(count)
        begins = np.concatenate(([0.0], shares[:-1]))
        begins[begins == 1.0] = 0.0
        lengths = np.array([piece.way.length for piece in self.route.pieces])[pieces] * (shares - begins)
        angles = np.array([piece.way.angle for piece in self.route.pieces])[pieces] * (shares - begins)
        extent = np.cumsum(np.maximum(lengths / RUNG_DISTANCE, angles / RUNG_ANGLE))
        if extent[-1] > MANY_RUNGS:
            wide = np.cumsum(np.maximum(lengths / WIDE_RUNG_DISTANCE, angles / WIDE_RUNG_ANGLE))
            extent = extent * max(MANY_RUNGS / extent[-1], wide[-1] / extent[-1])
        whole = np.floor(extent + 1e-9)
        chosen = np.flatnonzero(np.diff(whole, prepend=0.0) >= 1.0)
        return np.unique(np.append(chosen, count - 1)).astype(np.intp)

    def _starts(self) -> Array:
        if self.options.sample_start_configuration:
            return start_configurations(self)
        return np.ascontiguousarray(self.start[None])

    def _ladder(self, samples: Samples, starts: Array) -> Ladder:
        problem = self.problem
        with self.job.watch.stage("solutions"):
            poses = np.ascontiguousarray(samples.poses[samples.rungs])
            looks = 0

            def look() -> None:
                nonlocal looks
                looks += 1
                self.check_limits()
                self.progress(min(SHARE_BEFORE_MOTIONS, SHARE_BEFORE_MOTIONS * looks / len(poses)))

            rungs = solutions_along(problem, poses, self.options.seed, look)
            followed = self._followed(samples, starts[0])
            for index, sample in enumerate(samples.rungs.tolist()):
                if sample < len(followed):
                    known, q = rungs[index], followed[sample]
                    if kernels.is_new(known, len(known), q, problem.joints.angular):
                        rungs[index] = np.ascontiguousarray(np.vstack((known, q)))
            counts = [len(rung) for rung in rungs]
            values = manipulabilities(problem, np.concatenate(rungs)) if sum(counts) else np.empty(0)
            split = np.split(values, np.cumsum(counts)[:-1])
            if self.options.verbose:
                for index, sample in enumerate(samples.rungs.tolist()):
                    self.note(f"{self._place(samples, sample)}: {counts[index]} solutions")
        return Ladder(starts, rungs, split, problem.joints, self._reach(samples))

    def _reach(self, samples: Samples) -> Array:
        """Largest step (dof,) from rung to rung with which the limits on jumps can be kept, points being added down to
        the narrowest spacing."""
        options = self.options
        wide = max(
            options.max_step_distance / options.min_step_distance, options.max_step_angle / options.min_step_angle
        )
        stride = float(np.diff(samples.rungs, prepend=-1).max())
        reach = self.max_jumps * 2.0 * wide * stride
        # Between values that are tried of what is free the steps are wide, and smoothing makes them narrow.
        if not self.redundant:
            return reach
        return np.clip(reach, 1.5 * sweep_step(self.problem), REACH_OF_REDUNDANT)

    def _followed(self, samples: Samples, start: Array) -> Array:
        """Configurations (k, dof) of the samples that are reached one from the other, as far as that goes."""
        problem = self.problem
        lower, upper = problem.joints.limits[0], problem.joints.limits[1]
        found, left = kernels.approach_in_turn(
            problem.chain.table, samples.poses, problem.freedom, start, lower, upper, self.tolerance, ITERATIONS,
            PATIENCE,
        )  # fmt: skip
        failed = np.flatnonzero(~self.within(left))
        return found[: int(failed[0])] if len(failed) else found

    def _place(self, samples: Samples, sample: int) -> str:
        piece = self.route.pieces[int(samples.pieces[sample])]
        return f"waypoint {piece.waypoint} at {piece.parameter(float(samples.shares[sample])):.6g}"

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
        fine, broken = self._cut(samples, motions, path)
        broken[fine.origins[~self._on_one_branch(samples, fine)]] = True
        bad = np.flatnonzero(broken)
        return path, int(places[bad[0] + 1]) if len(bad) else None

    def _cut(
        self, samples: Samples, motions: Motions, path: Array | None = None
    ) -> tuple[Motions, NDArray[np.bool_]]:
        """Motions (at least one) cut in halves until each leads from one sample to the next, and whether each (k,), by
        its origin, meets a sample that cannot be reached. path: takes the configurations of all, the start first."""
        broken = np.zeros(int(motions.origins.max(initial=-1)) + 1, dtype=bool)
        done: list[Motions] = []
        while len(motions.origins):
            self.check_limits()
            whole = motions.ends - motions.begins <= 1
            done.append(motions.chosen(whole))
            motions = motions.chosen(~whole & ~broken[motions.origins])
            middles = (motions.begins + motions.ends) // 2
            share = ((middles - motions.begins) / (motions.ends - motions.begins))[:, None]
            guess = motions.first + share * (motions.last - motions.first)
            found, got_there = self.approached(guess, samples.poses[middles])
            if path is not None:
                path[middles + 1] = found
            broken[motions.origins[~got_there]] = True
            motions = Motions(
                np.vstack((motions.first, found)),
                np.vstack((found, motions.last)),
                np.append(motions.begins, middles),
                np.append(middles, motions.ends),
                np.tile(motions.origins, 2),
            )
        columns = zip(*((m.first, m.last, m.begins, m.ends, m.origins) for m in done), strict=True)
        return Motions(*(np.concatenate(column) for column in columns)), broken

    def _on_one_branch(self, samples: Samples, motions: Motions) -> NDArray[np.bool_]:
        """Whether each motion (k,) from one sample to the next stays on one branch of solutions: cut finely enough, the
        solution halfway is near to the mean of its ends."""
        stays = np.ones(len(motions.origins), dtype=bool)
        edges = samples.part(len(samples.pieces))
        first, last, origins = motions.first, motions.last, np.arange(len(stays))
        pieces, begins, ends = edges.pieces[motions.ends], edges.begins[motions.ends], edges.ends[motions.ends]
        for _ in range(HALVINGS):
            self.check_limits()
            shares = 0.5 * (begins + ends)
            means = 0.5 * (first + last)
            middles, got_there = self.approached(means, self.route.poses(pieces, shares))
            near = np.abs(middles - means).max(axis=1) <= MIDDLE_SHARE * np.abs(last - first).max(axis=1) + ROUNDING
            stays[origins[~got_there]] = False
            again = got_there & ~near & stays[origins]
            if not again.any():
                return stays
            first, last = np.vstack((first[again], middles[again])), np.vstack((middles[again], last[again]))
            begins, ends = np.append(begins[again], shares[again]), np.append(shares[again], ends[again])
            pieces, origins = np.tile(pieces[again], 2), np.tile(origins[again], 2)
        stays[origins] = False
        return stays

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
        self.note(f"{self._place(samples, sample)}: {len(pairs)} motions leave their branch or are in collision")
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
        fine, broken = self._cut(samples, Motions(first, last, begins, ends, numbers))
        broken[fine.origins[~self._on_one_branch(samples, fine)]] = True
        return np.asarray(pairs[broken])

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
        blocked = self._first_unproven(self.path())
        if blocked is None:
            return None
        self.points = self.points[:blocked]
        return self._after(samples, len(path))

    def _after(self, samples: Samples, count: int) -> int:
        """The first sample after the last point."""
        if not self.points:
            return 0
        last = self.points[-1]
        before = (samples.pieces < last.piece) | ((samples.pieces == last.piece) & (samples.shares <= last.share))
        return min(int(before.sum()), count - 2)

    def _first_unproven(self, path: Array) -> int | None:
        """The first motion of a path that is in collision; motions once found free are not looked at again."""
        keys = [first.tobytes() + last.tobytes() for first, last in pairwise(path)]
        index = 0
        while index < len(keys):
            if keys[index] in self._free:
                index += 1
                continue
            end = index + 1
            while end < len(keys) and keys[end] not in self._free:
                end += 1
            blocked = self.first_blocked(path[index : end + 1])
            found = end if blocked is None else index + blocked[0]
            self._free.update(keys[index:found])
            if blocked is not None:
                return found
            index = end
        return None

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
