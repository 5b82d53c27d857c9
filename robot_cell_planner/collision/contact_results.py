"""Conversion of colliding geometries to pairs of collision objects for reports."""

from __future__ import annotations

from ..errors import InvalidRequestError
from .engines.base import TOUCHING, CollisionEngine, DistanceResult, Floats
from .geometry.geometry_model import GeometryModel, GeometryPair
from .pairs.allowed_pairs import CheckedPair
from .report import CollisionPair, Contact

ROUNDING = 2e-6  # [m], upper bound on the difference of two solvers for the same pair


def colliding_pairs(
    geometry_model: GeometryModel, engine: CollisionEngine, q: Floats, max_pairs: int
) -> tuple[CollisionPair, ...]:
    """Return the colliding pairs at q (nq,), by step and then by names; max_pairs: 0 for all.

    The result is non-empty if and only if `engine.collides(q)`. Exactly at the threshold the boolean check and the
    distance computation may differ in their last digits; then the boolean check decides.

    Raises:
        InvalidRequestError: The number of pairs is below 0.
    """
    if max_pairs < 0:
        raise InvalidRequestError(f"max_pairs is {max_pairs}, expected at least 0 (all)", stage="collision")
    near = geometry_model.near(engine.place(q))
    found = pairs_among(geometry_model, engine, near, max_pairs, ROUNDING)
    if not found or max(pair.distance - pair.margin for pair in found) <= -TOUCHING - ROUNDING:
        return found
    if not engine.collides(q):
        return ()
    return pairs_among(geometry_model, engine, near, max_pairs) or found


def pairs_among(
    geometry_model: GeometryModel,
    engine: CollisionEngine,
    near: list[GeometryPair],
    max_pairs: int,
    rounding: float = 0.0,
) -> tuple[CollisionPair, ...]:
    """Return the colliding pairs among candidate geometry pairs, at the last placements of the engine.

    rounding: pairs up to this distance [m] above the threshold still count as colliding.
    """
    found: list[CollisionPair] = []
    hits: list[DistanceResult] = []
    current: CheckedPair | None = None
    for pair, first, second in near:
        if pair is not current:
            if hits:
                assert current is not None
                found.append(_collision_pair(geometry_model, current, hits))
                hits = []
                if len(found) == max_pairs:
                    return tuple(found)
            current = pair
        hit = engine.contact(first, second, pair.margin + rounding)
        if hit is not None:
            hits.append(hit)
    if current is not None and hits:
        found.append(_collision_pair(geometry_model, current, hits))
    return tuple(found)


def _collision_pair(geometry_model: GeometryModel, pair: CheckedPair, hits: list[DistanceResult]) -> CollisionPair:
    if len(hits) > 1:
        hits.sort(key=lambda hit: hit.distance)
    by_name = geometry_model.allowed_pairs.by_name
    return CollisionPair(
        pair.pair_type,
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
