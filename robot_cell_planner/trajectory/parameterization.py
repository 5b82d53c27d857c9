"""Time parameterization by any method, within limits of joints, path speed, tool speed and joint torques."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NotSupportedError, TrajectoryError, UnknownNameError, Value
from ..model.arguments import checked_fields, public
from ..model.name_suggestions import unknown_name
from ..model.units import common_unit, unit_of_derivative, unit_of_effort
from .blended import SmoothOptions, smooth
from .curve_limits import RELATIVE_TOLERANCE
from .curves import TraversedPath
from .limits import Array, MotionLimits
from .timing import (
    SMALLEST_FACTOR,
    TimedMotion,
    TimingMethod,
    TimingOptions,
    follow_samples,
    kept_within,
    slowed,
    stop_at_waypoints,
    uninterrupted,
)
from .validation import CollisionCheck, MotionCheck

# Number of states per sample period at which tool speed and torques are evaluated, and longest period for that [s]:
# the states of longer sample periods would be too far apart.
FINER = 5
LONGEST_PERIOD = 0.05
# Steps of a path segment at which the tool speed per joint speed is evaluated.
INTERVAL_STEPS = 20
# Reserve for the states in between: results are this fraction below their limits.
RESERVE = 1e-3
MAX_SLOWDOWNS = 5  # the curve through the samples of a slower motion differs slightly
ABOVE_PATH_SPEED = "Raise `path_speed`, or request a velocity whose Euclidean norm is at most that."

# Function from configurations (n, dof) and velocities (n, dof) to speeds (n,), of the tool [m/s] or along the path.
Speeds = Callable[[Array, Array], Array]
# Function from configurations, velocities and accelerations (n, dof) to joint torques and forces (n, dof) [Nm or N].
Efforts = Callable[[Array, Array, Array], Array]


@checked_fields
@dataclass(frozen=True)
class PathModel:
    """Properties of a cell that limit motions; None: not considered.

    Attributes:
        in_collision: Collision check of configurations.
        collides_between: Collision check between the states of a motion.
        step: Maximum change of a joint between checked states [rad or m].
        tool_speeds: Tool speeds [m/s].
        path_speeds: Speeds that `TimingOptions.path_speed` limits [m/s or rad/s]; None: those of a path in joint space,
            or the rate of given path parameters.
        efforts: Joint torques and forces.
        effort_limits: Their limits (dof,); infinite if there is none.
        check: Called between parts of the motion; may raise, for example at a time limit.
    """

    in_collision: CollisionCheck | None = None
    collides_between: MotionCheck | None = None
    step: float = 0.001
    tool_speeds: Speeds | None = None
    path_speeds: Speeds | None = None
    efforts: Efforts | None = None
    effort_limits: Array | None = None
    check: Callable[[], None] = uninterrupted


@public
def time_path(
    path: Array,
    limits: MotionLimits,
    options: TimingOptions,
    model: PathModel | None = None,
    *,
    parameters: Array | None = None,
    stops: Sequence[int] = (),
) -> TimedMotion:
    """Time a motion along a path (n, dof) by `options.method`.

    Where the speed along the path, the tool speed or a torque exceeds its limit, the part between the adjacent stops is
    slowed down. They are evaluated on the curve through the samples, which is streamed.

    Args:
        path: Waypoints or samples (n, dof) [rad or m].
        limits: Limits of the joints.
        options: TimingMethod and options of the timing.
        model: Properties of the cell that limit the motion.
        parameters: Path parameter (n,) of the FOLLOW_SAMPLES method, see `timing.follow_samples`.
        stops: Indices of samples at which the FOLLOW_SAMPLES method stops.

    Raises:
        InvalidRequestError, JointLimitError: The path is malformed or beyond limits.
        UnknownNameError: A velocity is given for a joint that does not move.
        NotSupportedError: Start or end velocities with another method than SMOOTH, or together with a limit that
            requires to slow down the motion.
        TrajectoryLimitError: The curve of the FOLLOW_SAMPLES method is beyond position limits between samples.
        TrajectoryError: A start or end velocity is above the path speed, or the torques at rest exceed their limits, so
            that no motion is slow enough; in addition, errors of `blended.smooth`.
    """
    model = model or PathModel()
    first = _velocity(options.start_velocity, limits, "start", options.path_speed)
    last = _velocity(options.end_velocity, limits, "end", options.path_speed)
    moving = bool(first.any() or last.any())
    if options.method is TimingMethod.SMOOTH:
        blends = SmoothOptions(options.blend_tolerance, model.in_collision, model.collides_between, model.step)
        speeds = _interval_speeds(path, options, model)
        motion = smooth(path, limits, options, blends, start_velocity=first, end_velocity=last, speeds=speeds)
    elif moving:
        text = f"{options.method.value} begins and ends at rest; start and end velocities need the smooth method"
        raise NotSupportedError(text, stage="trajectory")
    elif options.method is TimingMethod.FOLLOW_SAMPLES:
        motion = follow_samples(path, limits, options, parameters=parameters, stops=stops, check=model.check)
    else:
        motion = stop_at_waypoints(path, limits, options, check=model.check)
    in_joint_space = bool(options.path_speed) and model.path_speeds is None and parameters is None
    for attempt in range(MAX_SLOWDOWNS + 1):
        efforts = _factors_of_efforts(motion, limits, options, model, reserve=RESERVE if attempt == 0 else 0.0)
        factors = np.maximum(_factors_of_speeds(motion, options, model, in_joint_space), efforts)
        slowest = (Value("times slower", float(factors.max()), 1.0),)
        if not (factors > SMALLEST_FACTOR).any():
            return motion
        if moving:
            text = "with start or end velocities a motion cannot be slowed down for path speed, tool speed or torques"
            raise NotSupportedError(text, stage="trajectory", values=slowest)
        motion = slowed(motion, factors, limits.variables, options.period)
        if options.method is TimingMethod.FOLLOW_SAMPLES:
            motion = kept_within(motion, options.allowed(limits), options.period)
    text = "the motion exceeds a speed or torque limit between its samples after it was slowed down for them"
    raise TrajectoryError(text, values=slowest)


def _velocity(given: Mapping[str, float], limits: MotionLimits, where: str, path_speed: float) -> Array:
    """Return a start or end velocity (dof,) [rad/s or m/s]. where: "start" or "end", for errors.

    Raises:
        UnknownNameError: A joint does not move.
        TrajectoryError: The velocity is above the path speed, if that is limited.
    """
    velocity = np.zeros(len(limits.variables))
    for joint, value in given.items():
        if joint not in limits.variables:
            text = unknown_name(f"joint {joint!r} of the {where} velocity", joint, limits.variables)
            raise UnknownNameError(text, subjects=(joint,))
        velocity[limits.variables.index(joint)] = value
    speed = float(np.linalg.norm(velocity))
    if path_speed and speed > path_speed * (1.0 + RELATIVE_TOLERANCE):
        text = f"the {where} velocity is above the path speed"
        unit = unit_of_derivative(common_unit(limits.units), 1)
        numbers = (Value(f"speed at the {where}", speed, path_speed, unit),)
        raise TrajectoryError(text, subjects=tuple(given), values=numbers, remedy=ABOVE_PATH_SPEED)
    return velocity


def _interval_speeds(path: Array, options: TimingOptions, model: PathModel) -> Array | None:
    """Return the maximum joint-space speed on each segment for path speed and tool speed; None: not limited."""
    if len(path) < 2:
        return None
    allowed = np.full(len(path) - 1, options.path_speed or np.inf)
    if not options.tool_speed or model.tool_speeds is None:
        return allowed if options.path_speed else None
    steps = np.diff(path, axis=0)
    lengths = np.maximum(np.linalg.norm(steps, axis=1), 1e-300)
    fractions = np.linspace(0.0, 1.0, INTERVAL_STEPS + 1)
    points = path[:-1, None] + fractions[None, :, None] * steps[:, None]
    directions = np.broadcast_to((steps / lengths[:, None])[:, None], points.shape)
    dof = path.shape[1]
    found = model.tool_speeds(points.reshape(-1, dof), directions.reshape(-1, dof)).reshape(len(steps), -1)
    with np.errstate(divide="ignore"):
        speeds: Array = options.tool_speed * (1.0 - RESERVE) / found.max(axis=1)
    return np.asarray(np.minimum(speeds, allowed))


def _states(
    motion: TimedMotion, period: float, check: Callable[[], None], *, of_motion: bool = True
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield positions, velocities and accelerations of the streamed curve on each part, at all its samples, since the
    acceleration has corners there, and between them; with `of_motion`, also those of the motion where the curve only
    approximates it."""
    trajectory, step = motion.trajectory, min(period, LONGEST_PERIOD) / FINER
    bounds = np.searchsorted(motion.parts_of_pieces, np.arange(len(motion.curve.parts) + 1))
    for number, part in enumerate(motion.curve.parts):
        check()
        breaks = trajectory.curve.breaks[bounds[number] : bounds[number + 1] + 1]
        spans = np.diff(breaks)
        counts = np.maximum(np.ceil(spans / step - 1e-9), 1.0).astype(np.int64)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        times = np.append(np.repeat(breaks[:-1], counts) + within * np.repeat(spans / counts, counts), breaks[-1:])
        states = trajectory.curve.derivatives(times, 2)
        if of_motion and isinstance(part, TraversedPath) and part.of_samples:
            exact = part.derivatives(times - motion.curve.starts[number], 2)
            states = [np.concatenate(pair) for pair in zip(states, exact, strict=True)]
        yield states[0], states[1], states[2]


def _factors_of_speeds(motion: TimedMotion, options: TimingOptions, model: PathModel, in_joint_space: bool) -> Array:
    """Return the slow-down factor of each part for the speed of the tool and that along the path.

    in_joint_space: Whether the path speed limits the Euclidean speed of the joints.
    """
    over = np.zeros(len(motion.curve.parts))
    if in_joint_space and len(motion.trajectory) > 1:
        speeds = motion.trajectory.curve.largest_speeds(refine_above=options.path_speed)
        np.maximum.at(over, motion.parts_of_pieces, speeds / options.path_speed)
    for limit, speeds_of in ((options.tool_speed, model.tool_speeds), (options.path_speed, model.path_speeds)):
        if not limit or speeds_of is None:
            continue
        of_motion = speeds_of is model.tool_speeds
        for part, (q, v, _) in enumerate(_states(motion, options.period, model.check, of_motion=of_motion)):
            over[part] = max(over[part], float(speeds_of(q, v).max(initial=0.0)) / limit)
    return np.where(over > 1.0 + RELATIVE_TOLERANCE, over / (1.0 - RESERVE), 1.0)


def _factors_of_efforts(
    motion: TimedMotion, limits: MotionLimits, options: TimingOptions, model: PathModel, reserve: float
) -> Array:
    """Return the slow-down factor of each part: slowing down by k scales the dynamic torques by 1 / k2.

    reserve: Fraction of the limits above which a part is slowed down; it is slowed down to RESERVE.
    """
    if not options.efforts_are_limited or model.efforts is None or model.effort_limits is None:
        return np.ones(len(motion.curve.parts))
    factors = []
    for q, v, a in _states(motion, options.period, model.check):
        still, moving = model.efforts(q, np.zeros_like(v), np.zeros_like(a)), model.efforts(q, v, a)
        available = model.effort_limits * (1.0 - RESERVE) - np.abs(still)
        short = np.argwhere(available <= 0.0)
        if len(short):
            row, column = (int(index) for index in short[0])
            joint = limits.variables[column]
            text = f"the torque of {joint} at rest is above its limit on the path"
            effort, limit = float(still[row, column]), float(model.effort_limits[column])
            values = (Value(f"effort of {joint}", effort, limit, unit_of_effort(limits.unit(column))),)
            raise TrajectoryError(text, subjects=(joint,), values=values)
        if (np.abs(moving) <= model.effort_limits * (1.0 - reserve)).all():
            factors.append(1.0)
            continue
        added = moving - still
        # Remaining torque in the direction of the dynamic torque.
        toward = np.where(added > 0.0, available + np.abs(still) - still, available + np.abs(still) + still)
        factors.append(float(np.sqrt((np.abs(added) / toward).max(initial=1.0))))
    slower: Array = np.maximum(np.array(factors), 1.0)
    return slower
