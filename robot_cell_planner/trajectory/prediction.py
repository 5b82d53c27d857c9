"""Where motions that are under way at the same time will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .limits import Array
from .trajectory import Trajectory

SHORTEST = 1e-3  # [s] of a path that is worth a prediction
SHORTEST_PIECE = 1e-5  # [s] of a curve, whose accelerations are not those of rounding


@dataclass(frozen=True, eq=False)
class Progress:
    """A motion under way: its trajectory, the time reached along it [s], and its speed scale, 0 if it stands."""

    trajectory: Trajectory
    reached: float
    scale: float


def ahead(motion: Progress, horizon: float, max_points: int) -> Trajectory | None:
    """Return the part of the trajectory of a motion that lies within a time ahead [s], along the same curve. None if
    the motion stands, or is at its end, or if the part has more samples than `max_points`."""
    whole, begin = motion.trajectory.completed(), motion.reached
    end = min(begin + horizon * motion.scale, whole.duration)
    if not motion.scale > 0.0 or end - begin < SHORTEST * motion.scale:
        return None
    first, last = np.searchsorted(whole.times, [begin + SHORTEST_PIECE, end - SHORTEST_PIECE]).tolist()
    if last - first + 2 > max_points:
        return None
    times = np.concatenate([[begin], whole.times[first:last], [end]])
    return Trajectory(whole.variables, times, *(whole.at(times, order) for order in range(3)))


def predicted(motion: Progress, others: Sequence[Progress], horizon: float, points: int) -> Trajectory | None:
    """Return where a motion, and others of different joints, will be if their speed scales stay as they are.

    Args:
        horizon: Time ahead [s].
        points: Number of samples, at equal intervals.

    Returns:
        A trajectory of all joints, in the time of the trajectory of the first motion; the others are at rest after
        their ends. None if that motion stands, or is at its end.
    """
    whole, begin = motion.trajectory, motion.reached
    end = min(begin + horizon * motion.scale, whole.duration)
    if not motion.scale > 0.0 or end - begin < SHORTEST * motion.scale:
        return None
    times = np.linspace(begin, end, points)
    passed = (times - begin) / motion.scale
    rows = [
        np.hstack([whole.at(times, order), *(_later(other, passed, motion.scale, order) for other in others)])
        for order in range(3)
    ]
    names = (*whole.variables, *(name for other in others for name in other.trajectory.variables))
    return Trajectory(names, times, *rows)


def _later(motion: Progress, passed: Array, unit: float, order: int) -> Array:
    """Return derivatives (n, dof) of a motion after times [s], with respect to a time that passes at a rate `unit`."""
    trajectory = motion.trajectory
    times = motion.reached + motion.scale * passed
    rows = trajectory.at(np.minimum(times, trajectory.duration), order) * (motion.scale / unit) ** order
    if order:
        rows[times >= trajectory.duration] = 0.0
    return rows
