"""Time parameterization of paths in a cell: collision-checked blends, tool speed and joint torque limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError, NotSupportedError, UnknownNameError
from ...kinematics.dynamics import Dynamics
from ...kinematics.forward import forward_batch
from ...kinematics.model import cell_model
from ...model.arguments import checked_fields, public
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...trajectory.curve_limits import excesses
from ...trajectory.limits import Array
from ...trajectory.parameterization import Efforts, PathModel, Speeds, time_path
from ...trajectory.sample_noise import noise_of
from ...trajectory.sampled_paths import sharp_corners
from ...trajectory.timing import TimedMotion, TimingMethod, TimingOptions
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, TrajectoryReport, validate
from ..problem.collision_checks import pair_names
from ..problem.context import PlanningContext
from ..problem.progress import ProgressMonitor
from ..problem.request import PlanningOptions
from ..problem.timing_limits import check_limits
from .processing import checked_path, path_context

# Motions that begin or end with a velocity are computed again with lower acceleration and jerk where the curve through
# their samples exceeds limits: they cannot be slowed down as a whole.
MAX_REDUCTIONS, REDUCTION = 6, 0.85
NOTABLE_FACTOR = 1.5  # between the durations along samples with noise and along a fitted curve, to warn
DIFFERENCE = 1e-5  # [rad or m] of the fastest joint, step of the finite difference for speeds of frames


@checked_fields
@dataclass(frozen=True)
class PathTiming:
    """Path to time.

    Attributes:
        variables: Names of the columns of the path.
        path: Waypoints (n, dof).
        timing: Options of the time parameterization.
        options: Options of the collision checks of blends.
        stops: Samples to rest at, for FOLLOW_SAMPLES only.
    """

    variables: tuple[str, ...]
    path: Array
    timing: TimingOptions = field(default_factory=TimingOptions)
    options: PlanningOptions = field(default_factory=PlanningOptions)
    stops: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class TimedPath:
    """Trajectory, and the report of its validation against limits and cell."""

    trajectory: Trajectory
    report: TrajectoryReport


def time_in_context(
    context: PlanningContext,
    path: Array,
    timing: TimingOptions,
    step: float,
    *,
    parameters: Array | None = None,
    path_speeds: Speeds | None = None,
    stops: Sequence[int] = (),
) -> TimedMotion:
    """Call `parameterization.time_path` in a planning context, with checks of blends every `step` [rad or m].

    path_speeds: See `parameterization.PathModel`.

    Raises:
        NotSupportedError: The tool speed is limited, but the group has no tip link.
    """
    if timing.tool_speed and not context.tool_frame:
        text = f"group {context.space.group or 'of the path'} has no tip link, so its tool speed cannot be limited"
        raise NotSupportedError(text, stage="trajectory", subjects=("tool_speed",))
    tool = tool_speeds(context) if timing.tool_speed else None
    efforts, limits = _efforts(context, timing) if timing.efforts_are_limited else (None, None)
    check = partial(context.monitor.check, context.checks.states)
    model = PathModel(_blocked(context), _collides_between(context), step, tool, path_speeds, efforts, limits, check)
    motion = time_path(path, context.limits, timing, model, parameters=parameters, stops=stops)
    if not any((*timing.start_velocity.values(), *timing.end_velocity.values())):
        return motion
    allowed = timing.allowed(context.limits)
    for _ in range(MAX_REDUCTIONS):
        if not any(excesses(motion.trajectory.curve, allowed, 1)[2:]):
            break
        timing = replace(
            timing,
            acceleration_scale=REDUCTION * timing.acceleration_scale,
            jerk_scale=REDUCTION * timing.jerk_scale,
        )
        motion = time_path(path, context.limits, timing, model, parameters=parameters, stops=stops)
    return motion


@public
def time_joint_path(
    cell: RobotCell, state: RobotCellState, request: PathTiming, *, cancelled: Callable[[], bool] | None = None
) -> TimedPath:
    """Return a validated trajectory along a path. Violations are in its report, with warnings about sharp turns of the
    samples, at which the motion rests, and about their noise, if it makes the motion slow.

    Raises:
        InvalidRequestError, UnknownNameError, JointLimitError: The path is malformed or beyond limits, or stops are
            given for a method other than FOLLOW_SAMPLES.
        NotSupportedError, TrajectoryError: See `parameterization.time_path`.
        CancelledError, TimedOutError: The request was cancelled, or its time limit has passed.
    """
    path = checked_path(request.path, request.variables)
    samples = request.timing.method is TimingMethod.FOLLOW_SAMPLES
    if request.stops and not samples:
        text = f"stops require the method FOLLOW_SAMPLES; the method is {request.timing.method.value}"
        raise InvalidRequestError(text, stage="trajectory", subjects=("stops",))
    monitor = ProgressMonitor(request.options.time_limit, None, cancelled)
    unknown = [joint for joint in request.timing.limits if joint not in request.variables]
    if unknown:
        text = f"limits are given for {unknown[0]}, which the path does not move"
        raise UnknownNameError(text, subjects=(unknown[0],))
    check_limits(cell, request.timing)
    context, path = path_context(cell, state, request.variables, path, (), request.options, monitor)
    with monitor.stage("timing"):
        motion = time_in_context(context, path, request.timing, request.options.resolution, stops=request.stops)
    with monitor.stage("validate"):
        report = _report(context, motion.trajectory, request)
    of_samples = _sample_warnings(context, path, request, motion.trajectory.duration) if samples else ()
    report = replace(report, warnings=context.space.start_warnings + report.warnings + of_samples)
    return TimedPath(motion.trajectory, report)


def _sample_warnings(context: PlanningContext, path: Array, request: PathTiming, duration: float) -> tuple[str, ...]:
    """Return warnings about what makes the motion through samples slow. duration: of the motion [s]."""
    corners = sharp_corners(path)
    sharp = [sample for sample in corners if sample not in request.stops]
    warnings: tuple[str, ...] = ()
    if sharp:
        text = f"the path turns sharply at {len(sharp)} of its samples, first at sample {sharp[0]}"
        remedy = (
            f"method {TimingMethod.SMOOTH.name} rounds corners within blend_tolerance; filter measured samples first"
        )
        warnings += (f"{text}: the motion rests there; {remedy}",)
    stops = sorted({0, *request.stops, *corners, len(path) - 1})
    noise = noise_of(path, context.limits, request.timing, stops)
    if noise is None or duration < NOTABLE_FACTOR * (duration - noise.saved):
        return warnings
    factor = duration / (duration - noise.saved)
    return (
        *warnings,
        f"noise of the samples limits the speed, most at sample {noise.sample} that of {noise.joint}: the motion takes "
        f"{duration:.3g} s, {factor:.2g} times as long as along a curve that is fitted to them within "
        f"{noise.deviation:.2g} {context.space.unit}; filter them, or give one in {noise.spacing} of them",
    )


def _report(context: PlanningContext, trajectory: Trajectory, request: PathTiming) -> TrajectoryReport:
    checks, step = context.checks, request.options.resolution
    search = CollisionSearch(lambda states: ~checks.batch_free(states), partial(pair_names, checks.checker), step)
    limits = request.timing.allowed(context.limits)
    return validate(trajectory, limits, at_rest=not request.timing.ends_moving, collisions=search)


def _blocked(context: PlanningContext) -> Callable[[Array], NDArray[np.bool_]]:
    def blocked(configurations: Array) -> NDArray[np.bool_]:
        hits: NDArray[np.bool_] = ~context.checks.batch_free(configurations)
        if context.frames:
            hits |= context.frames.excess(configurations) > 1.0
        return hits

    return blocked


def _collides_between(context: PlanningContext) -> Callable[[Array], bool]:
    correction = context.start_correction
    ignored = frozenset() if correction is None else frozenset(map(frozenset, correction.pairs))

    def collides(configurations: Array) -> bool:
        found = context.checks.overlap_between(configurations, ignored)
        return found is not None and found.collides

    return collides


def tool_speeds(context: PlanningContext) -> Speeds:
    """Return the function for the tool speed in the world."""

    def distances(before: Array, after: Array) -> Array:
        return np.asarray(np.linalg.norm(positions(after) - positions(before), axis=1))

    def positions(configurations: Array) -> Array:
        poses = forward_batch(context.cell, context.state, context.tool_frame, context.space.variables, configurations)
        return np.asarray(poses[:, :3, 3])

    return speeds_by_differences(distances)


def speeds_by_differences(distances: Callable[[Array, Array], Array]) -> Speeds:
    """Return the function for the speed of a frame, by central differences.

    distances: Distances (n,) between the poses of the frame at two configurations each, both (n, dof).
    """

    def speeds(q: Array, v: Array) -> Array:
        fastest = np.abs(v).max(axis=1)
        span = DIFFERENCE / np.where(fastest > 0.0, fastest, 1.0)
        half = 0.5 * span[:, None] * v
        return np.asarray(distances(q - half, q + half) / span)

    return speeds


def _efforts(context: PlanningContext, timing: TimingOptions) -> tuple[Efforts, Array]:
    """Return the function for joint torques, including tools and attached bodies, and the torque limits: those of the
    model, narrowed by the request."""
    dynamics = Dynamics(context.cell, context.state)
    variables = context.space.variables
    columns = [dynamics.variables.index(name) for name in variables]
    rest = cell_model(context.cell, context.state).configuration(context.state)
    given = [(context.cell.variables[name].limits, timing.limits.get(name)) for name in variables]
    limits = [min((each.effort or np.inf for each in pair if each is not None), default=np.inf) for pair in given]

    def spread(rows: Array, default: Array) -> Array:
        full = np.tile(default, (len(rows), 1))
        full[:, columns] = rows
        return full

    def efforts(q: Array, v: Array, a: Array) -> Array:
        zero = np.zeros(len(dynamics.variables))
        return np.asarray(dynamics.inverse(spread(q, rest), spread(v, zero), spread(a, zero))[:, columns])

    return efforts, np.array(limits)


def leaves_path(timing: TimingOptions) -> bool:
    """Whether the motion deviates from its path, so that it also has to be checked between its samples."""
    return timing.method is not TimingMethod.STOP_AT_WAYPOINTS
