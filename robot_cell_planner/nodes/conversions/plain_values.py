"""Conversion of messages to and from plain values, for command lines and files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from rosidl_parser.definition import AbstractGenericString, AbstractNestedType, BasicType, NamespacedType

from ...errors import InvalidRequestError
from ...model.name_suggestions import listed, unknown_name
from .wire_types import INTEGERS

M = TypeVar("M")
STAGE = "message"


def message_from_plain(kind: type[M], values: Mapping[str, Any], place: str = "") -> M:
    """Return a message with fields from a mapping; other fields have their defaults.

    Args:
        kind: Type of the message, or of a request or goal.
        values: Values by field: numbers, strings, booleans, lists and mappings; bytes as numbers.
        place: Path of the mapping in a larger one, for errors.

    Raises:
        InvalidRequestError: A field is unknown, or a value has a wrong type.
    """
    declared: Any = kind
    if not isinstance(values, Mapping):
        names = listed(declared.get_fields_and_field_types())
        text = f"{place or 'the message'} is {values!r}, expected a mapping with fields of {names}"
        raise InvalidRequestError(text, stage=STAGE, subjects=(place,) if place else ())
    types = dict(zip(declared.get_fields_and_field_types(), declared.SLOT_TYPES, strict=True))
    fields = {}
    for name, value in values.items():
        path = f"{place}.{name}" if place else str(name)
        if name not in types:
            raise InvalidRequestError(unknown_name(f"field {path!r}", str(name), types), stage=STAGE, subjects=(path,))
        _refuse_constant_name(declared, types[name], value, path)
        fields[name] = _field(types[name], value, path)
    try:
        return declared(**fields)  # type: ignore[no-any-return]
    except (AssertionError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidRequestError(f"{place or 'the message'}: {reason}", stage=STAGE, subjects=(place,)) from error


def _refuse_constant_name(declared: Any, kind: Any, value: Any, place: str) -> None:
    """Refuse the name of a constant of a message in place of its number, which the error gives."""
    number = getattr(declared, value, None) if isinstance(value, str) and value.isidentifier() else None
    if isinstance(kind, BasicType) and isinstance(number, int):
        text = f"{place} is {value!r}, expected a value of type {kind.typename}: {value} is {number}"
        raise InvalidRequestError(text, stage=STAGE, subjects=(place,))


def _field(kind: Any, value: Any, place: str) -> Any:
    if isinstance(kind, AbstractNestedType):
        if not isinstance(value, list):
            raise InvalidRequestError(f"{place} is {value!r}, expected a list", stage=STAGE, subjects=(place,))
        return [_field(kind.value_type, item, f"{place}[{index}]") for index, item in enumerate(value)]
    if isinstance(kind, NamespacedType):
        found = getattr(import_module(".".join(kind.namespaces)), kind.name)
        return message_from_plain(found, value, place)
    expected = _python_type(kind)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if expected is bytes and type(value) is int and 0 <= value < 256:
        return bytes((value,))
    if type(value) is not expected:
        quotes = f": write '{value}' in quotes" if expected is str and isinstance(value, int | float) else ""
        text = f"{place} is {value!r}, expected a value of type {getattr(kind, 'typename', 'string')}{quotes}"
        raise InvalidRequestError(text, stage=STAGE, subjects=(place,))
    if expected is int:
        low, high = INTEGERS[kind.typename]
        assert isinstance(value, int)
        if not low <= value <= high:
            text = f"{place} is {value}, expected {low} to {high}"
            raise InvalidRequestError(text, stage=STAGE, subjects=(place,))
    return value


def _python_type(kind: Any) -> type:
    if isinstance(kind, AbstractGenericString):
        return str
    assert isinstance(kind, BasicType)
    if kind.typename in ("float", "double", "long double"):
        return float
    return {"boolean": bool, "octet": bytes}.get(kind.typename, int)


def message_to_plain(message: Any) -> Any:
    """Return a message as dicts, lists, numbers, strings and booleans; numbers that are not finite as strings."""
    if hasattr(message, "get_fields_and_field_types"):
        return {name: message_to_plain(getattr(message, name)) for name in message.get_fields_and_field_types()}
    if isinstance(message, bytes):
        return message[0] if len(message) == 1 else list(message)
    if isinstance(message, float):
        return message if math.isfinite(message) else str(message)
    if isinstance(message, (bool, int, str)):
        return message
    return (
        [message_to_plain(item) for item in message.tolist()]
        if hasattr(message, "tolist")
        else [message_to_plain(item) for item in message]
    )
