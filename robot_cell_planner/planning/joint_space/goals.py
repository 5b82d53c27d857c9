"""Goal configurations of a request: joint values, named states, inverse kinematics, and samples of regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import (
    AllSolutionsInCollisionError,
    ConstraintMismatchError,
    GoalInCollisionError,
    InverseKinematicsError,
    JointLimitError,
    MPNoIKSolutionError,
    RobotCellError,
    Value,
)
from ...kinematics.ik.composite import composite_inverse_kinematics
from ...kinematics.ik.options import IkOptions, IkResult
from ...kinematics.ik.solver import inverse_kinematics
from ...kinematics.targets import Target
from ...model.cell import RobotCell
from ...model.unknown_joints import unknown_joint
from ...trajectory.limits import Array
from ..problem.context import PlanningContext, names_of
from ..problem.plan import GoalFailure, PlanFailure
from ..problem.request import GoalRegion, Goals, SimultaneousGoal
from ..problem.space import JointSpace, values_beyond
from .goal_regions import sampled_targets
from .positioner_goals import positioner_of, solve_with_positioner
from .simultaneous_goals import values_and_targets

STAGE = "goals"
# Number of poses of a region before the search, and max number of solutions for each.
REGION_SAMPLES = 16
REGION_SOLUTIONS = 2
# Max number of combinations of solutions for a simultaneous goal.
MAX_COMBINED = 16
# Number of poses of a region per request of the search for further goals.
MORE_SAMPLES = 4
ROUNDING = 1e-9  # [rad or m] tolerance of limits
# Configurations closer than this are considered equal [rad or m].
SAME_GOAL = 1e-3
# Max number of times that a search gets further goals.
MAX_ROUNDS = 24


@dataclass(frozen=True, eq=False)
class GoalConfiguration:
    """Free goal configuration (dof,), and the index of its goal."""

    goal: int
    q: Array


class GoalSet:
    """Free configurations that reach a goal of a request, and a source of further ones.

    Attributes:
        found: Configurations, initially ordered by distance to the start.
        failures: Errors of goals that cannot be used.

    Raises (constructor):
        JointLimitError, GoalInCollisionError, MPNoIKSolutionError, ConstraintMismatchError: No goal can be used;
            the `PlanFailure` in `partial` contains the error of each goal.
        UnknownNameError: A joint or named state does not exist.
        TargetModeMismatchError: The state does not support a target's mode.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed. It is looked for before
            each goal and each pose of a region.
    """

    def __init__(self, context: PlanningContext, goals: Goals, seed: int, only: int | None = None) -> None:
        """only: index of the goal that counts; None for all."""
        self._context = context
        self._goals = goals
        self._seed = seed
        self._round = 0
        self._complete: set[int] = set()  # goals for which `more` looks for no further configurations
        self._exhausted: set[int] = set()  # goals of which no configuration is missing
        self._indices = range(goals.count) if only is None else (only,)
        self.found: list[GoalConfiguration] = []
        self.failures: list[GoalFailure] = []
        for index in self._indices:
            self._check_time()
            try:
                configurations = self._configurations_of(index)
                if not configurations:
                    text = f"goal {index} has no configuration within the bounds of the search"
                    raise JointLimitError(text, stage=STAGE)
                self.found.extend(GoalConfiguration(index, q) for q in configurations)
            except (JointLimitError, GoalInCollisionError, MPNoIKSolutionError, ConstraintMismatchError) as error:
                self.failures.append(GoalFailure(index, error))
        if not self.found:
            raise self._no_goal()
        self._context = context.including([goal.q for goal in self.found])
        start = context.space.start
        self.found.sort(key=lambda goal: float(np.linalg.norm(goal.q - start)))

    @property
    def context(self) -> PlanningContext:
        """The given context, with bounds of unlimited linear joints that include the configurations found at first."""
        return self._context

    @property
    def may_grow(self) -> bool:
        """Whether targets and regions may have further configurations."""
        first = len(self._goals.joint_goals) + len(self._goals.named_states)
        last = self._goals.count - len(self._goals.simultaneous)
        return self._round < MAX_ROUNDS and any(i not in self._complete for i in range(first, last))

    @property
    def is_exhaustive(self) -> bool:
        """Whether `found` has all configurations that reach a goal: goals are joint values, or targets for which
        inverse kinematics returns all solutions."""
        return self._exhausted.issuperset(self._indices)

    def more(self) -> list[Array]:
        """Return further configurations, from other seeds of inverse kinematics and other poses of regions."""
        added: list[Array] = []
        goals = self._goals
        first_target = len(goals.joint_goals) + len(goals.named_states)
        first_region = first_target + len(goals.targets)
        while self.may_grow and not added:
            self._round += 1
            seed = self._seed + self._round
            for index in range(first_target, first_region + len(goals.regions)):
                if index in self._complete:
                    continue
                self._check_time()
                if index < first_region:
                    options = IkOptions(seed=seed, sweep=7 + self._round)
                    rows = self._solved(goals.targets[index - first_target], options)
                else:
                    rows = self._sampled(goals.regions[index - first_region], MORE_SAMPLES, seed)
                new = [q for q in rows if self._is_new(q) and self._context.space.contains(q, ROUNDING)]
                self.found.extend(GoalConfiguration(index, q) for q in new)
                added.extend(new)
        return added

    def reached(self, q: Array) -> int:
        """Return the index of the goal whose configuration is nearest to q (dof,)."""
        return min(self.found, key=lambda goal: float(np.abs(goal.q - q).max())).goal

    def _check_time(self) -> None:
        """End at a cancellation or the time limit: inverse kinematics without free solutions counts no states.

        Raises:
            CancelledError, TimedOutError: The request has to end.
        """
        self._context.checks.check()

    def _is_new(self, q: Array) -> bool:
        return all(float(np.abs(goal.q - q).max()) > SAME_GOAL for goal in self.found)

    def _configurations_of(self, index: int) -> list[Array]:
        goals, space = self._goals, self._context.space
        number = index
        if index < len(goals.joint_goals):
            self._exhausted.add(number)
            return self._joint_goal(goals.joint_goals[index], f"joint goal {index}")
        index -= len(goals.joint_goals)
        if index < len(goals.named_states):
            self._exhausted.add(number)
            name = goals.named_states[index]
            values = self._context.cell.named_state(space.group, name)
            planned = {joint: value for joint, value in values.items() if joint in space.variables}
            return self._joint_goal(planned, f"named state {name}")
        index -= len(goals.named_states)
        if index < len(goals.targets):
            return self._target(goals.targets[index], number)
        index -= len(goals.targets)
        if index < len(goals.regions):
            return self._region(goals.regions[index], number)
        return self._simultaneous(goals.simultaneous[index - len(goals.regions)], number)

    def _joint_goal(self, values: Mapping[str, float], what: str) -> list[Array]:
        context = self._context
        q = configuration(context.cell, context.space, values, what)
        self._check_limits(q, what)
        if not context.checks.state_free(q):
            report = context.checks.checker.report(q)
            text = f"{what} is in collision: {report}"
            raise GoalInCollisionError(text, stage=STAGE, subjects=names_of(report.pairs), partial=report)
        found, mismatch = self._allowed(context.space.equivalents(q, continuous_only=True), what)
        if mismatch is not None and not found:
            raise mismatch
        return found

    def _check_limits(self, q: Array, what: str) -> None:
        beyond = values_beyond(self._context.space, q)
        if beyond:
            names = tuple(value.name for value in beyond)
            text = f"{what} is beyond limits of joint {', '.join(names)}"
            raise JointLimitError(text, stage=STAGE, subjects=names, values=beyond)

    def _allowed(self, rows: list[Array], what: str) -> tuple[list[Array], ConstraintMismatchError | None]:
        """Return the configurations that satisfy the constraints, and the error of the first one that does not."""
        found: list[Array] = []
        mismatch: ConstraintMismatchError | None = None
        for q in rows:
            try:
                self._context.check_constraints(q, what)
                self._check_searched(q, what)
                found.append(q)
            except ConstraintMismatchError as error:
                mismatch = mismatch or error
        return found, mismatch

    def _check_searched(self, q: Array, what: str) -> None:
        """Reject a goal (dof,) that satisfies the combinations of joints within their tolerances, if the configuration
        nearby that satisfies them exactly, to which a path is searched, is invalid.

        Raises:
            ConstraintMismatchError: It is beyond limits, in collision, or violates a constraint on frames.
        """
        context = self._context
        subspace = context.subspace
        if subspace.whole:
            return
        space = context.space.including(q[None])
        searched = subspace.within(space.lower, space.upper).nearest(q)
        if searched is None:
            text = f"{what} has no configuration nearby that satisfies the combinations of joints within limits"
            raise ConstraintMismatchError(text, stage=STAGE)
        moved = float(np.abs(searched - q).max())
        if moved <= ROUNDING:
            return
        nearby = f"the configuration near {what} that satisfies the combinations of joints exactly"
        context.frames.check(searched, nearby)
        if not context.checks.state_free(searched):
            report = context.checks.checker.report(searched)
            text = f"{nearby} is in collision: {report}"
            values = (Value("distance", moved, unit=space.unit),)
            raise ConstraintMismatchError(text, stage=STAGE, subjects=names_of(report.pairs), values=values)

    def _target(self, target: Target, number: int) -> list[Array]:
        context = self._context
        group, variables = context.space.group, context.space.variables
        positioner = positioner_of(context, target)
        if positioner is not None:
            self._complete.add(number)  # the values of the positioner are sampled once
            return self._reached(
                lambda: solve_with_positioner(context, target, positioner, self._explain, self._check_time), number
            )
        return self._reached(
            lambda: inverse_kinematics(
                context.cell,
                context.state,
                target,
                group,
                IkOptions(),
                context.checks.state_free,
                self._explain,
                variables,
            ),
            number,
        )

    def _explain(self, q: Array) -> tuple[str, ...]:
        return tuple(f"{pair.first} - {pair.second}" for pair in self._context.checks.checker.report(q).pairs)

    def _simultaneous(self, goal: SimultaneousGoal, number: int) -> list[Array]:
        context, what = self._context, f"simultaneous goal {number}"
        values, targets = values_and_targets(context.cell, context.space, goal, what)
        q = configuration(context.cell, context.space, values, what)
        if not targets:
            self._exhausted.add(number)
            return self._joint_goal(values, what)
        self._check_limits(q, what)
        state = context.state.with_configuration(dict(zip(context.space.variables, q.tolist(), strict=True)))
        return self._reached(
            lambda: composite_inverse_kinematics(
                context.cell,
                state,
                targets,
                context.space.group,
                IkOptions(max_solutions=MAX_COMBINED),
                context.checks.state_free,
                self._explain,
                context.space.variables,
            ),
            number,
        )

    def _reached(self, solve: Callable[[], IkResult], number: int) -> list[Array]:
        """Return the solutions of inverse kinematics for a goal, with their 2 pi wraps."""
        try:
            result = solve()
        except AllSolutionsInCollisionError as error:
            raise GoalInCollisionError(
                error.message, stage=STAGE, subjects=error.subjects, values=error.values, partial=error.partial
            ) from error
        except InverseKinematicsError as error:
            raise MPNoIKSolutionError(
                error.message,
                stage=STAGE,
                subjects=error.subjects,
                values=error.values,
                partial=error.partial,
                remedy=error.own_remedy,
            ) from error
        if result.complete:
            self._complete.add(number)
            self._exhausted.add(number)
        what = f"every solution for goal {number}"
        rows = self._wraps(result.solutions)
        if not rows:
            self._check_limits(result.solutions[0], what)
        found, mismatch = self._allowed(rows, what)
        if mismatch is not None and not found:
            raise mismatch
        return found

    def _wraps(self, solutions: Iterable[Array]) -> list[Array]:
        """Return solutions of inverse kinematics and their 2 pi wraps, without those beyond limits of the request.

        The bounds of unlimited linear joints do not count, because they follow the goals.
        """
        space = self._context.space
        rows = [q for row in solutions for q in space.equivalents(row, continuous_only=False)]
        bounded = space.including(np.array(rows))
        return [q for q in rows if bounded.contains(q, ROUNDING)]

    def _region(self, region: GoalRegion, number: int) -> list[Array]:
        """Return configurations at poses of a region. If there are none, the error is that of the centre."""
        found = self._sampled(region, REGION_SAMPLES, self._seed) or self._target(region.center, number)
        self._exhausted.discard(number)
        return found

    def _sampled(self, region: GoalRegion, count: int, seed: int) -> list[Array]:
        found: list[Array] = []
        for target in sampled_targets(region, count, seed):
            self._check_time()
            found.extend(self._solved(target, IkOptions(seed=seed, max_solutions=REGION_SOLUTIONS, max_restarts=10)))
        return found

    def _solved(self, target: Target, options: IkOptions) -> list[Array]:
        """Return free solutions that satisfy the constraints, possibly none."""
        context = self._context
        try:
            result = inverse_kinematics(
                context.cell,
                context.state,
                target,
                context.space.group,
                options,
                context.checks.state_free,
                variables=context.space.variables,
            )
        except InverseKinematicsError:
            return []
        return self._allowed(self._wraps(result.solutions), "a sample")[0]

    def _no_goal(self) -> RobotCellError:
        """Return the error of the only goal, or one that lists all."""
        failures, checks = self.failures, self._context.checks
        kinds = {type(failure.error) for failure in failures}
        ranked = (GoalInCollisionError, ConstraintMismatchError, MPNoIKSolutionError, JointLimitError)
        kind = next(kind for kind in ranked if kind in kinds)
        messages = [f"goal {failure.goal}: {failure.error.message}" for failure in failures]
        text = failures[0].error.message if len(failures) == 1 else "no goal can be used: " + "; ".join(messages[:8])
        subjects = tuple(dict.fromkeys(name for failure in failures for name in failure.error.subjects))
        values = tuple(value for failure in failures for value in failure.error.values)[:16]
        partial = PlanFailure(goals=tuple(failures), states_checked=checks.states, motions_checked=checks.motions)
        remedy = next((failure.error.own_remedy for failure in failures if type(failure.error) is kind), "")
        return kind(text, stage=STAGE, subjects=subjects, values=values, partial=partial, remedy=remedy)


def suggested(cell: RobotCell, space: JointSpace, suggestions: Iterable[Mapping[str, float]]) -> list[Array]:
    """Return the configurations (dof,) of waypoint suggestions.

    Raises:
        UnknownNameError: A joint is not planned for.
    """
    return [configuration(cell, space, values, f"waypoint suggestion {i}") for i, values in enumerate(suggestions)]


def configuration(cell: RobotCell, space: JointSpace, values: Mapping[str, float], what: str) -> Array:
    """Return the configuration (dof,) of values by joint; joints that are not listed keep their start values.

    Raises:
        UnknownNameError: A joint is not planned for.
    """
    for joint in values:
        if joint not in space.variables:
            raise unknown_joint(cell, joint, space.variables, f" of {what}", STAGE)
    rows = zip(space.variables, space.start.tolist(), strict=True)
    return np.array([values.get(variable, value) for variable, value in rows])
