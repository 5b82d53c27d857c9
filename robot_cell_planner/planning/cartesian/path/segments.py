"""Ways of a frame in space: lines, arcs, and curves that round the corners between them, all run through by a share
from 0 to 1 at constant speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from ....errors import InvalidRequestError, Value
from ....trajectory.limits import Array

NO_WAY = 1e-9  # [m or rad]: a way that is shorter leads nowhere
BLEND_SAMPLES = 1024  # for the length of a rounded corner
ANGLE_SAMPLES = 64
TANGENT_STEP = 1e-6  # share of a way


class Way(Protocol):
    """A way between two poses. length [m] of the origin's path; angle [rad] that it turns by on it."""

    @property
    def length(self) -> float: ...

    @property
    def angle(self) -> float: ...

    def poses(self, shares: Sequence[float] | Array) -> Array:
        """Poses (k, 4, 4) at shares (k,) of the way, 0 to 1; the ends exactly."""
        ...


def measure_of(way: Way) -> float:
    """The path parameter of the whole way: its length, or its angle if it only turns."""
    return way.length if way.length > NO_WAY else way.angle


@dataclass(frozen=True, eq=False)
class Line:
    """A straight way between two poses (4, 4): position linear, orientation by slerp. length [m], angle [rad].

    turn (3,): the rotation vector of the whole way, in the axes of its start.
    """

    start: Array
    end: Array
    length: float
    angle: float
    turn: Array

    @classmethod
    def between(cls, start: Array, end: Array) -> Line:
        turn = Rotation.from_matrix(start[:3, :3].T @ end[:3, :3]).as_rotvec()
        length = math.dist(start[:3, 3], end[:3, 3])
        return cls(start, end, length, float(np.linalg.norm(turn)), turn)

    def poses(self, shares: Sequence[float] | Array) -> Array:
        """Shares beyond 0 and 1 go on straight."""
        shares = np.asarray(shares, dtype=np.float64)
        result = _turned(self.start, self.turn, shares)
        result[:, :3, 3] = self.start[:3, 3] + shares[:, None] * (self.end[:3, 3] - self.start[:3, 3])
        result[shares == 1.0] = self.end
        return result


@dataclass(frozen=True, eq=False)
class Arc:
    """A circle's arc between two poses (4, 4), orientation by slerp.

    centre, towards_start, sideways (3,): position = centre + radius (cos a towards_start + sin a sideways), for a from
    0 to sweep [rad].
    """

    start: Array
    end: Array
    centre: Array
    towards_start: Array
    sideways: Array
    radius: float
    sweep: float
    turn: Array

    @classmethod
    def through(cls, start: Array, via: Array, end: Array) -> Arc:
        """The arc from one pose through a point (3,) to another pose.

        Raises:
            InvalidRequestError: the three points are on one line, or two of them are one.
        """
        first, last = start[:3, 3], end[:3, 3]
        one, two = via - first, last - first
        normal = np.cross(one, two)
        square = float(normal @ normal)
        if square <= (1e-6 * max(float(one @ one), float(two @ two))) ** 2:
            text = "an arc is given by three points that are on one line"
            numbers = (Value("distance from the line", math.sqrt(square) / max(float(np.linalg.norm(two)), 1e-12)),)
            raise InvalidRequestError(text, stage="request", values=numbers)
        centre = first + np.cross((one @ one) * two - (two @ two) * one, normal) / (2.0 * square)
        radius = float(np.linalg.norm(first - centre))
        towards = (first - centre) / radius
        sideways = np.cross(normal / math.sqrt(square), towards)
        sweep = math.atan2(float((last - centre) @ sideways), float((last - centre) @ towards)) % (2.0 * math.pi)
        turn = Rotation.from_matrix(start[:3, :3].T @ end[:3, :3]).as_rotvec()
        return cls(start, end, centre, towards, sideways, radius, sweep, turn)

    @property
    def length(self) -> float:
        return self.radius * self.sweep

    @property
    def angle(self) -> float:
        return float(np.linalg.norm(self.turn))

    def poses(self, shares: Sequence[float] | Array) -> Array:
        """Shares beyond 0 and 1 go on along the circle."""
        shares = np.asarray(shares, dtype=np.float64)
        result = _turned(self.start, self.turn, shares)
        around = (self.sweep * shares)[:, None]
        result[:, :3, 3] = self.centre + self.radius * (
            np.cos(around) * self.towards_start + np.sin(around) * self.sideways
        )
        result[shares == 0.0] = self.start
        result[shares == 1.0] = self.end
        return result


@dataclass(frozen=True, eq=False)
class Part:
    """The part of a way between two shares of it."""

    whole: Way
    first: float
    last: float
    angle: float

    @property
    def length(self) -> float:
        return self.whole.length * (self.last - self.first)

    def poses(self, shares: Sequence[float] | Array) -> Array:
        shares = np.asarray(shares, dtype=np.float64)
        inner = self.first + shares * (self.last - self.first)
        return self.whole.poses(np.where(shares == 1.0, self.last, inner))


class Corner:
    """A rounded corner: the end of one way passes over into the beginning of the next.

    With u from 0 to 1, both ways are run through at once, and the pose passes from the first to the second by
    w(u) = 10 u3 - 15 u4 + 6 u5. Its first and second derivatives vanish at both ends, so that direction and curvature
    go on there as on the ways themselves. Shares are of the length, not of u.
    """

    def __init__(self, before: Way, first: float, after: Way, last: float) -> None:
        """before: the way that comes in, left at its share `first`; after: the one that is joined at `last`."""
        from scipy.interpolate import CubicSpline  # slow to import, and needed for rounded corners alone

        self._before, self._first, self._after, self._last = before, first, after, last
        u = np.linspace(0.0, 1.0, BLEND_SAMPLES + 1)
        steps = np.linalg.norm(np.diff(self._positions(u), axis=0), axis=1)
        lengths = np.concatenate(([0.0], np.cumsum(steps)))
        self.length = float(lengths[-1])
        shares = lengths / self.length
        shares[-1] = 1.0
        self._to_u = CubicSpline(shares, u)
        self.middle = float(shares[BLEND_SAMPLES // 2])

    @cached_property
    def angle(self) -> float:
        return self.angle_between(0.0, 1.0)

    def angle_between(self, first: float, last: float) -> float:
        """How far it turns [rad] between two shares."""
        rotations = self.poses(np.linspace(first, last, ANGLE_SAMPLES + 1))[:, :3, :3]
        relative = np.swapaxes(rotations[:-1], 1, 2) @ rotations[1:]
        return float(np.sum(Rotation.from_matrix(relative).magnitude()))

    def _both(self, u: Array) -> tuple[Array, Array, Array]:
        """Poses on both ways, and the weight of the second."""
        before = self._before.poses(self._first + u * (1.0 - self._first))
        after = self._after.poses(u * self._last)
        return before, after, u**3 * (10.0 - u * (15.0 - 6.0 * u))

    def _positions(self, u: Array) -> Array:
        before, after, weight = self._both(u)
        return np.asarray(before[:, :3, 3] + weight[:, None] * (after[:, :3, 3] - before[:, :3, 3]))

    def poses(self, shares: Sequence[float] | Array) -> Array:
        u = np.clip(self._to_u(np.asarray(shares, dtype=np.float64)), 0.0, 1.0)
        before, after, weight = self._both(u)
        result = before
        between = np.swapaxes(before[:, :3, :3], 1, 2) @ after[:, :3, :3]
        turns = weight[:, None] * Rotation.from_matrix(between).as_rotvec()
        result[:, :3, 3] += weight[:, None] * (after[:, :3, 3] - before[:, :3, 3])
        result[:, :3, :3] = before[:, :3, :3] @ Rotation.from_rotvec(turns).as_matrix()
        return result


def tangents(way: Way, shares: Array) -> Array:
    """Unit directions (k, 3) of the origin's path at shares (k,); zeros where it does not move."""
    if way.length <= NO_WAY:
        return np.zeros((len(shares), 3))
    low, high = np.clip(shares - TANGENT_STEP, 0.0, 1.0), np.clip(shares + TANGENT_STEP, 0.0, 1.0)
    steps = way.poses(high)[:, :3, 3] - way.poses(low)[:, :3, 3]
    return np.asarray(steps / np.linalg.norm(steps, axis=1, keepdims=True))


def off_the_way(wanted: Array, directions: Array, poses: Array, axis_only: bool) -> tuple[Array, Array]:
    """How far poses (k, 4, 4) are off those wanted (k, 4, 4): distance of their origins across the direction (k, 3) of
    the way [m], and angle between the orientations, or between the z axes alone [rad]."""
    offsets = poses[:, :3, 3] - wanted[:, :3, 3]
    offsets = offsets - np.sum(offsets * directions, axis=1, keepdims=True) * directions
    if axis_only:
        across = np.cross(wanted[:, :3, 2], poses[:, :3, 2])
        cosines = np.sum(wanted[:, :3, 2] * poses[:, :3, 2], axis=1)
        angles = np.arctan2(np.linalg.norm(across, axis=1), cosines)
    else:
        relative = np.swapaxes(wanted[:, :3, :3], 1, 2) @ poses[:, :3, :3]
        angles = np.asarray(Rotation.from_matrix(relative).magnitude())
    return np.asarray(np.linalg.norm(offsets, axis=1)), angles


def _turned(start: Array, turn: Array, shares: Array) -> Array:
    """Poses (k, 4, 4) at the origin, turned from the start by shares (k,) of a rotation vector."""
    result = np.zeros((len(shares), 4, 4))
    result[:, :3, :3] = start[:3, :3] @ Rotation.from_rotvec(shares[:, None] * turn).as_matrix()
    result[:, 3, 3] = 1.0
    return result
