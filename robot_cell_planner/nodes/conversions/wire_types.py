"""Conversion of the fields of messages to the types of their interface before they are sent.

The generated code accepts any value for a field, and the C type support aborts the process for an int in a float field,
a NumPy bool in a bool field, and the like. `to_wire` is called in one place for each kind of message sent by a node
(replies, results, feedback, publishers).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from rosidl_parser.definition import (
    AbstractGenericString,
    AbstractNestedType,
    Array,
    BasicType,
    NamespacedType,
)

from ...errors import LimitExceededError

M = TypeVar("M")

# Fields that may contain NaN or infinity, by the name of their type; documented in msg/.
NOT_FINITE = {
    "Clearance": ("distance",),
    "CollisionPair": ("distance", "margin"),
    "ErrorValue": ("value", "limit"),
    "ExecutionStatus": ("joint_state_age",),
    "GoalRegion": ("position_extent", "rotation_extent"),
    "IkSolution": ("limit_distance",),
    "PathConstraint": ("extent",),
    "PlanFailure": ("nearest_approach",),
    "PlanningFeedback": ("fraction", "best_cost"),
    "SafetyMargin": ("margin",),
    "SceneChange": ("pose", "configuration"),
}
INTEGERS = {
    f"{sign}int{bits}": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
FLOATS = ("float", "double")
LARGEST_FLOAT = float(np.finfo(np.float32).max)


class _UnfitError(Exception):
    """A value out of range of its field; the path of the field is completed by callers."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(text)
        self.place = place
        self.text = text

    def below(self, prefix: str) -> _UnfitError:
        separator = "" if self.place.startswith("[") or not self.place else "."
        return _UnfitError(f"{prefix}{separator}{self.place}", self.text)


def to_wire(message: M, what: str = "response", *, finite: bool = True) -> M:
    """Return the same message with every field converted to its declared type: float, int, bool, str, bytes.

    finite: whether to reject NaN and infinity in fields that do not document them (NOT_FINITE). Text without UTF-8
    encoding (lone surrogates) is escaped.

    Raises:
        LimitExceededError: A number that is not finite or does not fit the field; names the field of `what`.
        TypeError: A value of an incompatible type, which is a programming error.
    """
    kind: type = type(message)
    layout = _layout(kind)
    if layout.fits((message,), finite):
        return message
    try:
        layout.convert(message, finite)
    except _UnfitError as error:
        place = error.below(what).place
        text = f"{place} would be {error.text}: numbers of the request are too large"
        raise LimitExceededError(text, stage="reply", subjects=(place,)) from error
    return message


def _all_finite(values: Iterable[float]) -> bool:
    """Return whether the sum of numbers is finite, a quick test that fails only for very large finite numbers."""
    return math.isfinite(sum(values))


def _plain(path: str) -> str:
    """Return the path of a field as text."""
    return path.replace("._", ".").lstrip("_")


def _set(message: Any, path: str, value: Any) -> None:
    owner, _, name = path.rpartition(".")
    setattr(operator.attrgetter(owner)(message) if owner else message, name, value)


def _are(values: Iterable[Any], kind: type) -> bool:
    return all(found is kind for found in set(map(type, values)))


@dataclass(frozen=True)
class _Kind:
    """Values of one type. fits: whether all values have it; convert: converts one value, or raises."""

    fits: Callable[[Sequence[Any]], bool]
    convert: Callable[[Any], Any]


def _to_float(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(f"expected a number, not {type(value).__name__}")
    return float(value)


def _to_finite(value: Any) -> float:
    number = _to_float(value)
    if not math.isfinite(number):
        raise _UnfitError("", str(number))
    return number


def _to_finite_single(value: Any) -> float:
    number = _to_finite(value)
    if abs(number) > LARGEST_FLOAT:
        raise _UnfitError("", f"{number:g}")
    return number


def _integer(low: int, high: int) -> _Kind:
    def fits(values: Sequence[Any]) -> bool:
        return _are(values, int) and low <= min(values) and max(values) <= high

    def convert(value: Any) -> int:
        number = int(value) if isinstance(value, bool | np.bool_) else operator.index(value)
        if not low <= number <= high:
            raise _UnfitError("", f"{number:.6g}, beyond {low} to {high}")
        return number

    return _Kind(fits, convert)


def _to_bool(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_ | int):
        raise TypeError(f"expected a bool, not {type(value).__name__}")
    return bool(value)


def _is_text(values: Sequence[Any]) -> bool:
    return _are(values, str) and "".join(values).isascii()


def _to_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a str, not {type(value).__name__}")
    return str.__str__(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _to_octet(value: Any) -> bytes:
    if not isinstance(value, bytes) or len(value) != 1:
        raise TypeError(f"expected one byte, not {value!r:.80}")
    return value


FINITE = _Kind(lambda values: _are(values, float) and _all_finite(values), _to_finite)
FINITE_SINGLE = _Kind(
    lambda values: _are(values, float) and all(abs(value) <= LARGEST_FLOAT for value in values), _to_finite_single
)
NUMBER = _Kind(lambda values: _are(values, float), _to_float)
BOOL = _Kind(lambda values: _are(values, bool), _to_bool)
TEXT = _Kind(_is_text, _to_text)
OCTET = _Kind(lambda values: _are(values, bytes) and all(len(value) == 1 for value in values), _to_octet)
WHOLE = {name: _integer(*bounds) for name, bounds in INTEGERS.items()}


@dataclass
class _Group:
    """Scalar fields of one type in a message and its nested messages, as paths of attributes.

    loose: the type that allows NaN and infinity.
    """

    kind: _Kind
    loose: _Kind
    paths: list[str] = field(default_factory=list)

    @cached_property
    def get(self) -> Callable[[Any], tuple[Any, ...]]:
        found = operator.attrgetter(*self.paths)
        return found if len(self.paths) > 1 else lambda message: (found(message),)

    def fits(self, messages: Sequence[Any], finite: bool) -> bool:
        return (self.kind if finite else self.loose).fits(list(chain.from_iterable(map(self.get, messages))))

    def convert(self, message: Any, finite: bool) -> None:
        kind = self.kind if finite else self.loose
        for path, value in zip(self.paths, self.get(message), strict=True):
            try:
                _set(message, path, kind.convert(value))
            except _UnfitError as error:
                raise error.below(_plain(path)) from None
            except TypeError as error:
                raise TypeError(f"{_plain(path)}: {error}") from error


@dataclass
class _Sequence:
    """A field of many values. declared: its declaration in the interface; is_free: NaN and infinity are allowed."""

    path: str
    declared: Any
    is_free: bool

    @cached_property
    def get(self) -> Callable[[Any], Any]:
        return operator.attrgetter(self.path)

    def fits(self, messages: Sequence[Any], finite: bool) -> bool:
        """Return whether the field of all messages can be sent as it is."""
        raise NotImplementedError  # depends on the type of the values

    def convert(self, message: Any, finite: bool) -> None:
        """Convert the values of the field of a message to those of its type."""
        raise NotImplementedError  # depends on the type of the values


class _Numbers(_Sequence):
    """Numbers, stored in a typed array by the generated code."""

    def fits(self, messages: Sequence[Any], finite: bool) -> bool:
        size = self.declared.size if isinstance(self.declared, Array) else None
        if size is not None and any(len(self.get(message)) != size for message in messages):
            return False
        if not finite or self.is_free or self.declared.value_type.typename not in FLOATS:
            return True
        return _all_finite(chain.from_iterable(map(self.get, messages)))

    def convert(self, message: Any, finite: bool) -> None:
        values = np.asarray(self.get(message))
        if isinstance(self.declared, Array) and len(values) != self.declared.size:
            raise TypeError(f"{_plain(self.path)} has {len(values)} numbers, expected {self.declared.size}")
        if finite and not self.is_free and values.dtype.kind == "f" and not np.isfinite(values).all():
            index = int(np.flatnonzero(~np.isfinite(values))[0])
            raise _UnfitError(f"{_plain(self.path)}[{index}]", str(float(values[index])))


class _Values(_Sequence):
    """Texts, bools or bytes."""

    @cached_property
    def kind(self) -> _Kind:
        return _scalar(self.declared.value_type, self.is_free)[0]

    def fits(self, messages: Sequence[Any], finite: bool) -> bool:
        return self.kind.fits(list(chain.from_iterable(map(self.get, messages))))

    def convert(self, message: Any, finite: bool) -> None:
        try:
            _set(message, self.path, [self.kind.convert(value) for value in self.get(message)])
        except TypeError as error:
            raise TypeError(f"{_plain(self.path)}: {error}") from error


class _Messages(_Sequence):
    """Messages of one type."""

    @cached_property
    def type(self) -> Any:
        return _class_of(self.declared.value_type)

    def fits(self, messages: Sequence[Any], finite: bool) -> bool:
        held = list(chain.from_iterable(map(self.get, messages)))
        return not held or (_are(held, self.type) and _layout(self.type).fits(held, finite))

    def convert(self, message: Any, finite: bool) -> None:
        held = self.get(message)
        if not _are(held, self.type):
            raise TypeError(f"{_plain(self.path)} contains another type than {self.type.__name__}")
        for index, each in enumerate(held):
            try:
                _layout(self.type).convert(each, finite)
            except _UnfitError as error:
                raise error.below(f"{_plain(self.path)}[{index}]") from None


class _Layout:
    """The fields of a message type, by their types."""

    def __init__(self, kind: Any) -> None:
        self._held: list[tuple[str, Any, Callable[[Any], Any]]] = []  # nested single messages, outer ones first
        groups: dict[object, _Group] = {}
        self._parts: list[_Group | _Sequence] = []
        self._add_fields(kind, "", False, groups)
        self._parts[:0] = groups.values()

    def _add_fields(self, kind: Any, prefix: str, is_free: bool, groups: dict[object, _Group]) -> None:
        free = NOT_FINITE.get(kind.__name__, ())
        for slot, declared in zip(kind.__slots__, kind.SLOT_TYPES, strict=False):  # the slots may contain one more
            path, may_be_any = prefix + slot, is_free or slot.lstrip("_") in free
            if isinstance(declared, NamespacedType):
                held = _class_of(declared)
                self._held.append((path, held, operator.attrgetter(path)))
                self._add_fields(held, f"{path}.", may_be_any, groups)
            elif isinstance(declared, AbstractNestedType):
                self._parts.append(_sequence(path, declared, may_be_any))
            else:
                kinds = _scalar(declared, may_be_any)
                groups.setdefault(kinds, _Group(*kinds)).paths.append(path)

    def fits(self, messages: Sequence[Any], finite: bool) -> bool:
        """Return whether messages need no conversion; False also if only `convert` can decide."""
        return all(_are(map(get, messages), kind) for _, kind, get in self._held) and all(
            part.fits(messages, finite) for part in self._parts
        )

    def convert(self, message: Any, finite: bool) -> None:
        """Convert field by field.

        Raises:
            _UnfitError: A number out of range of its field.
            TypeError: A value of another type.
        """
        for path, kind, get in self._held:
            found = type(get(message))
            if found is not kind:
                raise TypeError(f"{_plain(path)} is a {found.__name__}, expected a {kind.__name__}")
        for part in self._parts:
            part.convert(message, finite)


def _scalar(declared: Any, is_free: bool) -> tuple[_Kind, _Kind]:
    """Return the type of a field, and the one that allows NaN and infinity."""
    if isinstance(declared, AbstractGenericString):
        return TEXT, TEXT
    name = "uint8" if declared.typename == "char" else declared.typename
    if name in FLOATS:
        strict = FINITE if name == "double" else FINITE_SINGLE
        return (NUMBER if is_free else strict), NUMBER
    if name == "boolean":
        return BOOL, BOOL
    if name == "octet":
        return OCTET, OCTET
    return WHOLE[name], WHOLE[name]


def _sequence(path: str, declared: Any, is_free: bool) -> _Sequence:
    element = declared.value_type
    if isinstance(element, NamespacedType):
        return _Messages(path, declared, is_free)
    if isinstance(element, BasicType) and element.typename not in ("boolean", "octet"):
        return _Numbers(path, declared, is_free)
    return _Values(path, declared, is_free)


def _class_of(declared: NamespacedType) -> Any:
    return getattr(import_module(".".join(declared.namespaces)), declared.name)


@cache
def _layout(kind: Any) -> _Layout:
    return _Layout(kind)
