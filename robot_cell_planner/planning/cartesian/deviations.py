"""Deviations of a timed Cartesian motion, a smooth curve through the points of its path, from the path of the frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...trajectory.limits import Array
from ...trajectory.trajectory import Trajectory
from .tracking.ik_tracker import IkTracker

REPORTED = 1.01  # fraction of a limit from which on a deviation is reported
BESIDE = (0, -1, 1)  # motions that are compared, from the one that is passed at the time


def places_on_path(path: Array, passing_times: Array, times: Array, positions: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the places on a path (k, dof) nearest to configurations (n, dof) of its timed motion: indices of the
    motions between points (n,) and fractions of these (n,). Only motions that are passed at about the same times count.

    passing_times: Times at which the points are passed (k,) [s].
    """
    last = len(path) - 2
    passed = np.clip(np.searchsorted(passing_times, times, side="right") - 1, 0, last)
    found, fractions, nearest = passed.copy(), np.zeros(len(times)), np.full(len(times), np.inf)
    for offset in BESIDE:
        rows = np.clip(passed + offset, 0, last)
        steps, offsets = path[rows + 1] - path[rows], positions - path[rows]
        squares = np.maximum(np.sum(steps**2, axis=1), np.finfo(np.float64).tiny)
        along = np.clip(np.sum(offsets * steps, axis=1) / squares, 0.0, 1.0)
        away = np.sum((along[:, None] * steps - offsets) ** 2, axis=1)
        nearer = away < nearest
        found[nearer], fractions[nearer], nearest[nearer] = rows[nearer], along[nearer], away[nearer]
    return found, fractions


def deviation_warnings(tracker: IkTracker, trajectory: Trajectory, passing_times: Array) -> tuple[str, ...]:
    """Return warnings about requested limits on deviations that the points of a path keep, but not its timed motion at
    and halfway between its samples.
    """
    options, path = tracker.options, tracker.path()
    limits = (options.max_deviation, "m", "max_deviation"), (options.max_deviation_angle, "rad", "max_deviation_angle")
    if len(path) < 2 or not any(limit for limit, _, _ in limits):
        return ()
    times = np.sort(np.concatenate((trajectory.times, 0.5 * (trajectory.times[:-1] + trajectory.times[1:]))))
    positions = trajectory.at(times)
    rows, along = places_on_path(path, passing_times, times, positions)
    edges = tracker.edges()
    fractions = edges.begins[rows] + along * (edges.ends - edges.begins)[rows]
    poses = tracker.problem.chain.forward_many(positions)
    measured = tracker.cartesian_path.distances(edges.segments[rows], fractions, poses)
    found: tuple[str, ...] = ()
    for values, (limit, unit, name) in zip(measured, limits, strict=True):
        worst = int(values.argmax())
        if limit and values[worst] > REPORTED * limit:
            text = f"the trajectory deviates by {values[worst]:.3g} {unit} from the path at {times[worst]:.3g} s"
            found += (f"{text}, {name} is {limit:g}: the points keep it, but not the curve through them",)
    return found
