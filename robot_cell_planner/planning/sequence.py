"""Sequences of motions with scene changes between them, with goals chosen for the whole sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ..errors import JointLimitError, PlanningError, RobotCellError
from ..kinematics.transforms import world_pose
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..scene.changes import apply_changes
from ..scene.scene import Scene
from ..trajectory.limits import Array
from ..trajectory.timing import TimingMethod, TimingOptions
from ..trajectory.trajectory import Trajectory
from .joint_space.goals import GoalSet
from .joint_space.planner import plan_with_monitor
from .problem.context import check_start, create_context
from .problem.plan import GoalFailure, Plan, PlanFailure
from .problem.progress import Progress, ProgressMonitor
from .problem.request import Goals, MotionRequest
from .problem.steps import MotionStep, MultistepFailure, MultistepRequest
from .problem.timing_limits import check_limits
from .straight_motion import plan_straight

T = TypeVar("T")

# Number of goal configuration sequences retained from step to step, and of goal configurations tried for each.
BEAM_WIDTH = 8
MAX_CHOICES = 8
# Max number of either if later steps are paired with this one, so that each goal keeps at least one.
MAX_PAIRED = 64


@dataclass(frozen=True, eq=False)
class _Sequence:
    """Goal configurations of the first steps, with the indices of their goals.

    Attributes:
        plans: Plan of each straight step, whose goal is chosen by planning to it; None for the others.
        cost: Total length of straight motions.
        scene: Scene after the last motion.
    """

    choices: tuple[Array, ...]
    goals: tuple[int, ...]
    plans: tuple[Plan | None, ...]
    cost: float
    scene: Scene

    @property
    def key(self) -> tuple[bytes, ...]:
        return tuple(q.tobytes() for q in self.choices)


@public
def plan_multistep(
    cell: RobotCell,
    state: RobotCellState,
    request: MultistepRequest,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Plan, ...]:
    """Plan all motions of a request; return one plan per step.

    First, goal configurations of all steps are chosen by beam search: sequences with the shortest straight motions for
    which each later step has a usable goal. Then the motions are planned; if one fails, the next best sequence is used.

    Raises:
        RobotCellError: As from `plan_motion`; the first subject is the name of the step, `partial` is a
            `MultistepFailure`.
        UnknownNameError: The timing has limits of a joint that the cell does not have.
        InvalidRequestError: The limits of a joint have the unit of another type of joint.
    """
    monitor = ProgressMonitor(request.options.time_limit, on_progress, cancelled)
    return plans_of_steps(cell, state, request, monitor)


def plans_of_steps(
    cell: RobotCell, state: RobotCellState, request: MultistepRequest, monitor: ProgressMonitor
) -> tuple[Plan, ...]:
    """`plan_multistep` with a progress monitor of the caller."""
    if request.timing is not None:
        check_limits(cell, request.timing)
    return _SequencePlanner(Scene(cell, state), request, monitor).run()


class _SequencePlanner:
    def __init__(self, scene: Scene, request: MultistepRequest, monitor: ProgressMonitor) -> None:
        self.scene = scene
        self.steps = _with_groups(request.steps)
        self.partners = [request.partner(index) for index in range(len(request.steps))]
        self.options = request.options
        self.timing = request.timing
        self.monitor = monitor
        self.states_left = request.options.state_limit
        self.planned: dict[tuple[bytes, ...], Plan] = {}
        self.failed: dict[tuple[bytes, ...], tuple[int, RobotCellError]] = {}

    def run(self) -> tuple[Plan, ...]:
        sequences = [_Sequence((), (), (), 0.0, self.scene)]
        for index in range(len(self.steps)):
            sequences = self._extended(sequences, index)
        for sequence in sequences:
            plans = self._plans(sequence)
            if len(plans) == len(self.steps):
                return plans
        index, error = max(self.failed.values(), key=lambda found: found[0])
        raise self._step_error(error, index, sequences)

    def _extended(self, sequences: Sequence[_Sequence], index: int) -> list[_Sequence]:
        """Return the best sequences with one more step."""
        self.monitor.step = index
        found: list[_Sequence] = []
        first_error: RobotCellError | None = None
        with self.monitor.stage("goals"):
            for sequence in sequences:
                try:
                    found.extend(self._next(sequence, index))
                except RobotCellError as error:
                    if not isinstance(error, (PlanningError, JointLimitError)):
                        raise self._step_error(error, index, sequences) from error
                    first_error = first_error or error
        if not found:
            assert first_error is not None
            raise self._step_error(first_error, index, sequences) from first_error
        found.sort(key=lambda sequence: sequence.cost)
        needed = {partner for partner in self.partners[index + 1 :] if partner is not None and partner <= index}
        return _best_of_each(found, lambda sequence: tuple(sequence.goals[other] for other in needed), BEAM_WIDTH)

    def _next(self, sequence: _Sequence, index: int) -> list[_Sequence]:
        """Return a sequence with one more step, for each choice of its goal configuration.

        Raises:
            RobotCellError: There is no choice.
        """
        step = self.steps[index]
        scene = apply_changes(sequence.scene, step.changes, world_pose)
        partner = self.partners[index]
        only = None if partner is None else sequence.goals[partner]
        if step.straight:
            return self._straight_choices(sequence, scene, index, only)
        return self._choices(sequence, scene, index, only)

    def _straight_choices(self, sequence: _Sequence, scene: Scene, index: int, only: int | None) -> list[_Sequence]:
        step, extended, failures = self.steps[index], [], []
        for goal in range(step.goals.count) if only is None else (only,):
            try:
                plan = self._straight_plan(scene, index, goal)
            except PlanningError as error:
                failures.append(GoalFailure(goal, error))
                self._count(getattr(error.partial, "states_checked", 0))
                continue
            self._count(plan.states_checked)
            after = Scene(scene.cell, scene.state.with_configuration(plan.end_configuration()))
            cost = sequence.cost + plan.path_length
            choices, goals = (*sequence.choices, plan.path[-1]), (*sequence.goals, goal)
            extended.append(_Sequence(choices, goals, (*sequence.plans, plan), cost, after))
        if not extended:
            raise _no_line(failures)
        return extended

    def _straight_plan(self, scene: Scene, index: int, goal: int) -> Plan:
        step, options = self.steps[index], replace(self.options, state_limit=self.states_left)
        target, timing = step.goals.targets[goal], self.timing
        if timing is not None:  # the method and blends of the timing are those of the other steps
            timing = replace(
                timing, method=TimingMethod.FOLLOW_SAMPLES, blend_tolerance=TimingOptions().blend_tolerance
            )
        return replace(plan_straight(scene, target, step.group, step.joints, options, timing, self.monitor), goal=goal)

    def _choices(self, sequence: _Sequence, scene: Scene, index: int, only: int | None) -> list[_Sequence]:
        step, options = self.steps[index], self.options
        context = create_context(
            scene.cell,
            scene.state,
            step.group,
            step.joints,
            replace(options, state_limit=self.states_left),
            self.monitor,
            constraints=step.constraints,
            slack=options.max_start_correction if index == 0 else 0.0,
            timing=self.timing,
        )
        # Where a concurrent step starts, the robots of the steps before it are not at their ends yet.
        if not step.concurrent and not (index == 0 and options.max_start_correction):
            check_start(context)
        goals = GoalSet(context, step.goals, options.seed, only)
        self._count(context.checks.states)
        paired = index in self.partners[index + 1 :]
        extended = []
        for goal in _best_of_each(goals.found, lambda found: found.goal if paired else 0, MAX_CHOICES):
            values = dict(zip(context.space.variables, goal.q.tolist(), strict=True))
            after = Scene(scene.cell, scene.state.with_configuration(values))
            cost = sequence.cost + float(np.linalg.norm(goal.q - context.space.start))
            choices, numbers = (*sequence.choices, goal.q), (*sequence.goals, goal.goal)
            extended.append(_Sequence(choices, numbers, (*sequence.plans, None), cost, after))
        return extended

    def _plans(self, sequence: _Sequence) -> tuple[Plan, ...]:
        """Return the plans of a sequence up to the first motion that fails."""
        plans: list[Plan] = []
        scene, begin = self.scene, self.scene  # after the last motion, and where the concurrent ones begin
        moving: tuple[Trajectory, ...] = ()  # of the motions that began with the last one
        for index, step in enumerate(self.steps):
            key = sequence.key[: index + 1]
            if key in self.failed:
                break
            if not step.concurrent:
                scene = begin = apply_changes(scene, step.changes, world_pose)
                moving = ()
            plan = self.planned.get(key) or (None if step.concurrent else sequence.plans[index])
            if plan is None:
                try:
                    plan = self._plan(begin, index, sequence.choices[index], sequence.goals[index], moving)
                except PlanningError as error:
                    self.failed[key] = (index, error)
                    self._count(getattr(error.partial, "states_checked", 0))
                    break
                except RobotCellError as error:
                    raise self._step_error(error, index, [sequence]) from error
                self._count(plan.states_checked)
            self.planned[key] = plan
            # Other goals may have the same configuration.
            plan = plan if plan.goal == sequence.goals[index] else replace(plan, goal=sequence.goals[index])
            plans.append(plan)
            moving += () if plan.trajectory is None else (plan.trajectory,)
            scene = Scene(scene.cell, scene.state.with_configuration(plan.end_configuration()))
        return tuple(plans)

    def _plan(self, scene: Scene, index: int, q: Array, goal: int, moving: tuple[Trajectory, ...]) -> Plan:
        step = self.steps[index]
        self.monitor.step = index
        if step.straight:
            return self._straight_plan(scene, index, goal)
        variables = scene.cell.group(step.group).variables
        moved = tuple(name for name in variables if not step.joints or name in step.joints)
        request = MotionRequest(
            goals=Goals(joint_goals=(dict(zip(moved, q.tolist(), strict=True)),)),
            group=step.group,
            joints=step.joints,
            options=replace(
                self.options,
                state_limit=self.states_left,
                max_start_correction=self.options.max_start_correction if index == 0 else 0.0,
            ),
            timing=self.timing,
            constraints=step.constraints,
            waypoint_suggestions=step.waypoint_suggestions,
            moving=moving,
        )
        return replace(plan_with_monitor(scene.cell, scene.state, request, self.monitor), goal=goal)

    def _count(self, states: int) -> None:
        """Subtract states from the limit. At least one remains, so that a search ends immediately and reports the
        limit.
        """
        self.states_left = max(1, self.states_left - states)

    def _step_error(self, error: RobotCellError, index: int, sequences: Sequence[_Sequence]) -> RobotCellError:
        """Return the error with the name of its step, and plans of the steps before it."""
        name = self.steps[index].label(index)
        plans: tuple[Plan, ...] = ()
        for sequence in sequences:
            plans = max(plans, tuple(self._planned_steps(sequence, index)), key=len)
        failure = error.partial if isinstance(error.partial, PlanFailure) else PlanFailure()
        partial = MultistepFailure(plans[:index], index, failure)
        return error.changed(f"step {name}: {error.message}", subjects=(name, *error.subjects), partial=partial)

    def _planned_steps(self, sequence: _Sequence, index: int) -> list[Plan]:
        found: list[Plan] = []
        for count in range(1, index + 1):
            plan = self.planned.get(sequence.key[:count])
            if plan is None:
                break
            found.append(plan)
        return found


def _with_groups(steps: Sequence[MotionStep]) -> tuple[MotionStep, ...]:
    """Return the steps with explicit groups."""
    found: list[MotionStep] = []
    for step in steps:
        before = found[-1].group if found else ""
        found.append(step if step.group else replace(step, group=before))
    return tuple(found)


def _best_of_each(candidates: Sequence[T], key: Callable[[T], object], count: int) -> list[T]:
    """Return `count` candidates, which are in the order of their costs, equally many of each key if possible; at least
    one of each key up to MAX_PAIRED."""
    keys: dict[object, int] = {}
    for candidate in candidates:
        keys.setdefault(key(candidate), 0)
    quota = max(1, count // max(1, len(keys)))
    retained: list[T] = []
    for candidate in candidates:
        name = key(candidate)
        if keys[name] < quota and len(retained) < MAX_PAIRED:
            keys[name] += 1
            retained.append(candidate)
    return retained


def _no_line(failures: Sequence[GoalFailure]) -> RobotCellError:
    """Return the error of a straight step without a goal that can be reached."""
    first = failures[0].error
    text = first.message
    if len(failures) > 1:
        listed = "; ".join(f"goal {failure.goal}: {failure.error.message}" for failure in failures[:8])
        text = f"no goal can be reached on a straight line: {listed}"
    failure = PlanFailure(goals=tuple(failures))
    return first.changed(text, partial=failure)
