"""Time parameterization of Cartesian motions by the path length of the frame, with requested speeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...errors import NotSupportedError, Value
from ...kinematics.chain import Chain
from ...model.cell import RobotCell
from ...model.units import unit_of_derivative, unit_of_joints
from ...trajectory.curves import CurveSequence
from ...trajectory.limits import Array, MotionLimits
from ...trajectory.parameterization import Speeds
from ...trajectory.timing import TimedMotion, TimingMethod, TimingOptions
from ...trajectory.trajectory import Rest, sample_curve
from ..path.timing import speeds_by_differences, time_in_context
from ..problem.context import PlanningContext
from .path.rotations import rotation_vectors

DEFAULT = TimingOptions()
STEEP = 100.0  # ratio of joint motions per length of the frame's path, above which a curve through points overshoots


def warnings_of(timing: TimingOptions, cell: RobotCell) -> tuple[str, ...]:
    """Return warnings about options of the timing that do not apply to Cartesian motions.

    Raises:
        NotSupportedError: There is a start or end velocity.
    """
    for name, velocities in (("start_velocity", timing.start_velocity), ("end_velocity", timing.end_velocity)):
        moving = tuple(joint for joint, velocity in velocities.items() if velocity)
        if moving:
            text = f"a Cartesian motion starts and ends at rest; leave {name} of the timing empty"
            units = [unit_of_derivative(unit_of_joints(cell.variables, (joint,)), 1) for joint in moving]
            values = tuple(
                Value(f"{name} of {joint}", velocities[joint], 0.0, unit)
                for joint, unit in zip(moving, units, strict=True)
            )
            raise NotSupportedError(text, stage="request", subjects=(name, *moving), values=values)
    found: tuple[str, ...] = ()
    if timing.method is TimingMethod.SMOOTH:
        text = f"the timing method {timing.method.value!r} was not used"
        found += (f"{text}: a Cartesian motion follows the path of its frame",)
    if timing.blend_tolerance != DEFAULT.blend_tolerance:
        text = f"blend_tolerance {timing.blend_tolerance:g} of the timing was not used"
        found += (f"{text}: corners of a Cartesian motion are rounded by the blends of its waypoints",)
    return found


@dataclass(frozen=True, eq=False)
class FramePath:
    """Path of a frame along the n points of a joint path.

    Attributes:
        parameters: Path length of the frame at each point (n,) [m], or angle [rad] where it only rotates.
        speeds: Requested speed of the frame on the motion to each point after the first (n - 1,) [m/s or rad/s]; 0 for
            that of the timing.
        in_place: Whether the frame only rotates on the motion to each point after the first (n - 1,). The motion rests
            where this changes.
        chain: Kinematic chain of the frame, of the first joints of the path.
        free_axes: Axes of the frame (0, 1, 2) about which rotations do not count.
    """

    parameters: Array
    speeds: Array
    in_place: NDArray[np.bool_]
    chain: Chain
    free_axes: tuple[int, ...]

    def measured_speeds(self, in_place: bool) -> Speeds:
        """Return the function for the speed of the frame [m/s], or its angular speed [rad/s] where it only rotates."""
        dof = len(self.chain.variables)

        def distances(before: Array, after: Array) -> Array:
            first, last = (
                self.chain.forward_many(np.array(configurations[:, :dof], order="C"))
                for configurations in (before, after)
            )
            if not in_place:
                return np.asarray(np.linalg.norm(last[:, :3, 3] - first[:, :3, 3], axis=1))
            turns = rotation_vectors(np.swapaxes(first[:, :3, :3], 1, 2) @ last[:, :3, :3])
            return np.asarray(np.linalg.norm(np.delete(turns, self.free_axes, axis=1), axis=1))

        return speeds_by_differences(distances)


def steep_motions(path: Array, parameters: Array) -> NDArray[np.intp]:
    """Return the motions of a path (n, dof), by their first point, on which joints move far compared with the motions
    before and after while the frame, at `parameters` (n,) of its own path, hardly moves: the path leaves a branch of
    solutions there.
    """
    if len(path) < 3:
        return np.empty(0, dtype=np.intp)
    steps = np.abs(np.diff(path, axis=0)).max(axis=1)
    rates = steps / np.maximum(np.diff(parameters), np.finfo(np.float64).tiny)
    around = np.concatenate((rates[1:2], np.maximum(rates[:-2], rates[2:]), rates[-2:-1]))
    return np.flatnonzero(rates > STEEP * around)


def steep_warnings(path: Array, parameters: Array, limits: MotionLimits) -> tuple[str, ...]:
    """Return warnings about the steep motions of a path (n, dof). limits: of its joints."""
    found = []
    for first in steep_motions(path, parameters).tolist():
        steps = np.abs(path[first + 1] - path[first])
        joint = int(steps.argmax())
        step = f"{steps[joint]:.3g} {limits.unit(joint)}"
        found.append(
            f"the motion rests at points {first} and {first + 1} of the path, between which {limits.variables[joint]} "
            f"moves by {step} while the frame hardly moves; keep away from limits and singularities"
        )
    return tuple(found)


def time_along(
    context: PlanningContext,
    path: Array,
    timing: TimingOptions,
    step: float,
    *,
    frame_path: FramePath,
    stops: Sequence[int],
) -> TimedMotion:
    """Return a smooth motion through the points of a Cartesian path (n, dof), whatever the method of the timing. It
    rests where the requested speed changes, and at both ends of steep motions.

    Args:
        step: As in `time_in_context`.
        frame_path: Path of the frame along the points.
        stops: Points to rest at.
    """
    # The path parameter is the path length of the frame, so that time scaling bounds its speed, except between distant
    # points: where the curve through them is faster, the motion is slowed down.
    default_speed = timing.path_speed or timing.tool_speed
    requested = np.where(frame_path.speeds > 0.0, frame_path.speeds, default_speed)
    in_place = frame_path.in_place
    steep = steep_motions(path, frame_path.parameters)
    stops = sorted({*stops, *steep.tolist(), *(steep + 1).tolist()})
    changes = (np.flatnonzero((np.diff(requested) != 0.0) | np.diff(in_place)) + 1).tolist()
    parts: list[TimedMotion] = []
    passing_times, start = np.zeros(len(path)), 0.0
    rests: list[Rest] = []
    for first, last in pairwise([0, *changes, len(path) - 1]):
        part = slice(first, last + 1)
        speed = float(requested[first]) if len(requested) else default_speed
        own = replace(timing, method=TimingMethod.FOLLOW_SAMPLES, path_speed=speed)
        motion = time_in_context(
            context,
            path[part],
            own,
            step,
            parameters=frame_path.parameters[part],
            path_speeds=frame_path.measured_speeds(bool(len(in_place) and in_place[first])),
            stops=[stop - first for stop in stops if first < stop < last],
        )
        if not changes:
            return motion
        passing_times[part] = start + motion.passing_times
        rests.extend(Rest(start + rest.time, rest.position) for rest in motion.rests)
        parts.append(motion)
        start += motion.curve.duration
    passing_times.setflags(write=False)
    curve = CurveSequence([piece for part in parts for piece in part.curve.parts])
    trajectory = sample_curve(context.space.variables, curve, timing.period, rests)
    return TimedMotion(curve, trajectory, passing_times, tuple(rests))
