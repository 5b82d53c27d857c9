"""The ladder graph of a route: solutions of inverse kinematics as rungs, motions between neighbouring rungs as edges.

The cheapest way up is found by dynamic programming. Whether solutions and motions are free of collision is not known
at first: they are taken to be, and what turns out not to be is taken out before the next climb (lazy evaluation, as in
Dellin and Srinivasa, A Unifying Formalism for Shortest Path Problems with Expensive Edge Evaluations via Lazy
Best-First Search over Paths with Edge Selectors, 2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....kinematics._kernels import wrapping_kernels
from ....kinematics.ik.problem import Joints
from ....trajectory.limits import Array
from .ladder_kernels import climb

# Largest step of a joint from rung to rung [rad], [m]: what moves further has changed its branch.
REACH_ANGULAR, REACH_LINEAR = 0.5 * np.pi, 0.5
# Nearer to a limit than this [rad], [m] is to be avoided,
MARGIN_ANGULAR, MARGIN_LINEAR = 0.1, 0.02
# and so is a manipulability below this share of the best on the route;
SINGULAR_SHARE = 0.1
# each at this cost [rad or m] a rung.
AVOIDANCE = 0.05
UNKNOWN, FREE, BLOCKED = 0, 1, 2
NONE_DENIED = np.zeros((0, 0), dtype=bool)
TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class Reached:
    """What is reached on a rung: configurations (l, n), costs (l,), from which below (l,), of which solution (l,)."""

    configurations: Array
    costs: Array
    parents: NDArray[np.int64]
    owners: NDArray[np.int64]


class Ladder:
    """Rungs of solutions, from the start (rung 0) to the end.

    nodes: by rung, (c, n). verdicts: by rung, (c,) of UNKNOWN, FREE and BLOCKED. reached: by rung, up to the highest
    one that can be reached.
    """

    def __init__(
        self, starts: Array, rungs: list[Array], manipulabilities: list[Array], joints: Joints, reach: Array
    ) -> None:
        """starts (c, n): where it may begin, in the turns given. rungs: solutions from rung 1 on, with their
        manipulabilities (c,). reach (n,): largest step of each joint from rung to rung."""
        self.nodes = [starts, *rungs]
        self.verdicts = [np.zeros(len(nodes), dtype=np.int8) for nodes in self.nodes]
        best = max((float(values.max(initial=0.0)) for values in manipulabilities), default=0.0)
        self._wanted = max(SINGULAR_SHARE * best, 1e-300)
        self.penalties = [np.zeros(len(starts)), *(self._penalties(values) for values in manipulabilities)]
        self._denied: dict[int, NDArray[np.bool_]] = {}
        self._joints = joints
        angular = joints.angular > 0.0
        self._reach = np.minimum(reach, np.where(angular, REACH_ANGULAR, REACH_LINEAR))
        self._margins = np.where(angular, MARGIN_ANGULAR, MARGIN_LINEAR)
        self.reached: list[Reached] = []
        self._valid = 0  # rungs whose `reached` still holds

    def _penalties(self, manipulabilities: Array) -> Array:
        return AVOIDANCE * np.maximum(0.0, 1.0 - manipulabilities / self._wanted) ** 2

    @property
    def top(self) -> int:
        return len(self.nodes) - 1

    def climb(self) -> int:
        """Find what can be reached, as far as it is known; the highest rung reached, -1 if there is no start."""
        if self._valid == 0:
            starts = np.flatnonzero(self.verdicts[0] != BLOCKED)
            chosen = np.ascontiguousarray(self.nodes[0][starts])
            count = len(starts)
            self.reached = [Reached(chosen, np.zeros(count), np.full(count, -1, dtype=np.int64), starts)]
        else:
            del self.reached[self._valid :]
        while len(self.reached) <= self.top and len(self.reached[-1].costs):
            self.reached.append(self._step(len(self.reached)))
        self._valid = len(self.reached)
        return self._valid - 1 if len(self.reached[-1].costs) else self._valid - 2

    def _step(self, rung: int) -> Reached:
        below = self.reached[-1]
        denied = self._denied.get(rung, NONE_DENIED)
        found = climb(
            below.configurations, below.costs, below.owners, self.nodes[rung], self.verdicts[rung] != BLOCKED,
            self.penalties[rung], denied, self._joints.limits, self._joints.angular, self._reach, self._margins,
            AVOIDANCE,
        )  # fmt: skip
        return Reached(*found)

    def cheapest(self, rung: int) -> tuple[Array, NDArray[np.int64]]:
        """The cheapest way up to a rung that is reached: configurations (rung + 1, n), and their solutions
        (rung + 1,)."""
        index = int(np.argmin(self.reached[rung].costs))
        configurations, owners = [], []
        for reached in reversed(self.reached[: rung + 1]):
            configurations.append(reached.configurations[index])
            owners.append(int(reached.owners[index]))
            index = int(reached.parents[index])
        return np.array(configurations[::-1]), np.array(owners[::-1], dtype=np.int64)

    def judge(self, rung: int, verdicts: NDArray[np.int8]) -> None:
        """Set what is known of the solutions of a rung (c,)."""
        if ((verdicts == BLOCKED) & (self.verdicts[rung] != BLOCKED)).any():
            self._valid = min(self._valid, rung)
        self.verdicts[rung] = verdicts

    def neighbours(self, rung: int) -> NDArray[np.intp]:
        """Solutions on the rung below and on this one (k, 2) that a motion may connect as far as it is known, neither
        of them blocked."""
        below, here = self.nodes[rung - 1], self.nodes[rung]
        gaps = here[None] - below[:, None]
        gaps -= TURN * np.round(gaps / TURN) * (self._joints.angular > 0.0)
        near = (np.abs(gaps) <= self._reach).all(axis=2)
        if rung in self._denied:
            near &= ~self._denied[rung]
        near &= (self.verdicts[rung - 1] != BLOCKED)[:, None] & (self.verdicts[rung] != BLOCKED)
        return np.argwhere(near)

    def deny(self, rung: int, pairs: NDArray[np.intp]) -> None:
        """Take out motions from solutions on the rung below to solutions on this rung: pairs (k, 2)."""
        shape = (len(self.nodes[rung - 1]), len(self.nodes[rung]))
        denied = np.zeros(shape, dtype=bool)
        known = self._denied.get(rung, NONE_DENIED)
        denied[: known.shape[0], : known.shape[1]] = known
        denied[pairs[:, 0], pairs[:, 1]] = True
        self._denied[rung] = denied
        self._valid = min(self._valid, rung)

    def add(self, rung: int, q: Array, manipulability: float) -> bool:
        """Add a solution (n,) to a rung; whether it is new there."""
        known = self.nodes[rung]
        if not wrapping_kernels.is_new(known, len(known), q, self._joints.angular):
            return False
        self.extend(rung, q[None], np.array([manipulability]))
        return True

    def extend(self, rung: int, solutions: Array, manipulabilities: Array) -> None:
        """Add solutions (k, n) to a rung that are new there, with their manipulabilities (k,)."""
        self.nodes[rung] = np.ascontiguousarray(np.vstack((self.nodes[rung], solutions)))
        self.verdicts[rung] = np.append(self.verdicts[rung], np.full(len(solutions), UNKNOWN, dtype=np.int8))
        self.penalties[rung] = np.append(self.penalties[rung], self._penalties(manipulabilities))
        for affected in (rung, rung + 1):
            if affected in self._denied:
                self.deny(affected, np.empty((0, 2), dtype=np.intp))
        self._valid = min(self._valid, rung)
