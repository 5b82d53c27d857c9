"""Free-space connectors: certified motions from configurations that are too close to objects for sphere models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.certification._kernels.gradients import separation_gradient
from ...collision.certification._kernels.schedule import FREE
from ...collision.certification.certifier import MotionCertifier
from ...collision.checker import NearGeometries
from ...trajectory.limits import Array
from ..problem.subspace import LIMIT_TOLERANCE, Subspace

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
FRACTIONS_BETWEEN = np.array((0.4, 0.6, 0.8))  # of motions, where spheres test them before exact distances do
STEP_FACTORS = (1.0, 1.5, 2.2)  # of the computed step
MAX_STEP = 0.6  # [rad or m] that such a step may go
# Lengths [rad or m] of motions of one coordinate, max number of them in a connector, and of certificates for each.
COORDINATE_STEPS = (0.2, 0.4, 0.8, 1.2, 1.6)
MAX_COORDINATE_MOTIONS, MAX_CERTIFICATES = 4, 8
MIN_GAP = 1e-6  # [m] to which smaller gaps are rounded where they are compared


class ClosePairs(NamedTuple):
    """Pairs of geometries that are close to each other at a configuration.

    Attributes:
        missing: By how much the distances are smaller than what sphere models resolve (n,) [m].
        gaps: Distances minus the margins (n,) [m].
        gradients: Gradients of the distances (n, dof).
    """

    missing: Array
    gaps: Array
    gradients: Array

    def approaches(self, motions: Array) -> Array:
        """Return, to first order, by how much each motion (m, dof) reduces a gap at most, as a fraction of it: (m,).
        Negative if all distances increase, 0 if there are no pairs."""
        decrease = -motions @ self.gradients.T / np.maximum(self.gaps, MIN_GAP)
        return np.asarray(decrease.max(axis=1)) if len(self.gaps) else np.zeros(len(motions))


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
        near = self._close_pairs_at(q)
        if not found:
            for inner in self._free(self._retreats(q, near)):
                self._try(q, inner, MAX_PROOF_STATES[-1], found)
                if len(found) >= max_count:
                    return found
        generator = np.random.Generator(np.random.PCG64(seed))
        for max_states, distance in itertools.product(MAX_PROOF_STATES, SAMPLE_DISTANCES):
            check()
            neighbours = self._free(self._random_neighbours(q, distance, generator))
            if len(neighbours):
                self._try(q, self._most_promising(q, near, neighbours), max_states, found)
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
            chosen = next(((left, inner) for left, _, inner in better if self._certified(points[-1], inner)), None)
            if chosen is None:
                return []
            missing = chosen[0]
            points.append(chosen[1])
            if self._certifier.quickly_free(points[-1], points[-1]):
                return [np.array(points)]
        return []

    def _certified(self, first: Array, second: Array) -> bool:
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
        return sum(missing for _, missing, _ in self._close_pairs(q))

    def _try(self, q: Array, inner: Array, max_states: int, found: list[Array]) -> None:
        """Add the connector to a configuration that spheres prove free, if its motion is certified."""
        verdict = self._certifier.certify(q, inner, enough=max_states)
        self.states += verdict.states + verdict.exact_states
        if verdict.free:
            found.append(np.array((q, inner)))

    def _free(self, configurations: Array) -> Array:
        """Return those of the configurations (n, dof) that are within limits and that spheres prove free."""
        within = configurations[self._space.rows_within_limits(configurations)]
        return np.asarray(within[self._proven(within)])

    def _proven(self, configurations: Array) -> NDArray[np.bool_]:
        """Return whether spheres prove each of the configurations (n, dof) free: (n,)."""
        self.states += len(configurations)
        if not len(configurations):
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(self._certifier.check_boxes(configurations, np.zeros_like(configurations)) == FREE)

    def _most_promising(self, q: Array, near: ClosePairs, neighbours: Array) -> Array:
        """Return the one of (n, dof) configurations, n >= 1, whose motion is most likely free."""
        motions = neighbours - q
        between = q + np.multiply.outer(FRACTIONS_BETWEEN, motions)
        free = self._proven(between.reshape(-1, len(q))).reshape(between.shape[:2]).sum(axis=0)
        best = np.flatnonzero(free == free.max())
        return np.asarray(neighbours[best[near.approaches(motions[best]).argmin()]])

    def _random_neighbours(self, q: Array, distance: float, generator: np.random.Generator) -> Array:
        """Return configurations (n, dof) at a distance in random directions; coordinates beyond limits are set to
        those if the whole joint space is searched."""
        z = self._space.to_reduced(q)
        directions = generator.normal(size=(SAMPLES_PER_DISTANCE, len(z)))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return self._limited(self._space.to_full(z + distance * directions))

    def _limited(self, configurations: Array) -> Array:
        if not self._space.whole:
            return configurations
        return np.asarray(np.clip(configurations, self._space.q_lower, self._space.q_upper))

    def _retreats(self, q: Array, near: ClosePairs) -> Array:
        """Return configurations (n, dof) farther from close objects: multiples of the shortest step that separates
        them to first order. Coordinates that it would move past a limit end there, and the others move farther."""
        if not len(near.missing):
            return np.empty((0, len(q)))
        z = self._space.to_reduced(q)
        gradients = near.gradients if self._space.whole else near.gradients @ self._space.basis
        step, movable = np.zeros(len(z)), np.ones(len(z), dtype=np.bool_)
        while movable.any():
            left = near.missing - gradients[:, ~movable] @ step[~movable]
            step[movable] = np.linalg.lstsq(gradients[:, movable], left, rcond=0.05)[0]
            if not self._space.whole:
                break
            limited = np.clip(z + step, self._space.q_lower, self._space.q_upper) - z
            beyond = movable & (np.abs(limited - step) > LIMIT_TOLERANCE)
            if not beyond.any():
                break
            step[beyond] = limited[beyond]
            movable &= ~beyond
        length = np.linalg.norm(step)
        factors = [factor for factor in STEP_FACTORS if factor * length <= MAX_STEP]
        return self._limited(self._space.to_full(z + np.multiply.outer(factors, step)))

    def _close_pairs_at(self, q: Array) -> ClosePairs:
        """Return the close pairs at a configuration."""
        certifier = self._certifier
        self.states += 2
        scene, _ = certifier.packed()
        pairs = self._close_pairs(q)
        gradients = np.zeros((len(pairs), len(q)))
        for (near, _, _), gradient in zip(pairs, gradients, strict=True):
            found = certifier.checker.nearest_points(near.first, near.second)
            points = np.array((found.point_first, found.point_second)) - certifier.scene.origin
            joints, away = certifier.scene.joints_of(near.objects), np.array(found.normal)
            separation_gradient(scene.address, q, joints, points[0], points[1], away, gradient)
        missing, gaps = (np.array([pair[index] for pair in pairs]) for index in (1, 2))
        return ClosePairs(missing, gaps, gradients)

    def _close_pairs(self, q: Array) -> list[tuple[NearGeometries, float, float]]:
        """Return close pairs of geometries, by how much their distance is too small, and by how much it is larger than
        their margin [m]."""
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
                pairs.append((near, required - distance, distance - near.margin))
        return pairs
