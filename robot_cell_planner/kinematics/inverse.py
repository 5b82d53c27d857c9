"""Inverse kinematics: configurations that bring a group to a target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..cell.cell import RobotCell
from ..cell.state import RobotCellState
from ..errors import NotSupportedError, RobotCellError
from . import kernels
from .closed_form import ClosedForm, closed_form, spread
from .ik_failure import Traces, failure_of, timed_out
from .ik_options import IkOptions, IkOrder, IkResult, IkSolver, limit_distances, manipulabilities
from .ik_problem import IkProblem, ik_problem
from .numeric import random_starts
from .targets import Target
from .turns import with_all_turns

Array = NDArray[np.float64]
Validity = Callable[[Array], bool]
Explanation = Callable[[Array], tuple[str, ...]]
ITERATIONS = 100  # of a numeric search from one start
STARTS_AT_ONCE = 8  # between two looks at the clock
SAMPLES_AT_ONCE = 4  # evaluations of a closed form between two looks at whether enough is found
ALL_SAMPLES_AT_ONCE = 64  # the same where all solutions are wanted
MISSES_FOLLOWED = 16  # solutions beyond limits that the numeric search starts from
STARTS_AFTER_CLOSED_FORM = 24  # where a closed form has found nothing, chance has little left to find


class Batch(NamedTuple):
    """Solutions (k, n), verified and within limits, nearest to the start first; residuals (k, 2); who found them."""

    solutions: Array
    residuals: Array
    solver: str


def inverse_kinematics(
    cell: RobotCell,
    state: RobotCellState,
    target: Target,
    group: str = "",
    options: IkOptions | None = None,
    is_valid: Validity | None = None,
    explain: Explanation | None = None,
    variables: tuple[str, ...] = (),
) -> IkResult:
    """Configurations of a group that bring the target's frame to the target; there is at least one.

    The joints outside the group stay as in the state; those of the group start there, and solutions near to it come
    first unless the options say otherwise. Every solution is within limits and leaves no more than the tolerances by
    forward kinematics.

    is_valid: whether a configuration (n,) of the group is allowed (collision free); asked in the order of the
    solutions until enough are found. explain: names what is wrong with a configuration, for the error. variables: the
    joints of the group that may move; () for all.

    Raises:
        OutOfReachError, BeyondJointLimitsError, AllSolutionsInCollisionError, InverseKinematicsError: there is no
            solution, and why; `partial` is an IkFailure with the closest configuration.
        TimedOutError: the time limit ended the search.
        TargetModeMismatchError, UnknownNameError, InvalidRequestError: the request does not fit cell and state.
        NotSupportedError: a closed form was asked for, and the group has none.
    """
    search = _Search(ik_problem(cell, state, target, group, variables), options or IkOptions(), is_valid, explain)
    return search.collect()


def iter_inverse_kinematics(
    cell: RobotCell,
    state: RobotCellState,
    target: Target,
    group: str = "",
    options: IkOptions | None = None,
    is_valid: Validity | None = None,
    explain: Explanation | None = None,
    variables: tuple[str, ...] = (),
) -> Iterator[Array]:
    """The same solutions (n,) one by one, each searched for when it is asked for.

    First comes what is reached from the starting configuration, then others, until there are no more or
    `max_solutions` have come. The order in the options holds among those that are found together.

    Raises:
        The errors of `inverse_kinematics`: those about the request at once, those about the search when the first
        solution is asked for.
    """
    search = _Search(ik_problem(cell, state, target, group, variables), options or IkOptions(), is_valid, explain)
    return search.one_by_one()


class _Search:
    """One search for one target."""

    def __init__(
        self, problem: IkProblem, options: IkOptions, is_valid: Validity | None, explain: Explanation | None
    ) -> None:
        self.problem = problem
        self.options = options
        self.is_valid = is_valid
        self.explain = explain
        self.traces = Traces()
        self.wanted = options.max_solutions
        self.samples_at_once = SAMPLES_AT_ONCE if self.wanted else ALL_SAMPLES_AT_ONCE
        self.deadline = None if options.timeout is None else time.monotonic() + options.timeout
        self.form: ClosedForm | None = None
        if options.solver is not IkSolver.NUMERIC:
            self.form = closed_form(problem.chain)
        if options.solver is IkSolver.ANALYTIC and self.form is None:
            names = problem.joints.variables
            raise NotSupportedError(f"joints {', '.join(names)} have no closed form", stage="inverse kinematics")

    @property
    def closed(self) -> bool:
        """Whether one evaluation of the closed form gives all solutions that exist."""
        return self.form is not None and self.form.locked is None and self.problem.freedom == kernels.NO_FREEDOM

    @property
    def _at_once(self) -> bool:
        """Whether one evaluation also gives the order that is asked for, with nothing left to choose."""
        options = self.options
        plain = self.is_valid is None and not options.all_turns and options.order is IkOrder.NEAREST_TO_SEED
        return plain and self.closed

    def collect(self) -> IkResult:
        """All solutions, or as many as are wanted, in order."""
        if self._at_once:
            batch = self._evaluated([(self.problem.target, 0.0)], [])
            if len(batch.solutions):
                return self._result(batch.solutions, batch.residuals, [batch.solver], cut=False)
        solutions, residuals, solvers, cut = self._gather()
        if not len(solutions):
            raise self._failure()
        order = self._order(solutions)
        return self._result(solutions[order], residuals[order], solvers, cut)

    def _result(self, solutions: Array, residuals: Array, solvers: list[str], cut: bool) -> IkResult:
        if self.wanted and len(solutions) > self.wanted:
            solutions, residuals, cut = solutions[: self.wanted], residuals[: self.wanted], True
        joints, chain = self.problem.joints, self.problem.chain
        complete = self.closed and not cut and chain.all_used and solvers == [self._name]
        return IkResult(joints.variables, solutions, residuals, ", ".join(solvers), complete, chain, joints.limits)

    def _gather(self) -> tuple[Array, Array, list[str], bool]:
        """Solutions, residuals, who found them, and whether the search ended because enough were found."""
        found: list[Batch] = []
        count = 0
        # Only the nearest may be searched for until there are enough; any other order needs all to choose from.
        early = self.wanted and (self.options.order is IkOrder.NEAREST_TO_SEED)
        for batch in self._batches():
            kept = self._valid(batch, self.wanted - count if early else 0)
            if len(kept.solutions):
                found.append(kept)
                count += len(kept.solutions)
            if early and count >= self.wanted:
                break
        else:
            early = 0
        if not found:
            return np.empty((0, 0)), np.empty((0, 2)), [], False
        if len(found) == 1:
            return found[0].solutions, found[0].residuals, [found[0].solver], bool(early)
        solutions = np.concatenate([batch.solutions for batch in found])
        residuals = np.concatenate([batch.residuals for batch in found])
        return solutions, residuals, list(dict.fromkeys(batch.solver for batch in found)), bool(early)

    def one_by_one(self) -> Iterator[Array]:
        count = 0
        self.samples_at_once = SAMPLES_AT_ONCE
        for batch in self._batches():
            solutions = batch.solutions
            if self.options.order is not IkOrder.NEAREST_TO_SEED:
                solutions = solutions[self._order(solutions)]
            for q in solutions:
                if self._is_valid(q):
                    count += 1
                    yield q.copy()
                    if count == self.wanted:
                        return
        if not count:
            raise self._failure()

    def _valid(self, batch: Batch, wanted: int) -> Batch:
        """Those solutions of a batch that are valid; the first `wanted` of them, 0 for all."""
        if self.is_valid is None:
            return batch
        rows: list[int] = []
        for row, q in enumerate(batch.solutions):
            if self._is_valid(q):
                rows.append(row)
                if len(rows) == wanted:
                    break
        return Batch(batch.solutions[rows], batch.residuals[rows], batch.solver)

    def _is_valid(self, q: Array) -> bool:
        if self.is_valid is None:
            return True
        self._check_clock()
        if self.is_valid(q.copy()):
            return True
        if self.traces.invalid is None:
            self.traces.invalid = q.copy()
        return False

    def _order(self, solutions: Array) -> NDArray[np.intp]:
        order = self.options.order
        if order is IkOrder.NEAREST_TO_SEED:
            keys = np.linalg.norm(solutions - self.problem.start, axis=1)
        elif order is IkOrder.FARTHEST_FROM_LIMITS:
            keys = -limit_distances(solutions, self.problem.joints.limits)
        else:
            keys = -manipulabilities(self.problem.chain, solutions)
        return np.argsort(keys, kind="stable")

    def _failure(self) -> RobotCellError:
        pairs: tuple[str, ...] = ()
        if self.traces.invalid is not None and self.explain is not None:
            pairs = self.explain(self.traces.invalid.copy())
        return failure_of(self.problem, self.traces, pairs, self.closed)

    def _check_clock(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise timed_out(self.problem, self.traces, self.options.timeout or 0.0)

    def _batches(self) -> Iterator[Batch]:
        """Solutions as they are found, no two the same."""
        seen: list[Array] = []
        for batch in self._raw_batches():
            fresh = self._fresh(batch, seen)
            if not len(fresh.solutions):
                continue
            seen.append(fresh.solutions)
            if self.options.all_turns:
                fresh = self._turned(fresh)
            yield fresh

    def _fresh(self, batch: Batch, seen: list[Array]) -> Batch:
        if not seen:
            return batch
        known = np.concatenate(seen)
        angular = self.problem.joints.angular
        rows = [row for row, q in enumerate(batch.solutions) if kernels.is_new(known, len(known), q, angular)]
        return Batch(batch.solutions[rows], batch.residuals[rows], batch.solver)

    def _turned(self, batch: Batch) -> Batch:
        joints = self.problem.joints
        rows, sources = with_all_turns(batch.solutions, self.problem.start, joints.limits, joints.angular)
        order = np.argsort(np.linalg.norm(rows - self.problem.start, axis=1), kind="stable")
        return Batch(rows[order], batch.residuals[sources[order]], batch.solver)

    def _raw_batches(self) -> Iterator[Batch]:
        found = False
        misses: list[Array] = []
        if self.form is not None:
            for batch in self._closed_form_batches(misses):
                found = found or bool(len(batch.solutions))
                yield batch
            # A closed form that gives everything leaves nothing to search for, except at its singular borders.
            if self.options.solver is IkSolver.ANALYTIC or (found and self.is_valid is None) or (found and self.closed):
                return
        yield from self._numeric_batches(misses)

    def _closed_form_batches(self, misses: list[Array]) -> Iterator[Batch]:
        """Those at the start's values of what is free alone, then those further away: one by one, or all together where
        all are wanted. misses: filled with rough solutions that came to nothing."""
        samples = self._samples()
        together = 1
        while chunk := list(islice(samples, together)):
            self._check_clock()
            yield self._evaluated(chunk, misses)
            together = self.samples_at_once

    def _samples(self) -> Iterator[tuple[Array, float]]:
        """Targets and values of the locked joint to evaluate the closed form at; nearest to the start first."""
        problem = self.problem
        locked = None if self.form is None else self.form.locked
        values, spins = [0.0], [0.0]
        if locked is not None:
            near = float(problem.start[locked])
            low, high = problem.joints.limits[:2, locked]
            values = [min(max(near, low), high), *spread(low, high, near, self.options.sweep)]
        if problem.freedom == kernels.ABOUT_Z:
            spins = [0.0, *spread(-np.pi, np.pi, 0.0, self.options.sweep)]
        for spin, value in product(spins, values):
            yield _spun(problem.target, spin), value

    def _evaluated(self, samples: list[tuple[Array, float]], misses: list[Array]) -> Batch:
        """What the closed form gives for targets and values of the locked joint, verified."""
        assert self.form is not None
        problem = self.problem
        joints = problem.joints
        targets, values = np.array([sample[0] for sample in samples]), np.array([sample[1] for sample in samples])
        rough = self.form.rough(targets, values, problem.start)
        found, left, beyond, excesses = kernels.finish(
            problem.chain.table, problem.target, problem.freedom, rough, problem.start, joints.limits, joints.angular,
            problem.tolerance,
        )  # fmt: skip
        if not len(found):
            self.traces.note_beyond(beyond, excesses)
            misses.extend((beyond if len(beyond) else rough)[: MISSES_FOLLOWED - len(misses)])
        return Batch(found, left, self.form.name)

    @property
    def _name(self) -> str:
        return "numeric" if self.form is None else self.form.name

    def _numeric_batches(self, misses: list[Array]) -> Iterator[Batch]:
        """From the start and from near misses, then from random configurations."""
        problem = self.problem
        restarts = self.options.max_restarts
        if self.closed:
            restarts = min(restarts, STARTS_AFTER_CLOSED_FORM)
        starts = np.concatenate([problem.start[None], *(miss[None] for miss in misses[:MISSES_FOLLOWED])])
        yield from self._numeric_batch(starts)
        for first in range(0, restarts, STARTS_AT_ONCE):
            count = min(STARTS_AT_ONCE, restarts - first)
            starts = random_starts(count, problem.joints.limits, problem.start, self.options.seed, first)
            yield from self._numeric_batch(starts)

    def _numeric_batch(self, starts: Array) -> Iterator[Batch]:
        problem = self.problem
        joints = problem.joints
        begin = 0
        while begin < len(starts):
            self._check_clock()
            found, left, closest, facts = kernels.search(
                problem.chain.table, problem.target, problem.freedom, starts[begin:], joints.limits, joints.angular,
                problem.tolerance, ITERATIONS, 1, kernels.PATIENCE,
            )  # fmt: skip
            self.traces.note_closest(closest, float(facts[0]), float(facts[1]))
            begin += int(facts[2])
            if len(found):
                yield self._unwound(found, left)

    def _unwound(self, found: Array, left: Array) -> Batch:
        """Solutions of the numeric search in the turn nearest to the start."""
        for q in found:
            kernels.unwind(q, self.problem.start, self.problem.joints.limits, self.problem.joints.angular)
        return Batch(found, left, "numeric")


def _spun(target: Array, angle: float) -> Array:
    """The target turned about its z axis."""
    if angle == 0.0:
        return target
    cosine, sine = np.cos(angle), np.sin(angle)
    result = target.copy()
    result[:3, 0] = cosine * target[:3, 0] + sine * target[:3, 1]
    result[:3, 1] = cosine * target[:3, 1] - sine * target[:3, 0]
    return result
