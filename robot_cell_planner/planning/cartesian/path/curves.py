"""Curves of a frame in space: lines, arcs, and rounded corners, parameterized from 0 to 1 at constant speed."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ....errors import InvalidRequestError, Value
from ....trajectory.limits import Array
from ....trajectory.splines import cubic_spline
from .path_kernels import pose_deviations
from .rotations import rotation_angles, rotation_vectors, rotations_by_vectors

MIN_LENGTH = 1e-9  # [m or rad] min length of a curve
# [m/rad] max length of a rotation in place for its angle: rounded or measured joint values displace the frame by less.
IN_PLACE = 1e-3
BLEND_SAMPLES = 1024  # for the length of a rounded corner
ANGLE_SAMPLES = 64
TANGENT_STEP = 1e-6  # fraction of a curve


class PoseCurve(Protocol):
    """Curve between two poses.

    Attributes:
        length: Length of the path of the origin [m].
        angle: Total angle of rotation [rad].
    """

    @property
    def length(self) -> float: ...

    @property
    def angle(self) -> float: ...

    def poses(self, fractions: Sequence[float] | Array) -> Array:
        """Return poses (k, 4, 4) at fractions (k,) of the curve, 0 to 1; the ends are exact."""
        ...


def is_rotation_in_place(curve: PoseCurve) -> bool:
    """Return whether a curve moves its origin by at most `IN_PLACE` for each radian of its rotation, or not at all."""
    return curve.length <= max(MIN_LENGTH, IN_PLACE * curve.angle)


def parameter_length(curve: PoseCurve) -> float:
    """Return the path parameter length of a curve: its length [m], or its angle [rad] for a rotation in place."""
    return curve.angle if is_rotation_in_place(curve) else curve.length


@dataclass(frozen=True, eq=False)
class Line:
    """Straight line between two poses (4, 4): linear position, slerp of orientation.

    Attributes:
        length: Length [m].
        angle: Angle of rotation [rad].
        rotation: Rotation vector (3,) from start to end, in the axes of the start.
    """

    start: Array
    end: Array
    length: float
    angle: float
    rotation: Array

    @classmethod
    def between(cls, start: Array, end: Array) -> Line:
        rotation = rotation_vectors(start[:3, :3].T @ end[:3, :3])
        length = math.dist(start[:3, 3], end[:3, 3])
        return cls(start, end, length, float(np.linalg.norm(rotation)), rotation)

    def poses(self, fractions: Sequence[float] | Array) -> Array:
        """Return poses; fractions outside of 0 to 1 extrapolate."""
        fractions = np.asarray(fractions, dtype=np.float64)
        result = _rotated_poses(self.start, self.rotation, fractions)
        result[:, :3, 3] = self.start[:3, 3] + fractions[:, None] * (self.end[:3, 3] - self.start[:3, 3])
        result[fractions == 1.0] = self.end
        return result


@dataclass(frozen=True, eq=False)
class Arc:
    """Circular arc between two poses (4, 4), with slerp of orientation.

    position = centre + radius (cos(a) towards_start + sin(a) sideways) for an angle a from 0 to sweep [rad].
    """

    start: Array
    end: Array
    centre: Array
    towards_start: Array
    sideways: Array
    radius: float
    sweep: float
    rotation: Array

    @classmethod
    def through(cls, start: Array, via: Array, end: Array) -> Arc:
        """Return the arc from one pose through a point (3,) to another pose.

        Raises:
            InvalidRequestError: The three points are collinear, or two of them coincide.
        """
        first, last = start[:3, 3], end[:3, 3]
        one, two = via - first, last - first
        normal = np.cross(one, two)
        square = float(normal @ normal)
        if square <= (1e-6 * max(float(one @ one), float(two @ two))) ** 2:
            text = "the three points of an arc are collinear"
            distance = math.sqrt(square) / max(float(np.linalg.norm(two)), 1e-12)
            numbers = (Value("distance from the line", distance, unit="m"),)
            raise InvalidRequestError(text, stage="request", values=numbers)
        centre = first + np.cross((one @ one) * two - (two @ two) * one, normal) / (2.0 * square)
        radius = float(np.linalg.norm(first - centre))
        direction = (first - centre) / radius
        sideways = np.cross(normal / math.sqrt(square), direction)
        sweep = math.atan2(float((last - centre) @ sideways), float((last - centre) @ direction)) % (2.0 * math.pi)
        rotation = rotation_vectors(start[:3, :3].T @ end[:3, :3])
        return cls(start, end, centre, direction, sideways, radius, sweep, rotation)

    @property
    def length(self) -> float:
        return self.radius * self.sweep

    @property
    def angle(self) -> float:
        return float(np.linalg.norm(self.rotation))

    def poses(self, fractions: Sequence[float] | Array) -> Array:
        """Return poses; fractions outside of 0 to 1 extrapolate along the circle."""
        fractions = np.asarray(fractions, dtype=np.float64)
        result = _rotated_poses(self.start, self.rotation, fractions)
        around = (self.sweep * fractions)[:, None]
        result[:, :3, 3] = self.centre + self.radius * (
            np.cos(around) * self.towards_start + np.sin(around) * self.sideways
        )
        result[fractions == 0.0] = self.start
        result[fractions == 1.0] = self.end
        return result


@dataclass(frozen=True, eq=False)
class PartialCurve:
    """Part of a curve between two fractions."""

    whole: PoseCurve
    first: float
    last: float
    angle: float

    @property
    def length(self) -> float:
        return self.whole.length * (self.last - self.first)

    def poses(self, fractions: Sequence[float] | Array) -> Array:
        fractions = np.asarray(fractions, dtype=np.float64)
        inner = self.first + fractions * (self.last - self.first)
        return self.whole.poses(np.where(fractions == 1.0, self.last, inner))


class BlendedCorner:
    """Rounded corner: blend of the end of one curve into the beginning of the next.

    For u from 0 to 1, both curves are traversed simultaneously, and the pose changes from the first to the second by
    the weight w(u) = 10 u^3 - 15 u^4 + 6 u^5. Its first and second derivatives vanish at both ends, so that direction
    and curvature are continuous. Fractions refer to length, not to u.
    """

    def __init__(self, before: PoseCurve, first: float, after: PoseCurve, last: float) -> None:
        """Create the corner. before: incoming curve, left at its fraction `first`; after: outgoing curve, entered at
        `last`.
        """
        self._before, self._first, self._after, self._last = before, first, after, last
        u = np.linspace(0.0, 1.0, BLEND_SAMPLES + 1)
        steps = np.linalg.norm(np.diff(self._positions(u), axis=0), axis=1)
        lengths = np.concatenate(([0.0], np.cumsum(steps)))
        self.length = float(lengths[-1])
        fractions = lengths / self.length
        fractions[-1] = 1.0
        self._to_u = cubic_spline(fractions, u[:, None])
        self.middle = float(fractions[BLEND_SAMPLES // 2])

    @cached_property
    def angle(self) -> float:
        return self.angle_between(0.0, 1.0)

    def angle_between(self, first: float, last: float) -> float:
        """Return the angle of rotation [rad] between two fractions."""
        rotations = self.poses(np.linspace(first, last, ANGLE_SAMPLES + 1))[:, :3, :3]
        relative = np.swapaxes(rotations[:-1], 1, 2) @ rotations[1:]
        return float(np.sum(rotation_angles(relative)))

    def _both(self, u: Array) -> tuple[Array, Array, Array]:
        """Return poses on both curves, and the weight of the second."""
        before = self._before.poses(self._first + u * (1.0 - self._first))
        after = self._after.poses(u * self._last)
        return before, after, u**3 * (10.0 - u * (15.0 - 6.0 * u))

    def _positions(self, u: Array) -> Array:
        before, after, weight = self._both(u)
        return np.asarray(before[:, :3, 3] + weight[:, None] * (after[:, :3, 3] - before[:, :3, 3]))

    def poses(self, fractions: Sequence[float] | Array) -> Array:
        u = np.clip(self._to_u.evaluate(np.asarray(fractions, dtype=np.float64))[:, 0], 0.0, 1.0)
        before, after, weight = self._both(u)
        result = before
        between = np.swapaxes(before[:, :3, :3], 1, 2) @ after[:, :3, :3]
        rotations = weight[:, None] * rotation_vectors(between)
        result[:, :3, 3] += weight[:, None] * (after[:, :3, 3] - before[:, :3, 3])
        result[:, :3, :3] = before[:, :3, :3] @ rotations_by_vectors(rotations)
        return result


def tangents(curve: PoseCurve, fractions: Array) -> Array:
    """Return unit directions (k, 3) of the origin's path at fractions (k,); zeros for pure rotations."""
    if curve.length <= MIN_LENGTH:
        return np.zeros((len(fractions), 3))
    low, high = np.clip(fractions - TANGENT_STEP, 0.0, 1.0), np.clip(fractions + TANGENT_STEP, 0.0, 1.0)
    steps = curve.poses(high)[:, :3, 3] - curve.poses(low)[:, :3, 3]
    return np.asarray(steps / np.linalg.norm(steps, axis=1, keepdims=True))


def deviations(
    reference: Array,
    directions: Array,
    poses: Array,
    free_axes: Collection[int] = (),
    lengths: Array | None = None,
) -> tuple[Array, Array]:
    """Return the deviations of poses (k, 4, 4) from reference poses (k, 4, 4).

    Args:
        directions: Directions of the path (k, 3).
        free_axes: Axes of the reference poses (0, 1, 2) about which rotations do not count.
        lengths: Of the path before and after each reference pose (2, k) [m]; None: without ends.

    Returns:
        Distances of the origins from the path [m], and angles between the orientations [rad], (k,) each.
    """
    lengths = np.full((2, len(poses)), np.inf) if lengths is None else lengths
    reference, directions, lengths = map(np.ascontiguousarray, (reference, directions, lengths))
    weights = np.array([float(axis not in free_axes) for axis in range(3)])
    return pose_deviations(reference, directions, lengths, np.ascontiguousarray(poses), weights)


def _rotated_poses(start: Array, rotation: Array, fractions: Array) -> Array:
    """Return poses (k, 4, 4) at the origin with the start's orientation, rotated by fractions (k,) of a rotation
    vector.
    """
    result = np.zeros((len(fractions), 4, 4))
    result[:, :3, :3] = start[:3, :3] @ rotations_by_vectors(fractions[:, None] * rotation)
    result[:, 3, 3] = 1.0
    return result
