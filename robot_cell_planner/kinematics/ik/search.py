"""Search for inverse kinematics solutions with analytic solvers and numeric search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...errors import NotSupportedError, RobotCellError
from .._kernels import ik_kernels, near_solution_kernels, six_kernels, wrapping_kernels
from .analytic import AnalyticSolver, closed_form
from .failure import Traces, failure_of, timed_out
from .options import IkOptions, IkSolver
from .problem import IkProblem, free_targets, is_proven_out_of_reach, unlimited
from .seeds import random_starts, spread

Array = NDArray[np.float64]
NUMERIC = "numeric"
ITERATIONS = 100  # max iterations of a numeric search from one start
STARTS_AT_ONCE = 8  # starts between two checks of the time limit
SAMPLES_AT_ONCE = 8  # analytic evaluations between two checks whether enough solutions were found, after the first one
ALL_SAMPLES_AT_ONCE = 64  # the same if all solutions are requested
MISSES_FOLLOWED = 16  # max number of failed analytic candidates used as numeric starts
STARTS_AFTER_CLOSED_FORM = 24  # numeric starts if the analytic solver found nothing: random restarts rarely find more
ZERO = np.zeros(1)


class Batch(NamedTuple):
    """Verified solutions (k, n) within limits, nearest to the start first, residuals (k, 2), and the solver name."""

    solutions: Array
    residuals: Array
    solver: str


class IkSearch:
    """Search for the solutions of one target.

    Attributes:
        traces: Intermediate results, for the analysis of a failure.
        accepted: Number of solutions that the caller accepted; maintained by the caller.
        samples_at_once: Analytic evaluations per batch.
        closed: Whether one analytic evaluation returns the solutions, all of them in general.
        exhaustive: Whether these certainly are all existing ones (`AnalyticSolver.exact`), except at singularities.

    Raises:
        NotSupportedError: The analytic solver is requested, but the chain has none.
    """

    def __init__(self, problem: IkProblem, options: IkOptions) -> None:
        self.problem = problem
        self.options = options
        self.traces = Traces()
        self.accepted = 0
        self.samples_at_once = SAMPLES_AT_ONCE if options.max_solutions else ALL_SAMPLES_AT_ONCE
        self._deadline = None if options.timeout is None else time.monotonic() + options.timeout
        self._misses = np.empty((0, len(problem.start)))
        self.form: AnalyticSolver | None = None
        if options.solver is not IkSolver.NUMERIC:
            self.form = closed_form(problem.chain)
        if options.solver is IkSolver.ANALYTIC and self.form is None:
            names = ", ".join(problem.joints.variables)
            raise NotSupportedError(f"joints {names} have no closed form", stage="inverse kinematics")
        form = self.form
        self.closed = form is not None and form.locked is None and not problem.free_axes
        self.exhaustive = self.closed and form is not None and form.exact

    def failure(self, pairs: tuple[str, ...]) -> RobotCellError:
        """Return the error that explains why nothing was found. `pairs`: problems of the first refused solution."""
        if self.form is not None and self.traces.invalid is None and not is_proven_out_of_reach(self.problem):
            free = IkSearch(replace(self.problem, joints=unlimited(self.problem.joints)), self.options)
            for batch in free._closed_form_batches():
                self.traces.note_beyond(batch.solutions, self.problem)
        return failure_of(self.problem, self.traces, pairs, self.exhaustive)

    def check_clock(self) -> None:
        """Raise TimedOutError if the time limit has passed."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise timed_out(self.problem, self.traces, self.options.timeout or 0.0)

    def batches(self) -> Iterator[Batch]:
        """Yield distinct solutions as they are found: analytic first, then numeric if none was accepted."""
        seen: list[Array] = []
        for batch in self._raw_batches():
            fresh = self._fresh(batch, seen)
            if len(fresh.solutions):
                seen.append(fresh.solutions)
                yield fresh

    def _fresh(self, batch: Batch, seen: list[Array]) -> Batch:
        """Return the solutions of a batch that are new, comparing modulo 2 pi."""
        if not seen or not len(batch.solutions):
            return batch
        known = np.concatenate(seen)
        angular = self.problem.joints.angular
        rows = [row for row, q in enumerate(batch.solutions) if wrapping_kernels.is_new(known, len(known), q, angular)]
        return Batch(batch.solutions[rows], batch.residuals[rows], batch.solver)

    def _raw_batches(self) -> Iterator[Batch]:
        if self.form is not None:
            found = False
            for batch in self._closed_form_batches():
                found = found or bool(len(batch.solutions))
                yield batch
                if not found and is_proven_out_of_reach(self.problem):
                    return
            # If the analytic solver returns all solutions, nothing is left to search for, except at singularities.
            if self.options.solver is IkSolver.ANALYTIC or self.accepted or (found and self.exhaustive):
                return
        elif is_proven_out_of_reach(self.problem):
            return
        yield from self._numeric_batches()

    def at_start(self) -> Batch:
        """Return the analytic solutions of a chain without free parameters."""
        return self._evaluated(self.problem.target[None], ZERO)

    def _closed_form_batches(self) -> Iterator[Batch]:
        """Yield analytic solutions at the start values of the free parameters, then at more distant values.

        Of infinitely many solutions, a numeric one near the start comes first: at the start value of the locked joint,
        the others may have to move far for a target that is close.
        """
        assert self.form is not None
        self.check_clock()
        if self.closed:
            yield self.at_start()
            return
        if self.options.solver is IkSolver.AUTO:
            near = self._near_start()
            if len(near.solutions):
                yield near
        values = self._locked_values()
        if self.form.sweeps and not self.problem.free_axes:
            yield from self._swept(self.form, values)
            return
        targets, values = self._samples(values)
        numeric_next = not self.form.compiled and self.options.solver is IkSolver.AUTO
        begin, size = 0, 1
        while begin < len(values):
            self.check_clock()
            batch = self._evaluated(targets[begin : begin + size], values[begin : begin + size])
            yield batch
            if begin == 0 and numeric_next and not len(batch.solutions):
                yield from self._numeric_batch(self.problem.start[None])
            begin += size
            size = self.samples_at_once
            if begin >= six_kernels.FIRST_SAMPLES:
                size = max(size, six_kernels.LATER_AT_ONCE)

    def _near_start(self) -> Batch:
        """Return the numeric solution near the start, if it is found with few iterations."""
        problem = self.problem
        found, left = near_solution_kernels.solve_near(
            problem.chain.table, problem.target, problem.rotation_weights, problem.start, problem.joints.limits,
            problem.joints.angular, problem.tolerance,
        )  # fmt: skip
        return Batch(found, left, NUMERIC)

    def _swept(self, form: AnalyticSolver, values: Array) -> Iterator[Batch]:
        """Yield analytic solutions of values (m,) of the locked joint."""
        begin, misses = 0, np.empty((MISSES_FOLLOWED, len(self.problem.start)))
        while begin < len(values):
            self.check_clock()
            found, left, begin, missed = form.sweep(self.problem, values, begin, self.samples_at_once, misses)
            self._note_misses(misses[:missed])
            yield Batch(found, left, form.name)

    def _locked_values(self) -> Array:
        """Return the values (m,) of the locked joint for the analytic solver, that of the start first."""
        if self.form is None or self.form.locked is None:
            return ZERO
        problem, index = self.problem, self.form.locked
        low, high = problem.joints.limits[:2, index].tolist()
        return spread(low, high, float(problem.start[index]), self.options.sweep)

    def _samples(self, values: Array) -> tuple[Array, Array]:
        """Return targets (m, 4, 4) and values (m,) for the analytic solver: each value of the locked joint (k,) with
        each target, nearest to the start first."""
        problem = self.problem
        if not problem.free_axes:
            return np.repeat(problem.target[None], len(values), axis=0), values
        sweep, seed = self.options.sweep, self.options.seed
        targets = free_targets(problem.target, problem.start_target, problem.free_axes, sweep, seed)
        return np.repeat(targets, len(values), axis=0), np.resize(values, len(targets) * len(values))

    def _evaluated(self, targets: Array, values: Array) -> Batch:
        """Return the verified analytic solutions for targets (m, 4, 4) and values (m,) of the locked joint."""
        assert self.form is not None
        problem = self.problem
        joints = problem.joints
        candidates, _ = self.form.candidates(targets, values, problem.start)
        found, left = ik_kernels.verify(
            problem.chain.table, problem.target, problem.rotation_weights, candidates, problem.start, joints.limits,
            joints.angular, problem.tolerance,
        )  # fmt: skip
        if not len(found):
            self._note_misses(candidates)
        return Batch(found, left, self.form.name)

    def _note_misses(self, candidates: Array) -> None:
        """Record candidates (m, n) that are no solutions, as starts of the numeric search."""
        if len(candidates) and len(self._misses) < MISSES_FOLLOWED:
            self._misses = np.concatenate((self._misses, candidates))[:MISSES_FOLLOWED]

    def _numeric_batches(self) -> Iterator[Batch]:
        """Search numerically from the start and from failed analytic candidates, then from random configurations."""
        problem = self.problem
        restarts = self.options.max_restarts
        if self.exhaustive:
            restarts = min(restarts, STARTS_AFTER_CLOSED_FORM)
        yield from self._numeric_batch(np.vstack((problem.start, self._misses)))
        for first in range(0, restarts, STARTS_AT_ONCE):
            count = min(STARTS_AT_ONCE, restarts - first)
            starts = random_starts(count, problem.joints.limits, problem.start, self.options.seed, first)
            yield from self._numeric_batch(starts)

    def _numeric_batch(self, starts: Array) -> Iterator[Batch]:
        problem = self.problem
        joints = problem.joints
        begin = 0
        while begin < len(starts):
            self.check_clock()
            found, left, closest, statistics = ik_kernels.search(
                problem.chain.table, problem.target, problem.rotation_weights, starts[begin:], joints.limits,
                joints.angular, problem.tolerance, ITERATIONS, 1, ik_kernels.STALL_TOLERANCE,
            )  # fmt: skip
            self.traces.note_closest(closest, float(statistics[0]), float(statistics[1]))
            begin += int(statistics[2])
            if len(found):
                wrapping_kernels.wrap_all_near(found[0], problem.start, joints.limits, joints.angular)
                yield Batch(found, left, NUMERIC)
