"""The part of a trajectory that is still ahead."""

from __future__ import annotations

import numpy as np

from .limits import Array
from .trajectory import Trajectory


def remaining(trajectory: Trajectory, begin: float, max_points: int | None = None) -> Trajectory | None:
    """Return the part of a trajectory from a time [s] on, with the times of the whole; None from its end on.

    The curve is the same: velocities and accelerations are those of the whole trajectory.

    Args:
        max_points: Maximum number of samples, so that the part may end before the trajectory does; None: all.
    """
    if begin >= trajectory.duration:
        return None
    whole = trajectory.completed()
    first = int(np.searchsorted(whole.times, begin + 1e-9, side="right"))
    last = len(whole) if max_points is None else min(first + max_points - 1, len(whole))

    def rows(order: int, given: Array | None) -> Array:
        assert given is not None
        return np.concatenate([whole.at([begin], order), given[first:last]])

    return Trajectory(
        whole.variables,
        np.concatenate([[begin], whole.times[first:last]]),
        rows(0, whole.positions),
        rows(1, whole.velocities),
        rows(2, whole.accelerations),
    )
