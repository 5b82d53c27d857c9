"""JSON values of typed arguments and results.

A dataclass or struct is an object with its fields, an enumeration its value, an array or tuple a list, a number that is
not finite null. Where an annotation allows several classes, the field `type` of the object selects the class by its tag
or name.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import math
import os
import sys
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..errors import InvalidValueError
from .arguments import resolved
from .shown_values import show

TAG = "type"
SCALARS = (bool, int, float, str)
MAX_DIMENSIONS = 8  # of arrays
NUMBERS = frozenset((int, float, type(None)))  # types of items of arrays
SEQUENCES = (tuple, list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)


class Field(typing.NamedTuple):
    """Field of a class. `default`: inspect.Parameter.empty if the field is required."""

    annotation: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


def is_record(kind: object) -> bool:
    """Return whether an annotation is a dataclass or a struct."""
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct))


def is_array(kind: object) -> bool:
    """Return whether an annotation is a numpy array."""
    return kind is np.ndarray or typing.get_origin(kind) is np.ndarray


def is_path(kind: object) -> bool:
    """Return whether an annotation is a path of the file system."""
    return (isinstance(kind, type) and issubclass(kind, os.PathLike)) or typing.get_origin(kind) is os.PathLike


def members(kind: object) -> tuple[Any, ...]:
    """Return the alternatives of a union, or the annotation itself."""
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def tag_of(kind: type) -> str:
    """Return the value of the field `type` that selects a class."""
    if issubclass(kind, msgspec.Struct) and isinstance(tag := kind.__struct_config__.tag, str):
        return tag
    return kind.__name__


@lru_cache(maxsize=1024)
def fields_of(kind: type) -> Mapping[str, Field]:
    """Return the fields of a dataclass or struct that its constructor accepts, with resolved annotations."""
    annotations: dict[str, Any] = {}
    for owner in reversed(kind.__mro__):
        module = sys.modules.get(owner.__module__)
        if module is not None:
            own = inspect.get_annotations(owner)
            annotations.update({name: resolved(value, module, dict(vars(owner))) for name, value in own.items()})
    parameters = inspect.signature(kind).parameters
    return {name: Field(annotations.get(name, Any), each.default) for name, each in parameters.items()}


def from_json(kind: Any, value: Any, name: str) -> Any:
    """Convert a JSON value to the type of an annotation.

    Args:
        kind: Annotation.
        value: What a JSON decoder returns.
        name: Name of the value in errors.

    Raises:
        InvalidValueError: The value does not match the annotation, or its class refuses it.
    """
    alternatives = members(kind)
    if value is None and (type(None) in alternatives or kind is Any):
        return None
    if value is None and float in alternatives:
        return math.nan
    chosen = [each for each in alternatives if each is not type(None)]
    if len(chosen) > 1:
        return _from_union(chosen, value, name)
    return _from_one(chosen[0], value, name)


def _from_union(kinds: list[Any], value: Any, name: str) -> Any:
    records = [kind for kind in kinds if is_record(kind)]
    if isinstance(value, Mapping) and records:
        tags = {tag_of(kind): kind for kind in records}
        tag = value.get(TAG)
        if len(records) == 1 and tag is None:
            return from_json(records[0], value, name)
        if tag not in tags:
            problem = f"{name} has no field {TAG!r}" if tag is None else f"{name}.{TAG} is {show(tag)}"
            raise InvalidValueError(f"{problem}, expected one of {', '.join(tags)}", subjects=(name,))
        return _record(tags[tag], {key: item for key, item in value.items() if key != TAG}, name)
    if isinstance(value, str) and str in kinds:
        return value
    refused: InvalidValueError | None = None
    for kind in kinds:
        if kind not in records:
            try:
                return from_json(kind, value, name)
            except InvalidValueError as error:
                refused = refused or error
    raise refused or InvalidValueError(f"{name} is {show(value)}, expected an object", subjects=(name,))


def _from_one(kind: Any, value: Any, name: str) -> Any:
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if is_record(kind):
        if not isinstance(value, Mapping):
            raise InvalidValueError(f"{name} is {show(value)}, expected an object", subjects=(name,))
        return _record(kind, {key: item for key, item in value.items() if key != TAG or TAG in fields_of(kind)}, name)
    if is_array(kind):
        return _array(value, name)
    if is_path(kind):
        return Path(from_json(str, value, name))
    if origin in SEQUENCES and inner and not isinstance(value, str):
        return _sequence(origin, inner, value, name)
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(inner) == 2:
        if not isinstance(value, Mapping):
            raise InvalidValueError(f"{name} is {show(value)}, expected an object", subjects=(name,))
        return {
            from_json(inner[0], key, name): from_json(inner[1], item, f"{name}.{key}") for key, item in value.items()
        }
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, TypeError) as error:
        if isinstance(kind, type) and issubclass(kind, Enum):
            choices = ", ".join(str(to_json(member)) for member in kind)
            raise InvalidValueError(f"{name} is {show(value)}, expected one of {choices}", subjects=(name,)) from error
        raise InvalidValueError(f"{name} is {show(value)}: {error}", subjects=(name,)) from error


def _record(kind: type, value: Mapping[str, Any], name: str) -> Any:
    fields = fields_of(kind)
    unknown = sorted(set(value) - set(fields))
    missing = sorted(key for key, field in fields.items() if field.required and key not in value)
    if unknown or missing:
        problem = (
            f"has no field {unknown[0]!r}; its fields are {', '.join(fields)}" if unknown else f"needs {missing[0]}"
        )
        raise InvalidValueError(f"{name}: {kind.__name__} {problem}", subjects=(name,))
    return kind(**{key: from_json(fields[key].annotation, item, f"{name}.{key}") for key, item in value.items()})


def array_problem(error: Exception) -> str:
    """Return why a nested list is no array, from numpy's error."""
    return "its rows have different lengths" if "inhomogeneous" in str(error) else str(error)


def _array(value: Any, name: str) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":  # conversions of messages have arrays
        _check_numbers(value, name)
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        text = f"{name} is not an array of numbers: {array_problem(error)}"
        raise InvalidValueError(text, subjects=(name,)) from error


def _check_numbers(value: Any, name: str, depth: int = 0) -> None:
    """Refuse items of nested lists that are neither numbers nor null; numpy converts texts and booleans."""
    if depth > MAX_DIMENSIONS:
        raise InvalidValueError(f"{name} is nested too deeply for an array of numbers", subjects=(name,))
    if not isinstance(value, list | tuple):
        if type(value) not in NUMBERS:
            raise InvalidValueError(f"{name} is {show(value)}, expected an array of numbers", subjects=(name,))
    elif not NUMBERS.issuperset(map(type, value)):
        for index, item in enumerate(value):
            _check_numbers(item, f"{name}[{index}]", depth + 1)


def _sequence(origin: Any, inner: tuple[Any, ...], value: Any, name: str) -> Any:
    if not isinstance(value, list | tuple):
        raise InvalidValueError(f"{name} is {show(value)}, expected a list", subjects=(name,))
    if origin is tuple and Ellipsis not in inner:
        if len(value) != len(inner):
            raise InvalidValueError(f"{name} has {len(value)} items, expected {len(inner)}", subjects=(name,))
        pairs = zip(inner, value, strict=True)
        return tuple(from_json(kind, item, f"{name}[{index}]") for index, (kind, item) in enumerate(pairs))
    items = (from_json(inner[0], item, f"{name}[{index}]") for index, item in enumerate(value))
    return list(items) if origin is list else tuple(items)


def to_json(value: Any, *, tagged: bool = False) -> Any:
    """Convert a result to JSON values. tagged: Add the field `type` to a dataclass or struct.

    Raises:
        TypeError: The value, or a part of it, has no JSON form.
    """
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, SCALARS):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if is_record(type(value)):
        kind: Any = type(value)
        fields = {
            name: to_json(getattr(value, name), tagged=_in_union(field)) for name, field in fields_of(kind).items()
        }
        always = issubclass(kind, msgspec.Struct) and kind.__struct_config__.tag is not None
        return {TAG: tag_of(kind), **fields} if tagged or always else fields
    if isinstance(value, Mapping):
        return {str(to_json(key)): to_json(item) for key, item in value.items()}
    if isinstance(value, collections.abc.Iterable):
        return [to_json(item, tagged=tagged) for item in value]
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _in_union(field: Field) -> bool:
    """Return whether values of a field, or their items, are of several classes."""
    inner = typing.get_args(field.annotation)
    annotations = (field.annotation, *inner)
    return any(sum(map(is_record, members(each))) > 1 for each in annotations)
