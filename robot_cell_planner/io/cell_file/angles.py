"""Angles of cell files that are probably in degrees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...model.angles import degrees_doubt
from ..common.sections import ConfigurationFile

KEY = "rpy"
IN_DEGREES = f"{KEY}: [!degrees 180, 0, 0]"  # how angles in degrees are written


def doubtful_angles(file: ConfigurationFile) -> tuple[str, ...]:
    """Return a sentence, with its position in the file, for each `rpy` with an angle of more than a turn."""
    found = []
    for path, values in _orientations(file.root.values, ()):
        if all(isinstance(value, (int, float)) for value in values) and (doubt := degrees_doubt(values)):
            found.append(file.error(path, doubt).message)
    return tuple(found)


def _orientations(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], list[Any]]]:
    """Yield the values of all keys `rpy` with their paths. The depth of a file is bounded by its reader."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        if key == KEY and isinstance(entry, list) and entry:
            yield (*path, key), entry
        elif isinstance(entry, (dict, list)):
            yield from _orientations(entry, (*path, key))
