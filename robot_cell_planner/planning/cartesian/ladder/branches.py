"""Whether motions between places of a route stay on one branch of inverse kinematic solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....trajectory.limits import Array
from ..path.samples import Samples
from ..tracking.ik_tracker import IkTracker

# Halfway along a motion on one branch, joints are nearer to their mean than this share of the motion.
MIDDLE_SHARE = 0.25
ROUNDING = 1e-6  # [rad or m]
HALVINGS = 7  # of a motion to see whether it stays on one branch


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions between samples: configurations first, last (k, dof), samples begins, ends (k,), -1 for the start, and
    which of some longer motions each is part of, origins (k,)."""

    first: Array
    last: Array
    begins: NDArray[np.intp]
    ends: NDArray[np.intp]
    origins: NDArray[np.intp]

    def chosen(self, rows: NDArray[np.bool_]) -> Motions:
        return Motions(self.first[rows], self.last[rows], self.begins[rows], self.ends[rows], self.origins[rows])


def off_branch(follower: IkTracker, samples: Samples, motions: Motions, path: Array | None = None) -> NDArray[np.bool_]:
    """Whether each of some motions (k,), numbered by their origins, meets a sample that cannot be reached or leaves its
    branch on the way. path: as for `cut`."""
    fine, broken = cut(follower, samples, motions, path)
    broken[fine.origins[~on_one_branch(follower, samples, fine)]] = True
    return broken


def cut(
    follower: IkTracker, samples: Samples, motions: Motions, path: Array | None = None
) -> tuple[Motions, NDArray[np.bool_]]:
    """Motions (at least one) cut in halves until each leads from one sample to the next, and whether each (k,), by
    its origin, meets a sample that cannot be reached. path: takes the configurations of all, the start first."""
    broken = np.zeros(int(motions.origins.max(initial=-1)) + 1, dtype=bool)
    done: list[Motions] = []
    while len(motions.origins):
        follower.check_limits()
        whole = motions.ends - motions.begins <= 1
        done.append(motions.chosen(whole))
        motions = motions.chosen(~whole & ~broken[motions.origins])
        middles = (motions.begins + motions.ends) // 2
        share = ((middles - motions.begins) / (motions.ends - motions.begins))[:, None]
        guess = motions.first + share * (motions.last - motions.first)
        found, got_there = follower.approached(guess, samples.poses[middles])
        if path is not None:
            path[middles + 1] = found
        broken[motions.origins[~got_there]] = True
        motions = Motions(
            np.vstack((motions.first, found)),
            np.vstack((found, motions.last)),
            np.append(motions.begins, middles),
            np.append(middles, motions.ends),
            np.tile(motions.origins, 2),
        )
    columns = zip(*((m.first, m.last, m.begins, m.ends, m.origins) for m in done), strict=True)
    return Motions(*(np.concatenate(column) for column in columns)), broken


def on_one_branch(follower: IkTracker, samples: Samples, motions: Motions) -> NDArray[np.bool_]:
    """Whether each motion (k,) from one sample to the next stays on one branch of solutions: cut finely enough, the
    solution halfway is near to the mean of its ends."""
    stays = np.ones(len(motions.origins), dtype=bool)
    edges = samples.part(len(samples.pieces))
    first, last, origins = motions.first, motions.last, np.arange(len(stays))
    pieces, begins, ends = edges.pieces[motions.ends], edges.begins[motions.ends], edges.ends[motions.ends]
    for _ in range(HALVINGS):
        follower.check_limits()
        shares = 0.5 * (begins + ends)
        means = 0.5 * (first + last)
        middles, got_there = follower.approached(means, follower.route.poses(pieces, shares))
        near = np.abs(middles - means).max(axis=1) <= MIDDLE_SHARE * np.abs(last - first).max(axis=1) + ROUNDING
        stays[origins[~got_there]] = False
        again = got_there & ~near & stays[origins]
        if not again.any():
            return stays
        first, last = np.vstack((first[again], middles[again])), np.vstack((middles[again], last[again]))
        begins, ends = np.append(begins[again], shares[again]), np.append(shares[again], ends[again])
        pieces, origins = np.tile(pieces[again], 2), np.tile(origins[again], 2)
    stays[origins] = False
    return stays
