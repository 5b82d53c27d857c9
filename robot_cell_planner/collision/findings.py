"""From colliding solids to pairs of things, as reports name them."""

from __future__ import annotations

from collections.abc import Iterable

from .box_search import Candidates
from .engine import CollisionEngine, Floats, Witness
from .report import CollisionPair, Contact
from .rules import CheckedPair
from .shape_table import ShapeTable

ROUNDING = 2e-6  # [m], above what two solvers differ by about one pair


def colliding_pairs(table: ShapeTable, engine: CollisionEngine, q: Floats, most: int) -> tuple[CollisionPair, ...]:
    """Pairs of things that collide at q (nq,), which collides; by step, then by names; most: 0 for all."""
    near = table.candidates(engine.place(q))
    # On the very threshold the quick check may see what the full one misses by its last digits.
    return pairs_among(table, engine, near, most) or pairs_among(table, engine, near, most, ROUNDING)


def pairs_among(
    table: ShapeTable, engine: CollisionEngine, near: Candidates, most: int, rounding: float = 0.0
) -> tuple[CollisionPair, ...]:
    """Those of the candidates that collide, where the engine has last placed things."""
    found: list[CollisionPair] = []
    for pair, solids in _by_owners(table, near):
        hits = [hit for i, j in solids if (hit := engine.contact(i, j, pair.margin + rounding)) is not None]
        if hits:
            found.append(_collision_pair(table, pair, hits))
            if len(found) == most:
                break
    return tuple(found)


def _by_owners(table: ShapeTable, near: Candidates) -> Iterable[tuple[CheckedPair, list[tuple[int, int]]]]:
    """Candidates gathered by their owners, in the order of reports; solids in the order of the owners."""
    grouped: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {}
    owners = table.owners
    columns = (near.first, near.second, owners[near.first], owners[near.second], near.margins)
    for i, j, one, other, margin in zip(*(column.tolist() for column in columns), strict=True):
        key, solids = ((one, other), (i, j)) if one < other else ((other, one), (j, i))
        grouped.setdefault(key, (margin, []))[1].append(solids)
    pair_of = table.checked_pair
    return sorted((pair_of(key, margin), solids) for key, (margin, solids) in grouped.items())


def _collision_pair(table: ShapeTable, pair: CheckedPair, hits: list[Witness]) -> CollisionPair:
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


def _contact(hit: Witness) -> Contact:
    return Contact(hit.point_first, hit.point_second, hit.normal, -hit.distance)
