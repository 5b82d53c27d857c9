"""Closed-form inverse kinematics of six revolute joints by compiled kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import six_kernels

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
APART = 1e-2  # min sine of the angle of axes that must not be parallel
TRIED = 16  # configurations that the solver must find again
TWO_PI = 2.0 * np.pi


class Deviations(NamedTuple):
    """Max deviations of axes from an arrangement: distance of those that count as meeting [m], and sine of the angle of
    those that count as parallel; and those of solutions from the candidates that result [rad]."""

    meet: float
    parallel: float
    solution: float


SMALL = Deviations(1e-5, 1e-4, 1e-2)  # of angles in a description with at least four decimals
ROUNDED = Deviations(1e-4, 1e-3, 0.1)  # with three decimals, such as 1.571 for a right angle


class CompiledSix(NamedTuple):
    """Solver of six revolute joints; see `six_kernels.solve_six` for its parts."""

    kind: int
    axes: Array
    points: Array
    home: Array

    def candidates(self, targets: Array) -> tuple[Array, Counts]:
        """Compute candidates (c, 6) for poses of the tip (k, 4, 4), in their order, and the number of each (k,)."""
        return six_kernels.solve_six(*self, targets)


def compiled_six(axes: Array, offsets: Array, rotation: Array, allowed: Deviations = SMALL) -> CompiledSix | None:
    """Return a solver of six revolute joints if the kernels know their kind, otherwise None.

    Either the first or the last three axes meet in a point, and of the others the two farther from it meet, or the two
    nearer to it are parallel (`spherical_kernels`). Or the second to fourth are parallel, and the last two meet
    (`parallel_kernels`). Axes may deviate from this, so that solutions have to be refined.

    Args:
        axes, offsets: Axes (3, 6), and offsets between origins (3, 7), at zero joint values.
        rotation: Rotation (3, 3) of the tip at zero joint values.
        allowed: Max deviations of the axes.
    """
    home = np.eye(4)
    home[:3, :3], home[:3, 3] = rotation, offsets.sum(axis=1)
    directions, origins = axes.T.copy(), np.cumsum(offsets, axis=1).T[:6].copy()
    for solve in _solvers(directions, origins, home, allowed):
        if _finds_again(solve, directions, origins, home, allowed.solution):
            return solve
    return None


def _solvers(axes: Array, origins: Array, home: Array, allowed: Deviations) -> Iterator[CompiledSix]:
    """Yield solvers for screws (6, 3) whose axes are arranged as they need it."""
    for backwards in (0, six_kernels.BACKWARDS):
        order = slice(None, None, -1) if backwards else slice(None)
        ordered = np.ascontiguousarray(axes[order])
        found = _points(ordered, origins[order], allowed)
        if found is not None:
            parallel = six_kernels.PARALLEL if found[1] else 0
            yield CompiledSix(six_kernels.SPHERICAL + parallel + backwards, ordered, found[0], home)
    points = _points_of_parallel(axes, origins, allowed)
    if points is not None:
        yield CompiledSix(six_kernels.THREE_PARALLEL, axes, points, home)


def _finds_again(solve: CompiledSix, axes: Array, origins: Array, home: Array, deviation: float) -> bool:
    """Return whether configurations are among the candidates of their poses, up to a deviation [rad]."""
    configurations = np.random.Generator(np.random.PCG64(0)).uniform(-3.0, 3.0, (TRIED, 6))
    rows, counts = solve.candidates(np.array([_pose(axes, origins, home, q) for q in configurations]))
    for q, found in zip(configurations, np.split(rows, np.cumsum(counts)[:-1]), strict=True):
        gaps = found - q
        gaps -= TWO_PI * np.round(gaps / TWO_PI)
        if not len(found) or np.abs(gaps).max(axis=1).min() > deviation:
            return False
    return True


def _pose(axes: Array, origins: Array, home: Array, q: Array) -> Array:
    """Return the pose (4, 4) of the tip: the product of the joints' screws with the pose at zero."""
    result = home.copy()
    for axis, origin, angle in reversed(list(zip(axes, origins, q.tolist(), strict=True))):
        cross = np.cross(np.eye(3), axis)
        rotation = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        result[:3, :3] = rotation @ result[:3, :3]
        result[:3, 3] = origin + rotation @ (result[:3, 3] - origin)
    return result


def _points(axes: Array, origins: Array, allowed: Deviations) -> tuple[Array, bool] | None:
    """Return points (6, 3) on the axes as `solve_spherical` needs them, and whether axes 4 and 5 are parallel; None if
    the first three axes do not meet, or neither the others."""
    if min(_sine(axes[0], axes[1]), _sine(axes[1], axes[2])) < APART:
        return None
    centre = _meeting_point(axes[:2], origins[:2])
    if max(_distance(centre, axes[row], origins[row]) for row in range(3)) > allowed.meet:
        return None
    points = origins.copy()
    points[:3] = centre
    if _sine(axes[3], axes[4]) < allowed.parallel:
        return points, True
    if _sine(axes[4], axes[5]) < APART:
        return None
    points[4:] = _meeting_point(axes[4:], origins[4:])
    if max(_distance(points[4], axes[row], origins[row]) for row in (4, 5)) > allowed.meet:
        return None
    return points, False


def _points_of_parallel(axes: Array, origins: Array, allowed: Deviations) -> Array | None:
    """Return points (6, 3) on the axes as `solve_three_parallel` needs them; None if the axes are not arranged so."""
    if max(_sine(axes[1], axes[2]), _sine(axes[1], axes[3])) > allowed.parallel or _sine(axes[4], axes[5]) < APART:
        return None
    points = origins.copy()
    points[4:] = _meeting_point(axes[4:], origins[4:])
    return points if max(_distance(points[4], axes[row], origins[row]) for row in (4, 5)) <= allowed.meet else None


def _sine(first: Array, second: Array) -> float:
    return float(np.linalg.norm(np.cross(first, second)))


def _distance(point: Array, axis: Array, origin: Array) -> float:
    """Return the distance of a point from an axis [m]."""
    return float(np.linalg.norm(np.cross(point - origin, axis)))


def _meeting_point(axes: Array, origins: Array) -> Array:
    """Return the point (3,) nearest to two axes (2, 3) that are not parallel."""
    projections = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    total = projections.sum(axis=0)
    return np.asarray(np.linalg.solve(total, np.einsum("kij,kj->i", projections, origins)))
