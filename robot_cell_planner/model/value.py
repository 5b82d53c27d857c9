"""Basics of all model values: number and name checks, read-only mappings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from itertools import compress, filterfalse
from operator import attrgetter, eq, is_not
from typing import Protocol, TypeVar

from frozendict import frozendict

from ..errors import InvalidValueError

K = TypeVar("K")
V = TypeVar("V")

Vector3 = tuple[float, float, float]
NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-/ :#()+]{0,254}")
NAME_OF = attrgetter("name")
WORLD = "world"
# [rad or m] Joint values beyond this are refused: trigonometric functions of much larger angles are inaccurate. At this
# bound, an angle modulo 2 pi is rounded by less than 1e-9 rad, 10 nm at 10 m, a hundredth of what certificates allow
# for.
MAX_JOINT_VALUE = 1e6
MAX_RATE = 1e12  # [rad/s, m/s, their derivatives, N, Nm] squares and sums of larger values are meaningless


def plain(value: object) -> object:
    """Convert a frozendict for encoders. In some Python versions, frozendict is not a subclass of dict.

    Raises:
        TypeError: The value is not a frozendict.
    """
    if isinstance(value, frozendict):
        return dict(value)
    raise TypeError(f"cannot serialise {type(value).__name__}")


def finite(values: Iterable[float], what: str) -> tuple[float, ...]:
    """Return the values as floats.

    Raises:
        InvalidValueError: A value is not a finite number (the message says which), or `values` is not iterable.
    """
    try:
        values = tuple(values)
        if all(map(math.isfinite, values)):
            return tuple(map(float, values))
    except (TypeError, OverflowError):
        pass  # handled below
    for index, value in enumerate(values if isinstance(values, (tuple, list)) else ()):
        if isinstance(value, (str, bytes)) or not _is_finite(value):
            raise InvalidValueError(f"{what}[{index}] is {_shown(value)}, expected a finite number")
    raise InvalidValueError(f"{what} is {_shown(values)}, expected finite numbers")


def _is_finite(value: object) -> bool:
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        return False


def _shown(value: object) -> str:
    return str(value)[:80] if isinstance(value, (int, float, str, bytes)) else f"a {type(value).__name__}"


def check_joint_value(value: float, what: str) -> None:
    """Check that a joint value [rad or m] is finite and at most MAX_JOINT_VALUE in magnitude.

    Raises:
        InvalidValueError: Names the joint and the expected range.
    """
    if not abs(value) <= MAX_JOINT_VALUE:  # also refuses NaN
        raise InvalidValueError(
            f"{what} is {value:g}, expected a number from {-MAX_JOINT_VALUE:g} to {MAX_JOINT_VALUE:g}"
        )


def vector3(values: Iterable[float], what: str) -> Vector3:
    """Return three finite floats.

    Raises:
        InvalidValueError: The values are not three, or not finite.
    """
    result = finite(values, what)
    if len(result) != 3:
        raise InvalidValueError(f"{what} has {len(result)} numbers, expected 3")
    return result[0], result[1], result[2]


def positive(value: float, what: str) -> float:
    """Return the value if it is finite and above zero.

    Raises:
        InvalidValueError: The value is not finite or not above zero.
    """
    if not (_is_finite(value) and value > 0.0):
        raise InvalidValueError(f"{what} is {_shown(value)}, expected a finite number above 0")
    return value


def check_name(name: str, what: str) -> str:
    """Return the name if it is valid.

    Raises:
        InvalidValueError: The name is empty, longer than 255 characters, the reserved word "world", or contains a
            character that is not allowed.
    """
    if name == WORLD:
        raise InvalidValueError(f'{what} is named "world", which is the root of all frames')
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        expected = "1 to 255 ASCII letters, digits or _.-/ :#()+, the first a letter, a digit or _"
        raise InvalidValueError(f"{what} is named {_shown(name)!r}, expected {expected}")
    return name


class Named(Protocol):
    """Object with a name."""

    @property
    def name(self) -> str: ...


def check_keys(mapping: Mapping[str, Named], what: str) -> None:
    """Check that every key of a mapping equals the name of its value.

    Raises:
        InvalidValueError: A key differs; the message says which.
    """
    if all(map(eq, mapping, map(NAME_OF, mapping.values()))):  # without a step of the interpreter for each
        return
    for key, item in mapping.items():
        if key != item.name:
            raise InvalidValueError(f"{what} {item.name!r} is listed under the name {key!r}")


def with_item(mapping: Mapping[K, V], key: K, value: V) -> frozendict[K, V]:
    """Return a copy with one item set; the order of the other items is unchanged."""
    return frozendict({**mapping, key: value})


def changed_items(before: Mapping[K, V], after: Mapping[K, V]) -> tuple[K, ...]:
    """Return the keys of either mapping that the other one lacks, or has with a different object as value, which is
    never None. Values are compared by identity, without a step of the interpreter for each of thousands of keys."""
    differs = map(is_not, map(before.get, after), after.values())
    return *compress(after, differs), *filterfalse(after.__contains__, before)


def without_item(mapping: Mapping[K, V], key: K) -> frozendict[K, V]:
    """Return a copy without one item."""
    return frozendict((k, v) for k, v in mapping.items() if k != key)
