"""Inverse kinematics: configurations that move a group to a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...errors import RobotCellError
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ..joint_wrapping import with_all_wraps
from ..targets import Target
from .options import IkOptions, IkOrder, IkResult, limit_distances, manipulabilities
from .problem import IkProblem, ik_problem
from .search import SAMPLES_AT_ONCE, Batch, IkSearch

Array = NDArray[np.float64]
Validity = Callable[[Array], bool]


@runtime_checkable
class BatchValidity(Protocol):
    """Validity check of one configuration or many at once, such as `collision.FreeConfigurations`."""

    def __call__(self, q: Array, /) -> bool:
        """Return whether a configuration (n,) is allowed."""
        ...

    def many(self, configurations: Array, /) -> NDArray[np.bool_]:
        """Return for each of k configurations (k, n) whether it is allowed: (k,)."""
        ...


Explanation = Callable[[Array], tuple[str, ...]]
DEFAULTS = IkOptions()


@public
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
    """Compute configurations of a group that reach a target. Returns at least one solution.

    Joints outside the group are fixed at the values of the state; joints of the group start there, and solutions near
    that start come first unless the options specify another order. Every solution is within limits and, verified by
    forward kinematics, within the tolerances.

    Args:
        cell: Models of the cell.
        state: Start configuration and attachments.
        target: Target of the group.
        group: Planning group; "" for the main group.
        options: Search options.
        is_valid: Returns whether a configuration (n,) of the group is allowed (collision free). Called in the order of
            the solutions until enough are found; a BatchValidity is called once for many.
        explain: Returns the problems of a configuration, for the error.
        variables: Joints of the group that may move, in the order of the returned solutions; () for all.

    Raises:
        OutOfReachError, BeyondJointLimitsError, AllSolutionsInCollisionError, InverseKinematicsError: There is no
            solution; the type is the reason, and `partial` is an IkFailure with the closest configuration.
        TimedOutError: The time limit ended the search.
        TargetModeMismatchError, UnknownNameError, InvalidRequestError: The request does not match cell and state.
        NotSupportedError: The analytic solver is requested, but the group has none.
    """
    return solve(ik_problem(cell, state, target, group, variables), options, is_valid, explain)


def solve(
    problem: IkProblem,
    options: IkOptions | None = None,
    is_valid: Validity | None = None,
    explain: Explanation | None = None,
) -> IkResult:
    """Solve a problem; arguments and search errors as for `inverse_kinematics`."""
    return _Selection(problem, options or DEFAULTS, is_valid, explain).collect()


@public
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
    """Yield the solutions of `inverse_kinematics` (n,) one at a time, each computed on demand.

    The first solution is the one reached from the start configuration; others follow until there are no more or
    `max_solutions` were returned. The order in the options applies within each batch of solutions.

    Raises:
        RobotCellError: As `inverse_kinematics`: request errors are raised by the call, search errors when the first
            solution is requested.
    """
    problem = ik_problem(cell, state, target, group, variables)
    return _Selection(problem, options or DEFAULTS, is_valid, explain).one_by_one()


class _Selection:
    """Selects the solutions to return from all that a search finds."""

    def __init__(
        self, problem: IkProblem, options: IkOptions, is_valid: Validity | None, explain: Explanation | None
    ) -> None:
        self.problem = problem
        self.options = options
        self.is_valid = is_valid
        self.explain = explain
        self.requested = options.max_solutions
        self.search = IkSearch(problem, options)

    def collect(self) -> IkResult:
        """Return all solutions, or the requested number, in order."""
        options = self.options
        nearest = options.order is IkOrder.NEAREST_TO_SEED
        if self.search.closed and nearest and self.is_valid is None and not options.all_turns:
            # One evaluation returns all solutions in the requested order.
            batch = self.search.at_start()
            if len(batch.solutions):
                return self._result([batch], cut=False)
        found, cut = self._gather()
        if not found:
            raise self._failure()
        if nearest and len(found) == 1:
            return self._result(found, cut)
        solutions = np.concatenate([batch.solutions for batch in found])
        residuals = np.concatenate([batch.residuals for batch in found])
        order = self._order(solutions)
        solvers = ", ".join(dict.fromkeys(batch.solver for batch in found))
        return self._result([Batch(solutions[order], residuals[order], solvers)], cut)

    def _result(self, found: list[Batch], cut: bool) -> IkResult:
        solutions, residuals, solver = found[0]
        if self.requested and len(solutions) > self.requested:
            solutions, residuals, cut = solutions[: self.requested], residuals[: self.requested], True
        joints, chain, form = self.problem.joints, self.problem.chain, self.search.form
        complete = self.search.exhaustive and not cut and chain.all_used and form is not None and solver == form.name
        return IkResult(joints.variables, solutions, residuals, solver, complete, (chain,), joints.limits)

    def _gather(self) -> tuple[list[Batch], bool]:
        """Return the solutions found, and whether the search ended because there were enough."""
        found: list[Batch] = []
        # Only the order NEAREST_TO_SEED can stop early; any other order has to select from all solutions.
        requested = self.requested if self.options.order is IkOrder.NEAREST_TO_SEED else 0
        for batch in self._batches():
            retained = self._valid(batch, requested - self.search.accepted if requested else 0)
            if len(retained.solutions):
                found.append(retained)
                self.search.accepted += len(retained.solutions)
            if requested and self.search.accepted >= requested:
                return found, True
        return found, False

    def one_by_one(self) -> Iterator[Array]:
        self.search.samples_at_once = SAMPLES_AT_ONCE
        for batch in self._batches():
            solutions = batch.solutions
            if self.options.order is not IkOrder.NEAREST_TO_SEED:
                solutions = solutions[self._order(solutions)]
            for q in solutions:
                if self._is_valid(q):
                    self.search.accepted += 1
                    yield q.copy()
                    if self.search.accepted == self.requested:
                        return
        if not self.search.accepted:
            raise self._failure()

    def _batches(self) -> Iterator[Batch]:
        for batch in self.search.batches():
            yield self._wrapped(batch) if self.options.all_turns else batch

    def _wrapped(self, batch: Batch) -> Batch:
        joints = self.problem.joints
        rows, sources = with_all_wraps(batch.solutions, self.problem.start, joints.limits, joints.angular)
        order = np.argsort(np.linalg.norm(rows - self.problem.start, axis=1), kind="stable")
        return Batch(rows[order], batch.residuals[sources[order]], batch.solver)

    def _valid(self, batch: Batch, requested: int) -> Batch:
        """Return the valid solutions of a batch; only the first `requested` of them unless it is 0."""
        if self.is_valid is None:
            return batch
        if requested != 1 and isinstance(self.is_valid, BatchValidity):
            return self._all_valid(batch, self.is_valid, requested)
        rows: list[int] = []
        for row, q in enumerate(batch.solutions):
            if self._is_valid(q):
                rows.append(row)
                if len(rows) == requested:
                    break
        return Batch(batch.solutions[rows], batch.residuals[rows], batch.solver)

    def _all_valid(self, batch: Batch, validity: BatchValidity, requested: int) -> Batch:
        """As `_valid`, with one call for all solutions."""
        self.search.check_clock()
        valid = validity.many(batch.solutions.copy())
        if self.search.traces.invalid is None and not valid.all():
            self.search.traces.invalid = batch.solutions[int(np.argmin(valid))].copy()
        rows = np.flatnonzero(valid)
        if requested:
            rows = rows[:requested]
        return Batch(batch.solutions[rows], batch.residuals[rows], batch.solver)

    def _is_valid(self, q: Array) -> bool:
        if self.is_valid is None:
            return True
        self.search.check_clock()
        if self.is_valid(q.copy()):
            return True
        if self.search.traces.invalid is None:
            self.search.traces.invalid = q.copy()
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
        invalid = self.search.traces.invalid
        if invalid is not None and self.explain is not None:
            pairs = self.explain(invalid.copy())
        return self.search.failure(pairs)
