"""Search for the distances of a pair of links over all values of the two revolute joints between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checker import CollisionChecker
from ..geometry.broad_phase import Candidates
from ..geometry.geometry_model import GeometryModel
from ..sphere_model.resolution import corners_of, moved_spheres
from ._kernels.distance_map_kernels import bound_in_cell, turned
from ._kernels.distance_maps import BITS_OF_CELLS, TURN
from .motion_bounds import MotionModel

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Indices = NDArray[np.intp]
ENOUGH = 0.04  # [m], larger distances are not distinguished
SHARE = 0.7  # of the distance at the middle of a block of cells, above which its bound is accurate enough
BLOCKS = 8  # that are evaluated at first along each joint
MIN_BITS, MAX_BITS = 6, BITS_OF_CELLS - 6  # of the number of cells along a joint
SAMPLES = 32  # along each joint, from which the number of cells along each is chosen
SLACK = 2e-6  # [m] for rounding of transforms and bounds
CONFIRMED = 64  # cells of a stored map that are computed again, near contact and elsewhere
MAX_DIVISIONS = 5  # of these cells
AT_ONCE = 1024  # configurations evaluated together


@dataclass(frozen=True, eq=False)
class LinkPair:
    """Two links with both joints between them, from the inner one (0) to the outer one (1).

    placement (4, 4): of the moving link in the inner joint. outer (4, 4): the outer joint in the frame of the other
    link.
    """

    objects: tuple[int, int]
    margin: float
    joints: tuple[int, int]
    placement: Floats
    inner: Floats
    outer: Floats


class _Geometry(NamedTuple):
    """Convex geometry of a link.

    Attributes:
        corners: Spheres (k, 4) whose convex hull contains it, in the frame of its joint.
        reach: Maximum distances (k, 2) of their centres from the axes of the inner and the outer joint [m].
    """

    corners: Floats
    reach: Floats


class DistanceSearch:
    """Computes a map by bisection of both joints' values, as far as the distance requires."""

    def __init__(self, checker: CollisionChecker, model: MotionModel, pair: LinkPair) -> None:
        self._checker, self._pair = checker.of_pair(*pair.objects, pair.margin), pair
        self._joints = tuple(model.tree.joints[joint] for joint in pair.joints)
        inner, outer = self._joints
        self._transforms = np.array((inner.before, outer.before))
        self._turn = _rotation(model, outer.parent, checker.default).T.copy()
        geometry_model = self._checker.geometry_model
        self._geometries = [
            _geometry(model, geometry_model, number, pair.joints) for number in range(len(geometry_model.geometries))
        ]
        moving = [self._geometries[number] for number in geometry_model.geometries_of(pair.objects[0])]
        self._speeds = np.max([(part.reach + part.corners[:, 3:]).max(axis=0) for part in moving], axis=0)

    def bounds(self) -> Floats:
        """Return the bounds (r, c) of cells [m]."""
        bits = self._bits()
        shape = np.array((1 << bits, 1 << (BITS_OF_CELLS - bits)))
        found, size = np.empty(shape), shape // BLOCKS
        cells = np.stack(np.meshgrid(*(np.arange(BLOCKS) * size[:, None]), indexing="ij"), axis=-1).reshape(-1, 2)
        while len(cells):
            half = 0.5 * size * TURN / shape
            middles = (cells + 0.5 * size) * (TURN / shape)
            distances, bounds, _ = self._within(middles, half)
            done = (bounds >= ENOUGH) | ((bounds >= SHARE * distances) & (bounds > 0.0))
            done |= (distances < -half @ self._speeds) | (size == 1).all()  # collides everywhere, or is one cell
            _fill(found, cells[done], size, bounds[done])
            steps = [(0, part // 2) if part > 1 else (0,) for part in size.tolist()]
            size = np.maximum(size // 2, 1)
            cells = (cells[~done][:, None] + np.array([*product(*steps)])).reshape(-1, 2)
        return found

    def confirms(self, bounds: Floats | Singles) -> bool:
        """Return whether stored bounds (r, c) hold in some cells, half of them those nearest to contact.

        Parts of a cell are evaluated where the bound of the whole cell is below the stored one, which may be that of a
        block of cells.
        """
        ranked = np.argsort(np.where(bounds > 0.0, bounds, np.inf).ravel())
        chosen = np.concatenate((ranked[:CONFIRMED], np.arange(0, bounds.size, bounds.size // CONFIRMED)))
        half: Floats = 0.5 * TURN / np.array(bounds.shape, dtype=np.float64)
        cells = np.column_stack(np.unravel_index(chosen, bounds.shape))
        middles, stored = np.multiply(2 * cells + 1, half, dtype=np.float64), bounds.ravel()[chosen].astype(np.float64)
        for _ in range(MAX_DIVISIONS):
            distances, computed, _ = self._within(middles, half)
            if (stored > np.maximum(distances, 0.0) + SLACK).any():
                return False
            is_open = stored > np.maximum(computed, 0.0) + SLACK
            if not is_open.any():
                break
            half = 0.5 * half
            parts = middles[is_open, None] + half * np.array([*product((-1.0, 1.0), repeat=2)])
            middles, stored = parts.reshape(-1, 2), np.repeat(stored[is_open], 4)
        return True

    def _bits(self) -> int:
        """Return the bits of the number of cells along the inner joint. Near contact, the distance should change along
        both joints by as much from one cell to the next."""
        spacing = TURN / SAMPLES
        samples = np.stack(np.meshgrid(*2 * [np.arange(SAMPLES)], indexing="ij"), axis=-1).reshape(-1, 2)
        middles = np.multiply(samples + 0.5, spacing, dtype=np.float64)
        distances, _, speeds = self._within(middles, np.zeros(2))
        near = (distances > 0.0) & (distances < ENOUGH)
        if not near.any():
            return BITS_OF_CELLS // 2
        inner, outer = np.maximum(speeds[near].mean(axis=0), 1e-3).tolist()
        return int(np.clip(round(0.5 * (BITS_OF_CELLS + math.log2(inner / outer))), MIN_BITS, MAX_BITS))

    def _within(self, middles: Floats, half: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the distances at the middles (n, 2) of blocks of a half size (2,) [rad], lower bounds (n,) of the
        distances in each [m], and how fast the joints change these (n, 2) [m/rad]."""
        parts = [self._some_within(middles[k : k + AT_ONCE], half) for k in range(0, len(middles), AT_ONCE)]
        distances, bounds, speeds = (np.concatenate(part) for part in zip(*parts, strict=True))
        return distances, bounds, speeds

    def _some_within(self, middles: Floats, half: Floats) -> tuple[Floats, Floats, Floats]:
        approach = float(half @ self._speeds)
        configurations = np.tile(self._checker.default, (len(middles), 1))
        for column, joint in enumerate(self._joints):
            configurations[:, joint.variable] = (middles[:, column] - joint.offset) / joint.multiplier
        states, near, poses = self._checker.near_candidates_along(configurations, ENOUGH + approach)
        distances, bounds = np.full((2, len(middles)), ENOUGH)
        speeds = np.zeros((len(middles), 2))
        for state, gap, first, second in _nearest_first(states, near):
            if gap - approach >= bounds[state]:
                continue
            distance, bound, *own = self._bound(first, second, poses[state], middles[state], half)
            distances[state] = min(distances[state], distance)
            if bound < bounds[state]:
                bounds[state], speeds[state] = bound, own
        return distances, bounds, speeds

    def _bound(
        self, first: int, second: int, poses: Floats, middle: Floats, half: Floats
    ) -> tuple[float, float, float, float]:
        """Return the distance of two geometries at the different placements (p, 4, 4) of moving ones, and
        `bound_in_cell` of a block around it."""
        distance, normal = self._checker.geometry_separation(first, second, poses)
        if normal is None:
            return min(distance, 0.0), min(distance, 0.0) - SLACK, 0.0, 0.0
        if self._checker.geometry_model.object_indices[first] != self._pair.objects[0]:
            first, second, normal = second, first, -normal
        moving, other = self._geometries[first], self._geometries[second]
        arguments = moving.corners, moving.reach, other.corners, self._transforms, middle, half
        bound, inner, outer = bound_in_cell(*arguments, self._turn @ normal)
        return distance, bound - SLACK, inner, outer


def _nearest_first(states: Indices, near: Candidates) -> Iterator[tuple[int, float, int, int]]:
    """Yield candidates, nearest first for each configuration: configuration, lower bound of the distance [m], and both
    geometries."""
    order = np.lexsort((near.gaps, states))
    columns = (part[order].tolist() for part in (states, near.min_distances, near.first, near.second))
    yield from zip(*columns, strict=True)


def _rotation(model: MotionModel, joint: int, q: Floats) -> Floats:
    """Return the rotation (3, 3) of a joint of the tree in the world (-1) at a configuration (dof,)."""
    found = np.eye(3)
    for number in reversed(model.tree.ancestors(joint)):
        moving = model.tree.joints[number]
        value = moving.multiplier * float(q[moving.variable]) + moving.offset
        found = found @ (turned(moving.before, value) if moving.revolute else moving.before)[:3, :3]
    return found


def _geometry(model: MotionModel, geometry_model: GeometryModel, number: int, joints: tuple[int, int]) -> _Geometry:
    placed = geometry_model.joints[number], geometry_model.joint_T_geometry[number]
    at = model.tree.placement_of(*placed)
    corners = np.ascontiguousarray(moved_spheres(corners_of(geometry_model.geometries[number]), at.placement))
    reach, _ = model.tree.bounds(at.joint, np.ascontiguousarray(corners[:, :3]))
    return _Geometry(corners, np.ascontiguousarray(reach[:, list(joints)]))


def _fill(found: Floats, cells: Integers, size: Integers, bounds: Floats) -> None:
    """Set the bounds of blocks of `size` (2,) cells, which begin at cells (n, 2)."""
    rows, columns = (cells[:, axis, None] + np.arange(size[axis]) for axis in (0, 1))
    found[rows[:, :, None], columns[:, None, :]] = bounds[:, None, None]
