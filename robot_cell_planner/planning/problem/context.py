"""Planning context: data that all stages of a request share, and the check of its start state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import CollisionOptions
from ...collision.report import CollisionPair, CollisionReport
from ...errors import MPStartStateInCollisionError, Value
from ...kinematics.chain import Chain
from ...kinematics.forward import chain_at_state, forward_batch
from ...kinematics.model import cell_model
from ...kinematics.targets import TargetMode, target_frame
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...trajectory.limits import Array, MotionLimits
from ...trajectory.timing import TimingOptions
from .collision_checks import CountedChecks
from .constraints import FrameConstraint, JointCombination, PathConstraint
from .frame_constraints import START, FrameConstraints
from .local_planner import LocalPlanner, ProjectedLocalPlanner, StraightLocalPlanner
from .objective import Objective, PathCost, inverse_clearance, joint_length, tool_length
from .plan import PlanFailure
from .progress import ProgressMonitor
from .request import CommonOptions
from .space import NO_LIMITS, JointSpace, joint_space
from .subspace import Subspace, check_combinations, subspace_of

SEGMENT_TOLERANCE = 1e-9  # [rad or m]


@dataclass(frozen=True, eq=False)
class StartCorrection:
    """Straight motion from a start that is in collision or beyond limits to a valid configuration.

    Attributes:
        start, end: Configurations (dof,).
        pairs: Pairs that collide at `start`; only they may collide along the motion.
        warning: Text for the user.
    """

    start: Array
    end: Array
    pairs: frozenset[tuple[str, str]]
    warning: str = ""

    def allows(self, q: Array, report: CollisionReport) -> bool:
        """Return whether q (dof,) is on the motion, and no pair collides in `report` that does not collide at the
        start.
        """
        segment = self.end - self.start
        parameter = float(np.clip((q - self.start) @ segment / (segment @ segment), 0.0, 1.0))
        on_it = float(np.abs(self.start + parameter * segment - q).max()) <= SEGMENT_TOLERANCE
        return on_it and {(pair.first, pair.second) for pair in report.pairs} <= self.pairs

    def states_on(self, configurations: Array) -> int:
        """Return how many states (n, dof) of a motion, from the first one, follow the correction towards its end."""
        segment = self.end - self.start
        parameters = (configurations - self.start) @ segment / (segment @ segment)
        away = np.abs(self.start + np.clip(parameters, 0.0, 1.0)[:, None] * segment - configurations).max(axis=1)
        back = np.concatenate(([0.0], -np.diff(parameters))) * float(np.abs(segment).max())
        left = (away > SEGMENT_TOLERANCE) | (back > SEGMENT_TOLERANCE)
        return int(left.argmax()) if left.any() else len(configurations)

    def widened(self, limits: MotionLimits) -> MotionLimits:
        """Return limits whose position limits include the start of the correction."""
        lower, upper = np.minimum(limits.lower, self.start), np.maximum(limits.upper, self.start)
        return replace(limits, lower=lower, upper=upper)


@dataclass(frozen=True, eq=False)
class PlanningContext:
    """Data of a request that all planning stages share.

    Attributes:
        state: Start state.
        space: Joints that are planned for.
        checks: Collision checks, with counters.
        subspace, combinations: Constraints on joints.
        frames: Constraints on frames.
        start_correction: Motion from the start state to the start of `space`, if it was requested and needed.
    """

    cell: RobotCell
    state: RobotCellState
    space: JointSpace
    checks: CountedChecks
    monitor: ProgressMonitor
    subspace: Subspace
    combinations: tuple[JointCombination, ...]
    frames: FrameConstraints
    start_correction: StartCorrection | None = None

    @property
    def limits(self) -> MotionLimits:
        """Limits of the joints, widened to the start state if a start correction leads from beyond them."""
        limits = self.space.limits
        return limits if self.start_correction is None else self.start_correction.widened(limits)

    def including(self, configurations: Sequence[Array]) -> PlanningContext:
        """Return the context in which the bounds of unlimited linear joints include configurations (dof,)."""
        space = self.space.including(np.array(configurations))
        if space is self.space:
            return self
        constraints = tuple(frame.constraint for frame in self.frames.frames)
        return replace(
            self,
            space=space,
            subspace=self.subspace.within(space.lower, space.upper),
            frames=FrameConstraints(self.cell, self.state, space, constraints),
        )

    def check_constraints(self, q: Array, what: str) -> None:
        """Reject a configuration (dof,) that violates a constraint.

        Raises:
            ConstraintMismatchError: The constraint and its deviation.
        """
        check_combinations(self.space, self.combinations, q, what)
        self.frames.check(q, what)

    def local_planner(self, step: float) -> LocalPlanner:
        """Return the local planner for the constraints, with checks every `step` [rad or m]."""
        if self.frames:
            return ProjectedLocalPlanner(self.checks, step, self.subspace, self.frames)
        return StraightLocalPlanner(self.checks, step, self.subspace)

    def cost(self, objective: Objective) -> PathCost:
        """Return the cost function of paths for an objective: of the joint length instead of the Cartesian length, if
        there is no tip link, see `objective_warnings`.
        """
        if objective is Objective.CLEARANCE:
            return PathCost(objective, inverse_clearance(self.checks.clearance))
        if objective is Objective.CARTESIAN_LENGTH and self.tool_frame:
            return PathCost(objective, tool_length(self.tool_positions))
        return PathCost(objective, joint_length)

    def objective_warnings(self, objective: Objective) -> tuple[str, ...]:
        """Return a warning if `cost` replaces an objective."""
        if objective is not Objective.CARTESIAN_LENGTH or self.tool_frame:
            return ()
        group = f"group {self.space.group}" if self.space.group else "the planned joints"
        return (f"{group} has no tip link whose path could be measured; the joint length was the objective instead",)

    @property
    def tool_frame(self) -> str:
        """Tool centre point, or the tip link without a tool; "" for a group without a tip link."""
        group = self.space.group
        if not group or not self.cell.group(group).tip_link:
            return ""
        mode = TargetMode.TOOL if self.cell.tool_of_group(self.state, group) else TargetMode.ROBOT
        return target_frame(self.cell, self.state, group, mode)

    @property
    def tool_chain(self) -> Chain:
        """Chain from the world to `tool_frame`, which must not be "", by the joints of the space."""
        model = cell_model(self.cell, self.state)
        return chain_at_state(model, self.state, self.tool_frame, self.space.variables)

    def tool_positions(self, configurations: Array) -> Array:
        """Return positions (n, 3) [m] of the tool in the world for configurations (n, dof)."""
        poses = forward_batch(self.cell, self.state, self.tool_frame, self.space.variables, configurations)
        return np.asarray(poses[:, :3, 3])


def create_context(
    cell: RobotCell,
    state: RobotCellState,
    group: str,
    joints: Sequence[str],
    options: CommonOptions,
    monitor: ProgressMonitor,
    *,
    constraints: Sequence[PathConstraint] = (),
    slack: float = 0.0,
    timing: TimingOptions | None = None,
) -> PlanningContext:
    """Create the context of a request.

    Args:
        slack: Allowed excess of the state over position limits [rad or m], see `joint_space`.
        timing: Options of the timing; their position limits narrow those of the model.

    Raises:
        StateError, UnknownNameError, FrameCycleError: The state does not match the cell, or a name is unknown.
        StartBeyondLimitsError: The state is beyond position limits.
        ConstraintMismatchError: The constraints leave no joint to move.
    """
    cell.check_state(state)
    limits = NO_LIMITS if timing is None else timing.limits
    space = joint_space(cell, state, group, joints, slack, options.start_limit_tolerance, limits)
    return context_in_space(cell, state, space, options, monitor, constraints)


def context_in_space(
    cell: RobotCell,
    state: RobotCellState,
    space: JointSpace,
    options: CommonOptions,
    monitor: ProgressMonitor,
    constraints: Sequence[PathConstraint],
) -> PlanningContext:
    """Create the context of a request in a given joint space. Errors as for `create_context`."""
    margins = CollisionOptions(extra_margin=options.extra_margin)
    checker = CollisionChecker(cell, state, space.variables, engine=options.engine, options=margins)
    checks = CountedChecks(checker, monitor, options.state_limit, options.certify)
    monitor.register(checks)
    combinations = tuple(entry for entry in constraints if isinstance(entry, JointCombination))
    frames = tuple(entry for entry in constraints if isinstance(entry, FrameConstraint))
    subspace = subspace_of(space, combinations)
    frame_constraints = FrameConstraints(cell, state, space, frames)
    return PlanningContext(cell, state, space, checks, monitor, subspace, combinations, frame_constraints)


def check_start(context: PlanningContext) -> None:
    """Reject a start in collision.

    Raises:
        MPStartStateInCollisionError: With all colliding pairs; `partial` is a `PlanFailure`.
        ConstraintMismatchError: The start violates a constraint.
    """
    if not context.checks.state_free(context.space.start):
        raise start_in_collision(context, context.checks.checker.report(context.space.start))
    context.frames.check(context.space.start, START)


def start_in_collision(context: PlanningContext, report: CollisionReport) -> MPStartStateInCollisionError:
    """Return the error for a start in collision."""
    return MPStartStateInCollisionError(
        f"the start state is in collision: {report}",
        stage="start",
        subjects=names_of(report.pairs),
        values=tuple(Value(f"{p.first} - {p.second}", p.distance, p.margin, "m") for p in report.pairs),
        partial=PlanFailure(start_pairs=report.pairs, states_checked=context.checks.states),
    )


def names_of(pairs: Sequence[CollisionPair]) -> tuple[str, ...]:
    """Return the names of the objects in pairs, each once."""
    return tuple(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
