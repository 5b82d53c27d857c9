"""Completion of a plan: measured properties, timing, and validation of the trajectory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...collision.certification.motion_bounds import rigid_bodies
from ...collision.certification.refinement import Overlap, describe_overlap
from ...collision.clearance import SAME, ClosestSearch, Nearest
from ...collision.engines.base import TOUCHING
from ...errors import ConstraintMismatchError, TrajectoryInCollisionError, Value
from ...model.cell_warnings import unchecked_warnings
from ...trajectory.limits import Array
from ...trajectory.timing import TimedMotion, TimingOptions
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, dense_times, validate
from ..problem.collision_checks import pair_names
from ..problem.context import PlanningContext
from ..problem.plan import CartesianReport, PathClearance, Plan, path_length
from ..problem.subspace import check_combinations, coefficient_matrix
from .initial_contact import SEPARATION_STEP, departure_from_contact
from .motion_samples import free_along, on_proven_motions
from .path_kernels import place_around, select_waypoints
from .simplification import densify, step_counts

CLEARANCE_STEP = 0.05  # [rad or m]
PASSED_DEVIATION = 1e-4  # [rad or m] of points of a path from the motion past them, in the search for the clearance
STATES_AT_ONCE = 512  # of a path, before a cancellation is looked for
REFINEMENT_FACTORS = (0.25, 0.0625)  # of that step, around the closest state
REFINEMENT_OFFSETS = np.array((-3.0, -2.0, -1.0, 1.0, 2.0, 3.0))
SPREAD, MAX_OTHER_MINIMA = 0.01, 3  # [m] by which a distance may be smaller between two states, and number of places
DEFAULT_TIMING = TimingOptions()
TOOL_PATH_STEP = 0.02  # [rad or m]


@dataclass(frozen=True)
class Origin:
    """Origin of a plan: planner, seed, and max step between checked states of its path [rad or m]."""

    planner: str
    seed: int
    resolution: float


def bare_plan(
    context: PlanningContext,
    path: Array,
    origin: Origin,
    *,
    goal: int = -1,
    cartesian: CartesianReport | None = None,
    start_correction_waypoints: int = 0,
    warnings: tuple[str, ...] = (),
) -> Plan:
    """Return the plan of a path (n, dof), without proof, clearance and timing. warnings: beside those of the path."""
    return Plan(
        group=context.space.group,
        variables=context.space.variables,
        path=path,
        planner=origin.planner,
        engine=context.checks.checker.engine,
        seed=origin.seed,
        version=__version__,
        cell_digest=context.cell.digest(),
        start_state_digest=context.state.digest(),
        states_checked=context.checks.states,
        motions_checked=context.checks.motions,
        path_length=path_length(path),
        tool_path_length=tool_path_length(context, path),
        resolution=origin.resolution,
        goal=goal,
        start_correction_waypoints=start_correction_waypoints,
        cartesian=cartesian,
        warnings=context.space.start_warnings + context.checks.overlap_warnings(path) + warnings,
        times=context.monitor.times,
    )


def with_proof(context: PlanningContext, plan: Plan, fraction: float) -> Plan:
    """Return a plan with the fraction of its path that is proven free, and warnings about sphere models if these leave
    some of it open. NaN: there are no certificates."""
    coarse = context.checks.coarse_objects if fraction < 1.0 else {}
    warnings = tuple(spheres.warning(name) for name, spheres in coarse.items())
    return replace(plan, certified_fraction=fraction, warnings=plan.warnings + warnings)


def finish_plan(
    context: PlanningContext,
    plan: Plan,
    parameterize: Callable[[], TimedMotion] | None,
    *,
    timing: TimingOptions = DEFAULT_TIMING,
    check_collision: bool = True,
    validation_step: float = np.inf,
) -> Plan:
    """Return a plan with its clearance and, if requested, its validated trajectory.

    Args:
        parameterize: Computes the timed motion; None for no timing.
        timing: Options that it was computed with; their limits have to be kept.
        validation_step: Max step between states of the trajectory that are checked against the cell [rad or m]. If
            infinite, only the samples are checked, which is sufficient if the trajectory does not leave the path.

    Raises:
        TrajectoryLimitError, TrajectoryInCollisionError, ConstraintMismatchError: The trajectory is invalid.
    """
    clearance = None
    if check_collision:
        with context.monitor.stage("clearance"):
            clearance = path_clearance(context, plan.path)
    trajectory = None
    warnings = unchecked_warnings(context.cell, plan.variables) if check_collision else ()
    if parameterize is not None:
        with context.monitor.stage("timing"):
            trajectory = parameterize().trajectory
        with context.monitor.stage("validate"):
            context.checks.check()
            step = validation_step if check_collision else None
            warnings += _validated(context, plan.path, trajectory, step, timing)
            context.checks.check()
    return replace(
        plan,
        clearance=clearance,
        trajectory=trajectory,
        warnings=plan.warnings + warnings,
        states_checked=context.checks.states,
        motions_checked=context.checks.motions,
        times=context.monitor.times,
    )


def _validated(
    context: PlanningContext,
    path: Array,
    trajectory: Trajectory,
    step: float | None,
    timing: TimingOptions = DEFAULT_TIMING,
) -> tuple[str, ...]:
    """Validate a trajectory along a path (n, dof) against limits, the start and, unless `step` is None, the cell;
    return warnings. With a finite step, constraints are checked, too, since the trajectory leaves its path.
    """
    states = _StateChecks(context, path, between=step is not None and math.isfinite(step))
    origin = context.space.start if context.start_correction is None else context.start_correction.start
    start = dict(zip(context.space.variables, origin.tolist(), strict=True))
    names = partial(pair_names, context.checks.checker)
    search = None if step is None else CollisionSearch(states.in_collision, names, step)
    report = validate(
        trajectory,
        timing.allowed(context.limits),
        start=start,
        start_tolerance=0.0,
        at_rest=not timing.ends_moving,
        collisions=search,
    )
    warnings = report.check().warnings + states.check_between()
    if step is not None and math.isfinite(step) and (context.frames or context.combinations):
        _check_constraints(context, trajectory, step)
    if step is not None and context.start_correction is not None:
        warnings += _departure_warnings(context, trajectory)
    return warnings


def _departure_warnings(context: PlanningContext, trajectory: Trajectory) -> tuple[str, ...]:
    """Return a warning if a trajectory begins in contact and does not leave it as the validation requires."""
    departure = departure_from_contact(context.checks.checker, trajectory, SEPARATION_STEP)
    if departure is None or departure.pair is None:
        return ()
    first, second = departure.pair
    text = (
        f"{first} and {second} do not separate steadily from the start: validation before execution refuses the motion"
    )
    return (text,)


def _check_constraints(context: PlanningContext, trajectory: Trajectory, step: float) -> None:
    """Check a trajectory against the constraints on frames and on combinations of joints every `step` [rad or m].

    Raises:
        ConstraintMismatchError: A constraint is broken.
    """
    times = dense_times(trajectory, step)
    states = trajectory.at(times)
    if context.combinations:
        away = np.abs((states - context.space.start) @ coefficient_matrix(context.space, context.combinations).T)
        tolerances = np.array([combination.tolerance for combination in context.combinations])
        worst = int((away - tolerances).max(axis=1).argmax())
        check_combinations(context.space, context.combinations, states[worst], "the trajectory", "validate trajectory")
    if not context.frames:
        return
    excess = context.frames.excess(states)
    worst = int(excess.argmax())
    if excess[worst] > 1.0:
        values = (
            Value("deviation in tolerances", float(excess[worst]), 1.0),
            Value("time", float(times[worst]), None, "s"),
        )
        text = "the trajectory leaves the constraints on frames, which its path keeps"
        raise ConstraintMismatchError(text, stage="validate trajectory", values=values)


class _StateChecks:
    """Collision checks of the states of a trajectory, and between them if it leaves its path, which was verified
    before. States on motions of the path that are proven free are not checked again.
    """

    def __init__(self, context: PlanningContext, path: Array, *, between: bool) -> None:
        self._context = context
        self._path = path
        self._between = between
        self._overlap: Overlap | None = None

    def in_collision(self, configurations: Array) -> NDArray[np.bool_]:
        checks, correction = self._context.checks, self._context.start_correction
        if self._between:
            ignored = frozenset() if correction is None else frozenset(map(frozenset, correction.pairs))
            self._overlap = checks.overlap_between(configurations, ignored)
            if self._overlap is None and correction is None and checks.certifier is not None:
                return np.zeros(len(configurations), dtype=bool)
        left = np.flatnonzero(~on_proven_motions(checks, self._path, configurations))
        blocked = np.zeros(len(configurations), dtype=bool)
        blocked[left] = ~free_along(checks, configurations[left])
        if correction is not None:
            for index in np.flatnonzero(blocked).tolist():
                q = configurations[index]
                blocked[index] = not correction.allows(q, checks.checker.report(q))
        return blocked

    def check_between(self) -> tuple[str, ...]:
        """Return a warning about a possible overlap between the states, if any.

        Raises:
            TrajectoryInCollisionError: The trajectory collides between states.
        """
        found = self._overlap
        if found is None:
            return ()
        if not found.collides:
            return (f"the trajectory is not proven free; {describe_overlap(found)}",)
        names = (found.first, found.second)
        text = f"the trajectory is in collision between {' and '.join(names)}, between the states of the resolution"
        values = (Value("depth", found.depth, TOUCHING, "m"),)
        raise TrajectoryInCollisionError(text, stage="validate trajectory", subjects=names, values=values)


def path_clearance(context: PlanningContext, path: Array, step: float = CLEARANCE_STEP) -> PathClearance | None:
    """Return the closest approach along a path, of pairs that it may move relative to each other; None without any.

    No joint moves by more than `step` [rad or m] between states. Around the closest state, and other local minima that
    may hide a closer one, the step is divided by 4, and then by 16.
    """
    indices = _spaced_indices(path, step)
    points, parameters = densify(path[indices], step) if len(path) > 1 else (path, np.zeros(1))
    checker = context.checks.checker
    search = checker.closest_search(rigid_bodies(checker))
    found, nearest = _closest(context, search, points, math.inf, SPREAD)
    if found is None:
        return None
    place, q = float(found.state), points[found.state]
    if len(points) > 1:
        middles = np.array([place, *_other_minima(found, nearest)])
        for width in REFINEMENT_FACTORS:
            places = np.empty(len(middles) * len(REFINEMENT_OFFSETS))
            near = np.empty((len(places), points.shape[1]))
            place_around(points, middles, REFINEMENT_OFFSETS, width, places, near)
            nearer, _ = _closest(context, search, near, found.distance - SAME, 0.0)
            if nearer is not None:
                found, place, q = nearer, float(places[nearer.state]), near[nearer.state]
            middles = np.array([place])
    parameter = _value_at(indices, _value_at(parameters, place))
    return PathClearance(parameter, tuple(q.tolist()), search.clearance(q, found))


def _value_at(values: Array | NDArray[np.intp], place: float) -> float:
    """Return the value at a place that counts in values (n,), between two of them."""
    whole = max(min(int(place), len(values) - 2), 0)
    low, high = float(values[whole]), float(values[min(whole + 1, len(values) - 1)])
    return low + (place - whole) * (high - low)


def _closest(
    context: PlanningContext, search: ClosestSearch, points: Array, max_distance: float, beyond: float
) -> tuple[Nearest | None, Array]:
    """Return the smallest distance at configurations (n, dof), None if it exceeds a limit [m], and lower bounds (n,) of
    the distances at each, infinite where all exceed the smallest by more than `beyond` [m].
    """
    best, nearest = None, np.full(len(points), math.inf)
    for first in range(0, len(points), STATES_AT_ONCE):
        context.checks.check()
        part = points[first : first + STATES_AT_ONCE]
        found, nearest[first : first + len(part)] = search.nearest(part, max_distance, beyond)
        if found is not None:
            best = found._replace(state=first + found.state)
            max_distance = best.distance - SAME
    return best, nearest


def _other_minima(found: Nearest, nearest: Array) -> list[float]:
    """Return states, beside the closest, between which and the next ones the distance may be even smaller: the lowest
    of the local minima of lower bounds (n,) that exceed the smallest distance by at most SPREAD.
    """
    around = np.full(len(nearest) + 2, math.inf)  # `np.pad` takes much longer
    around[1:-1] = nearest
    is_minimum = (nearest <= around[:-2]) & (nearest < around[2:]) & (nearest <= found.distance + SPREAD)
    is_minimum[max(found.state - 1, 0) : found.state + 2] = False
    minima = np.flatnonzero(is_minimum)
    return [float(state) for state in minima[np.argsort(nearest[minima], kind="stable")][:MAX_OTHER_MINIMA]]


def _spaced_indices(path: Array, step: float) -> NDArray[np.intp]:
    """Return indices of points of a path (n, dof) including both ends; points closer than `step` in all joints, and on
    the motion past them, are skipped.
    """
    selected = np.empty(len(path), dtype=np.intp)
    return selected[: select_waypoints(np.ascontiguousarray(path), step, PASSED_DEVIATION, selected)]


def tool_path_length(context: PlanningContext, path: Array) -> float:
    """Return the path length [m] of the tool centre point, or of the tip link without a tool; 0 without a tip link."""
    if not context.tool_frame or len(path) < 2:
        return 0.0
    path = np.array(path, order="C")  # a copy: the kernel is compiled for writable arrays
    return context.tool_chain.tip_path_length(path, step_counts(path, TOOL_PATH_STEP))
