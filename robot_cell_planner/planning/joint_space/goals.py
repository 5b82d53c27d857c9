"""Goal configurations of a request: from joint values, named states, inverse kinematics, and samples of regions."""

from __future__ import annotations

from collections.abc import Mapping
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
    UnknownNameError,
)
from ...kinematics.ik.options import IkOptions
from ...kinematics.ik.solver import inverse_kinematics
from ...kinematics.targets import Target
from ...model.name_suggestions import unknown_name
from ...trajectory.limits import Array
from ..problem.context import PlanningContext, names_of
from ..problem.plan import GoalFailure, PlanFailure
from ..problem.request import GoalRegion, Goals
from ..problem.space import JointSpace, values_beyond
from .goal_regions import sampled_targets

STAGE = "goals"
# Poses of a region that are tried before the search, and solutions of each that are kept.
REGION_SAMPLES = 16
REGION_SOLUTIONS = 2
# Poses of a region, or seeds of inverse kinematics for a target, that are tried each time the search asks for more.
MORE_SAMPLES = 4
# Configurations closer than this are the same goal [rad or m].
SAME_GOAL = 1e-3
# Times that a search is given more goals.
MAX_ROUNDS = 24


@dataclass(frozen=True, eq=False)
class GoalConfiguration:
    """A free configuration (dof,) at which a goal is reached, and the goal's number."""

    goal: int
    q: Array


class GoalSet:
    """All free configurations that reach a goal of a request, those nearest to the start first, and further ones.

    Attributes: found. failures: why goals could not be used.

    Raises (when made):
        JointLimitError, GoalInCollisionError, MPNoIKSolutionError, ConstraintMismatchError: no goal can be used; each
            goal's reason is in the `PlanFailure` in `partial`.
        UnknownNameError: a joint or named state that does not exist.
        TargetModeMismatchError: the state cannot offer a target's mode.
    """

    def __init__(self, job: PlanningContext, goals: Goals, seed: int) -> None:
        self._job = job
        self._goals = goals
        self._seed = seed
        self._round = 0
        self._complete: set[int] = set()
        self.found: list[GoalConfiguration] = []
        self.failures: list[GoalFailure] = []
        for index in range(goals.count):
            try:
                self.found.extend(GoalConfiguration(index, q) for q in self._reach(index))
            except (JointLimitError, GoalInCollisionError, MPNoIKSolutionError, ConstraintMismatchError) as error:
                self.failures.append(GoalFailure(index, error))
        if not self.found:
            raise self._no_goal()
        start = job.space.start
        self.found.sort(key=lambda goal: float(np.linalg.norm(goal.q - start)))

    @property
    def may_grow(self) -> bool:
        """Whether there can be further configurations for its targets and regions."""
        first = len(self._goals.joint_goals) + len(self._goals.named_states)
        return self._round < MAX_ROUNDS and any(i not in self._complete for i in range(first, self._goals.count))

    def more(self) -> list[Array]:
        """Further configurations, found by other seeds of inverse kinematics and other poses of regions."""
        added: list[Array] = []
        goals = self._goals
        first_target = len(goals.joint_goals) + len(goals.named_states)
        first_region = first_target + len(goals.targets)
        while self.may_grow and not added:
            self._round += 1
            seed = self._seed + self._round
            for index in range(first_target, goals.count):
                if index in self._complete:
                    continue
                if index < first_region:
                    options = IkOptions(seed=seed, sweep=7 + self._round)
                    rows = self._solved(goals.targets[index - first_target], options)
                else:
                    rows = self._sampled(goals.regions[index - first_region], MORE_SAMPLES, seed)
                new = [q for q in rows if self._is_new(q)]
                self.found.extend(GoalConfiguration(index, q) for q in new)
                added.extend(new)
        return added

    def reached(self, q: Array) -> int:
        """Number of the goal whose configuration is nearest to q (dof,)."""
        return min(self.found, key=lambda goal: float(np.abs(goal.q - q).max())).goal

    def _is_new(self, q: Array) -> bool:
        return all(float(np.abs(goal.q - q).max()) > SAME_GOAL for goal in self.found)

    def _reach(self, index: int) -> list[Array]:
        goals, space = self._goals, self._job.space
        number = index
        if index < len(goals.joint_goals):
            return self._joint_goal(goals.joint_goals[index], f"joint goal {index}")
        index -= len(goals.joint_goals)
        if index < len(goals.named_states):
            name = goals.named_states[index]
            values = self._job.cell.robot_of_group(space.group).named_state(space.group, name)
            planned = {joint: value for joint, value in values.items() if joint in space.variables}
            return self._joint_goal(planned, f"named state {name}")
        index -= len(goals.named_states)
        if index < len(goals.targets):
            return self._target(goals.targets[index], number)
        return self._region(goals.regions[index - len(goals.targets)], number)

    def _joint_goal(self, values: Mapping[str, float], what: str) -> list[Array]:
        job = self._job
        q = configuration(job.space, values, what)
        beyond = values_beyond(job.space, q)
        if beyond:
            names = tuple(value.name for value in beyond)
            text = f"{what} is beyond limits of joint {', '.join(names)}"
            raise JointLimitError(text, stage=STAGE, subjects=names, values=beyond)
        if not job.checks.state_free(q):
            report = job.checks.checker.report(q)
            text = f"{what} is in collision: {report}"
            raise GoalInCollisionError(text, stage=STAGE, subjects=names_of(report.pairs), partial=report)
        found, refused = self._allowed(job.space.equivalents(q, continuous_only=True), what)
        if refused is not None and not found:
            raise refused
        return found

    def _allowed(self, rows: list[Array], what: str) -> tuple[list[Array], ConstraintMismatchError | None]:
        """Those configurations that agree with the constraints, and what the first one that does not is refused for."""
        found: list[Array] = []
        refused: ConstraintMismatchError | None = None
        for q in rows:
            try:
                self._job.check_constraints(q, what)
                found.append(q)
            except ConstraintMismatchError as error:
                refused = refused or error
        return found, refused

    def _target(self, target: Target, number: int) -> list[Array]:
        job = self._job

        def explain(q: Array) -> tuple[str, ...]:
            return tuple(f"{pair.first} - {pair.second}" for pair in job.checks.checker.report(q).pairs)

        group, variables = job.space.group, job.space.variables
        try:
            result = inverse_kinematics(
                job.cell, job.state, target, group, IkOptions(), job.checks.state_free, explain, variables
            )
        except AllSolutionsInCollisionError as error:
            raise GoalInCollisionError(
                error.message, stage=STAGE, subjects=error.subjects, values=error.values, partial=error.partial
            ) from error
        except InverseKinematicsError as error:
            raise MPNoIKSolutionError(
                error.message, stage=STAGE, subjects=error.subjects, values=error.values, partial=error.partial
            ) from error
        if result.complete:
            self._complete.add(number)
        rows = [q for row in result.solutions for q in job.space.equivalents(row, continuous_only=False)]
        found, refused = self._allowed(rows, f"every solution for goal {number}")
        if refused is not None and not found:
            raise refused
        return found

    def _region(self, region: GoalRegion, number: int) -> list[Array]:
        """Configurations at poses of a region; if no pose gives one, the error is that of its centre."""
        found = self._sampled(region, REGION_SAMPLES, self._seed)
        return found or self._target(region.center, number)

    def _sampled(self, region: GoalRegion, count: int, seed: int) -> list[Array]:
        found: list[Array] = []
        for target in sampled_targets(region, count, seed):
            found.extend(self._solved(target, IkOptions(seed=seed, max_solutions=REGION_SOLUTIONS, max_restarts=10)))
        return found

    def _solved(self, target: Target, options: IkOptions) -> list[Array]:
        """Free solutions that agree with the constraints; none where there are none."""
        job = self._job
        try:
            result = inverse_kinematics(
                job.cell,
                job.state,
                target,
                job.space.group,
                options,
                job.checks.state_free,
                variables=job.space.variables,
            )
        except InverseKinematicsError:
            return []
        rows = [q for row in result.solutions for q in job.space.equivalents(row, continuous_only=False)]
        return self._allowed(rows, "a sample")[0]

    def _no_goal(self) -> RobotCellError:
        """The error of the only goal, or one that lists all."""
        failures, checks = self.failures, self._job.checks
        kinds = {type(failure.error) for failure in failures}
        ranked = (GoalInCollisionError, ConstraintMismatchError, MPNoIKSolutionError, JointLimitError)
        kind = next(kind for kind in ranked if kind in kinds)
        messages = [f"goal {failure.goal}: {failure.error.message}" for failure in failures]
        text = failures[0].error.message if len(failures) == 1 else "no goal can be used: " + "; ".join(messages[:8])
        subjects = tuple(dict.fromkeys(name for failure in failures for name in failure.error.subjects))
        values = tuple(value for failure in failures for value in failure.error.values)[:16]
        partial = PlanFailure(goals=tuple(failures), states_checked=checks.states, motions_checked=checks.motions)
        return kind(text, stage=STAGE, subjects=subjects, values=values, partial=partial)


def configuration(space: JointSpace, values: Mapping[str, float], what: str) -> Array:
    """The configuration (dof,) of values by joint; a joint left out stays where it starts.

    Raises:
        UnknownNameError: a joint that is not planned.
    """
    for joint in values:
        if joint not in space.variables:
            text = unknown_name(f"joint {joint!r} of {what}", joint, space.variables)
            raise UnknownNameError(text, stage=STAGE, subjects=(joint,))
    rows = zip(space.variables, space.start.tolist(), strict=True)
    return np.array([values.get(variable, value) for variable, value in rows])
