"""Pairs of links that the physics engine does not check for contacts."""

from __future__ import annotations

from collections.abc import Collection

from ..collision.pairs.allowed_pairs import AllowedPairs, SkippedPair
from .engines.base import BASE, Address, Engine


def disable_allowed_collisions(engine: Engine, rules: AllowedPairs, only: Collection[Address] | None = None) -> None:
    """Disable collision in a multibody between links that the cell allows to touch, and between static objects.

    only: Links of new multibodies, if those are all that is new.
    """
    by_body: dict[int, list[Address]] = {}
    for address, name in engine.object_names.items():
        if name in rules.by_name and (only is None or address in only):
            by_body.setdefault(address[0], []).append(Address(*address))
    for links in by_body.values():
        for index, first in enumerate(links):
            for second in links[index + 1 :]:
                one, other = engine.object_names[first], engine.object_names[second]
                if one == other or isinstance(rules.pair(one, other), SkippedPair):
                    engine.ignore(first, second)
    disable_between_anchored(engine, only)


def disable_between_anchored(engine: Engine, only: Collection[Address] | None = None) -> None:
    """Disable collision between links that can never move. only: See `disable_allowed_collisions`."""
    for first in engine.anchored:
        if first.link != BASE:
            for second in engine.anchored:
                if second.body != first.body and (only is None or first in only or second in only):
                    engine.ignore(first, second)
