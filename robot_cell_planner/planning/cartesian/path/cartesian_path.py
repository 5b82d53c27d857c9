"""The route of a Cartesian motion: from where the frame is, along lines, arcs and rounded corners."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ....errors import InvalidRequestError, Value
from ....kinematics._kernels import ik_kernels
from ....trajectory.limits import Array
from .segments import NO_WAY, Arc, Corner, Line, Part, Way, measure_of, off_the_way, tangents
from .waypoints import FrameWaypoints, PointAxisWaypoints, Waypoints

# Where the direction changes by less than this [rad] the motion need not rest,
PASSABLE_KINK = 0.2
# as long as a smooth curve through points at both sides stays this near to the corner [m, rad].
PASSABLE_DEVIATION = 1e-4
# Largest share of its chord by which a smooth curve leaves the corner of two lines, for a kink of 1 rad.
KINK_SHARE = 0.125


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of the route: its way, the waypoint it leads to or comes from last, and which part of that waypoint's
    segment it is, from `first` to `last` (shares of the segment, 1 at the waypoint). speed [m/s]: wanted; 0: none."""

    way: Way
    waypoint: int
    first: float
    last: float
    speed: float
    measure: float

    def parameter(self, share: float) -> float:
        """Place in the waypoint's segment at a share of the piece."""
        return self.last if share == 1.0 else self.first + share * (self.last - self.first)


class CartesianPath:
    """The pieces of a way through waypoints.

    pieces: those that lead anywhere. freedom: of the rotation, as in kinematics.ik_kernels; where that about z is
    free, poses have one that turns least. starts (p + 1,): path parameter at which each piece starts, metres travelled,
    or rad where a piece only turns.
    """

    def __init__(self, start: Array, waypoints: Waypoints, world_T_reference: Array) -> None:
        """start: world_T_frame (4, 4) at the beginning.

        Raises:
            InvalidRequestError: three points of an arc on one line; blends that overlap.
        """
        self.waypoints = waypoints
        self.start = start
        self.freedom = ik_kernels.FIXED_ROTATION if isinstance(waypoints, FrameWaypoints) else ik_kernels.ABOUT_Z
        self.targets = _targets(start, waypoints, world_T_reference)
        self.pieces = _pieces(self._segments(world_T_reference), waypoints)
        self.starts: Array = np.concatenate(([0.0], np.cumsum([piece.measure for piece in self.pieces])))
        self._lines = _StackedLines([piece.way for piece in self.pieces])

    @property
    def axis_only(self) -> bool:
        return self.freedom != ik_kernels.FIXED_ROTATION

    def _segments(self, world_T_reference: Array) -> list[Way]:
        """The ways from waypoint to waypoint, met exactly; each begins exactly where the one before ends."""
        poses = np.concatenate((self.start[None], self.targets))
        relative = np.swapaxes(poses[:-1, :3, :3], 1, 2) @ poses[1:, :3, :3]
        turns = Rotation.from_matrix(relative).as_rotvec()
        angles, lengths = np.linalg.norm(turns, axis=1), np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
        ways: list[Way] = []
        for index in range(len(self.targets)):
            via = self.waypoints.segment(index).via
            if via is None:
                numbers = (float(lengths[index]), float(angles[index]))
                ways.append(Line(poses[index], poses[index + 1], *numbers, turns[index]))
                continue
            point = np.array(via) * self.waypoints.native_scale
            point = world_T_reference[:3, :3] @ point + world_T_reference[:3, 3]
            try:
                ways.append(Arc.through(poses[index], point, poses[index + 1]))
            except InvalidRequestError as error:
                text = f"waypoint {index}: {error.message}"
                raise InvalidRequestError(text, stage="request", values=error.values) from error
        return ways

    def poses(self, pieces: NDArray[np.intp], shares: Array) -> Array:
        """Poses (k, 4, 4) at shares (k,) of pieces (k,)."""
        result = self._lines.poses(pieces, shares)
        for piece in sorted({int(piece) for piece in pieces[~self._lines.is_line[pieces]]}):
            mine = pieces == piece
            result[mine] = self.pieces[piece].way.poses(shares[mine])
        return result

    def pose(self, piece: int, share: float) -> Array:
        """Pose (4, 4) at a share of a piece."""
        return np.asarray(self.pieces[piece].way.poses([share])[0])

    def distances(self, pieces: NDArray[np.intp], shares: Array, poses: Array) -> tuple[Array, Array]:
        """How far poses (k, 4, 4) that belong to shares (k,) of pieces (k,) are off the route: distances [m] and angles
        [rad], (k,) each."""
        if not len(pieces):
            return np.zeros(0), np.zeros(0)
        directions = self._lines.directions[pieces]
        for piece in sorted({int(piece) for piece in pieces[~self._lines.is_line[pieces]]}):
            mine = pieces == piece
            directions[mine] = tangents(self.pieces[piece].way, shares[mine])
        return off_the_way(self.poses(pieces, shares), directions, poses, self.axis_only)

    def samples(self, max_distance: float, max_angle: float) -> tuple[NDArray[np.intp], Array]:
        """Pieces (k,) and shares (k,) of points along the route, the start not among them, evenly over each piece and
        at its end, no further apart than asked for [m, rad]."""
        counts = [
            max(1, math.ceil(max(piece.way.length / max_distance, piece.way.angle / max_angle) - 1e-9))
            for piece in self.pieces
        ]
        if not counts:
            return np.empty(0, dtype=np.intp), np.empty(0)
        shares = [np.arange(1, count + 1) / count for count in counts]
        return np.repeat(np.arange(len(counts)), counts), np.concatenate(shares)

    def fraction(self, piece: int, share: float) -> float:
        """Share of the whole route that lies before a share of a piece: by length, or by angle if it only turns."""
        lengths = np.array([piece.way.length for piece in self.pieces])
        extents = lengths if lengths.sum() > NO_WAY else np.array([piece.way.angle for piece in self.pieces])
        return float(extents[:piece].sum() + share * extents[piece]) / float(extents.sum())

    def rests(self, spacings: Array, max_deviation: float) -> NDArray[np.bool_]:
        """Whether the motion has to rest at the end of each piece (p,), because its direction changes too much there.

        spacings (p,) [m or rad]: of the points on each piece. max_deviation [m]: that a smooth curve through them may
        leave the corner by; 0: the default.
        """
        count = len(self.pieces)
        rests = np.ones(count, dtype=bool)
        if count < 2:
            return rests
        tangent, rate = self._ends()
        moves = np.array([piece.way.length > NO_WAY for piece in self.pieces])
        come, go = tangent[:-1, 1], tangent[1:, 0]
        kinks = np.arctan2(np.linalg.norm(np.cross(come, go), axis=1), np.sum(come * go, axis=1))
        kinks[~moves[:-1]] = 0.0
        turns = np.linalg.norm(rate[:-1, 1] - rate[1:, 0], axis=1)
        off = KINK_SHARE * np.maximum(spacings[:-1], spacings[1:])
        allowed = max_deviation or PASSABLE_DEVIATION
        rests[:-1] = (moves[:-1] != moves[1:]) | (kinks > PASSABLE_KINK) | (off * np.maximum(kinks, turns) > allowed)
        return rests

    def _ends(self) -> tuple[Array, Array]:
        """At start and end of each piece: unit directions (p, 2, 3), and rotation (p, 2, 3) per path parameter in the
        axes of the pose there."""
        lines, measures = self._lines, np.array([piece.measure for piece in self.pieces])
        tangent = np.repeat(lines.directions[:, None], 2, axis=1)
        rate = np.repeat((lines.turns / measures[:, None])[:, None], 2, axis=1)
        for index in np.flatnonzero(~lines.is_line).tolist():
            way = self.pieces[index].way
            tangent[index] = tangents(way, np.array([0.0, 1.0]))
            rate[index] = _turn_rate(way, 0.0), _turn_rate(way, 1.0)
        return tangent, rate


class _StackedLines:
    """All lines of a route in arrays, so that a route of a thousand short ones costs no more than one long one."""

    def __init__(self, ways: Sequence[Way]) -> None:
        count = len(ways)
        self.is_line = np.array([isinstance(way, Line) for way in ways], dtype=bool)
        self.starts, self.ends = np.zeros((count, 4, 4)), np.zeros((count, 4, 4))
        self.turns, self.directions = np.zeros((count, 3)), np.zeros((count, 3))
        for index, way in enumerate(ways):
            if isinstance(way, Line):
                self.starts[index], self.ends[index], self.turns[index] = way.start, way.end, way.turn
                if way.length > NO_WAY:
                    self.directions[index] = (way.end[:3, 3] - way.start[:3, 3]) / way.length

    def poses(self, pieces: NDArray[np.intp], shares: Array) -> Array:
        starts, ends = self.starts[pieces], self.ends[pieces]
        result = np.zeros((len(pieces), 4, 4))
        if len(pieces):
            turned = Rotation.from_rotvec(shares[:, None] * self.turns[pieces]).as_matrix()
            result[:, :3, :3] = starts[:, :3, :3] @ turned
        result[:, :3, 3] = starts[:, :3, 3] + shares[:, None] * (ends[:, :3, 3] - starts[:, :3, 3])
        result[:, 3, 3] = 1.0
        at_end = shares == 1.0
        result[at_end] = ends[at_end]
        return result


def _targets(start: Array, waypoints: Waypoints, world_T_reference: Array) -> Array:
    """Poses (n, 4, 4) of waypoints in the world; of points with axes, each turned least against the one before."""
    positions = waypoints.positions() * waypoints.native_scale
    result = np.zeros((len(positions), 4, 4))
    result[:, :3, 3] = positions @ world_T_reference[:3, :3].T + world_T_reference[:3, 3]
    result[:, 3, 3] = 1.0
    if isinstance(waypoints, PointAxisWaypoints):
        rotation = start[:3, :3]
        for index, axis in enumerate(waypoints.axes() @ world_T_reference[:3, :3].T):
            rotation = _aligned(rotation, axis)
            result[index, :3, :3] = rotation
    else:
        result[:, :3, :3] = world_T_reference[:3, :3] @ waypoints.rotations()
    return result


def _aligned(rotation: Array, axis: Array) -> Array:
    """The rotation (3, 3) with the given z axis that is turned least against another."""
    across, cosine = np.cross(rotation[:, 2], axis), float(rotation[:, 2] @ axis)
    sine = float(np.linalg.norm(across))
    direction = across / sine if sine > 1e-12 else rotation[:, 0]
    return np.asarray(pin.exp3(math.atan2(sine, cosine) * direction) @ rotation)


def _pieces(segments: list[Way], waypoints: Waypoints) -> tuple[Piece, ...]:
    """Segments cut where corners are rounded, with the corners in two halves, each belonging to one waypoint."""
    cuts = _cuts(segments, waypoints)
    pieces: list[Piece] = []
    for index, way in enumerate(segments):
        first, last = cuts[index]
        speed = waypoints.segment(index).speed
        if first == 0.0 and last == 1.0:
            _add(pieces, way, index, 0.0, 1.0, speed)
        elif first < last:
            _add(pieces, Part(way, first, last, way.angle * (last - first)), index, first, last, speed)
        if last == 1.0:
            continue
        joined = cuts[index + 1][0]
        corner = Corner(way, last, segments[index + 1], joined)
        middle = corner.middle
        angles = corner.angle_between(0.0, middle), corner.angle_between(middle, 1.0)
        _add(pieces, Part(corner, 0.0, middle, angles[0]), index, last, 1.0, speed)
        _add(pieces, Part(corner, middle, 1.0, angles[1]), index + 1, 0.0, joined, waypoints.segment(index + 1).speed)
    return tuple(pieces)


def _add(pieces: list[Piece], way: Way, waypoint: int, first: float, last: float, speed: float) -> None:
    measure = measure_of(way)
    if measure >= NO_WAY:
        pieces.append(Piece(way, waypoint, first, last, speed, measure))


def _cuts(segments: list[Way], waypoints: Waypoints) -> list[tuple[float, float]]:
    """What is left of each segment when the corners at its ends are rounded: from which share to which.

    Raises:
        InvalidRequestError: a corner needs more of a segment than there is.
    """
    radii = [0.0, *(waypoints.segment(index).blend_radius for index in range(len(segments)))]
    cuts: list[tuple[float, float]] = []
    for index, way in enumerate(segments):
        before, after = radii[index], radii[index + 1]
        if before + after > way.length * (1.0 + 1e-9):
            text = f"the way to waypoint {index} is too short for the blends at its ends"
            numbers = (Value("blends", before + after, way.length, "m"),)
            raise InvalidRequestError(text, stage="request", values=numbers)
        first, last = (before / way.length, 1.0 - after / way.length) if before + after > 0.0 else (0.0, 1.0)
        cuts.append((first, max(first, last)))
    return cuts


def _turn_rate(way: Way, share: float) -> Array:
    """Rotation (3,) [rad] per path parameter at an end of a way, in the axes of the pose there."""
    step = 1e-4
    pair = way.poses([0.0, step] if share == 0.0 else [1.0 - step, 1.0])
    relative = pair[0, :3, :3].T @ pair[1, :3, :3]
    return np.asarray(Rotation.from_matrix(relative).as_rotvec() / (step * measure_of(way)))
