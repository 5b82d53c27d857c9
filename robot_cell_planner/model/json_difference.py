"""The first difference of two JSON values."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

MAX_SHOWN = 80  # characters of a value


def first_difference(
    was: Any, found: Any, place: str = "", ignored: Collection[str] = ()
) -> tuple[str, str, str] | None:
    """Return the place, such as `result.path[3][0]`, and both values as text; None if the values are equal.

    ignored: Fields of objects that are not compared.
    """
    if isinstance(was, dict) and isinstance(found, dict):
        for key in [*was, *(key for key in found if key not in was)]:
            if key in ignored:
                continue
            if (key in was) != (key in found):
                return f"{place}.{key}".lstrip("."), _shown(was.get(key)), _shown(found.get(key))
            if (inner := first_difference(was[key], found[key], f"{place}.{key}", ignored)) is not None:
                return inner
        return None
    if isinstance(was, list) and isinstance(found, list) and len(was) == len(found):
        pairs = enumerate(zip(was, found, strict=True))
        inside = (first_difference(one, other, f"{place}[{index}]", ignored) for index, (one, other) in pairs)
        return next((inner for inner in inside if inner is not None), None)
    return None if was == found else (place.lstrip(".") or "response", _shown(was), _shown(found))


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
