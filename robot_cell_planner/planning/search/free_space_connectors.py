"""Ways out of configurations that are nearer to something than balls can tell, for the native planner."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...collision.certification.certifier import MotionCertifier
from ...trajectory.limits import Array
from ..problem.subspace import Subspace

# Distances [rad or m] at which places around are tried, and how many at each.
AROUND = (0.1, 0.2, 0.3, 0.4, 0.6, 0.05)
PLACES = 32
ENOUGH = (16, 100)  # configurations that a proof of a way out may cost: for all distances first, and again
# What is nearer than this [m] is gone away from, to where balls can tell: those of two links both stick out.
NEAR = 0.03
CLEAR, CLEAR_OF_EACH_OTHER = 0.015, 0.025
SHARES = (1.0, 1.5, 2.2)  # of the step that should do
FARTHEST = 0.6  # [rad or m] that such a step may go
PROBE = 1e-4  # [rad or m] by which joints are moved to see what that changes


class FreeSpaceConnectors:
    """Finds ways out, by a certifier, within a subspace. states: configurations that it has looked at."""

    def __init__(self, certifier: MotionCertifier, subspace: Subspace) -> None:
        self._certifier = certifier
        self._space = subspace
        self.states = 0

    def find(self, q: Array, seed: int, most: int, check: Callable[[], None]) -> list[Array]:
        """Ways (1 or 2, dof) out of a configuration, `most` at most: itself alone where balls prove it free; else, or
        if more are wanted, near ones that they prove free, joined to it by motions that exact distances prove.

        check: called now and then; it may raise.
        """
        found: list[Array] = []
        if self._certifier.quickly_free(q, q):
            if most == 1:
                return [q[None]]
            found.append(q[None])
        else:
            check()
            for near in self._away(q):
                self._try(q, near, ENOUGH[-1], found)
                if len(found) >= most:
                    return found
        random = np.random.Generator(np.random.PCG64(seed))
        z = self._space.to_reduced(q)
        for distance, enough in ((distance, enough) for enough in ENOUGH for distance in AROUND):
            check()
            for _ in range(PLACES):
                if self._try(q, self._beside(z, distance, random), enough, found):
                    break
            if len(found) >= most:
                break
        return found

    def _try(self, q: Array, near: Array, enough: int, found: list[Array]) -> bool:
        """Whether balls prove a configuration free; the way to it is added if it is proven within some states."""
        self.states += 1
        if not self._space.within_limits(near) or not self._certifier.quickly_free(near, near):
            return False
        verdict = self._certifier.certify(q, near, enough=enough)
        self.states += verdict.states + verdict.exact_states
        if verdict.free:
            found.append(np.array((q, near)))
        return True

    def _beside(self, z: Array, distance: float, random: np.random.Generator) -> Array:
        """A configuration at a distance from a point of the subspace, in a random direction."""
        direction = random.normal(size=len(z))
        return self._space.to_full(z + distance * direction / np.linalg.norm(direction))

    def _away(self, q: Array) -> Iterator[Array]:
        """Configurations farther from all that is near: the shortest step by which that should be clear, as far as
        distances change in proportion, and somewhat more of it."""
        missing, slopes = self._missing(q)
        if not len(missing):
            return
        z = self._space.to_reduced(q)
        slopes = slopes if self._space.whole else slopes @ self._space.basis
        step = np.linalg.lstsq(slopes, missing, rcond=0.05)[0]
        for share in SHARES:
            if np.linalg.norm(share * step) <= FARTHEST:
                yield self._space.to_full(z + share * step)

    def _missing(self, q: Array) -> tuple[Array, Array]:
        """How much farther (n,) pairs of solids should be from each other [m], and how fast each joint takes them
        there, (n, dof)."""
        scene, checker = self._certifier.scene, self._certifier.checker
        self.states += 1 + len(q)
        rows = []
        for pair, i, j, margin in checker.near_geometries(q, NEAR):
            both = all(obj in scene.model.number for obj in pair)
            distance = checker.geometry_distance(i, j)
            missing = margin + (CLEAR_OF_EACH_OTHER if both else CLEAR) - distance
            if missing > 0.0 and any(obj in scene.model.number for obj in pair):
                rows.append((i, j, distance, missing))
        slopes = np.zeros((len(rows), len(q)))
        for joint in range(len(q) if rows else 0):
            moved = q.copy()
            moved[joint] += PROBE
            checker.near_geometries(moved, 0.0)
            for row, (i, j, distance, _) in enumerate(rows):
                slopes[row, joint] = (checker.geometry_distance(i, j) - distance) / PROBE
        return np.array([row[3] for row in rows]), slopes
