"""Random and hostile messages, generated from the types of interfaces; seeded, so that each can be repeated."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any

from rosidl_parser.definition import (
    AbstractGenericString,
    AbstractNestedType,
    AbstractSequence,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)

FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 2.0, 1e-3, 3.2, -1.7, 100.0),
    *(math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e16, 1e100, 1e154, 1e308, -1e308),
)
SINGLES = (0.0, 1.0, -1.0, 0.5, math.nan, math.inf, 1e-45, 3.4e38)
TEXTS = (
    *("", " ", "/", "..", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "package://none/x", "x.yaml"),
    *("world", "a\nb", "ä€𝄞", "\u202egnp", "%s%n", "${1+1}", "{0}", "'\"", "NaN", "-1", "true", "x" * 300),
    *("gripper/", "/tcp", "gripper/tcp/tcp", "A" * 70_000),
)
HUGE = "x" * 3_000_000
OFTEN = 0.3  # fraction of the fields of a random message that are changed
MAX_DEPTH = 8
# Requested waits are short, or invalid.
DURATIONS = ((0, 0), (0, 1), (0, 50_000_000), (-1, 0), (2**31 - 1, 999_999_999), (-(2**31), 0), (0, 4_000_000_000))


class Fuzzer:
    """Makes messages. names: those that exist in the cell, so that some requested objects exist."""

    def __init__(self, seed: object, names: Sequence[str] = ()) -> None:
        self._random = random.Random(str(seed))
        self._names = tuple(names)

    def message(self, kind: Any, valid: Sequence[Any] = ()) -> Any:
        """A message: by halves one of `valid` with some fields changed, and one of random fields."""
        if valid and self._random.random() < 0.6:
            message = deepcopy(self._random.choice(valid))
            for _ in range(self._random.choice((1, 1, 1, 2, 4))):
                self._change(message)
            return message
        return self._filled(kind, 0)

    def _fields(self, kind: Any) -> list[tuple[str, Any]]:
        return list(zip(kind.get_fields_and_field_types(), kind.SLOT_TYPES, strict=False))

    def _filled(self, kind: Any, depth: int) -> Any:
        message = kind()
        if kind.__name__ == "Duration":
            message.sec, message.nanosec = self._random.choice(DURATIONS)
            message.nanosec %= 2**32
            return message
        for name, declared in self._fields(kind):
            if self._random.random() < OFTEN:
                setattr(message, name, self._value(declared, depth))
        return message

    def _change(self, message: Any) -> None:
        """Change one field somewhere within a message."""
        while True:
            fields = self._fields(type(message))
            if not fields:
                return
            name, declared = self._random.choice(fields)
            held = getattr(message, name)
            is_message = isinstance(declared, NamespacedType) and type(held).__name__ != "Duration"
            if is_message and self._random.random() < 0.9:
                message = held
                continue
            if isinstance(declared, AbstractNestedType) and self._random.random() < 0.7 and len(held):
                index = self._random.randrange(len(held))
                if isinstance(declared.value_type, NamespacedType):
                    message = held[index]
                    continue
                if isinstance(declared, AbstractSequence) and self._random.random() < 0.4:
                    setattr(message, name, self._other_length(list(held), index))
                    return
                held[index] = self._value(declared.value_type, 0)
                return
            setattr(message, name, self._value(declared, 0))
            return

    def _other_length(self, values: list[Any], index: int) -> list[Any]:
        """One value less, or one twice."""
        return values[:index] + values[index + 1 :] if self._random.random() < 0.5 else [*values, values[index]]

    def _value(self, declared: Any, depth: int) -> Any:
        if isinstance(declared, NamespacedType):
            kind = getattr(import_module(".".join(declared.namespaces)), declared.name)
            return self._filled(kind, depth + 1) if depth < MAX_DEPTH else kind()
        if isinstance(declared, AbstractNestedType):
            return self._sequence(declared, depth)
        if isinstance(declared, AbstractGenericString):
            return self._text()
        return self._number(declared)

    def _sequence(self, declared: Any, depth: int) -> Any:
        if isinstance(declared, Array):
            length = declared.size
        else:
            length = self._random.choice((0, 1, 1, 2, 3, 6, 7, 36))
            if isinstance(declared, BoundedSequence):
                length = min(length, declared.maximum_size)
        if isinstance(declared.value_type, NamespacedType) and length > 3 and depth > 1:
            length = 2
        return [self._value(declared.value_type, depth) for _ in range(length)]

    def _text(self) -> str:
        number = self._random.random()
        if number < 0.002:
            return HUGE
        return self._random.choice(self._names if self._names and number < 0.6 else TEXTS)

    def _number(self, declared: BasicType) -> Any:
        name = declared.typename
        if name == "boolean":
            return self._random.random() < 0.5
        if name == "octet":
            return bytes([self._random.randrange(256)])
        if name in ("float", "double"):
            if self._random.random() < 0.3:
                return self._random.uniform(-3.2, 3.2)
            return self._random.choice(SINGLES if name == "float" else FLOATS)
        bits = int("8" if name == "char" else name.lstrip("uint"))
        low, high = (
            (0, 2**bits - 1) if name == "char" or name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        return self._random.choice(
            (low, high, 0, 0, 1, 1, 2, 3, self._random.randint(0, 20), self._random.randint(low, high))
        )
