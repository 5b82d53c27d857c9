"""Bridges: certified motions from nodes of a tree across regions in which sphere models prove nothing.

Some links pass each other closer than their spheres resolve, and more than two joints move them relative to each other.
Spheres then divide the free space, and no number of samples connects its parts. A bridge moves one coordinate from a
node to a configuration that spheres prove free, and exact distances prove the motion free. The other coordinates keep
their values, since such a passage mostly depends on one or two joints of one robot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ...collision.certification.certifier import MotionCertifier
from ...trajectory.limits import Array
from ..problem.subspace import Subspace

TRIES = 256  # random motions for each call
MAX_BRIDGES = 4  # found in each call
MIN_LENGTH, MAX_LENGTH = 0.2, math.pi  # [rad or m] of the motion of a coordinate
# Nodes nearest to the other end. A motion from one of them that spheres prove free makes a bridge needless.
NEIGHBOURS = 8
MAX_PROOF_STATES = 16  # max configurations with exact distances for each part that spheres leave open
FREE = 0  # verdict of `MotionCertifier.check_boxes`


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
        for row, point in self._proposals(nodes):
            check()
            if self._is_bridge(nodes, row, point):
                found.append((row, point))
                if len(found) == MAX_BRIDGES:
                    break
        return found

    def _proposals(self, nodes: Array) -> Iterator[tuple[int, Array]]:
        """Yield random nodes, with points (k,) that differ in one coordinate.

        Spheres prove the points free, but not the configurations halfway to them (after the bridge test; Hsu and
        others, 2003).
        """
        rows = self._generator.integers(len(nodes), size=TRIES)
        coordinates = self._generator.integers(nodes.shape[1], size=TRIES)
        longest = self._max_lengths[coordinates]
        shortest = np.minimum(MIN_LENGTH, 0.5 * longest)
        lengths = shortest + self._generator.random(TRIES) * (longest - shortest)
        points = nodes[rows]
        points[np.arange(TRIES), coordinates] += self._generator.choice((-1.0, 1.0), TRIES) * lengths
        configurations = self._space.to_full(points)
        within = self._space.rows_within_limits(configurations)
        rows, points, configurations = rows[within], points[within], configurations[within]
        middles = 0.5 * (configurations + self._space.to_full(nodes[rows]))
        proposed = self._free(configurations) & ~self._free(middles)
        yield from zip(rows[proposed].tolist(), points[proposed], strict=True)

    def _free(self, configurations: Array) -> NDArray[np.bool_]:
        """Return whether spheres prove configurations (n, dof) free."""
        self.states += len(configurations)
        verdicts = self._certifier.check_boxes(configurations, np.zeros_like(configurations))
        return np.asarray(verdicts == FREE)

    def _is_bridge(self, nodes: Array, row: int, point: Array) -> bool:
        """Return whether a bridge is needed between a node and a point, and is proven free.

        The tests are in the order of their costs.
        """
        first, second = self._space.to_full(nodes[row]), self._space.to_full(point)
        if self._collides(0.5 * (first + second)):
            return False
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

    def _collides(self, q: Array) -> bool:
        self.states += 1
        return self._certifier.checker.in_collision(q)
