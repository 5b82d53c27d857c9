"""Free-space connectors: certified motions from configurations that are too close to objects for sphere models."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...collision.certification._kernels.gradients import separation_gradient
from ...collision.certification.certifier import MotionCertifier
from ...collision.checker import NearGeometries
from ...trajectory.limits import Array
from ..problem.subspace import Subspace

# Distances [rad or m] of random configurations, in this order, and number of configurations at each.
SAMPLE_DISTANCES = (0.1, 0.2, 0.3, 0.4, 0.6, 0.05)
SAMPLES_PER_DISTANCE = 32
MAX_PROOF_STATES = (
    16,
    100,
)  # max configurations per certificate: in the first pass over all distances, and in the second
# Pairs closer than NEAR_DISTANCE [m] are separated to what sphere models resolve, which is larger between links, and to
# what distance maps resolve.
NEAR_DISTANCE = 0.03
CLEARANCE, CLEARANCE_BETWEEN_LINKS, CLEARANCE_IN_MAPS = 0.015, 0.025, 0.005
STEP_FACTORS = (1.0, 1.5, 2.2)  # of the computed step
MAX_STEP = 0.6  # [rad or m] that such a step may go
# Lengths [rad or m] of motions of one coordinate, max number of them in a connector, and of certificates for each.
COORDINATE_STEPS = (0.2, 0.4, 0.8, 1.2, 1.6)
MAX_COORDINATE_MOTIONS, MAX_CERTIFICATES = 4, 8


class FreeSpaceConnectors:
    """Finds connectors with a certifier, within a subspace.

    Attributes:
        states: Number of configurations evaluated.
    """

    def __init__(self, certifier: MotionCertifier, subspace: Subspace) -> None:
        self._certifier = certifier
        self._space = subspace
        self.states = 0

    def find(self, q: Array, seed: int, max_count: int, check: Callable[[], None]) -> list[Array]:
        """Return at most `max_count` connectors (1 or 2, dof) of a configuration.

        A configuration that spheres prove free is its own connector. Otherwise, or if more are requested, connectors
        lead to nearby configurations that spheres prove free, by motions that exact distances prove free.

        Args:
            check: Called regularly; may raise.
        """
        found: list[Array] = []
        if self._certifier.quickly_free(q, q):
            if max_count == 1:
                return [q[None]]
            found.append(q[None])
        else:
            check()
            for inner in self._retreats(q):
                self._try(q, inner, MAX_PROOF_STATES[-1], found)
                if len(found) >= max_count:
                    return found
        generator = np.random.Generator(np.random.PCG64(seed))
        z = self._space.to_reduced(q)
        for distance, max_states in (
            (distance, max_states) for max_states in MAX_PROOF_STATES for distance in SAMPLE_DISTANCES
        ):
            check()
            for _ in range(SAMPLES_PER_DISTANCE):
                if self._try(q, self._random_neighbour(z, distance, generator), max_states, found):
                    break
            if len(found) >= max_count:
                break
        return found

    def find_far(self, q: Array, check: Callable[[], None]) -> list[Array]:
        """Return a connector (n, dof) of motions of one coordinate each that increase small distances; none if these
        do not lead to a configuration that spheres prove free.

        It leaves regions in which links pass each other closely, from which `find` sees no way out.
        """
        points, missing = [q], self._total_missing(q)
        for _ in range(MAX_COORDINATE_MOTIONS):
            check()
            steps = [
                (self._total_missing(inner), number, inner) for number, inner in enumerate(self._steps(points[-1]))
            ]
            better = sorted(step for step in steps if step[0] < missing)[:MAX_CERTIFICATES]
            chosen = next(((left, inner) for left, _, inner in better if self._proven(points[-1], inner)), None)
            if chosen is None:
                return []
            missing = chosen[0]
            points.append(chosen[1])
            if self._certifier.quickly_free(points[-1], points[-1]):
                return [np.array(points)]
        return []

    def _proven(self, first: Array, second: Array) -> bool:
        """Return whether a motion is proven free with few exact distances."""
        verdict = self._certifier.certify(first, second, enough=MAX_PROOF_STATES[0])
        self.states += verdict.states + verdict.exact_states
        return verdict.free

    def _steps(self, q: Array) -> Iterator[Array]:
        """Yield configurations within limits that differ from another one by one coordinate, nearest first."""
        z = self._space.to_reduced(q)
        for length in COORDINATE_STEPS:
            for coordinate in range(len(z)):
                for step in (length, -length):
                    moved = z.copy()
                    moved[coordinate] += step
                    inner = self._space.to_full(moved)
                    if self._space.within_limits(inner):
                        yield inner

    def _total_missing(self, q: Array) -> float:
        """Return the sum of the missing clearances [m]."""
        self.states += 1
        return sum(missing for _, missing in self._close_pairs(q))

    def _try(self, q: Array, inner: Array, max_states: int, found: list[Array]) -> bool:
        """Return whether spheres prove a configuration free; add the connector to it if it is certified."""
        self.states += 1
        if not self._space.within_limits(inner) or not self._certifier.quickly_free(inner, inner):
            return False
        verdict = self._certifier.certify(q, inner, enough=max_states)
        self.states += verdict.states + verdict.exact_states
        if verdict.free:
            found.append(np.array((q, inner)))
        return True

    def _random_neighbour(self, z: Array, distance: float, generator: np.random.Generator) -> Array:
        """Return a configuration at a distance from a point of the subspace, in a random direction."""
        direction = generator.normal(size=len(z))
        return self._space.to_full(z + distance * direction / np.linalg.norm(direction))

    def _retreats(self, q: Array) -> Iterator[Array]:
        """Yield configurations farther from close objects: multiples of the shortest step that separates them to first
        order.
        """
        missing, gradients = self._missing_clearances(q)
        if not len(missing):
            return
        z = self._space.to_reduced(q)
        gradients = gradients if self._space.whole else gradients @ self._space.basis
        step = np.linalg.lstsq(gradients, missing, rcond=0.05)[0]
        for factor in STEP_FACTORS:
            if np.linalg.norm(factor * step) <= MAX_STEP:
                yield self._space.to_full(z + factor * step)

    def _missing_clearances(self, q: Array) -> tuple[Array, Array]:
        """Return by how much the distances of close pairs are too small (n,) [m], and their gradients (n, dof)."""
        certifier = self._certifier
        self.states += 2
        scene, _ = certifier.packed()
        pairs = self._close_pairs(q)
        gradients = np.zeros((len(pairs), len(q)))
        for (near, _), gradient in zip(pairs, gradients, strict=True):
            found = certifier.checker.nearest_points(near.first, near.second)
            points = np.array((found.point_first, found.point_second)) - certifier.scene.origin
            joints, away = certifier.scene.joints_of(near.objects), np.array(found.normal)
            separation_gradient(scene.address, q, joints, points[0], points[1], away, gradient)
        return np.array([missing for _, missing in pairs]), gradients

    def _close_pairs(self, q: Array) -> list[tuple[NearGeometries, float]]:
        """Return close pairs of geometries, and by how much their distance is too small [m]."""
        scene, checker = self._certifier.scene, self._certifier.checker
        pairs, mapped = [], scene.mapped_pairs()
        for near in checker.near_geometries(q, NEAR_DISTANCE):
            moving = [obj in scene.model.number for obj in near.objects]
            required = near.margin + (CLEARANCE_BETWEEN_LINKS if all(moving) else CLEARANCE)
            if near.objects in mapped or near.objects[::-1] in mapped:
                required = near.margin + CLEARANCE_IN_MAPS
            if not any(moving) or near.min_distance >= required:
                continue
            distance = checker.geometry_distance(near.first, near.second)
            if distance < required:
                pairs.append((near, required - distance))
        return pairs
