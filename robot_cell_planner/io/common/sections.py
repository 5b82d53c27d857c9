"""Typed access to configuration files, with errors that give file, line, key and the expected value."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from frozendict import frozendict

from ...errors import FileError
from ...model.name_suggestions import unknown_name
from ...model.value import Vector3
from .yaml_reader import line_of, parse_yaml

E = TypeVar("E", bound=Enum)
MAX_KEYS = 12  # listed in an error
# Keys of other formats, and those of this one with their meaning.
SYNONYMS = {
    **dict.fromkeys(("orientation", "rotation", "orient"), ("quaternion", "rpy")),
    **dict.fromkeys(("xyz", "translation", "origin", "location"), ("position", "pose")),
    **dict.fromkeys(("file", "filename", "path", "mesh"), ("uri", "urdf")),
    **dict.fromkeys(("dimensions", "extents"), ("size",)),
    "height": ("length",),
    **dict.fromkeys(("parent", "parent_frame", "frame_id"), ("attached_to",)),
    "joints": ("configuration",),
    "color": ("rgba",),
}
NOWHERE: Mapping[str, str] = frozendict()
NUMBER_WITH_UNIT = re.compile(r"([-+]?[0-9]*[.,]?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z°]{0,8})")
DEGREES = ("deg", "degree", "degrees", "°")
KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


class ConfigurationFile:
    """Parsed YAML or JSON file."""

    def __init__(self, text: str, source: str, stage: str) -> None:
        self.text = text
        self.source = source
        self.stage = stage
        self.root = Section(self, (), parse_yaml(text, source, stage))

    def error(self, path: Sequence[str | int], text: str) -> FileError:
        return FileError(f"{self.place(path)}: {text}", stage=self.stage, subjects=(self.source, _location(path)))

    def place(self, path: Sequence[str | int]) -> str:
        """Return file, line and keys of the value at a path of keys and indices."""
        line, location = line_of(self.text, path), _location(path)
        return f"{self.source}:{line}: {location}" if location else f"{self.source}:{line}"


class Section:
    """Mapping in a file. Each key is read by a typed method; `finish` refuses keys that were not read.

    native_scale: metres per unit of its lengths, and of those of the sections in it.
    """

    def __init__(
        self, file: ConfigurationFile, path: tuple[str | int, ...], value: Any, native_scale: float = 1.0
    ) -> None:
        self.file = file
        self.path = path
        self.native_scale = native_scale
        self.known: list[str] = []
        self.values: dict[str, Any] = {} if value is None else value
        if not isinstance(self.values, dict):
            raise self.error(f"is {_kind(value)}, expected a mapping")

    @property
    def name(self) -> str:
        return str(self.path[-1]) if self.path else ""

    def error(self, text: str, *keys: str | int) -> FileError:
        return self.file.error((*self.path, *keys), text)

    def has(self, key: str) -> bool:
        """Return whether the key exists and is not null."""
        self.known.append(key)
        return self.values.get(key) is not None

    def required(self, key: str) -> Any:
        if not self.has(key):
            if key in self.values:
                raise self.error("is empty", key)
            near = difflib.get_close_matches(key, [name for name in self.values if name not in self.known])
            raise self.error(f"lacks {key!r}{f'; is {near[0]!r} meant to be it?' if near else ''}")
        return self.values[key]

    def allow(self, *keys: str, elsewhere: Mapping[str, str] = NOWHERE) -> None:
        """Refuse all keys except those given.

        elsewhere: Place in the file of keys that belong to another section.

        Raises:
            FileError: A key is not allowed; the message gives its place, or the most similar allowed keys.
        """
        for key in self.values:
            if key in elsewhere:
                raise self.error(f"key {key!r} does not exist here; write it as {elsewhere[key]}", key)
            if key not in keys:
                raise self.error(_unknown_key(key, keys), key)

    def finish(self) -> None:
        """Refuse keys that were not read.

        Raises:
            FileError: A key is unknown; the message gives the most similar known keys.
        """
        for key in self.values:
            if key not in self.known:
                raise self.error(_unknown_key(key, self.known), key)

    def section(self, key: str) -> Section:
        """Return the mapping under a key; empty without the key."""
        self.known.append(key)
        return Section(self.file, (*self.path, key), self.values.get(key), self.native_scale)

    def in_own_units(self) -> Section:
        """Return the section with the scale that its key `native_scale` gives; itself without the key.

        Raises:
            FileError: The scale is not a number above zero.
        """
        if not self.has("native_scale"):
            return self
        scale = self.number("native_scale")
        if not scale > 0.0:
            raise self.error(f"is {scale:g}, expected a number above 0", "native_scale")
        result = Section(self.file, self.path, self.values, scale)
        result.known = self.known
        return result

    def sections(self, key: str) -> Iterator[Section]:
        """Return the mappings under the names in a mapping."""
        parent = self.section(key)
        for name in parent.values:
            yield Section(self.file, (*parent.path, name), parent.values[name], self.native_scale)

    def listed_sections(self, key: str) -> Iterator[Section]:
        """Return the mappings in a list."""
        if self.has(key):
            for index, value in enumerate(self._list(key)):
                yield Section(self.file, (*self.path, key, index), value, self.native_scale)

    def _list(self, key: str) -> list[Any]:
        value = self.values[key]
        if not isinstance(value, list):
            raise self.error(f"is {_kind(value)}, expected a list", key)
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string. An unquoted number or boolean is accepted only if YAML reads it as a string."""
        if default is not None and not self.has(key):
            return default
        value = self.required(key)
        if not isinstance(value, str):
            raise self.error(f"is {_kind(value)}, expected text", key)
        return value

    def argument(self, key: str) -> str:
        """Return a string, number or boolean as a string, as on a command line."""
        value = self.required(key)
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, (str, int, float)):
            raise self.error(f"is {_kind(value)}, expected text or a number", key)
        return str(value)

    def flag(self, key: str, default: bool = False) -> bool:
        if not self.has(key):
            return default
        value = self.values[key]
        if not isinstance(value, bool):
            raise self.error(f"is {_show(value)}, expected true or false", key)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        if default is not None and not self.has(key):
            return default
        return self._number(self.required(key), key)

    def length(self, key: str) -> float:
        """Return a length, converted from file units to metres."""
        return self.number(key) * self.native_scale

    def lengths(self, key: str, default: Vector3 | None = None) -> Vector3:
        """Return three lengths, converted from file units to metres."""
        x, y, z = self.vector(key, default)
        factor = self.native_scale
        return x * factor, y * factor, z * factor

    def _number(self, value: Any, *keys: str | int) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(f"is {_show(value)}, expected a number{_with_unit(value)}", *keys)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(f"is {number}, expected a finite number", *keys)
        return number

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """Return a list of `count` finite numbers."""
        self.required(key)
        values = self._list(key)
        if len(values) != count:
            raise self.error(f"has {len(values)} numbers, expected {count}", key)
        return tuple(self._number(value, key, index) for index, value in enumerate(values))

    def rows(self, key: str, count: int) -> list[tuple[float, ...]]:
        """Return a list of lists of `count` finite numbers."""
        self.required(key)
        rows = []
        for index, row in enumerate(self._list(key)):
            if not isinstance(row, list) or len(row) != count:
                raise self.error(f"is {_show(row)}, expected a list of {count} numbers", key, index)
            rows.append(tuple(self._number(value, key, index, column) for column, value in enumerate(row)))
        return rows

    def vector(self, key: str, default: Vector3 | None = None) -> Vector3:
        if default is not None and not self.has(key):
            return default
        x, y, z = self.numbers(key, 3)
        return x, y, z

    def number_table(self, key: str) -> dict[str, float]:
        """Return a mapping of names to finite numbers."""
        table = self.section(key)
        return {name: table._number(value, name) for name, value in table.values.items()}

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings; empty without the key."""
        if not self.has(key):
            return ()
        for index, value in enumerate(self._list(key)):
            if not isinstance(value, str):
                raise self.error(f"is {_kind(value)}, expected text", key, index)
        return tuple(self.values[key])

    def choice(self, key: str, kind: type[E], default: E) -> E:
        """Return a value of an enumeration."""
        value = self.text(key, default.value)
        choices = [member.value for member in kind]
        if value not in choices:
            raise self.error(f"is {_show(value)}, expected one of {', '.join(choices)}", key)
        return kind(value)


def path_to(root: Any, text: str) -> tuple[str | int, ...]:
    """Return the path of keys and indices to the first value that is a text, or whose key is; () if there is none."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), root)]
    while stack:
        path, value = stack.pop()
        if path and text in (path[-1], value):
            return path
        if isinstance(value, dict):
            stack.extend(((*path, key), value[key]) for key in reversed(value))
        elif isinstance(value, list):
            stack.extend(((*path, index), value[index]) for index in reversed(range(len(value))))
    return ()


def _location(path: Sequence[str | int]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def _unknown_key(key: str, known: Iterable[str]) -> str:
    """Return the text of an error about a key, with the keys that have its meaning or are similar."""
    same = [name for name in SYNONYMS.get(key, ()) if name in known]
    if same:
        return f"key {key!r} does not exist; write {' or '.join(same)}"
    return unknown_name(f"key {key!r}", key, known, MAX_KEYS)


def _with_unit(value: Any) -> str:
    """Return how a number with a unit or a comma is written; "" for another value."""
    found = NUMBER_WITH_UNIT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return ""
    number, unit = found[1].replace(",", "."), found[2]
    if unit in DEGREES:
        return f"; write !degrees {number}"
    return f"; write {number} with lengths in m, angles in rad and masses in kg" if unit else f"; write {number}"


def _kind(value: Any) -> str:
    return "empty" if value is None else KINDS.get(type(value), type(value).__name__)


def _show(value: Any) -> str:
    return repr(value)[:80] if isinstance(value, (str, int, float)) else _kind(value)
