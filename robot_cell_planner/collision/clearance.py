"""Closest pairs of collision objects, best first: bounding boxes select the pairs that need an exact distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import InvalidRequestError, UnknownNameError
from ..model.name_suggestions import unknown_name
from .clearance_kernels import lower_to_bounds, order_candidates
from .engines.base import CollisionEngine, DistanceResult, Floats
from .geometry.broad_phase import ROUNDING, Candidates
from .geometry.closest_kernels import find_closest
from .geometry.geometry_model import GeometryModel
from .geometry.plane_kernels import PLANE, PlacedPairs
from .geometry.separating_planes import Indices
from .pairs.allowed_pairs import AllowedPairs
from .report import Clearance

FIRST_RADIUS = 0.25  # [m]
END_RADIUS = 0.04  # [m], smaller, since boxes of most pairs are within FIRST_RADIUS of each other
GROWTH = 4.0
LAST_RADIUS = 100.0  # [m], beyond which the search is unlimited
MAX_PLANES = 64  # that are kept for later calls along a path
SAME = 1e-6  # [m], accuracy of distances along paths


def closest_pairs(
    geometry_model: GeometryModel,
    engine: CollisionEngine,
    q: Floats,
    count: int,
    names: tuple[str, ...],
    max_distance: float,
) -> tuple[Clearance, ...]:
    """Return the closest pairs at q (nq,), closest first: at most `count`, none beyond `max_distance` [m].

    Raises:
        InvalidRequestError: The distance is not a number.
        UnknownNameError: A name does not exist.
    """
    check_max_distance(max_distance)
    chosen = _objects_named(geometry_model.allowed_pairs, names)
    poses = engine.place(q)
    radius = FIRST_RADIUS
    while True:
        limit = min(radius, max_distance)
        found = _within(
            geometry_model,
            engine,
            _among(geometry_model, geometry_model.candidates(poses, max(limit, 0.0)), chosen),
            count,
            limit,
        )
        if len(found) == count or limit == max_distance:
            return found
        radius = radius * GROWTH if radius < LAST_RADIUS else math.inf


def check_max_distance(max_distance: float) -> None:
    """Check a maximum distance [m], which may be infinite.

    Raises:
        InvalidRequestError: It is not a number.
    """
    if math.isnan(max_distance):
        raise InvalidRequestError("max_distance is nan, expected a number or infinity [m]", stage="collision")


class Nearest(NamedTuple):
    """Smallest distance [m] in some configurations, with the index of the configuration, the geometries in the order of
    their collision objects, and their margin [m]."""

    distance: float
    state: int
    first: int
    second: int
    margin: float


class ClosestSearch:
    """Search for the closest approach in many configurations.

    Planes between geometries that were separated before exclude most candidates, also in later calls.

    Args:
        expand: Returns configurations (n, nq) of the model for configurations (n, dof) of the variables.
        max_planes: Number of planes that are kept for later calls; 0 where these have other configurations.
        bodies: Rigid body of each geometry (n,), by any number; distances within one do not count. Without it, all
            checked pairs count.
    """

    def __init__(
        self,
        geometry_model: GeometryModel,
        engine: CollisionEngine,
        expand: Callable[[Floats], Floats],
        max_planes: int = MAX_PLANES,
        bodies: Indices | None = None,
    ) -> None:
        self._geometry_model = geometry_model
        self._engine = engine
        self._expand = expand
        self._bodies = np.arange(len(geometry_model.geometries)) if bodies is None else bodies
        is_convex = geometry_model.planes.is_convex
        self._is_known = is_convex if engine.is_exact else np.zeros_like(is_convex)
        self._planes = np.empty((max_planes + 1, PLANE))  # the last one is not kept
        self._plane_count = 0

    def closest_of(self, configurations: Floats, max_distance: float) -> tuple[int, Clearance] | None:
        """Return the index of the configuration (n, dof) with the smallest distance, and that distance, to within a
        micrometre, or the error of the engine bullet; None if no pair is within `max_distance` [m].

        Raises:
            InvalidRequestError: The array has the wrong shape or is not finite, or the distance is not a number.
        """
        check_max_distance(max_distance)
        found, _ = self.nearest(configurations, max_distance)
        return None if found is None else (found.state, self.clearance(configurations[found.state], found))

    def clearance(self, q: Floats, found: Nearest) -> Clearance:
        """Return the clearance of the geometries of `nearest` at its configuration (dof,)."""
        self._engine.place(self._expand(q[None])[0])
        objects = self._geometry_model.object_indices
        key = int(objects[found.first]), int(objects[found.second])
        return _clearance(self._geometry_model, key, found.margin, self._engine.distance(found.first, found.second))

    def nearest(
        self, configurations: Floats, max_distance: float, beyond: float = 0.0
    ) -> tuple[Nearest | None, Floats]:
        """Return the smallest distance in configurations (n, dof), to within a micrometre, None if no pair is within
        `max_distance` [m]; and lower bounds (n,) of the distance at each configuration [m].

        The bounds are infinite where all distances exceed the smallest one, or `max_distance` if that is smaller, by
        more than `beyond` [m], or are larger than FIRST_RADIUS.
        """
        poses = self._engine.poses(self._expand(configurations))
        best = self._at_ends(poses) if max_distance > FIRST_RADIUS else None
        if best is not None and best.distance > max_distance:
            best = None
        elif best is not None:
            max_distance = best.distance
        radius = FIRST_RADIUS
        while True:
            limit = min(radius, max_distance + beyond)
            found, bounds = self._closest_within(poses, limit, min(limit, max_distance), best, beyond)
            if found is not None or limit >= max_distance:
                return found, bounds
            radius = radius * GROWTH if radius < LAST_RADIUS else math.inf

    def _at_ends(self, poses: Floats) -> Nearest | None:
        """Return the smallest distance at the ends of a path, which are often close to objects: it bounds the search
        between them. None if it exceeds FIRST_RADIUS."""
        last = len(poses) - 1
        ends = poses[:: max(last, 1)].copy()
        for radius in (END_RADIUS, FIRST_RADIUS):
            found, _ = self._closest_within(ends, radius, radius, None, 0.0)
            if found is not None:
                return found._replace(state=found.state * last)
        return None

    def _closest_within(
        self, poses: Floats, limit: float, max_distance: float, best: Nearest | None, beyond: float
    ) -> tuple[Nearest | None, Floats]:
        """Return the closest pair within `max_distance` [m] at the placements (n, p, 4, 4) of `CollisionEngine.poses`,
        if any, and lower bounds (n,) of the distances at each, infinite beyond the limit [m]. Those that exceed the
        smallest distance by more than `beyond` [m] may be lower than necessary.

        The candidate with the smallest lower bound is evaluated next. The plane that separates it raises the bounds of
        the same pair at the other placements.

        Args:
            best: A distance at one of the placements, which is returned unless there is a smaller one.
        """
        geometry_model = self._geometry_model
        states, near = geometry_model.candidates_along(poses, max(limit, 0.0))
        nearest = np.full(len(poses), math.inf)
        if not len(states):
            return best, nearest
        separating_planes = geometry_model.planes
        first, second, bounds = near.first.copy(), near.second.copy(), near.gaps
        order_candidates(first, second, bounds, geometry_model.object_indices, self._bodies, ROUNDING)
        pairs = PlacedPairs(poses, states, first, second, bounds)
        highest = limit if best is None else min(limit, best.distance + beyond)
        separating_planes.raise_bounds(self._planes[: self._plane_count], pairs, highest)
        shortest = np.array((math.inf, 0.0) if best is None else best[:2], dtype=np.float64)
        while True:
            row, chosen, self._plane_count = find_closest(
                *separating_planes.shapes, *pairs, self._is_known, self._planes, nearest, shortest, self._plane_count,
                max_distance, SAME, limit, beyond,
            )  # fmt: skip
            if chosen >= 0:
                best = _nearest_of(float(shortest[0]), chosen, states, first, second, near.margins)
            if row < 0:
                break
            distance, normal = self._engine.separation(int(first[row]), int(second[row]), poses[states[row]])
            nearest[states[row]] = min(nearest[states[row]], distance)
            found = _nearest_of(distance, row, states, first, second, near.margins)
            if distance <= max_distance if best is None else found[:2] < best[:2]:
                best, shortest[:] = found, found[:2]
            if normal is None:
                bounds[row] = math.inf
            else:
                plane = self._planes[self._plane_count]
                self._plane_count = min(self._plane_count + 1, len(self._planes) - 1)
                separating_planes.exclude(row, normal, plane, pairs)
        lower_to_bounds(nearest, states, bounds, limit)  # pairs that were not searched may be closer than the others
        return best, nearest


def _nearest_of(
    distance: float, row: int, states: Indices, first: Indices, second: Indices, margins: Floats
) -> Nearest:
    """Return the distance [m] of a candidate, one of the rows of arrays (k,)."""
    return Nearest(distance, int(states[row]), int(first[row]), int(second[row]), float(margins[row]))


def _objects_named(allowed_pairs: AllowedPairs, names: tuple[str, ...]) -> frozenset[int]:
    """Return the indices of collision objects named directly or by their robot or tool; empty for no names."""
    objects: set[int] = set()
    for name in names:
        matching = [obj.index for obj in allowed_pairs.objects if name in (obj.name, obj.model)]
        if not matching:
            known = [obj.name for obj in allowed_pairs.objects] + [obj.model for obj in allowed_pairs.objects]
            raise UnknownNameError(unknown_name(f"collision object {name!r}", name, known), subjects=(name,))
        objects.update(matching)
    return frozenset(objects)


def _among(geometry_model: GeometryModel, near: Candidates, chosen: frozenset[int]) -> Candidates:
    if not chosen:
        return near
    objects = np.array(sorted(chosen))
    keep = np.isin(geometry_model.object_indices[near.first], objects) | np.isin(
        geometry_model.object_indices[near.second], objects
    )
    return near.chosen(keep)


def _within(
    geometry_model: GeometryModel, engine: CollisionEngine, near: Candidates, count: int, limit: float
) -> tuple[Clearance, ...]:
    """Return the closest pairs within the limit, from candidates that cover the same limit."""
    best: dict[tuple[int, int], tuple[float, DistanceResult]] = {}
    bound = limit
    for place in np.argsort(near.gaps, kind="stable").tolist():
        # Overlapping boxes give no bound on the penetration depth of their geometries.
        if near.gaps[place] > max(bound, 0.0):
            break
        i, j = int(near.first[place]), int(near.second[place])
        if geometry_model.object_indices[i] > geometry_model.object_indices[j]:
            i, j = j, i
        result = engine.distance(i, j)
        key = (int(geometry_model.object_indices[i]), int(geometry_model.object_indices[j]))
        if result.distance <= limit and (key not in best or result.distance < best[key][1].distance):
            best[key] = (float(near.margins[place]), result)
            if len(best) >= count:
                bound = min(limit, sorted(found.distance for _, found in best.values())[count - 1])
    closest = sorted(best.items(), key=lambda item: (item[1][1].distance, item[0]))[:count]
    return tuple(_clearance(geometry_model, key, margin, result) for key, (margin, result) in closest)


def _clearance(geometry_model: GeometryModel, key: tuple[int, int], margin: float, result: DistanceResult) -> Clearance:
    pair = geometry_model.checked_pair(key, margin)
    first, second = geometry_model.allowed_pairs.by_name[pair.first], geometry_model.allowed_pairs.by_name[pair.second]
    return Clearance(
        result.distance,
        margin,
        first.name,
        second.name,
        first.kind,
        second.kind,
        result.point_first,
        result.point_second,
        result.normal,
    )
