"""Closest pairs of collision objects, best first: bounding boxes select the pairs that need an exact distance."""

from __future__ import annotations

import math

import numpy as np

from ..errors import UnknownNameError
from ..model.name_suggestions import unknown_name
from .engines.base import CollisionEngine, DistanceResult, Floats
from .geometry.broad_phase import Candidates
from .geometry.geometry_model import GeometryModel
from .pairs.allowed_pairs import AllowedPairs
from .report import Clearance

FIRST_RADIUS = 0.25  # [m]
GROWTH = 4.0
LAST_RADIUS = 100.0  # [m], beyond which the search is unlimited
SAME = 1e-9  # [m]


def closest_pairs(
    geometry_model: GeometryModel,
    engine: CollisionEngine,
    q: Floats,
    count: int,
    names: tuple[str, ...],
    max_distance: float,
) -> tuple[Clearance, ...]:
    """Return the closest pairs at q (nq,), closest first: at most `count`, none beyond `max_distance` [m]."""
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


def closest_of(
    geometry_model: GeometryModel, engine: CollisionEngine, configurations: Floats, max_distance: float
) -> tuple[int, Clearance] | None:
    """Return the index of the configuration (n, nq) with the smallest distance, and that distance.

    Distances within a nanometre count as equal; the first one is returned. The result is None if no pair is within
    `max_distance` [m].
    """
    if max_distance > FIRST_RADIUS:
        # The distance of the first configuration bounds the search in the others.
        first = closest_pairs(geometry_model, engine, configurations[0], 1, (), max_distance)
        if first:
            max_distance = min(max_distance, first[0].distance + SAME)
    poses = engine.poses(configurations)
    radius = FIRST_RADIUS
    while True:
        limit = min(radius, max_distance)
        found = _closest_within(geometry_model, engine, poses, limit)
        if found is not None:
            index, i, j, margin = found
            engine.place(configurations[index])
            objects = int(geometry_model.object_indices[i]), int(geometry_model.object_indices[j])
            return index, _clearance(geometry_model, objects, margin, engine.distance(i, j))
        if limit == max_distance:
            return None
        radius = radius * GROWTH if radius < LAST_RADIUS else math.inf


def _closest_within(
    geometry_model: GeometryModel, engine: CollisionEngine, poses: Floats, limit: float
) -> tuple[int, int, int, float] | None:
    """Return the closest pair within the limit among sets of geometry placements (n, m, 4, 4).

    The result has the index of the placements, the indices of both geometries in the order of their collision objects,
    and the margin [m].
    """
    states, near = geometry_model.candidates_along(poses, max(limit, 0.0))
    order = np.argsort(near.gaps, kind="stable")
    first, second = near.first[order], near.second[order]
    swapped = geometry_model.object_indices[first] > geometry_model.object_indices[second]
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    columns = [column.tolist() for column in (near.gaps[order], states[order], first, second)]
    met: list[tuple[float, int, int]] = []
    bound = limit
    for place, (gap, state, i, j) in enumerate(zip(*columns, strict=True)):
        # Overlapping boxes give no bound on the penetration depth of their geometries.
        if gap > max(bound, 0.0) + SAME:
            break
        distance = engine.separation(i, j, poses[state])
        if distance <= min(bound + SAME, limit):
            met.append((distance, state, place))
            bound = min(bound, distance)
    if not met:
        return None
    _, state, place = min((entry for entry in met if entry[0] <= bound + SAME), key=lambda entry: entry[1:])
    return state, int(first[place]), int(second[place]), float(near.margins[order[place]])


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
