"""Prioritised planning of a composite group: one robot after the other, each among the motions of those before it.

The joint goals of all robots are chosen together. Every order of priority of up to three robots is tried, and of more
robots two for each of them, until one takes hardly longer than straight motions, for a few goals; the motion that ends
first is kept. Robots that depend on each other in every order, such as two that have to exchange their places, are left
to coupled planning (Erdmann and Lozano-Perez, "On Multiple Moving Objects", 1987).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from ...errors import NotSupportedError, PlanningError, TrajectoryError
from ...model.cell import RobotCell
from ...model.cell_warnings import unchecked_warnings
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ...trajectory.merging import merge_trajectories
from ...trajectory.timing import stop_at_waypoints
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import validate
from ..path.finish import Origin, bare_plan, with_proof
from ..problem.context import PlanningContext, check_start, create_context
from ..problem.plan import Plan
from ..problem.progress import ProgressMonitor, WorkCount
from ..problem.request import Coordination, Goals, MotionRequest
from ..space_time.joint_motion import JointMotion
from .goals import GoalSet, suggested

PRIORITISED = "Prioritised"
MAX_GOALS = 2
ALL_ORDERS = 3  # robots of which all orders are tried
# Of more robots, an order whose motions take at most this multiple of straight ones, which nothing could shorten much,
# ends the search: those of eight robots take a minute.
NEARLY = 1.05
PATH_STEP = 0.02  # [rad or m], distance of waypoints of the plan

# Plans a motion of one robot.
PlanOne = Callable[[RobotCell, RobotCellState, MotionRequest, ProgressMonitor], Plan]


@dataclass(frozen=True, eq=False)
class _Found:
    """Motions of all robots in the order of priority, and the index of the goal that they reach."""

    plans: tuple[Plan, ...]
    goal: int

    @property
    def duration(self) -> float:
        return max(plan.duration for plan in self.plans)


def plan_prioritised(
    cell: RobotCell,
    state: RobotCellState,
    request: MotionRequest,
    monitor: ProgressMonitor,
    plan_one: PlanOne,
    work: WorkCount,
) -> Plan | None:
    """Plan a motion of a composite group robot by robot; return None if all `orders` of priority fail, or no state is
    left for others.

    The path of the plan consists of samples of its trajectory, in which each robot moves or waits for itself. All
    motions together may check half of `state_limit`, each half of the states that are left of these.

    work: Count of all checks of the request.

    Raises:
        NotSupportedError: The group is not composite, or the request has constraints, fixed joints, a start
            correction, no timing or other moving robots.
        RobotCellError: The start or all goals cannot be used, as in `planner.plan_motion`.
    """
    _check_supported(cell, request)
    with monitor.stage("start"):
        context = create_context(cell, state, request.group, (), request.options, monitor, timing=request.timing)
        check_start(context)
        hints = suggested(context.cell, context.space, request.waypoint_suggestions)
    with monitor.stage("goals"):
        goals = GoalSet(context.including(hints), request.goals, request.options.seed)
    parts, found, tried = cell.group_parts(request.group), list[_Found](), goals.found[:MAX_GOALS]
    untried = deque((goal, order) for goal in tried for order in orders(parts))
    enough = NEARLY * min(_straight(context, request, goal.q) for goal in tried) if len(parts) > ALL_ORDERS else -1.0
    while True:
        while untried:
            goal, order = untried.popleft()
            plans = _in_order(cell, state, request, monitor, plan_one, _parts(cell, context, order, goal.q), work)
            if plans is not None:
                found.append(_Found(plans, goal.goal))
                if found[-1].duration <= enough:
                    break
        if not found:
            return None
        best = found[0]
        for other in found[1:]:
            best = other if other.duration < best.duration - request_period(request) else best
        try:
            return _joined(context, request, best)
        except TrajectoryError:
            found.remove(best)  # the next one may be valid


def _straight(context: PlanningContext, request: MotionRequest, goal: Array) -> float:
    """Return the duration [s] of the straight motion to a configuration (dof,), without checks for collisions."""
    start = context.space.start
    if np.array_equal(start, goal):
        return 0.0
    return float(stop_at_waypoints(np.vstack((start, goal)), context.limits, request.timing).curve.duration)


def orders(robots: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the orders of priority to try: all of up to three robots; of more, those in which each robot is first,
    last and everywhere between, with the others in their order or in the opposite one."""
    if len(robots) <= ALL_ORDERS:
        return tuple(permutations(robots))
    names = tuple(robots)
    rotated = [names[first:] + names[:first] for first in range(len(names))]
    return (*rotated, *(order[::-1] for order in rotated))


def _check_supported(cell: RobotCell, request: MotionRequest) -> None:
    unsupported = (
        (len(cell.group_parts(request.group)) < 2, "a group of one robot"),
        (request.timing is None, "no timing"),
        (bool(request.constraints), "constraints"),
        (bool(request.joints), "fixed joints"),
        (bool(request.moving), "other moving robots"),
        (request.options.max_start_correction > 0.0, "a start correction"),
    )
    for found, what in unsupported:
        if found:
            text = f"prioritised planning does not support {what}"
            raise NotSupportedError(text, stage="request", subjects=(what,))


def request_period(request: MotionRequest) -> float:
    """Return the sample period of a request with timing [s]."""
    assert request.timing is not None
    return request.timing.period


def _parts(cell: RobotCell, context: PlanningContext, order: Sequence[str], q: Array) -> dict[str, dict[str, float]]:
    """Return the joint values of a configuration (dof,) by group, in an order."""
    values = dict(zip(context.space.variables, q.tolist(), strict=True))
    return {name: {joint: values[joint] for joint in cell.group(name).variables} for name in order}


def _in_order(
    cell: RobotCell,
    state: RobotCellState,
    request: MotionRequest,
    monitor: ProgressMonitor,
    plan_one: PlanOne,
    parts: Mapping[str, Mapping[str, float]],
    work: WorkCount,
) -> tuple[Plan, ...] | None:
    """Return a plan for each group, each among the motions of the groups before it; None if one is not found."""
    plans: list[Plan] = []
    for group, goal in parts.items():
        moving = tuple(plan.trajectory for plan in plans if plan.trajectory is not None)
        # Robots without a motion yet are obstacles at rest; all motions are timed alike, on one grid.
        moving = moving or tuple(_at_rest(cell, state, other) for other in parts if other != group)
        hints = _parts_of_suggestions(request.waypoint_suggestions, goal)
        limit = (request.options.state_limit // 2 - work.states) // 2
        if limit < 1:
            return None
        options = replace(request.options, coordination=Coordination.COUPLED, state_limit=limit)
        one = replace(
            request, goals=Goals((goal,)), group=group, options=options, moving=moving, waypoint_suggestions=hints
        )
        try:
            plans.append(plan_one(cell, state, one, monitor))
        except (PlanningError, TrajectoryError):
            return None
    return tuple(plans)


def _parts_of_suggestions(
    suggestions: Sequence[Mapping[str, float]], joints: Iterable[str]
) -> tuple[dict[str, float], ...]:
    """Return the values of joints of one robot in waypoint suggestions, without suggestions for other robots only."""
    own = frozenset(joints)
    parts = ({joint: value for joint, value in values.items() if joint in own} for values in suggestions)
    return tuple(part for part in parts if part)


def _at_rest(cell: RobotCell, state: RobotCellState, group: str) -> Trajectory:
    """Return the trajectory of a group that rests."""
    variables = cell.group(group).variables
    here = np.array([[state.configuration[name] for name in variables]])
    return Trajectory(variables, np.zeros(1), here)


def _joined(context: PlanningContext, request: MotionRequest, found: _Found) -> Plan:
    """Return one plan for the motions of all robots.

    Raises:
        TrajectoryLimitError, TrajectoryInCollisionError: The trajectory is invalid.
    """
    options, space, checks = request.options, context.space, context.checks
    trajectories = [plan.trajectory for plan in found.plans if plan.trajectory is not None]
    assert request.timing is not None
    limits = space.limits.narrowed(request.timing.limits)
    trajectory = _ordered(merge_trajectories(trajectories, request.timing.period), space.variables)
    start = dict(zip(space.variables, space.start.tolist(), strict=True))
    warnings = validate(trajectory, limits, start=start, start_tolerance=0.0).check().warnings
    with context.monitor.stage("certify"):
        motion = JointMotion(checks.checker, trajectory, (), context.monitor.check)
        proof = motion.proof(checks.certifier)
    if not np.isnan(proof.collision):
        raise motion.collision_at(proof.collision)
    if not proof.fraction >= 1.0:
        checks.states += motion.check_states(options.resolution)
        warnings += ("the motion is not proven free at all times; it was checked at steps of the resolution",)
    spaces = [replace(space, group=part.group) for part in found.plans]
    objective_warnings = [
        text for own in spaces for text in replace(context, space=own).objective_warnings(options.objective)
    ]
    path = _sparse(trajectory.positions)
    with context.monitor.stage("clearance"):
        clearance = motion.clearance(path)
    plan = bare_plan(context, path, Origin(PRIORITISED, options.seed, options.resolution), goal=found.goal)
    return replace(
        with_proof(context, plan, proof.fraction),
        clearance=clearance,
        trajectory=trajectory,
        warnings=(
            *plan.warnings,
            *objective_warnings,
            *unchecked_warnings(context.cell, space.variables),
            *warnings,
        ),
        times=context.monitor.times,
    )


def _ordered(trajectory: Trajectory, variables: Sequence[str]) -> Trajectory:
    """Return the trajectory with its columns in an order."""
    columns = [trajectory.variables.index(name) for name in variables]
    assert trajectory.velocities is not None
    assert trajectory.accelerations is not None
    rows = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    return Trajectory(tuple(variables), trajectory.times, *(values[:, columns] for values in rows))


def _sparse(positions: Array) -> Array:
    """Return positions (n, dof) without those closer than PATH_STEP to the one before, but with both ends."""
    retained = [0]
    for index in range(1, len(positions) - 1):
        if float(np.abs(positions[index] - positions[retained[-1]]).max()) >= PATH_STEP:
            retained.append(index)
    return positions[[*retained, len(positions) - 1]]
