"""Robots that follow another one: they keep their places relative to its frame, or follow paths in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError, NotSupportedError, UnknownNameError, Value
from ...kinematics.forward import frame_matrix
from ...kinematics.ik.problem import IkProblem
from ...trajectory.limits import Array
from ..problem.context import PlanningContext
from ..problem.request import STAGE
from .path.cartesian_path import KINK_FRACTION, MAX_KINK, CartesianPath, rotation_rate
from .path.curves import deviations, parameter_length, tangents
from .path.waypoints import Waypoints

PROBE = 0.1  # [rad or m] of joints, to find out whether a frame moves with the leader
SAME_PLACE = 1e-9  # [m], and of entries of rotations


@dataclass(frozen=True, eq=False)
class RelativePath:
    """Path of a follower in the frame of the leader, whose curve to each waypoint is passed at the same fractions as
    that of the leader.

    Attributes:
        path: Its geometry in the frame of the leader.
    """

    path: CartesianPath

    @cached_property
    def lengths(self) -> Array:
        """Length of the way to each waypoint [m]."""
        return np.array([curve.length for curve in self.path.curves])

    @cached_property
    def angles(self) -> Array:
        """Angle of rotation on the way to each waypoint [rad]."""
        return np.array([curve.angle for curve in self.path.curves])

    def poses(self, waypoints: NDArray[np.intp], fractions: Array) -> Array:
        """Return leader_T_frame (n, 4, 4) at fractions (n,) of the ways to waypoints (n,)."""
        result = np.zeros((len(waypoints), 4, 4))
        for waypoint in np.unique(waypoints).tolist():
            selected = waypoints == waypoint
            result[selected] = self.path.curves[waypoint].poses(fractions[selected])
        return result

    def directions(self, waypoints: NDArray[np.intp], fractions: Array) -> Array:
        """Return unit directions (n, 3) in the frame of the leader; zeros where it only rotates."""
        result = np.zeros((len(waypoints), 3))
        for waypoint in np.unique(waypoints).tolist():
            selected = waypoints == waypoint
            result[selected] = tangents(self.path.curves[waypoint], fractions[selected])
        return result

    def rests(self, extents: Array, spacings: Array, allowed: float) -> NDArray[np.bool_]:
        """Return for each waypoint (w,) whether the motion has to rest there, because the direction or the rate of this
        path changes too much; as `CartesianPath.rests`.

        Args:
            extents: Length of the path of the leader to each waypoint (w,) [m or rad].
            spacings: Spacing of the points on it (w,) [m or rad].
            allowed: Allowed deviation of a smooth curve from the corner [m, rad].
        """
        rests = np.ones(len(extents), dtype=bool)
        if len(extents) > 1:
            moves, turns = self._rates / extents[:, None, None], self._turns / extents[:, None, None]
            incoming, outgoing = moves[:-1, 1], moves[1:, 0]
            crossed = np.linalg.norm(np.cross(incoming, outgoing), axis=1)
            kinks = np.arctan2(crossed, np.sum(incoming * outgoing, axis=1))
            changes = np.maximum(
                np.linalg.norm(incoming - outgoing, axis=1), np.linalg.norm(turns[:-1, 1] - turns[1:, 0], axis=1)
            )
            deviations = KINK_FRACTION * np.maximum(spacings[:-1], spacings[1:]) * changes
            rests[:-1] = (kinks > MAX_KINK) | (deviations > allowed)
        return rests

    @cached_property
    def _rates(self) -> Array:
        """Derivative of the position [m] by the fraction of the way to each waypoint, at both ends (w, 2, 3)."""
        ends = np.array([0.0, 1.0])
        return np.array([curve.length * tangents(curve, ends) for curve in self.path.curves])

    @cached_property
    def _turns(self) -> Array:
        """Rotation [rad] by the fraction of the way to each waypoint, at both ends (w, 2, 3), in the frame's axes."""
        return np.array(
            [
                [parameter_length(curve) * rotation_rate(curve, end) for end in (0.0, 1.0)]
                if curve.angle > 0.0
                else np.zeros((2, 3))
                for curve in self.path.curves
            ]
        )


@dataclass(frozen=True, eq=False)
class Follower:
    """Group of which a frame keeps its pose relative to the frame of the leader, or follows a path in it.

    Attributes:
        group: Planning group.
        problem: Inverse kinematics problem of its frame; `problem.start` is its start (dof,).
        leader: That of the leader.
        columns: Its columns of the configurations of the composite group.
        path: Path relative to the leader; None for the pose of the start.
    """

    group: str
    problem: IkProblem
    leader: IkProblem
    columns: slice
    path: RelativePath | None = None

    @cached_property
    def at_start(self) -> Array:
        """leader_T_frame (4, 4) at the start."""
        start = self.leader.chain.forward(self.leader.start)
        return np.asarray(np.linalg.inv(start) @ self.problem.chain.forward(self.problem.start))

    def relative(self, waypoints: NDArray[np.intp], fractions: Array) -> Array:
        """Return leader_T_frame (n, 4, 4) at fractions (n,) of the ways to waypoints (n,)."""
        if self.path is None:
            return np.broadcast_to(self.at_start, (len(waypoints), 4, 4))
        return self.path.poses(waypoints, fractions)

    def deviations(
        self, leader_poses: Array, configurations: Array, waypoints: NDArray[np.intp], fractions: Array, *, along: bool
    ) -> tuple[Array, Array]:
        """Return deviations from the relative poses, distances [m] and angles [rad], (n,) each.

        Args:
            leader_poses: World poses of the leader's frame (n, 4, 4).
            configurations: Of the composite group (n, dof).
            waypoints, fractions: Waypoint that each leads to, and fraction of the way to it (n,).
            along: Whether distances along the relative path do not count.
        """
        poses = self.problem.chain.forward_many(np.ascontiguousarray(configurations[:, self.columns]))
        directions = np.zeros((len(poses), 3))
        if along and self.path is not None:
            own = self.path.directions(waypoints, fractions)
            directions = np.einsum("nij,nj->ni", leader_poses[:, :3, :3], own)
        return deviations(leader_poses @ self.relative(waypoints, fractions), directions, poses, self.problem.free_axes)


def relative_path(context: PlanningContext, follower: Follower, waypoints: Waypoints) -> RelativePath:
    """Return the path of a follower in the frame of its leader, from its pose at the start.

    Raises:
        InvalidRequestError: The leader does not move the reference frame, or an arc has no circle.
        UnknownNameError: There is no such frame.
    """
    leader, frame = follower.leader, waypoints.reference_frame
    found = []
    for step in (0.0, PROBE):
        q = leader.start + step
        state = context.state.with_configuration(dict(zip(leader.joints.variables, q.tolist(), strict=True)))
        found.append(np.linalg.inv(leader.chain.forward(q)) @ frame_matrix(context.cell, state, frame))
    if np.abs(found[1] - found[0]).max() > SAME_PLACE:
        text = f"the relative path of {follower.group} refers to {frame or 'the world'}, which the leader does not move"
        raise InvalidRequestError(f"{text}; name its workpiece or tool", stage=STAGE, subjects=(follower.group, frame))
    return RelativePath(CartesianPath(follower.at_start, waypoints, found[0]))


def check_relative_paths(paths: Mapping[str, Waypoints], groups: Sequence[str], leader_path: CartesianPath) -> None:
    """Check that relative paths can be followed beside the path of the leader.

    Raises:
        UnknownNameError: A path is of a group that is no follower.
        NotSupportedError: A waypoint has a blend, or the leader stands on the way to one.
    """
    for group, waypoints in paths.items():
        if group not in groups[1:]:
            text = (
                f"a relative path is given for {group}; the robots that follow {groups[0]} are {', '.join(groups[1:])}"
            )
            raise UnknownNameError(text, stage=STAGE, subjects=(group,))
        blends = [
            way.segment(index).blend_radius for way in (waypoints, leader_path.waypoints) for index in range(len(way))
        ]
        if any(blends):
            values = (Value("blend radius", max(blends), 0.0, "m"),)
            text = "waypoints with blends are not supported beside relative paths"
            raise NotSupportedError(text, stage=STAGE, subjects=(group,), values=values)
    moves = {segment.waypoint for segment in leader_path.segments}
    standing = sorted(set(range(len(leader_path.curves))) - moves)
    if paths and standing:
        text = (
            f"{groups[0]} stands on the way to waypoint {standing[0]}; plan the motions of the others alone, with "
            "a frame that it holds as their reference frame"
        )
        raise NotSupportedError(text, stage=STAGE, subjects=(groups[0],))
