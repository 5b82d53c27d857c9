"""Pairs of links of one robot or tool that are never checked, whatever it is attached to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from frozendict import frozendict

from ...model.bodies import Tool
from ...model.cell import RobotCell
from ...model.robot import Robot
from ...system.cache import IdentityCache
from .allowed_pairs import AllowedPairs

MAX_MODELS = 256  # whose pairs are cached

_unchecked: IdentityCache[Mapping[frozenset[str], str]] = IdentityCache(size=MAX_MODELS, owners=MAX_MODELS)


def unchecked_link_pairs(model: Robot | Tool) -> Mapping[frozenset[str], str]:
    """Return the pairs of links with shapes of a robot or tool that are not checked without `fixed_pairs`, by their
    names as collision objects, each with the reason: the SRDF, or that they are fixed to each other or neighbours."""
    return _unchecked.get((model,), (), lambda: _skipped(model))


def _skipped(model: Robot | Tool) -> Mapping[frozenset[str], str]:
    if isinstance(model, Robot):
        cell = RobotCell(robots=frozendict({model.name: msgspec.structs.replace(model, attached_to="")}))
    else:
        cell = RobotCell(tools=frozendict({model.name: model}))
    skipped = AllowedPairs(cell, cell.default_state()).skipped()
    return frozendict({frozenset((pair.first, pair.second)): pair.reason for pair in skipped})
