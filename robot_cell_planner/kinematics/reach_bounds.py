"""Upper bounds of the reach of serial chains, which prove that a target is out of reach without a search.

A point on the axis of a revolute joint is fixed in both links that the joint connects. Hence the distance between
points on the axes of consecutive joints is the same in all configurations, and the distance between a point on the
first axis and one of the last link is at most the sum of these distances. The points are chosen such that the sum is
small. Prismatic joints before the first revolute one, such as rails, move the first point in directions that do not
change, and do not change distances perpendicular to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ._kernels.chain_kernels import KIND

Array = NDArray[np.float64]
MAX_ITERATIONS, ENOUGH = 60, 1e-4  # [m] a sum that an iteration shortens by less is short enough
SMOOTHING = 1e-4  # [m] weights of shorter lengths are those of this one
RIDGE = 1e-9  # selects one of equal points, as on parallel axes
ROUNDING = 1e-9  # [m] allowance for rounding errors of lengths
MAX_CACHED = 512  # bounds
PARALLEL = 1e-12  # directions of prismatic joints that differ by less are equal, but for rounding errors


@dataclass(frozen=True, eq=False)
class ReachBound:
    """A point of the tip is at most at a distance from a point of the base, in all configurations.

    Attributes:
        origin: Point (3,) on the first revolute axis, in the base.
        point: Point (3,) of the tip, in its frame.
        length: Max distance of the two [m], perpendicular to the prismatic joints before that axis.
        perpendicular: Projection (3, 3) that removes the directions of these joints; None without any.
    """

    origin: Array
    point: Array
    length: float
    perpendicular: Array | None

    def excess(self, target: Array) -> float:
        """Return by how much the point is beyond the bound when the tip is at a target (4, 4) [m]; at most 0 if
        nothing is proven."""
        offset = target[:3, :3] @ self.point + target[:3, 3] - self.origin
        if self.perpendicular is not None:
            offset = self.perpendicular @ offset
        return float(np.linalg.norm(offset)) - self.length


def reach_bounds(table: Array) -> tuple[ReachBound, ...]:
    """Return bounds for the origin of the tip, and for a point on the last axis, of a chain (m + 1, 16).

    There are none for chains without revolute joints, or with prismatic ones after them: their reach depends on limits.
    """
    revolute = np.flatnonzero(table[:-1, KIND] == 0.0)
    if not len(revolute) or len(revolute) != len(table) - 1 - revolute[0]:
        return ()
    first = int(revolute[0])
    poses = list(accumulate(map(_transform, table[: first + 1]), np.matmul))
    perpendicular = _perpendicular(np.column_stack([pose[:3, 2] for pose in poses[:-1]])) if first else None
    rotation, origin = poses[-1][:3, :3], poses[-1][:3, 3]
    links = table[first + 1 :, :KIND].tobytes()
    return tuple(
        ReachBound(origin + place * rotation[:, 2], point, length, perpendicular)
        for place, point, length in (_bound(links, to_tip=True), _bound(links, to_tip=False))
    )


def _perpendicular(directions: Array) -> Array:
    """Return the projection (3, 3) that removes directions (3, k). Its basis is orthonormal also if some of them are
    nearly parallel, as those of telescopic stages; a pseudoinverse would amplify rounding errors."""
    basis, sizes, _ = np.linalg.svd(directions, full_matrices=False)
    removed = basis[:, sizes > PARALLEL]
    return np.asarray(np.eye(3) - removed @ removed.T)


def _transform(row: Array) -> Array:
    """Return the fixed transform (4, 4) of a row of a chain."""
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = row[:9].reshape(3, 3), row[9:12]
    return result


@lru_cache(maxsize=MAX_CACHED)
def _bound(links: bytes, to_tip: bool) -> tuple[float, Array, float]:
    """Return the bound for the origin of the tip, or for a point on the last axis, of a chain of revolute joints: the
    position of the point on the first axis [m], the point of the tip (3,) and the max distance of both [m].

    links: Fixed transforms after the first joint (m, 12), as in a chain. What is below that joint does not matter, so
    that chains on other bases share the bounds.
    """
    table = np.frombuffer(links).reshape(-1, KIND)
    rotations, translations = table[:, :9].reshape(-1, 3, 3), table[:, 9:]
    joints = len(table)
    # The link after joint j connects (0, 0, s[j]) with translations[j] + s[j + 1] * z[j + 1], in its frame.
    count = joints if to_tip else joints - 1
    slopes = np.zeros((count, 3, joints))
    for link in range(count):
        slopes[link, 2, link] = -1.0
        if link + 1 < joints:
            slopes[link, :, link + 1] += rotations[link, :, 2]
    offsets = translations[:count]
    places = _shortest(slopes, offsets)
    length = float(np.linalg.norm(slopes @ places + offsets, axis=1).sum()) + ROUNDING
    on_last_axis = np.array((0.0, 0.0, places[-1]))
    point = np.zeros(3) if to_tip else rotations[-1].T @ (on_last_axis - translations[-1])
    point.setflags(write=False)
    return float(places[0]), point, length


def _shortest(slopes: Array, offsets: Array) -> Array:
    """Return the x (n,) that make the sum of the norms of `slopes` (k, 3, n) @ x + `offsets` (k, 3) small, by
    iteratively reweighted least squares (Weiszfeld, 1937)."""
    found: Array = np.zeros(slopes.shape[2])
    before, lengths = np.inf, np.linalg.norm(offsets, axis=1)
    for _ in range(MAX_ITERATIONS):
        if lengths.sum() > before - ENOUGH:
            break
        before = lengths.sum()
        weighted = slopes / np.sqrt(lengths * lengths + SMOOTHING * SMOOTHING)[:, None, None]
        matrix = np.tensordot(weighted, slopes, axes=((0, 1), (0, 1))) + RIDGE * np.eye(len(found))
        right = np.tensordot(weighted, offsets, axes=((0, 1), (0, 1)))
        found = -np.linalg.solve(matrix, right).astype(np.float64)
        lengths = np.linalg.norm(slopes @ found + offsets, axis=1)
    return found
