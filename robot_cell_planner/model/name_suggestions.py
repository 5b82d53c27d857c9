"""Suggestions of existing names for messages about unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_LISTED = 6
MAX_COMPARED = 255  # [characters] no suggestions for longer names


def unknown_name(text: str, name: str, existing: Iterable[str], count: int = MAX_LISTED) -> str:
    """Return "<text> does not exist" with the most similar existing names, or `count` of them if none is similar."""
    names = sorted(existing)
    if near := similar_names(name, names):
        return f"{text} does not exist; nearest: {', '.join(near)}"
    if not names:
        return f"{text} does not exist; there is none at all"
    return f"{text} does not exist; there {'is only' if len(names) == 1 else 'are'} {listed(names, count)}"


def similar_names(name: str, existing: Iterable[str]) -> list[str]:
    """Return up to three names that differ from another one by case or by the name before a slash, or else are the most
    similar to it."""
    names = sorted(existing)[:20_000]
    same = [other for other in names if other.casefold() == name.casefold()][:3]
    same = same or [other for other in names if other.casefold().endswith(f"/{name.casefold()}")][:3]
    return same or difflib.get_close_matches(name[:MAX_COMPARED], names, n=3, cutoff=0.6)


def listed(names: Iterable[str], count: int = MAX_LISTED) -> str:
    """Return names as text, with the number of those beyond the first `count`."""
    every = list(names)
    more = f" and {len(every) - count} more" if len(every) > count else ""
    return ", ".join(every[:count]) + more
