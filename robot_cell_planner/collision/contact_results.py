"""From colliding solids to pairs of things, as reports name them."""

from __future__ import annotations

from .engines.base import TOUCHING, CollisionEngine, DistanceResult, Floats
from .geometry.geometry_model import GeometryModel, GeometryPair
from .pairs.allowed_pairs import CheckedPair
from .report import CollisionPair, Contact

ROUNDING = 2e-6  # [m], above what two solvers differ by about one pair


def colliding_pairs(table: GeometryModel, engine: CollisionEngine, q: Floats, most: int) -> tuple[CollisionPair, ...]:
    """Pairs of things that collide at q (nq,); by step, then by names; most: 0 for all.

    There are some if and only if `engine.collides(q)`. On the very threshold the quick check may see what the full one
    misses by its last digits, or the other way round; there its verdict counts.
    """
    near = table.near(engine.place(q))
    found = pairs_among(table, engine, near, most, ROUNDING)
    if not found or max(pair.distance - pair.margin for pair in found) <= -TOUCHING - ROUNDING:
        return found
    if not engine.collides(q):
        return ()
    return pairs_among(table, engine, near, most) or found


def pairs_among(
    table: GeometryModel, engine: CollisionEngine, near: list[GeometryPair], most: int, rounding: float = 0.0
) -> tuple[CollisionPair, ...]:
    """Those that collide of solids that come near, where the engine has last placed things; rounding: how far above
    the threshold still counts [m]."""
    found: list[CollisionPair] = []
    hits: list[DistanceResult] = []
    current: CheckedPair | None = None
    for pair, first, second in near:
        if pair is not current:
            if hits:
                assert current is not None
                found.append(_collision_pair(table, current, hits))
                hits = []
                if len(found) == most:
                    return tuple(found)
            current = pair
        hit = engine.contact(first, second, pair.margin + rounding)
        if hit is not None:
            hits.append(hit)
    if current is not None and hits:
        found.append(_collision_pair(table, current, hits))
    return tuple(found)


def _collision_pair(table: GeometryModel, pair: CheckedPair, hits: list[DistanceResult]) -> CollisionPair:
    if len(hits) > 1:
        hits.sort(key=lambda hit: hit.distance)
    by_name = table.book.by_name
    return CollisionPair(
        pair.step,
        pair.first,
        pair.second,
        by_name[pair.first].kind,
        by_name[pair.second].kind,
        hits[0].distance,
        pair.margin,
        tuple(map(_contact, hits)),
    )


def _contact(hit: DistanceResult) -> Contact:
    return Contact(hit.point_first, hit.point_second, hit.normal, -hit.distance)
