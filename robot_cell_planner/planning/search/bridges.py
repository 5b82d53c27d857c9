"""Bridges: certified motions from nodes of a tree across regions in which sphere models prove nothing.

Some links pass each other closer than their spheres resolve, and more than two joints move them relative to each other.
Spheres then divide the free space, and no number of samples connects its parts. A bridge moves one coordinate from a
node to a configuration that spheres prove free, and exact distances prove the motion free. The other coordinates keep
their values, since such a passage mostly depends on one or two joints of one robot.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...collision.certification._kernels.arrays import LANES
from ...collision.certification._kernels.schedule import FREE
from ...collision.certification.certifier import MotionCertifier
from ...trajectory.limits import Array
from ..problem.subspace import Subspace

LINES = 16  # through random nodes, along random coordinates, for each call
REACH = LANES // 2  # configurations on each side of a node, which are evaluated together
MAX_BRIDGES = 4  # found in each call
MIN_LENGTH, MAX_LENGTH = 0.2, math.pi  # [rad or m] of the motion of a coordinate
# Nodes nearest to the other end. A motion from one of them that spheres prove free makes a bridge needless.
NEIGHBOURS = 8
MAX_PROOF_STATES = 16  # max configurations with exact distances for each part that spheres leave open


class Bridges:
    """Finds bridges with a certifier, within a subspace.

    Attributes:
        states: Number of configurations evaluated.
    """

    def __init__(self, certifier: MotionCertifier, subspace: Subspace, seed: int) -> None:
        self._certifier = certifier
        self._space = subspace
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._max_lengths = np.minimum(MAX_LENGTH, 0.5 * (subspace.upper - subspace.lower))
        self.states = 0

    def find(self, nodes: Array, check: Callable[[], None]) -> list[tuple[int, Array]]:
        """Return bridges from random nodes (n, k): the index of the node, and the coordinates (k,) of the other end.

        Args:
            check: Called regularly; may raise.
        """
        found: list[tuple[int, Array]] = []
        rows, points, middles = self._proposals(nodes)
        self.states += len(middles)
        for number in np.flatnonzero(~self._certifier.checker.in_collision_batch(middles)):
            check()
            row = int(rows[number])
            if self._is_bridge(nodes, row, points[number]):
                found.append((row, points[number]))
                if len(found) == MAX_BRIDGES:
                    break
        return found

    def _proposals(self, nodes: Array) -> tuple[NDArray[np.int64], Array, Array]:
        """Return random nodes (n,), points (n, k) that differ from them in one coordinate, and configurations (n, dof)
        between them.

        Spheres prove the points free, but not the configurations between (after the bridge test; Hsu and others, 2003).
        Points on a line are evaluated together: they share most link poses, which takes a third of the time.
        """
        rows = self._generator.integers(len(nodes), size=LINES)
        coordinates = self._generator.integers(nodes.shape[1], size=LINES)
        points, within = self._lines(nodes[rows], coordinates)
        configurations = self._space.to_full(points)
        free = self._free(configurations.reshape(-1, configurations.shape[-1])).reshape(within.shape) & within
        blocked = np.logical_or.accumulate(within & ~free, axis=-1)
        beyond = free & blocked
        line, side = np.nonzero(beyond.any(axis=-1))
        end = beyond[line, side].argmax(axis=-1)
        first = blocked[line, side].argmax(axis=-1)
        middle = (first + end - 1) // 2
        return rows[line], points[line, side, end], configurations[line, side, middle]

    def _lines(self, nodes: Array, coordinates: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """Return points (n, 2, REACH, k) on both sides of nodes (n, k), ascending in their distance along a coordinate
        (n,), and whether they are within limits. The others are the nodes themselves.
        """
        longest = self._max_lengths[coordinates][:, None, None]
        shortest = np.minimum(MIN_LENGTH, 0.5 * longest)
        steps = (np.arange(REACH) + self._generator.random((len(nodes), 2, REACH))) / REACH
        offsets = np.array((-1.0, 1.0))[:, None] * (shortest + steps * (longest - shortest))
        points = np.broadcast_to(nodes[:, None, None], (*offsets.shape, nodes.shape[1])).copy()
        moved = points.copy()
        moved[np.arange(len(nodes)), ..., coordinates] += offsets
        within = self._space.rows_within_limits(self._space.to_full(moved))
        points[within] = moved[within]
        return points, within

    def _free(self, configurations: Array) -> NDArray[np.bool_]:
        """Return whether spheres prove configurations (n, dof) free."""
        self.states += len(configurations)
        verdicts = self._certifier.check_boxes(configurations, np.zeros_like(configurations))
        return np.asarray(verdicts == FREE)

    def _is_bridge(self, nodes: Array, row: int, point: Array) -> bool:
        """Return whether a bridge is needed between a node and a point, and is proven free."""
        first, second = self._space.to_full(nodes[row]), self._space.to_full(point)
        squares = ((nodes - point) ** 2).sum(axis=1)
        nearest = np.argpartition(squares, NEIGHBOURS)[:NEIGHBOURS] if len(nodes) > NEIGHBOURS else range(len(nodes))
        if any(self._quickly_free(self._space.to_full(nodes[neighbour]), second) for neighbour in nearest):
            return False
        verdict = self._certifier.certify(first, second, enough=MAX_PROOF_STATES)
        self.states += verdict.states + verdict.exact_states
        return verdict.free

    def _quickly_free(self, first: Array, second: Array) -> bool:
        self.states += 1
        return self._certifier.quickly_free(first, second)
