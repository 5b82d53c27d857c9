"""Tests whether motions between samples of a Cartesian path stay on one branch of inverse kinematics solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....trajectory.limits import Array
from ..path.samples import Samples
from ..tracking.ik_tracker import IkTracker

# On one branch, joints at the midpoint of a motion deviate from their mean by at most this fraction of the motion.
MIDPOINT_FRACTION = 0.25
ROUNDING = 1e-6  # [rad or m]
HALVINGS = 7  # max bisections of a motion


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions between samples.

    Attributes:
        first, last: Configurations (k, dof).
        begins, ends: Samples (k,), -1 for the start.
        origins: Index (k,) of the original motion that each is part of.
    """

    first: Array
    last: Array
    begins: NDArray[np.intp]
    ends: NDArray[np.intp]
    origins: NDArray[np.intp]

    def selected(self, rows: NDArray[np.bool_]) -> Motions:
        return Motions(self.first[rows], self.last[rows], self.begins[rows], self.ends[rows], self.origins[rows])


def leaves_branch(
    tracker: IkTracker, samples: Samples, motions: Motions, path: Array | None = None
) -> NDArray[np.bool_]:
    """Return for each motion (k,), by origin, whether it meets an unreachable sample or leaves its branch. path: As for
    `subdivide`.
    """
    subdivided, broken = subdivide(tracker, samples, motions, path)
    broken[subdivided.origins[~on_one_branch(tracker, samples, subdivided)]] = True
    return broken


def subdivide(
    tracker: IkTracker, samples: Samples, motions: Motions, path: Array | None = None
) -> tuple[Motions, NDArray[np.bool_]]:
    """Bisect motions (at least one) until each connects consecutive samples.

    Args:
        path: Output of the configurations of all samples, including the start.

    Returns:
        The motions, and for each origin (k,) whether it meets an unreachable sample.
    """
    broken = np.zeros(int(motions.origins.max(initial=-1)) + 1, dtype=bool)
    done: list[Motions] = []
    while len(motions.origins):
        tracker.check_limits()
        undivided = motions.ends - motions.begins <= 1
        done.append(motions.selected(undivided))
        motions = motions.selected(~undivided & ~broken[motions.origins])
        midpoints = (motions.begins + motions.ends) // 2
        fraction = ((midpoints - motions.begins) / (motions.ends - motions.begins))[:, None]
        guess = motions.first + fraction * (motions.last - motions.first)
        found, converged = tracker.solve_from(guess, samples.poses[midpoints])
        if path is not None:
            path[midpoints + 1] = found
        broken[motions.origins[~converged]] = True
        motions = Motions(
            np.vstack((motions.first, found)),
            np.vstack((found, motions.last)),
            np.append(motions.begins, midpoints),
            np.append(midpoints, motions.ends),
            np.tile(motions.origins, 2),
        )
    columns = zip(*((m.first, m.last, m.begins, m.ends, m.origins) for m in done), strict=True)
    return Motions(*(np.concatenate(column) for column in columns)), broken


def on_one_branch(tracker: IkTracker, samples: Samples, motions: Motions) -> NDArray[np.bool_]:
    """Return for each motion (k,) between consecutive samples whether it stays on one branch: after sufficient
    bisection, the solution at the midpoint is close to the mean of the ends.
    """
    on_branch = np.ones(len(motions.origins), dtype=bool)
    edges = samples.part(len(samples.segments))
    first, last, origins = motions.first, motions.last, np.arange(len(on_branch))
    segments, begins, ends = edges.segments[motions.ends], edges.begins[motions.ends], edges.ends[motions.ends]
    for _ in range(HALVINGS):
        tracker.check_limits()
        fractions = 0.5 * (begins + ends)
        means = 0.5 * (first + last)
        midpoints, converged = tracker.solve_from(means, tracker.cartesian_path.poses(segments, fractions))
        is_near = (
            np.abs(midpoints - means).max(axis=1) <= MIDPOINT_FRACTION * np.abs(last - first).max(axis=1) + ROUNDING
        )
        on_branch[origins[~converged]] = False
        again = converged & ~is_near & on_branch[origins]
        if not again.any():
            return on_branch
        first, last = np.vstack((first[again], midpoints[again])), np.vstack((midpoints[again], last[again]))
        begins, ends = np.append(begins[again], fractions[again]), np.append(fractions[again], ends[again])
        segments, origins = np.tile(segments[again], 2), np.tile(origins[again], 2)
    on_branch[origins] = False
    return on_branch
