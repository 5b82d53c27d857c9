"""Parts of a configuration file, read key by key, with errors that name file, line, key and what was expected."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, TypeVar

from ...errors import FileError
from ...model.name_suggestions import unknown_name
from ...model.value import Vector3
from .yaml_reader import line_of, parse_yaml

E = TypeVar("E", bound=Enum)
KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


class ConfigurationFile:
    """A YAML or JSON file that has been parsed."""

    def __init__(self, text: str, source: str, stage: str) -> None:
        self.text = text
        self.source = source
        self.stage = stage
        self.native_scale = 1.0  # metres in one unit of the lengths that the file gives
        self.root = Section(self, (), parse_yaml(text, source, stage))

    def error(self, path: Sequence[str | int], text: str) -> FileError:
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
        where = f"{place}: " if place else ""
        line = line_of(self.text, path)
        return FileError(f"{self.source}:{line}: {where}{text}", stage=self.stage, subjects=(self.source, place))


class Section:
    """A mapping of a file. Each key is read by a typed method; `finish` refuses the keys that nobody read."""

    def __init__(self, file: ConfigurationFile, path: tuple[str | int, ...], value: Any) -> None:
        self.file = file
        self.path = path
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
        """Whether the key is there, and not null."""
        self.known.append(key)
        return self.values.get(key) is not None

    def required(self, key: str) -> Any:
        if not self.has(key):
            if key in self.values:
                raise self.error("is empty", key)
            near = difflib.get_close_matches(key, [name for name in self.values if name not in self.known])
            raise self.error(f"lacks {key!r}{f'; is {near[0]!r} meant to be it?' if near else ''}")
        return self.values[key]

    def allow(self, *keys: str) -> None:
        """Refuse all other keys, before what they would have said is missed.

        Raises:
            FileError: names the key, and the nearest allowed ones.
        """
        for key in self.values:
            if key not in keys:
                raise self.error(unknown_name(f"key {key!r}", key, keys), key)

    def finish(self) -> None:
        """Refuse keys that are not known.

        Raises:
            FileError: names the key, and the nearest known ones.
        """
        for key in self.values:
            if key not in self.known:
                raise self.error(unknown_name(f"key {key!r}", key, self.known), key)

    def section(self, key: str) -> Section:
        """The mapping under a key; empty without one."""
        self.known.append(key)
        return Section(self.file, (*self.path, key), self.values.get(key))

    def sections(self, key: str) -> Iterator[Section]:
        """The mappings under the names in a mapping."""
        parent = self.section(key)
        for name in parent.values:
            yield Section(self.file, (*parent.path, name), parent.values[name])

    def listed_sections(self, key: str) -> Iterator[Section]:
        """The mappings in a list."""
        if self.has(key):
            for index, value in enumerate(self._list(key)):
                yield Section(self.file, (*self.path, key, index), value)

    def _list(self, key: str) -> list[Any]:
        value = self.values[key]
        if not isinstance(value, list):
            raise self.error(f"is {_kind(value)}, expected a list", key)
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text. A number or truth value without quotes counts as what was written only if YAML says it is text."""
        if default is not None and not self.has(key):
            return default
        value = self.required(key)
        if not isinstance(value, str):
            raise self.error(f"is {_kind(value)}, expected text", key)
        return value

    def argument(self, key: str) -> str:
        """A text, number or truth value as text, as a command line has it."""
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
        """A finite number."""
        if default is not None and not self.has(key):
            return default
        return self._number(self.required(key), key)

    def length(self, key: str) -> float:
        """A length in the units of the file, in metres."""
        return self.number(key) * self.file.native_scale

    def lengths(self, key: str, default: Vector3 | None = None) -> Vector3:
        """Three lengths in the units of the file, in metres."""
        x, y, z = self.vector(key, default)
        factor = self.file.native_scale
        return x * factor, y * factor, z * factor

    def _number(self, value: Any, *keys: str | int) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(f"is {_show(value)}, expected a number", *keys)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(f"is {number}, expected a finite number", *keys)
        return number

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """A list of that many finite numbers."""
        self.required(key)
        values = self._list(key)
        if len(values) != count:
            raise self.error(f"has {len(values)} numbers, expected {count}", key)
        return tuple(self._number(value, key, index) for index, value in enumerate(values))

    def rows(self, key: str, count: int) -> list[tuple[float, ...]]:
        """A list of lists of that many finite numbers."""
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
        """A mapping of names to finite numbers."""
        table = self.section(key)
        return {name: table._number(value, name) for name, value in table.values.items()}

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty without one."""
        if not self.has(key):
            return ()
        for index, value in enumerate(self._list(key)):
            if not isinstance(value, str):
                raise self.error(f"is {_kind(value)}, expected text", key, index)
        return tuple(self.values[key])

    def choice(self, key: str, kind: type[E], default: E) -> E:
        """One of the values of an enumeration."""
        value = self.text(key, default.value)
        choices = [member.value for member in kind]
        if value not in choices:
            raise self.error(f"is {_show(value)}, expected one of {', '.join(choices)}", key)
        return kind(value)


def _kind(value: Any) -> str:
    return "empty" if value is None else KINDS.get(type(value), type(value).__name__)


def _show(value: Any) -> str:
    return repr(value)[:80] if isinstance(value, (str, int, float)) else _kind(value)
