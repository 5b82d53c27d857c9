"""Motion of the planned robot and of moving robots together: proof, checks and clearance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...collision.certification.certificate import Verdict
from ...collision.certification.certifier import MotionCertifier
from ...collision.certification.motion_bounds import rigid_bodies
from ...collision.certification.paths import certify_trajectory
from ...collision.checker import CollisionChecker
from ...errors import TrajectoryInCollisionError, Value
from ...trajectory.curves import PolynomialCurve
from ...trajectory.limits import Array
from ...trajectory.merging import merged_curve
from ...trajectory.trajectory import Trajectory
from ..problem.collision_checks import BATCH_SIZE, pair_names
from ..problem.plan import PathClearance

ROUNDING = 1e-9  # [rad or m]
CLEARANCE_STEP = 0.05  # [rad or m]


@dataclass(frozen=True, eq=False)
class Proof:
    """Proof about a motion.

    Attributes:
        fraction: Fraction of the motion that is proven free, by length in the joint space of all robots; NaN if nothing
            can be proven.
        collision: Time of a collision that was found [s]; NaN if there is none.
    """

    fraction: float
    collision: float = math.nan


class JointMotion:
    """Trajectory of the planned joints together with trajectories of moving robots, until the last one ends.

    Args:
        checker: Checker of the planned joints followed by those of the moving robots.
        trajectory: Trajectory of the planned joints.
        moving: Trajectories of the moving robots.
        on_step: Called regularly during checks; may raise to end them.
    """

    def __init__(
        self,
        checker: CollisionChecker,
        trajectory: Trajectory,
        moving: tuple[Trajectory, ...],
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        self.checker = checker
        self._on_step = on_step
        self.trajectory = trajectory
        self._all = (trajectory, *moving)

    @cached_property
    def curve(self) -> PolynomialCurve:
        """Curve of all joints, as it is streamed."""
        return merged_curve(self._all)

    @cached_property
    def _displacements(self) -> Array:
        return self.curve.displacement_bounds()

    @cached_property
    def _ends(self) -> Array:
        """Joint values (m + 1, dof) at the breaks."""
        return np.concatenate((self.curve.coefficients[:, 0], self.curve.evaluate(self.curve.breaks[-1:])))

    def proof(self, certifier: MotionCertifier | None) -> Proof:
        """Certify the motion: by spheres in the intervals between samples, else by exact distances."""
        if certifier is None:
            return Proof(math.nan)
        free = np.zeros(len(self._displacements), dtype=bool)
        if certifier.sphere_test_applies():
            ends = self._ends
            beyond = 0.5 * (self._displacements - np.abs(np.diff(ends, axis=0))) + ROUNDING
            low, high = np.minimum(ends[:-1], ends[1:]) - beyond, np.maximum(ends[:-1], ends[1:]) + beyond
            free = certifier.check_boxes(0.5 * (low + high), 0.5 * (high - low)) == 0
        for first, last in _runs(~free):
            self._on_step()
            breaks = self.curve.breaks[first : last + 1]
            found = certify_trajectory(certifier, breaks - breaks[0], self.curve.coefficients[first:last])
            if found.verdict is Verdict.COLLIDING:
                return Proof(0.0, float(np.interp(found.place, np.arange(len(breaks)), breaks)))
            free[first:last] = [verdict is Verdict.FREE for verdict in found.segments]
        lengths = np.linalg.norm(np.diff(self._ends, axis=0), axis=1)
        return Proof(1.0 if free.all() else float(lengths[free].sum() / max(lengths.sum(), ROUNDING)))

    def check_states(self, step: float) -> int:
        """Check states at most `step` [rad or m] apart in any joint; return their number.

        Raises:
            TrajectoryInCollisionError: A state collides, with the pair and the time.
        """
        count = 0
        for times in self._times(step):
            self._on_step()
            hits = np.flatnonzero(self.checker.in_collision_batch(self.curve.evaluate(times)))
            if len(hits):
                raise self.collision_at(float(times[hits[0]]))
            count += len(times)
        return count

    def collision_at(self, time: float) -> TrajectoryInCollisionError:
        """Return the error of a collision at a time [s]."""
        names = pair_names(self.checker, self.curve.evaluate(np.array([time]))[0])
        text = f"the motion is in collision between {' and '.join(names)} at {time:.4f} s"
        values = (Value("time", time, None, "s"),)
        return TrajectoryInCollisionError(text, stage="moving robots", subjects=names, values=values)

    def clearance(self, path: Array) -> PathClearance | None:
        """Return the closest approach over the whole time, of pairs that the robots may move relative to each other;
        None without any.

        path: Waypoints (n, dof) that the trajectory of the planned joints passes, for the place of the result.
        """
        passing = _passing_times(self.trajectory, path)
        self._on_step()
        times = np.concatenate(list(self._times(CLEARANCE_STEP)))
        states = self.curve.evaluate(times)
        found = self.checker.closest_of(states, bodies=rigid_bodies(self.checker))
        if found is None:
            return None
        index, closest = found
        place = float(np.interp(times[index], passing, np.arange(len(passing))))
        return PathClearance(place, tuple(states[index, : len(self.trajectory.variables)].tolist()), closest)

    def _times(self, step: float) -> Iterator[Array]:
        """Return times [s] such that no joint moves further than `step` between two of them, in batches: a long motion
        at a fine step has more states than memory."""
        moved = np.concatenate(([0.0], np.cumsum(self._displacements.max(axis=1))))
        count = max(1, math.ceil(float(moved[-1]) / step))
        for first in range(0, count + 1, BATCH_SIZE):
            numbers = np.arange(first, min(first + BATCH_SIZE, count + 1))
            places = np.where(numbers < count, numbers * (moved[-1] / count), moved[-1])
            yield np.interp(places, moved, self.curve.breaks)


def _passing_times(trajectory: Trajectory, path: Array) -> Array:
    """Return the times (n,) [s] of the samples nearest to waypoints (n, dof), in their order."""
    found: list[int] = [0]
    for waypoint in path[1:]:
        away = np.abs(trajectory.positions[found[-1] :] - waypoint).max(axis=1)
        found.append(found[-1] + int(np.argmin(away)))
    return trajectory.times[found]


def _runs(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the ranges (first, last + 1) of consecutive chosen entries."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]
