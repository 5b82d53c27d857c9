"""From a path to a plan: its measures, its timing, and the validation of what will move."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...collision.certification.refinement import Overlap
from ...collision.engines.base import TOUCHING
from ...errors import TrajectoryInCollisionError, Value
from ...trajectory.limits import Array
from ...trajectory.timing import TimedMotion
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, validate
from ..problem.collision_checks import CHUNK, may_overlap
from ..problem.context import PlanningContext
from ..problem.plan import CartesianReport, PathClearance, Plan, path_length
from .motion_samples import free_along
from .simplification import densify

CLEARANCE_STEP = 0.05  # [rad or m]
FINER = (0.25, 0.0625)  # shares of that step, around the closest state
AROUND = np.array((-3.0, -2.0, -1.0, 1.0, 2.0, 3.0))
TOOL_PATH_STEP = 0.02  # [rad or m]


@dataclass(frozen=True)
class Origin:
    """What a plan says of how it was made: planner, seed, and the widest step between states of its path that were
    checked [rad or m]."""

    planner: str
    seed: int
    resolution: float


def bare_plan(
    job: PlanningContext, path: Array, origin: Origin, *, goal: int = -1, cartesian: CartesianReport | None = None
) -> Plan:
    """The plan of a path (n, dof), neither measured for clearance nor timed."""
    return Plan(
        group=job.space.group,
        variables=job.space.variables,
        path=path,
        planner=origin.planner,
        engine=job.checks.checker.engine,
        seed=origin.seed,
        version=__version__,
        cell_digest=job.cell.digest(),
        start_state_digest=job.state.digest(),
        states_checked=job.checks.states,
        motions_checked=job.checks.motions,
        path_length=path_length(path),
        tool_path_length=tool_path_length(job, path),
        resolution=origin.resolution,
        goal=goal,
        cartesian=cartesian,
        warnings=job.space.start_warnings + job.checks.certifier_warnings + job.checks.hidden_warnings(path),
        times=job.watch.times,
    )


def finish_plan(
    job: PlanningContext,
    plan: Plan,
    time_it: Callable[[], TimedMotion] | None,
    *,
    check_collision: bool = True,
    validation_step: float = np.inf,
) -> Plan:
    """A plan with its clearance and, if asked for, its trajectory, timed and validated.

    time_it: makes the trajectory, or None. validation_step [rad or m]: widest step between the states of the trajectory
    that are held against the cell; with an infinite one the samples alone are, which is enough where the trajectory
    does not leave the path.

    Raises:
        TrajectoryLimitError, TrajectoryInCollisionError: the trajectory failed its validation.
    """
    clearance = None
    if check_collision:
        with job.watch.stage("clearance"):
            clearance = path_clearance(job, plan.path)
    trajectory = None
    warnings: tuple[str, ...] = ()
    if time_it is not None:
        with job.watch.stage("timing"):
            trajectory = time_it().trajectory
        with job.watch.stage("validate"):
            warnings = _validated(job, trajectory, validation_step if check_collision else None)
    return replace(
        plan,
        clearance=clearance,
        trajectory=trajectory,
        warnings=plan.warnings + warnings,
        states_checked=job.checks.states,
        motions_checked=job.checks.motions,
        times=job.watch.times,
    )


def _validated(job: PlanningContext, trajectory: Trajectory, step: float | None) -> tuple[str, ...]:
    """Check a trajectory against the model's limits, the start and, unless `step` is None, the cell; its warnings."""
    states = _TrajectoryStates(job, between=step is not None and math.isfinite(step))
    origin = job.space.start if job.escape is None else job.escape.start
    start = dict(zip(job.space.variables, origin.tolist(), strict=True))
    search = None if step is None else CollisionSearch(states.in_collision, states.pair_of, step)
    report = validate(trajectory, job.limits, start=start, start_tolerance=0.0, collisions=search)
    return report.check().warnings + states.check_between()


class _TrajectoryStates:
    """Checks the states of a trajectory, and between them if it leaves its path, which was verified as a whole."""

    def __init__(self, job: PlanningContext, *, between: bool) -> None:
        self._job = job
        self._between = between
        self._overlap: Overlap | None = None

    def pair_of(self, q: Array) -> tuple[str, str]:
        pair = self._job.checks.checker.first_pair(q)
        return (pair.first, pair.second) if pair is not None else ("", "")

    def in_collision(self, configurations: Array) -> NDArray[np.bool_]:
        checks, escape = self._job.checks, self._job.escape
        if self._between:
            leaving = frozenset() if escape is None else frozenset(map(frozenset, escape.pairs))
            self._overlap = checks.overlap_between(configurations, leaving)
            if self._overlap is None and escape is None and checks.certifier is not None:
                return np.zeros(len(configurations), dtype=bool)
        blocked = ~free_along(checks, configurations)
        if escape is not None:
            for index in np.flatnonzero(blocked).tolist():
                q = configurations[index]
                blocked[index] = not escape.holds(q, checks.checker.report(q))
        return blocked

    def check_between(self) -> tuple[str, ...]:
        """A warning of what may be hidden between the states, if anything may.

        Raises:
            TrajectoryInCollisionError: the trajectory collides between them.
        """
        found = self._overlap
        if found is None:
            return ()
        if not found.collides:
            return (f"the trajectory is not proven free; {may_overlap(found)}",)
        names = (found.first, found.second)
        text = f"the trajectory is in collision between {' and '.join(names)}, between the states of the resolution"
        values = (Value("depth", found.depth, TOUCHING, "m"),)
        raise TrajectoryInCollisionError(text, stage="validate trajectory", subjects=names, values=values)


def path_clearance(job: PlanningContext, path: Array, step: float = CLEARANCE_STEP) -> PathClearance | None:
    """The closest approach at states along a path, no joint moving by more than `step` [rad or m] from one to the next,
    and around the closest of them four and then sixteen times as finely; None if nothing could be approached."""
    kept = _spaced(path, step)
    points, places = densify(path[kept], step) if len(path) > 1 else (path, np.zeros(1))
    places = np.interp(places, np.arange(len(kept)), kept)
    found = _closest(job, points, places, None)
    if found is None or len(points) == 1:
        return found
    numbers = np.arange(len(points), dtype=np.float64)
    middle = float(np.argmin(np.abs(places - found.place)))
    for width in FINER:
        around = np.clip(middle + width * AROUND, 0.0, numbers[-1])
        near = np.column_stack([np.interp(around, numbers, column) for column in points.T])
        near_places = np.interp(around, numbers, places)
        nearer = _closest(job, near, near_places, found)
        if nearer is not None and nearer is not found:
            found = nearer
            middle = float(around[np.argmin(np.abs(near_places - found.place))])
    return found


def _closest(job: PlanningContext, points: Array, places: Array, found: PathClearance | None) -> PathClearance | None:
    """The closest approach at configurations (n, dof), if it is closer than one that was found already."""
    for first in range(0, len(points), CHUNK):
        job.watch.check(job.checks.states)
        part = points[first : first + CHUNK]
        nearest = job.checks.checker.closest_of(part, math.inf if found is None else found.closest.distance)
        if nearest is not None and (found is None or nearest[1].distance < found.closest.distance):
            index, closest = nearest
            found = PathClearance(float(places[first + index]), tuple(part[index].tolist()), closest)
    return found


def _spaced(path: Array, step: float) -> NDArray[np.intp]:
    """Indices of points of a path (n, dof), both ends among them; those are left out within which no joint moves by
    more than `step`."""
    kept = [0]
    for index in range(1, len(path) - 1):
        if float(np.abs(path[index + 1] - path[kept[-1]]).max()) > step:
            kept.append(index)
    if len(path) > 1:
        kept.append(len(path) - 1)
    return np.array(kept, dtype=np.intp)


def tool_path_length(job: PlanningContext, path: Array) -> float:
    """Length [m] of the way of the tool centre point, or of the tip where no tool is attached; 0 for a group without a
    tip."""
    if not job.tool_frame or len(path) < 2:
        return 0.0
    positions = job.tool_positions(densify(path, TOOL_PATH_STEP)[0])
    return float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())
