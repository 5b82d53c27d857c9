"""Sequences of motions with scene changes between them, with goals chosen for the whole sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import InvalidRequestError, JointLimitError, PlanningError, RobotCellError
from ..kinematics.transforms import world_pose
from ..model.arguments import checked_fields, public
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..scene.changes import Change, apply_changes
from ..scene.scene import Scene
from ..trajectory.limits import Array
from ..trajectory.timing import TimingOptions
from .joint_space.goals import GoalSet
from .joint_space.planner import plan_with_monitor
from .problem.constraints import PathConstraint
from .problem.context import check_start, create_context
from .problem.plan import Plan, PlanFailure
from .problem.progress import Progress, ProgressMonitor
from .problem.request import STAGE, Goals, MotionRequest, PlanningOptions, check_count

MAX_STEPS = 100
# Number of goal configuration sequences retained from step to step, and of goal configurations tried for each.
BEAM_WIDTH = 8
MAX_CHOICES = 8


@checked_fields
@dataclass(frozen=True)
class MotionStep:
    """Step of a sequence: the changes, then the motion.

    Attributes:
        name: Name for reports; "" for the index of the step.
        group: Planning group; "" for that of the previous step, or the main group.

    Other attributes are as in `MotionRequest`.
    """

    goals: Goals
    name: str = ""
    changes: tuple[Change, ...] = ()
    group: str = ""
    joints: tuple[str, ...] = ()
    constraints: tuple[PathConstraint, ...] = ()
    waypoint_suggestions: tuple[Mapping[str, float], ...] = ()


@checked_fields
@dataclass(frozen=True)
class MultistepRequest:
    """Sequence of motions.

    Attributes:
        options: Options of the searches; limits apply to the whole sequence.
        timing: Timing of each motion, which starts and ends at rest.

    Raises:
        InvalidRequestError: There is no step.
        LimitExceededError: There are more than 100 steps.
    """

    steps: tuple[MotionStep, ...]
    options: PlanningOptions = field(default_factory=PlanningOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)

    def __post_init__(self) -> None:
        if not self.steps:
            raise InvalidRequestError("no step is given", stage=STAGE)
        check_count("steps", len(self.steps), MAX_STEPS)


@dataclass(frozen=True, eq=False)
class MultistepFailure:
    """Partial result in `partial` of an error: plans of the steps before the failed one, and its diagnostics."""

    plans: tuple[Plan, ...]
    failed_step: int
    failure: PlanFailure


@dataclass(frozen=True, eq=False)
class _Sequence:
    """Goal configurations of the first steps, with the indices of their goals.

    Attributes:
        cost: Total length of straight motions.
        scene: Scene after the last motion.
    """

    choices: tuple[Array, ...]
    goals: tuple[int, ...]
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
    """
    monitor = ProgressMonitor(request.options.time_limit, on_progress, cancelled)
    return _SequencePlanner(Scene(cell, state), request, monitor).run()


class _SequencePlanner:
    def __init__(self, scene: Scene, request: MultistepRequest, monitor: ProgressMonitor) -> None:
        self.scene = scene
        self.steps = _with_groups(request.steps)
        self.options = request.options
        self.timing = request.timing
        self.monitor = monitor
        self.states_left = request.options.state_limit
        self.planned: dict[tuple[bytes, ...], Plan] = {}
        self.failed: dict[tuple[bytes, ...], tuple[int, RobotCellError]] = {}

    def run(self) -> tuple[Plan, ...]:
        sequences = [_Sequence((), (), 0.0, self.scene)]
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
        return found[:BEAM_WIDTH]

    def _next(self, sequence: _Sequence, index: int) -> list[_Sequence]:
        step, options = self.steps[index], self.options
        scene = apply_changes(sequence.scene, step.changes, world_pose)
        context = create_context(
            scene.cell,
            scene.state,
            step.group,
            step.joints,
            replace(options, state_limit=self.states_left),
            self.monitor,
            constraints=step.constraints,
            slack=options.max_start_correction if index == 0 else 0.0,
            certify=options.certify,
        )
        if not (index == 0 and options.max_start_correction):
            check_start(context)
        goals = GoalSet(context, step.goals, options.seed)
        self._count(context.checks.states)
        extended = []
        for goal in goals.found[:MAX_CHOICES]:
            values = dict(zip(context.space.variables, goal.q.tolist(), strict=True))
            after = Scene(scene.cell, scene.state.with_configuration(values))
            cost = sequence.cost + float(np.linalg.norm(goal.q - context.space.start))
            extended.append(_Sequence((*sequence.choices, goal.q), (*sequence.goals, goal.goal), cost, after))
        return extended

    def _plans(self, sequence: _Sequence) -> tuple[Plan, ...]:
        """Return the plans of a sequence up to the first motion that fails."""
        plans: list[Plan] = []
        scene = self.scene
        for index, step in enumerate(self.steps):
            key = sequence.key[: index + 1]
            if key in self.failed:
                break
            scene = apply_changes(scene, step.changes, world_pose)
            plan = self.planned.get(key)
            if plan is None:
                try:
                    plan = self._plan(scene, index, sequence.choices[index], sequence.goals[index])
                except PlanningError as error:
                    self.failed[key] = (index, error)
                    self._count(getattr(error.partial, "states_checked", 0))
                    break
                except RobotCellError as error:
                    raise self._step_error(error, index, [sequence]) from error
                self.planned[key] = plan
                self._count(plan.states_checked)
            plans.append(plan)
            scene = Scene(scene.cell, scene.state.with_configuration(plan.end_configuration()))
        return tuple(plans)

    def _plan(self, scene: Scene, index: int, q: Array, goal: int) -> Plan:
        step = self.steps[index]
        self.monitor.step = index
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
        )
        return replace(plan_with_monitor(scene.cell, scene.state, request, self.monitor), goal=goal)

    def _count(self, states: int) -> None:
        """Subtract states from the limit. At least one remains, so that a search ends immediately and reports the
        limit.
        """
        self.states_left = max(1, self.states_left - states)

    def _step_error(self, error: RobotCellError, index: int, sequences: Sequence[_Sequence]) -> RobotCellError:
        """Return the error with the name of its step, and plans of the steps before it."""
        name = self.steps[index].name or str(index)
        plans: tuple[Plan, ...] = ()
        for sequence in sequences:
            plans = max(plans, tuple(self._planned_steps(sequence, index)), key=len)
        failure = error.partial if isinstance(error.partial, PlanFailure) else PlanFailure()
        return type(error)(
            f"step {name}: {error.message}",
            stage=error.stage,
            subjects=(name, *error.subjects),
            values=error.values,
            partial=MultistepFailure(plans[:index], index, failure),
        )

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
