"""Ladder graph of a Cartesian path: inverse kinematics solutions as nodes on rungs, motions between rungs as edges.

Shortest paths are found by dynamic programming. Collisions of nodes and edges are unknown at first: they count as free,
and colliding ones are removed before the next search (lazy evaluation, as in Dellin and Srinivasa, A Unifying Formalism
for Shortest Path Problems with Expensive Edge Evaluations via Lazy Best-First Search over Paths with Edge Selectors,
2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....kinematics._kernels import wrapping_kernels
from ....kinematics.ik.problem import Joints
from ....trajectory.limits import Array
from .ladder_kernels import extend_labels

# Max step of a joint between rungs [rad], [m]; larger steps change the branch.
MAX_STEP_ANGULAR, MAX_STEP_LINEAR = 0.5 * np.pi, 0.5
# Penalties apply to nodes closer to a limit than this [rad], [m],
MARGIN_ANGULAR, MARGIN_LINEAR = 0.1, 0.02
# and to a manipulability below this fraction of the best on the path.
SINGULAR_FRACTION = 0.1
# Max penalty of each per rung [rad or m].
PENALTY = 0.05
UNKNOWN, FREE, BLOCKED = 0, 1, 2
NO_EDGES_REMOVED = np.zeros((0, 0), dtype=bool)
TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of a rung: the shortest paths to its nodes.

    Attributes:
        configurations: Configurations (l, n), including 2 pi wraps.
        costs: Path costs (l,).
        parents: Labels of the rung below (l,).
        node_indices: Nodes (l,).
    """

    configurations: Array
    costs: Array
    parents: NDArray[np.int64]
    node_indices: NDArray[np.int64]


class Ladder:
    """Rungs of solutions, from the start (rung 0) to the end.

    Attributes:
        nodes: Solutions (c, n) by rung.
        verdicts: UNKNOWN, FREE or BLOCKED (c,) by rung.
        labels: Labels by rung, up to the highest reachable one.

    Args:
        starts: Start configurations (c, n), with their 2 pi wraps.
        rungs: Solutions from rung 1 on.
        manipulabilities: Manipulabilities (c,) of the solutions.
        max_step: Max step of each joint between rungs (n,).
    """

    def __init__(
        self, starts: Array, rungs: list[Array], manipulabilities: list[Array], joints: Joints, max_step: Array
    ) -> None:

        self.nodes = [starts, *rungs]
        self.verdicts = [np.zeros(len(nodes), dtype=np.int8) for nodes in self.nodes]
        best = max((float(values.max(initial=0.0)) for values in manipulabilities), default=0.0)
        self._manipulability_limit = max(SINGULAR_FRACTION * best, 1e-300)
        self.penalties = [np.zeros(len(starts)), *(self._penalties(values) for values in manipulabilities)]
        self._removed: dict[int, NDArray[np.bool_]] = {}
        self._joints = joints
        angular = joints.angular > 0.0
        self._max_step = np.minimum(max_step, np.where(angular, MAX_STEP_ANGULAR, MAX_STEP_LINEAR))
        self._margins = np.where(angular, MARGIN_ANGULAR, MARGIN_LINEAR)
        self.labels: list[Labels] = []
        self._valid = 0  # number of rungs whose labels are valid

    def _penalties(self, manipulabilities: Array) -> Array:
        return PENALTY * np.maximum(0.0, 1.0 - manipulabilities / self._manipulability_limit) ** 2

    @property
    def top(self) -> int:
        return len(self.nodes) - 1

    def find_paths(self) -> int:
        """Find shortest paths with the current verdicts; return the highest rung reached, -1 if there is no start."""
        if self._valid == 0:
            starts = np.flatnonzero(self.verdicts[0] != BLOCKED)
            configurations = np.ascontiguousarray(self.nodes[0][starts])
            count = len(starts)
            self.labels = [Labels(configurations, np.zeros(count), np.full(count, -1, dtype=np.int64), starts)]
        else:
            del self.labels[self._valid :]
        while len(self.labels) <= self.top and len(self.labels[-1].costs):
            self.labels.append(self._next_labels(len(self.labels)))
        self._valid = len(self.labels)
        return self._valid - 1 if len(self.labels[-1].costs) else self._valid - 2

    def _next_labels(self, rung: int) -> Labels:
        below = self.labels[-1]
        removed = self._removed.get(rung, NO_EDGES_REMOVED)
        found = extend_labels(
            below.configurations, below.costs, below.node_indices, self.nodes[rung], self.verdicts[rung] != BLOCKED,
            self.penalties[rung], removed, self._joints.limits, self._joints.angular, self._max_step, self._margins,
            PENALTY,
        )  # fmt: skip
        return Labels(*found)

    def shortest_path(self, rung: int) -> tuple[Array, NDArray[np.int64]]:
        """Return the shortest path to a reached rung: configurations (rung + 1, n), and their nodes (rung + 1,)."""
        index = int(np.argmin(self.labels[rung].costs))
        configurations, node_indices = [], []
        for labels in reversed(self.labels[: rung + 1]):
            configurations.append(labels.configurations[index])
            node_indices.append(int(labels.node_indices[index]))
            index = int(labels.parents[index])
        return np.array(configurations[::-1]), np.array(node_indices[::-1], dtype=np.int64)

    def mark(self, rung: int, verdicts: NDArray[np.int8]) -> None:
        """Set the verdicts (c,) of a rung."""
        if ((verdicts == BLOCKED) & (self.verdicts[rung] != BLOCKED)).any():
            self._valid = min(self._valid, rung)
        self.verdicts[rung] = verdicts

    def neighbours(self, rung: int) -> NDArray[np.intp]:
        """Return pairs (k, 2) of unblocked nodes on the rung below and on this rung that an edge may connect."""
        below, here = self.nodes[rung - 1], self.nodes[rung]
        gaps = here[None] - below[:, None]
        gaps -= TURN * np.round(gaps / TURN) * (self._joints.angular > 0.0)
        near = (np.abs(gaps) <= self._max_step).all(axis=2)
        if rung in self._removed:
            near &= ~self._removed[rung]
        near &= (self.verdicts[rung - 1] != BLOCKED)[:, None] & (self.verdicts[rung] != BLOCKED)
        return np.argwhere(near)

    def remove_edges(self, rung: int, pairs: NDArray[np.intp]) -> None:
        """Remove edges between nodes on the rung below and nodes on this rung: pairs (k, 2)."""
        shape = (len(self.nodes[rung - 1]), len(self.nodes[rung]))
        removed = np.zeros(shape, dtype=bool)
        known = self._removed.get(rung, NO_EDGES_REMOVED)
        removed[: known.shape[0], : known.shape[1]] = known
        removed[pairs[:, 0], pairs[:, 1]] = True
        self._removed[rung] = removed
        self._valid = min(self._valid, rung)

    def add(self, rung: int, q: Array, manipulability: float) -> bool:
        """Add a solution (n,) to a rung; return whether it is new."""
        known = self.nodes[rung]
        if not wrapping_kernels.is_new(known, len(known), q, self._joints.angular):
            return False
        self.extend(rung, q[None], np.array([manipulability]))
        return True

    def extend(self, rung: int, solutions: Array, manipulabilities: Array) -> None:
        """Add new solutions (k, n) to a rung, with their manipulabilities (k,)."""
        self.nodes[rung] = np.ascontiguousarray(np.vstack((self.nodes[rung], solutions)))
        self.verdicts[rung] = np.append(self.verdicts[rung], np.full(len(solutions), UNKNOWN, dtype=np.int8))
        self.penalties[rung] = np.append(self.penalties[rung], self._penalties(manipulabilities))
        for affected in (rung, rung + 1):
            if affected in self._removed:
                self.remove_edges(affected, np.empty((0, 2), dtype=np.intp))
        self._valid = min(self._valid, rung)
