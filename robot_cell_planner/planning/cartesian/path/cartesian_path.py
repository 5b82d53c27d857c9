"""Cartesian path: lines, arcs and rounded corners from the start pose through the waypoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ....errors import InvalidRequestError, LimitExceededError, Value
from ....kinematics.ik.problem import nearest_free_rotation
from ....trajectory.limits import Array
from ....trajectory.timing import uninterrupted
from .curves import (
    MIN_LENGTH,
    Arc,
    BlendedCorner,
    Line,
    PartialCurve,
    PoseCurve,
    deviations,
    is_rotation_in_place,
    parameter_length,
    tangents,
)
from .path_kernels import line_poses
from .rotations import rotation_vectors
from .waypoints import PointAxisWaypoints, Waypoints

MAX_SAMPLES = 1_000_000  # of a path
# At kinks below this angle [rad] the motion does not have to rest,
MAX_KINK = 0.2
# if a smooth curve through points on both sides deviates from the corner by at most this [m, rad].
MAX_KINK_DEVIATION = 1e-4
# Max deviation of a smooth curve from the corner of two lines, per chord length and rad of the kink.
KINK_FRACTION = 0.125


@dataclass(frozen=True, eq=False)
class PathSegment:
    """Segment of the path.

    Attributes:
        curve: Geometric curve.
        waypoint: Index of the waypoint that it leads to or leaves.
        first, last: Range of the fraction of the way to that waypoint, 1 at the waypoint.
        speed: Requested speed [m/s]; 0 for none.
        extent: Path parameter length, see `parameter_length`.
    """

    curve: PoseCurve
    waypoint: int
    first: float
    last: float
    speed: float
    extent: float

    def parameter(self, fraction: float) -> float:
        """Return the fraction of the way to the waypoint at a fraction of the segment."""
        return self.last if fraction == 1.0 else self.first + fraction * (self.last - self.first)


class CartesianPath:
    """Segments of a path through waypoints.

    Attributes:
        free_axes: Axes of the frame (0, 1, 2) about which the rotation is free.
        targets: World poses of the waypoints (n, 4, 4).
        curves: Curve to each waypoint, without blends.
        segments: Segments of non-zero length.
        starts: Path parameter at the start of each segment (p + 1,): length [m], or angle [rad] of pure rotations.
    """

    def __init__(
        self,
        start: Array,
        waypoints: Waypoints,
        world_T_reference: Array,
        check: Callable[[], None] = uninterrupted,
    ) -> None:
        """Create the path. start: world_T_frame (4, 4). check: Called for each waypoint; may raise, for example at a
        time limit.

        Raises:
            InvalidRequestError: The points of an arc are collinear, or blends overlap.
        """
        self.waypoints = waypoints
        self.start = start
        self.free_axes = waypoints.free_axes
        self.targets = _targets(start, waypoints, world_T_reference)
        self.curves = tuple(self._curves(world_T_reference))
        self.segments = _cut_segments(self.curves, waypoints, check)
        self.starts: Array = np.concatenate(([0.0], np.cumsum([segment.extent for segment in self.segments])))
        self._lines = _StackedLines([segment.curve for segment in self.segments])
        self._lengths = np.array([segment.curve.length for segment in self.segments])

    def _curves(self, world_T_reference: Array) -> list[PoseCurve]:
        """Return the curves between waypoints, without blends; the ends are exact."""
        poses = np.concatenate((self.start[None], self.targets))
        relative = np.swapaxes(poses[:-1, :3, :3], 1, 2) @ poses[1:, :3, :3]
        rotations = rotation_vectors(relative)
        angles, lengths = np.linalg.norm(rotations, axis=1), np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
        curves: list[PoseCurve] = []
        for index in range(len(self.targets)):
            via = self.waypoints.segment(index).via
            if via is None:
                numbers = (float(lengths[index]), float(angles[index]))
                curves.append(Line(poses[index], poses[index + 1], *numbers, rotations[index]))
                continue
            point = np.array(via) * self.waypoints.native_scale
            point = world_T_reference[:3, :3] @ point + world_T_reference[:3, 3]
            try:
                curves.append(Arc.through(poses[index], point, poses[index + 1]))
            except InvalidRequestError as error:
                text = f"waypoint {index}: {error.message}"
                raise InvalidRequestError(text, stage="request", values=error.values) from error
        return curves

    def poses(self, segments: NDArray[np.intp], fractions: Array) -> Array:
        """Return poses (k, 4, 4) at fractions (k,) of segments (k,)."""
        result = self._lines.poses(segments, fractions)
        for segment, selected in self._lines.others(segments):
            result[selected] = self.segments[segment].curve.poses(fractions[selected])
        return result

    def pose(self, segment: int, fraction: float) -> Array:
        """Return the pose (4, 4) at a fraction of a segment."""
        return np.asarray(self.segments[segment].curve.poses([fraction])[0])

    def distances(self, segments: NDArray[np.intp], fractions: Array, poses: Array) -> tuple[Array, Array]:
        """Return distances [m] and angles [rad], (k,) each, of poses (k, 4, 4) from the path at fractions (k,) of
        segments (k,). Poses behind the start or beyond the end of the segment are as far from it as from that end.
        """
        if not len(segments):
            return np.zeros(0), np.zeros(0)
        directions = self._lines.directions[segments]
        for segment, selected in self._lines.others(segments):
            directions[selected] = tangents(self.segments[segment].curve, fractions[selected])
        lengths = self._lengths[segments] * np.stack((fractions, 1.0 - fractions))
        return deviations(self.poses(segments, fractions), directions, poses, self.free_axes, lengths)

    def sample_counts(self, max_distance: float, max_angle: float) -> list[int]:
        """Return the number of uniform samples of each segment with a max spacing [m, rad].

        Raises:
            LimitExceededError: There are more than MAX_SAMPLES.
        """
        counts: list[int] = []
        left = float(MAX_SAMPLES)
        for segment in self.segments:
            steps = max(segment.curve.length / max_distance, segment.curve.angle / max_angle) - 1e-9
            if not steps <= left:
                name = f"the path to waypoint {segment.waypoint}"
                length = f"{segment.curve.length:.6g} m and {segment.curve.angle:.6g} rad"
                text = f"{name} is too long, {length} from the waypoint before it, for points every {max_distance:g} m"
                numbers = (Value("points", steps + MAX_SAMPLES - left, MAX_SAMPLES),)
                raise LimitExceededError(text, stage="request", subjects=("waypoints",), values=numbers)
            counts.append(max(1, math.ceil(steps)))
            left -= counts[-1]
        return counts

    def samples(self, max_distance: float, max_angle: float) -> tuple[NDArray[np.intp], Array]:
        """Return segments (k,) and fractions (k,) of uniform samples of each segment, including its end, with a max
        spacing [m, rad].

        Raises:
            LimitExceededError: See `sample_counts`.
        """
        counts = self.sample_counts(max_distance, max_angle)
        if not counts:
            return np.empty(0, dtype=np.intp), np.empty(0)
        fractions = [np.arange(1, count + 1) / count for count in counts]
        return np.repeat(np.arange(len(counts)), counts), np.concatenate(fractions)

    def fraction(self, segment: int, fraction: float) -> float:
        """Return the fraction of the path up to a fraction of a segment: by length, or by angle if all rotate in
        place."""
        curves = [segment.curve for segment in self.segments]
        in_place = all(is_rotation_in_place(curve) for curve in curves)
        extents = np.array([curve.angle if in_place else curve.length for curve in curves])
        return float(extents[:segment].sum() + fraction * extents[segment]) / float(extents.sum())

    def rests(self, spacings: Array, max_deviation: float) -> NDArray[np.bool_]:
        """Return for each segment (p,) whether the motion has to rest at its end, because the direction changes too
        much.

        Args:
            spacings: Spacing of the points on each segment (p,) [m or rad].
            max_deviation: Allowed deviation of a smooth curve from the corner [m]; 0 for the default.
        """
        count = len(self.segments)
        rests = np.ones(count, dtype=bool)
        if count < 2:
            return rests
        tangent, rate = self._end_directions()
        moves = np.array([not is_rotation_in_place(segment.curve) for segment in self.segments])
        incoming, outgoing = tangent[:-1, 1], tangent[1:, 0]
        kinks = np.arctan2(np.linalg.norm(np.cross(incoming, outgoing), axis=1), np.sum(incoming * outgoing, axis=1))
        kinks[~moves[:-1]] = 0.0
        rate_changes = np.linalg.norm(rate[:-1, 1] - rate[1:, 0], axis=1)
        deviation = KINK_FRACTION * np.maximum(spacings[:-1], spacings[1:])
        allowed = max_deviation or MAX_KINK_DEVIATION
        rests[:-1] = (
            (moves[:-1] != moves[1:]) | (kinks > MAX_KINK) | (deviation * np.maximum(kinks, rate_changes) > allowed)
        )
        return rests

    def _end_directions(self) -> tuple[Array, Array]:
        """Return, for start and end of each segment, unit directions (p, 2, 3) and rotation rates (p, 2, 3) per path
        parameter in the axes of the pose.
        """
        lines, extents = self._lines, np.array([segment.extent for segment in self.segments])
        tangent = np.repeat(lines.directions[:, None], 2, axis=1)
        rate = np.repeat((lines.rotations / extents[:, None])[:, None], 2, axis=1)
        for index in np.flatnonzero(~lines.is_line).tolist():
            curve = self.segments[index].curve
            tangent[index] = tangents(curve, np.array([0.0, 1.0]))
            rate[index] = rotation_rate(curve, 0.0), rotation_rate(curve, 1.0)
        return tangent, rate


class _StackedLines:
    """All lines of a path in arrays, so that many short lines are as fast as one long line."""

    def __init__(self, curves: Sequence[PoseCurve]) -> None:
        count = len(curves)
        self.is_line = np.array([isinstance(curve, Line) for curve in curves], dtype=bool)
        self.starts, self.ends = np.zeros((count, 4, 4)), np.zeros((count, 4, 4))
        self.rotations, self.directions = np.zeros((count, 3)), np.zeros((count, 3))
        for index, curve in enumerate(curves):
            if isinstance(curve, Line):
                self.starts[index], self.ends[index], self.rotations[index] = curve.start, curve.end, curve.rotation
                if curve.length > MIN_LENGTH:
                    self.directions[index] = (curve.end[:3, 3] - curve.start[:3, 3]) / curve.length

    def poses(self, segments: NDArray[np.intp], fractions: Array) -> Array:
        return line_poses(self.starts, self.ends, self.rotations, segments, fractions)

    def others(self, segments: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield the curves among segments (k,) that are no lines, ascending, and the indices of each among them."""
        order = np.flatnonzero(~self.is_line[segments])
        order = order[np.argsort(segments[order], kind="stable")]
        if len(order):
            begins = np.flatnonzero(np.diff(segments[order])) + 1
            for indices in np.split(order, begins):
                yield int(segments[indices[0]]), indices


def _targets(start: Array, waypoints: Waypoints, world_T_reference: Array) -> Array:
    """Return world poses (n, 4, 4) of waypoints, each with the free rotation nearest to the previous one."""
    positions = waypoints.positions() * waypoints.native_scale
    result = np.zeros((len(positions), 4, 4))
    result[:, :3, 3] = positions @ world_T_reference[:3, :3].T + world_T_reference[:3, 3]
    result[:, 3, 3] = 1.0
    result[:, :3, :3] = _target_rotations(start[:3, :3], waypoints, world_T_reference[:3, :3])
    return result


def _target_rotations(rotation: Array, waypoints: Waypoints, world_R_reference: Array) -> Array:
    """Return the rotations (n, 3, 3) of waypoints in the world, each with the free rotation nearest to the previous
    one, of which `rotation` (3, 3) is the first.

    Rotations about two axes are no group: those of the nearest one are not those of the waypoint, which is kept.
    """
    free = waypoints.free_axes
    if len(free) == 3:
        return np.broadcast_to(rotation, (len(waypoints), 3, 3))
    if isinstance(waypoints, PointAxisWaypoints):
        axes = waypoints.axes() @ world_R_reference.T
        return np.array(list(accumulate(axes, _aligned, initial=rotation))[1:])
    rotations = np.asarray(world_R_reference @ waypoints.rotations())
    if len(free) == 1:

        def nearest(near: Array, requested: Array) -> Array:
            return nearest_free_rotation(requested, near, free)

        rotations = np.array(list(accumulate(rotations, nearest, initial=rotation))[1:])
    return rotations


def _aligned(rotation: Array, axis: Array) -> Array:
    """Return the rotation (3, 3) with a given z axis that is closest to another rotation."""
    perpendicular, cosine = np.cross(rotation[:, 2], axis), float(rotation[:, 2] @ axis)
    sine = float(np.linalg.norm(perpendicular))
    direction = perpendicular / sine if sine > 1e-12 else rotation[:, 0]
    return np.asarray(pin.exp3(math.atan2(sine, cosine) * direction) @ rotation)


def _cut_segments(
    curves: Sequence[PoseCurve], waypoints: Waypoints, check: Callable[[], None]
) -> tuple[PathSegment, ...]:
    """Return the curves trimmed at rounded corners, and the corners in two halves, each of which belongs to one
    waypoint.
    """
    trims = _trims(curves, waypoints)
    segments: list[PathSegment] = []
    for index, curve in enumerate(curves):
        check()
        first, last = trims[index]
        speed = waypoints.segment(index).speed
        if first == 0.0 and last == 1.0:
            _add(segments, curve, index, 0.0, 1.0, speed)
        elif first < last:
            _add(segments, PartialCurve(curve, first, last, curve.angle * (last - first)), index, first, last, speed)
        if last == 1.0:
            continue
        entry = trims[index + 1][0]
        corner = BlendedCorner(curve, last, curves[index + 1], entry)
        middle = corner.middle
        angles = corner.angle_between(0.0, middle), corner.angle_between(middle, 1.0)
        _add(segments, PartialCurve(corner, 0.0, middle, angles[0]), index, last, 1.0, speed)
        _add(
            segments,
            PartialCurve(corner, middle, 1.0, angles[1]),
            index + 1,
            0.0,
            entry,
            waypoints.segment(index + 1).speed,
        )
    return tuple(segments)


def _add(segments: list[PathSegment], curve: PoseCurve, waypoint: int, first: float, last: float, speed: float) -> None:
    extent = parameter_length(curve)
    if extent >= MIN_LENGTH:
        segments.append(PathSegment(curve, waypoint, first, last, speed, extent))


def _trims(curves: Sequence[PoseCurve], waypoints: Waypoints) -> list[tuple[float, float]]:
    """Return the range of each curve that remains between its rounded corners, as fractions.

    Raises:
        InvalidRequestError: Corners overlap.
    """
    radii = [0.0, *(waypoints.segment(index).blend_radius for index in range(len(curves)))]
    trims: list[tuple[float, float]] = []
    for index, curve in enumerate(curves):
        before, after = radii[index], radii[index + 1]
        if before + after > curve.length * (1.0 + 1e-9):
            text = f"the segment to waypoint {index} is too short for the blends at its ends"
            numbers = (Value("blends", before + after, curve.length, "m"),)
            raise InvalidRequestError(text, stage="request", values=numbers)
        first, last = (before / curve.length, 1.0 - after / curve.length) if before + after > 0.0 else (0.0, 1.0)
        trims.append((first, max(first, last)))
    return trims


def rotation_rate(curve: PoseCurve, fraction: float) -> Array:
    """Return the rotation (3,) [rad] per path parameter at an end of a curve, in the axes of the pose."""
    step = 1e-4
    pair = curve.poses([0.0, step] if fraction == 0.0 else [1.0 - step, 1.0])
    relative = pair[0, :3, :3].T @ pair[1, :3, :3]
    return np.asarray(rotation_vectors(relative) / (step * parameter_length(curve)))
