"""Requests for sequences of motions with scene changes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import InvalidRequestError, UnknownNameError, Value
from ...model.arguments import checked_fields, public
from ...model.name_suggestions import unknown_name
from ...model.units import ANY_JOINT, unit_of_derivative
from ...scene.changes import Change
from ...trajectory.merging import merge_trajectories
from ...trajectory.timing import TimingOptions
from ...trajectory.trajectory import Trajectory
from .constraints import PathConstraint
from .plan import Plan, PlanFailure
from .request import STAGE, Goals, PlanningOptions, check_count

MAX_STEPS = 100


@checked_fields
@dataclass(frozen=True)
class MotionStep:
    """Step of a sequence: the changes, then the motion.

    Attributes:
        name: Name for reports; "" for the index of the step.
        group: Planning group; "" for that of the previous step, or the main group.
        paired_with: Name of an earlier step, or its index as text, with as many goals: the goal of this step has the
            index of the goal that was reached there, such as each grasp with its approach; "": any goal.
        straight: The frame of the targets moves on a straight line. All goals are targets then, without constraints
            and suggestions.
        concurrent: The motion begins together with that of the previous step, of other robots, and is planned among
            it (`MotionRequest.moving`). The step after them begins once all have ended. For the motion of the previous
            step, these robots stand where they are. Without changes, constraints and `straight`.

    Other attributes are as in `MotionRequest`.

    Raises:
        InvalidRequestError: A straight step has goals that are no targets, constraints or suggestions; a concurrent
            step has changes or constraints, or is straight.
    """

    goals: Goals
    name: str = ""
    changes: tuple[Change, ...] = ()
    group: str = ""
    joints: tuple[str, ...] = ()
    constraints: tuple[PathConstraint, ...] = ()
    waypoint_suggestions: tuple[Mapping[str, float], ...] = ()
    paired_with: str = ""
    straight: bool = False
    concurrent: bool = False

    def __post_init__(self) -> None:
        if self.concurrent and (self.straight or self.changes or self.constraints):
            text = "a concurrent step takes no changes and no constraints and is not straight"
            raise InvalidRequestError(f"{text}; the step that it begins with may", stage=STAGE)
        if not self.straight:
            return
        if len(self.goals.targets) != self.goals.count:
            raise InvalidRequestError("the goals of a straight step must be targets", stage=STAGE)
        if self.constraints or self.waypoint_suggestions:
            text = "a straight step takes neither constraints nor waypoint suggestions: its path is given"
            raise InvalidRequestError(text, stage=STAGE)

    def label(self, index: int) -> str:
        """Return its name, or else its index as text."""
        return self.name or str(index)


@checked_fields
@dataclass(frozen=True)
class MultistepRequest:
    """Sequence of motions.

    Attributes:
        options: Options of the searches; limits apply to the whole sequence.
        timing: Timing of each motion, which starts and ends at rest. Its method and `blend_tolerance` do not apply to
            straight steps.

    Raises:
        InvalidRequestError: There is no step, paired steps have different numbers of goals, a step is paired with the
            name or index of several steps, the first step is straight and has a start correction, the first step is
            concurrent, or one without timing, or the timing has a start or end velocity.
        UnknownNameError: A step is paired with one that is not before it.
        LimitExceededError: There are more than 100 steps.
    """

    steps: tuple[MotionStep, ...]
    options: PlanningOptions = field(default_factory=PlanningOptions)
    timing: TimingOptions | None = field(default_factory=TimingOptions)

    def __post_init__(self) -> None:
        if not self.steps:
            raise InvalidRequestError("no step is given", stage=STAGE)
        check_count("steps", len(self.steps), MAX_STEPS)
        if self.steps[0].straight and self.options.max_start_correction:
            raise InvalidRequestError("a straight first step takes no start correction", stage=STAGE)
        if self.steps[0].concurrent:
            raise InvalidRequestError("the first step is concurrent: there is no step before it", stage=STAGE)
        if self.timing is None and any(step.concurrent for step in self.steps):
            raise InvalidRequestError("concurrent steps need timing", stage=STAGE)
        if self.timing is not None:
            _check_rest(self.timing)
        for index in range(len(self.steps)):
            self.partner(index)

    def partner(self, index: int) -> int | None:
        """Return the index of the step that a step is paired with, None without one.

        Raises:
            InvalidRequestError, UnknownNameError: As from the constructor.
        """
        step, before = self.steps[index], self.steps[:index]
        if not step.paired_with:
            return None
        label = step.paired_with
        matches = [number for number, other in enumerate(before) if label in (str(number), other.name)]
        if not matches:
            labels = {label for number, other in enumerate(before) for label in (str(number), other.name) if label}
            text = unknown_name(f"step {label!r} before step {step.label(index)}", label, labels)
            raise UnknownNameError(text, stage=STAGE, subjects=(label,))
        if len(matches) > 1:
            numbers = " and ".join(str(number) for number in matches)
            text = f"step {step.label(index)} is paired with {label!r}, which is the name or index of steps {numbers}"
            raise InvalidRequestError(f"{text}; give them other names", stage=STAGE, subjects=(label,))
        found = matches[0]
        counts = step.goals.count, before[found].goals.count
        if counts[0] != counts[1]:
            text = f"step {step.label(index)} has {counts[0]} goals, and step {step.paired_with} has {counts[1]}"
            raise InvalidRequestError(text, stage=STAGE, values=(Value("goals", *counts),))
        return found


def _check_rest(timing: TimingOptions) -> None:
    """Reject velocities at the ends of the motions of a sequence."""
    for name, velocities in (("start_velocity", timing.start_velocity), ("end_velocity", timing.end_velocity)):
        moving = tuple(joint for joint, velocity in velocities.items() if velocity)
        if moving:
            text = f"every motion of a sequence starts and ends at rest; leave {name} of the timing empty"
            unit = unit_of_derivative(ANY_JOINT, 1)
            values = tuple(Value(f"{name} of {joint}", velocities[joint], 0.0, unit) for joint in moving)
            raise InvalidRequestError(text, stage=STAGE, subjects=moving, values=values)


@public
def merge_concurrent(request: MultistepRequest, plans: Sequence[Plan]) -> tuple[Trajectory, ...]:
    """Return the trajectories to execute one after the other: one for each step and the concurrent steps after it.

    Args:
        plans: The plans of `plan_multistep`.

    Raises:
        InvalidRequestError: The request has no timing, or the plans are not those of its steps.
    """
    if request.timing is None:
        raise InvalidRequestError("the plans have no trajectories; request timing", stage=STAGE)
    if len(plans) != len(request.steps):
        text = f"{len(plans)} plans are given for {len(request.steps)} steps, expected one for each"
        raise InvalidRequestError(text, stage=STAGE, values=(Value("plans", len(plans), len(request.steps)),))
    together: list[list[Trajectory]] = []
    for index, (step, plan) in enumerate(zip(request.steps, plans, strict=True)):
        if plan.trajectory is None:
            text = f"the plan of step {step.label(index)} has no trajectory; plan it with timing"
            raise InvalidRequestError(text, stage=STAGE, subjects=(step.label(index),))
        if step.concurrent:
            together[-1].append(plan.trajectory)
        else:
            together.append([plan.trajectory])
    return tuple(
        found[0] if len(found) == 1 else merge_trajectories(found, request.timing.period) for found in together
    )


@dataclass(frozen=True, eq=False)
class MultistepFailure:
    """Partial result in `partial` of an error: plans of the steps before the failed one, and its diagnostics."""

    plans: tuple[Plan, ...]
    failed_step: int
    failure: PlanFailure
