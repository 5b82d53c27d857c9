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

FIRST_REACH = 0.25  # [m]
GROWTH = 4.0
LAST_REACH = 100.0  # [m], beyond which the search is unlimited
SAME = 1e-9  # [m]


def closest_pairs(
    table: GeometryModel,
    engine: CollisionEngine,
    q: Floats,
    count: int,
    names: tuple[str, ...],
    max_distance: float,
) -> tuple[Clearance, ...]:
    """Return the closest pairs at q (nq,), closest first: at most `count`, none beyond `max_distance` [m]."""
    chosen = _owners_named(table.book, names)
    poses = engine.place(q)
    reach = FIRST_REACH
    while True:
        limit = min(reach, max_distance)
        found = _within(table, engine, _among(table, table.candidates(poses, max(limit, 0.0)), chosen), count, limit)
        if len(found) == count or limit == max_distance:
            return found
        reach = reach * GROWTH if reach < LAST_REACH else math.inf


def closest_of(
    table: GeometryModel, engine: CollisionEngine, configurations: Floats, max_distance: float
) -> tuple[int, Clearance] | None:
    """Return the index of the configuration (n, nq) with the smallest distance, and that distance.

    Distances within a nanometre count as equal; the first one is returned. The result is None if no pair is within
    `max_distance` [m].
    """
    if max_distance > FIRST_REACH:
        # The distance of the first configuration bounds the search in the others.
        first = closest_pairs(table, engine, configurations[0], 1, (), max_distance)
        if first:
            max_distance = min(max_distance, first[0].distance + SAME)
    poses = engine.poses(configurations)
    reach = FIRST_REACH
    while True:
        limit = min(reach, max_distance)
        found = _closest_within(table, engine, poses, limit)
        if found is not None:
            index, i, j, margin = found
            engine.place(configurations[index])
            owners = int(table.owners[i]), int(table.owners[j])
            return index, _clearance(table, owners, margin, engine.distance(i, j))
        if limit == max_distance:
            return None
        reach = reach * GROWTH if reach < LAST_REACH else math.inf


def _closest_within(
    table: GeometryModel, engine: CollisionEngine, poses: Floats, limit: float
) -> tuple[int, int, int, float] | None:
    """Return the closest pair within the limit among sets of geometry placements (n, m, 4, 4).

    The result has the index of the placements, the indices of both geometries in the order of their collision objects,
    and the margin [m].
    """
    states, near = table.candidates_along(poses, max(limit, 0.0))
    order = np.argsort(near.gaps, kind="stable")
    first, second = near.first[order], near.second[order]
    swapped = table.owners[first] > table.owners[second]
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    columns = [column.tolist() for column in (near.gaps[order], states[order], first, second)]
    met: list[tuple[float, int, int]] = []
    bound, placed = limit, -1
    for place, (gap, state, i, j) in enumerate(zip(*columns, strict=True)):
        # Overlapping boxes give no bound on the penetration depth of their geometries.
        if gap > max(bound, 0.0) + SAME:
            break
        if state != placed:
            engine.place_at(poses[state])
            placed = state
        distance = engine.separation(i, j)
        if distance <= min(bound + SAME, limit):
            met.append((distance, state, place))
            bound = min(bound, distance)
    if not met:
        return None
    _, state, place = min((entry for entry in met if entry[0] <= bound + SAME), key=lambda entry: entry[1:])
    return state, int(first[place]), int(second[place]), float(near.margins[order[place]])


def _owners_named(book: AllowedPairs, names: tuple[str, ...]) -> frozenset[int]:
    """Return the indices of collision objects named directly or by their robot or tool; empty for no names."""
    owners: set[int] = set()
    for name in names:
        matching = [owner.index for owner in book.owners if name in (owner.name, owner.unit)]
        if not matching:
            known = [owner.name for owner in book.owners] + [owner.unit for owner in book.owners]
            raise UnknownNameError(unknown_name(f"thing with shapes {name!r}", name, known), subjects=(name,))
        owners.update(matching)
    return frozenset(owners)


def _among(table: GeometryModel, near: Candidates, chosen: frozenset[int]) -> Candidates:
    if not chosen:
        return near
    owners = np.array(sorted(chosen))
    keep = np.isin(table.owners[near.first], owners) | np.isin(table.owners[near.second], owners)
    return near.chosen(keep)


def _within(
    table: GeometryModel, engine: CollisionEngine, near: Candidates, count: int, limit: float
) -> tuple[Clearance, ...]:
    """Return the closest pairs within the limit, from candidates that cover the same limit."""
    best: dict[tuple[int, int], tuple[float, DistanceResult]] = {}
    bound = limit
    for place in np.argsort(near.gaps, kind="stable").tolist():
        # Overlapping boxes give no bound on the penetration depth of their geometries.
        if near.gaps[place] > max(bound, 0.0):
            break
        i, j = int(near.first[place]), int(near.second[place])
        if table.owners[i] > table.owners[j]:
            i, j = j, i
        witness = engine.distance(i, j)
        key = (int(table.owners[i]), int(table.owners[j]))
        if witness.distance <= limit and (key not in best or witness.distance < best[key][1].distance):
            best[key] = (float(near.margins[place]), witness)
            if len(best) >= count:
                bound = min(limit, sorted(found.distance for _, found in best.values())[count - 1])
    closest = sorted(best.items(), key=lambda item: (item[1][1].distance, item[0]))[:count]
    return tuple(_clearance(table, key, margin, witness) for key, (margin, witness) in closest)


def _clearance(table: GeometryModel, key: tuple[int, int], margin: float, witness: DistanceResult) -> Clearance:
    pair = table.checked_pair(key, margin)
    first, second = table.book.by_name[pair.first], table.book.by_name[pair.second]
    return Clearance(
        witness.distance,
        margin,
        first.name,
        second.name,
        first.kind,
        second.kind,
        witness.point_first,
        witness.point_second,
        witness.normal,
    )
