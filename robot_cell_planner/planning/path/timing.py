"""Timing of paths in a cell: blends held against it, the speed of its tool, the torques of its joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError, NotSupportedError, UnknownNameError
from ...kinematics.dynamics import Dynamics
from ...kinematics.forward import forward_batch
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ...trajectory.parameterization import Efforts, PathModel, ToolSpeeds, time_path
from ...trajectory.sampled_paths import sharp_turns
from ...trajectory.timing import Method, TimedMotion, TimingOptions
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import CollisionSearch, TrajectoryReport, validate
from ..problem.context import PlanningContext
from ..problem.progress import ProgressMonitor
from ..problem.request import PlanningOptions
from .processing import checked_path, path_job

DIFFERENCE = 1e-5  # [rad or m] of the fastest joint, over which the speed of the tool is taken


@dataclass(frozen=True)
class PathTiming:
    """A path (n, dof) of the joints `variables` to time. timing: how; options: how blends are checked. stops: samples
    to rest at, for FOLLOW_SAMPLES alone."""

    variables: tuple[str, ...]
    path: Array
    timing: TimingOptions
    options: PlanningOptions
    stops: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class TimedPath:
    """A trajectory, and what its validation against limits and cell found."""

    trajectory: Trajectory
    report: TrajectoryReport


def time_in_job(
    job: PlanningContext,
    path: Array,
    timing: TimingOptions,
    step: float,
    *,
    parameters: Array | None = None,
    stops: Sequence[int] = (),
) -> TimedMotion:
    """`parameterization.time_path` in the cell of a job; blends are checked every `step` [rad or m].

    Raises:
        NotSupportedError: the tool's speed is to be limited, of a group without a tip.
    """
    if timing.tool_speed and not job.tool_frame:
        text = f"group {job.space.group or 'of the path'} has no tip whose speed could be limited"
        raise NotSupportedError(text, stage="trajectory", subjects=("tool_speed",))
    tool = tool_speeds(job) if timing.tool_speed else None
    efforts, most = _efforts(job) if timing.limit_effort else (None, None)
    model = PathModel(_blocked(job), step, tool, efforts, most)
    return time_path(path, job.limits, timing, model, parameters=parameters, stops=stops)


def time_joint_path(
    cell: RobotCell, state: RobotCellState, request: PathTiming, *, cancelled: Callable[[], bool] | None = None
) -> TimedPath:
    """A trajectory along a path, validated against limits and cell; what is wrong with the path is in its report, with
    a warning where samples turn so sharply that the motion rests there.

    Raises:
        InvalidRequestError, UnknownNameError, JointLimitError: a malformed path, or one beyond limits; stops with
            another method than FOLLOW_SAMPLES.
        NotSupportedError, TrajectoryError: see `parameterization.time_path`.
        CancelledError, TimedOutError: ended from outside.
    """
    path = checked_path(request.path, request.variables)
    samples = request.timing.method is Method.FOLLOW_SAMPLES
    if request.stops and not samples:
        text = f"stops are for samples that are followed; the method is {request.timing.method.value}"
        raise InvalidRequestError(text, stage="trajectory", subjects=("stops",))
    watch = ProgressMonitor(request.options.time_limit, None, cancelled)
    unknown = [joint for joint in request.timing.limits if joint not in request.variables]
    if unknown:
        text = f"limits are given for {unknown[0]}, which the path does not move"
        raise UnknownNameError(text, subjects=(unknown[0],))
    job, path = path_job(cell, state, request.variables, path, (), request.options, watch)
    with watch.stage("timing"):
        motion = time_in_job(job, path, request.timing, request.options.resolution, stops=request.stops)
    with watch.stage("validate"):
        report = _report(job, motion.trajectory, request)
    turns = [turn for turn in sharp_turns(path) if turn not in request.stops] if samples else []
    text = f"the path turns sharply at {len(turns)} of its samples, first at sample {min(turns, default=0)}"
    told = (f"{text}: the motion rests there",) if turns else ()
    report = replace(report, warnings=job.space.start_warnings + report.warnings + told)
    return TimedPath(motion.trajectory, report)


def _report(job: PlanningContext, trajectory: Trajectory, request: PathTiming) -> TrajectoryReport:
    def pair_of(q: Array) -> tuple[str, str]:
        pair = job.checks.checker.first_pair(q)
        return (pair.first, pair.second) if pair is not None else ("", "")

    search = CollisionSearch(lambda states: ~job.checks.batch_free(states), pair_of, request.options.resolution)
    at_rest = not any(request.timing.end_velocity.values())
    limits = job.limits.narrowed(request.timing.limits)
    return validate(trajectory, limits, at_rest=at_rest, collisions=search)


def _blocked(job: PlanningContext) -> Callable[[Array], NDArray[np.bool_]]:
    def blocked(configurations: Array) -> NDArray[np.bool_]:
        hits: NDArray[np.bool_] = ~job.checks.batch_free(configurations)
        if job.frames:
            hits |= job.frames.excess(configurations) > 1.0
        return hits

    return blocked


def tool_speeds(job: PlanningContext) -> ToolSpeeds:
    """Speeds of the tool's origin in the world, by central differences of its position."""

    def positions(configurations: Array) -> Array:
        poses = forward_batch(job.cell, job.state, job.tool_frame, job.space.variables, configurations)
        return np.asarray(poses[:, :3, 3])

    def speeds(q: Array, v: Array) -> Array:
        fastest = np.abs(v).max(axis=1)
        span = DIFFERENCE / np.where(fastest > 0.0, fastest, 1.0)
        half = 0.5 * span[:, None] * v
        way = np.linalg.norm(positions(q + half) - positions(q - half), axis=1)
        return np.asarray(way / span)

    return speeds


def _efforts(job: PlanningContext) -> tuple[Efforts, Array]:
    """Torques of the joints that move, with the masses of tools and held bodies, and their limits."""
    dynamics = Dynamics(job.cell, job.state)
    variables = job.space.variables
    columns = [dynamics.variables.index(name) for name in variables]
    rest = np.array([job.state.configuration.get(name, 0.0) for name in dynamics.variables])
    most = [job.cell.variables[name].limits.effort for name in variables]

    def spread(rows: Array, default: Array) -> Array:
        full = np.tile(default, (len(rows), 1))
        full[:, columns] = rows
        return full

    def efforts(q: Array, v: Array, a: Array) -> Array:
        zero = np.zeros(len(dynamics.variables))
        return np.asarray(dynamics.inverse(spread(q, rest), spread(v, zero), spread(a, zero))[:, columns])

    return efforts, np.array([limit or np.inf for limit in most])


def leaves_path(timing: TimingOptions) -> bool:
    """Whether motions are beside their path in places, so that they are to be checked between their samples, too."""
    return timing.method is Method.SMOOTH
