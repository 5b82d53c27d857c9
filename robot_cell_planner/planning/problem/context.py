"""A request being served: what all stages of it share, and the check of where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import CollisionOptions
from ...collision.report import CollisionPair, CollisionReport
from ...errors import MPStartStateInCollisionError, Value
from ...kinematics.forward import forward_batch
from ...kinematics.targets import TargetMode, target_frame
from ...model.cell import RobotCell
from ...model.start_limits import START_LIMIT_TOLERANCE
from ...model.state import RobotCellState
from ...trajectory.limits import Array, MotionLimits
from .collision_checks import CountedChecks
from .constraints import FrameConstraint, JointCombination, PathConstraint
from .frame_constraints import FrameConstraints
from .local_planner import LocalPlanner, ProjectedLocalPlanner, StraightLocalPlanner
from .objective import Objective, PathCost, inverse_clearance, joint_length, tool_length
from .plan import PlanFailure
from .progress import ProgressMonitor
from .space import JointSpace, joint_space
from .subspace import Subspace, check_combinations, subspace_of

ON_THE_WAY_OUT = 1e-9  # [rad or m]


@dataclass(frozen=True, eq=False)
class StartCorrection:
    """The straight way out of a start that is in collision or beyond limits: its ends (dof,), and the pairs that
    collide at its beginning, which alone may collide on it."""

    start: Array
    end: Array
    pairs: frozenset[tuple[str, str]]

    def holds(self, q: Array, report: CollisionReport) -> bool:
        """Whether q (dof,) is on the way out, and nothing collides there that did not at its beginning."""
        way = self.end - self.start
        share = float(np.clip((q - self.start) @ way / (way @ way), 0.0, 1.0))
        on_it = float(np.abs(self.start + share * way - q).max()) <= ON_THE_WAY_OUT
        return on_it and {(pair.first, pair.second) for pair in report.pairs} <= self.pairs


@dataclass(frozen=True, eq=False)
class PlanningContext:
    """A request being served: the cell, the state it starts from, the joints that move, the checks that count, and what
    must hold all along.

    subspace, combinations: of the joints; frames: constraints on frames. escape: from where the state is to the start
    of the space, if that was asked for and needed.
    """

    cell: RobotCell
    state: RobotCellState
    space: JointSpace
    checks: CountedChecks
    watch: ProgressMonitor
    subspace: Subspace
    combinations: tuple[JointCombination, ...]
    frames: FrameConstraints
    escape: StartCorrection | None = None

    @property
    def limits(self) -> MotionLimits:
        """Of the joints; widened to where a state beyond them begins, if there is a way out."""
        limits = self.space.limits
        if self.escape is None:
            return limits
        lower, upper = np.minimum(limits.lower, self.escape.start), np.maximum(limits.upper, self.escape.start)
        rates = (limits.velocity, limits.acceleration, limits.jerk)
        return MotionLimits(limits.variables, lower, upper, *rates, limits.assumed)

    def check_constraints(self, q: Array, what: str) -> None:
        """Refuse a configuration (dof,) that disagrees with the constraints.

        Raises:
            ConstraintMismatchError: with the numbers.
        """
        check_combinations(self.space, self.combinations, q, what)
        self.frames.check(q, what)

    def mover(self, step: float) -> LocalPlanner:
        """How to get from one configuration to another, checked every `step` [rad or m]."""
        if self.frames:
            return ProjectedLocalPlanner(self.checks, step, self.subspace, self.frames)
        return StraightLocalPlanner(self.checks, step, self.subspace)

    def cost(self, objective: Objective) -> PathCost:
        """The cost of paths."""
        if objective is Objective.CLEARANCE:
            return PathCost(objective, inverse_clearance(self.checks.clearance))
        if objective is Objective.CARTESIAN_LENGTH and self.tool_frame:
            return PathCost(objective, tool_length(self.tool_positions))
        return PathCost(objective, joint_length)

    @property
    def tool_frame(self) -> str:
        """The tool centre point, or the tip where no tool is attached; "" for a group without a tip."""
        group = self.space.group
        if not group or not self.cell.group(group).tip_link:
            return ""
        mode = TargetMode.TOOL if self.cell.tool_of_group(self.state, group) else TargetMode.ROBOT
        return target_frame(self.cell, self.state, group, mode)

    def tool_positions(self, configurations: Array) -> Array:
        """Positions (n, 3) [m] of the tool in the world for configurations (n, dof)."""
        poses = forward_batch(self.cell, self.state, self.tool_frame, self.space.variables, configurations)
        return np.asarray(poses[:, :3, 3])


def start_job(
    cell: RobotCell,
    state: RobotCellState,
    group: str,
    joints: Sequence[str],
    *,
    engine: str,
    extra_margin: float,
    state_limit: int,
    watch: ProgressMonitor,
    constraints: Sequence[PathConstraint] = (),
    slack: float = 0.0,
    certify: bool = True,
    start_limit_tolerance: float = START_LIMIT_TOLERANCE,
) -> PlanningContext:
    """The job of a request. slack, start_limit_tolerance [rad or m]: how far the state may be beyond position limits,
    see `joint_space`. certify: prove motions free where that can be done.

    Raises:
        StateError, UnknownNameError, FrameCycleError: the state does not fit the cell, or a name is not there.
        StartBeyondLimitsError: the state is beyond position limits.
        ConstraintMismatchError: the constraints hold everything.
    """
    cell.check_state(state)
    space = joint_space(cell, state, group, joints, slack, start_limit_tolerance)
    rules = CollisionOptions(extra_margin=extra_margin)
    checker = CollisionChecker(cell, state, space.variables, engine=engine, options=rules)
    return job_in(cell, state, space, CountedChecks(checker, watch, state_limit, certify), constraints)


def job_in(
    cell: RobotCell,
    state: RobotCellState,
    space: JointSpace,
    checks: CountedChecks,
    constraints: Sequence[PathConstraint],
) -> PlanningContext:
    """The job in a joint space that is known already; errors as of `start_job`."""
    combinations = tuple(entry for entry in constraints if isinstance(entry, JointCombination))
    frames = tuple(entry for entry in constraints if isinstance(entry, FrameConstraint))
    subspace = subspace_of(space, combinations)
    held = FrameConstraints(cell, state, space, frames)
    return PlanningContext(cell, state, space, checks, checks.watch, subspace, combinations, held)


def check_start(job: PlanningContext) -> None:
    """Refuse a start in collision.

    Raises:
        MPStartStateInCollisionError: with all pairs; `partial` is a `PlanFailure`.
        ConstraintMismatchError: the start breaks a constraint.
    """
    if not job.checks.state_free(job.space.start):
        raise start_in_collision(job, job.checks.checker.report(job.space.start))
    job.frames.check(job.space.start, "the start state")


def start_in_collision(job: PlanningContext, report: CollisionReport) -> MPStartStateInCollisionError:
    """The error for a start in collision."""
    return MPStartStateInCollisionError(
        f"the start state is in collision: {report}",
        stage="start",
        subjects=names_of(report.pairs),
        values=tuple(Value(f"{p.first} - {p.second}", p.distance, p.margin, "m") for p in report.pairs),
        partial=PlanFailure(start_pairs=report.pairs, states_checked=job.checks.states),
    )


def names_of(pairs: Sequence[CollisionPair]) -> tuple[str, ...]:
    """Who collides, each once."""
    return tuple(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
