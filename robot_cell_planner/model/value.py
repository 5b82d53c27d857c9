"""What all values of the cell share: immutable structs, read-only mappings, checks of numbers and names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from frozendict import frozendict

from ..errors import InvalidValueError

K = TypeVar("K")
V = TypeVar("V")

Vector3 = tuple[float, float, float]
NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-/ :#()+]{0,254}")
WORLD = "world"
# [rad or m] A joint value beyond this is none: sines of much larger angles mean nothing in floating point. At this
# bound an angle and its remainder by full turns are rounded by less than 1e-9 rad, 10 nm at 10 m, a hundredth of what
# certificates allow for.
MAX_JOINT_VALUE = 1e6
MAX_RATE = 1e12  # [rad/s, m/s, their derivatives, N, Nm] beyond which squares and sums say nothing


def plain(value: object) -> object:
    """What an encoder knows for a mapping that it may not know: frozendict is a dict for some versions of Python only.

    Raises:
        TypeError: any other value.
    """
    if isinstance(value, frozendict):
        return dict(value)
    raise TypeError(f"cannot serialise {type(value).__name__}")


def finite(values: Iterable[float], what: str) -> tuple[float, ...]:
    """The values as floats.

    Raises:
        InvalidValueError: one of them is not a finite number, says which; or there are no values to go through.
    """
    try:
        values = tuple(values)
        if all(map(math.isfinite, values)):
            return tuple(map(float, values))
    except (TypeError, OverflowError):
        pass  # looked at closely below
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
    """Refuse a joint value [rad or m] that is not finite or beyond MAX_JOINT_VALUE.

    Raises:
        InvalidValueError: says which and what was expected.
    """
    if not abs(value) <= MAX_JOINT_VALUE:  # NaN neither
        raise InvalidValueError(
            f"{what} is {value:g}, expected a number from {-MAX_JOINT_VALUE:g} to {MAX_JOINT_VALUE:g}"
        )


def vector3(values: Iterable[float], what: str) -> Vector3:
    """Three finite floats.

    Raises:
        InvalidValueError: not three, or not finite.
    """
    result = finite(values, what)
    if len(result) != 3:
        raise InvalidValueError(f"{what} has {len(result)} numbers, expected 3")
    return result[0], result[1], result[2]


def positive(value: float, what: str) -> float:
    """The value.

    Raises:
        InvalidValueError: it is not finite or not above zero.
    """
    if not (_is_finite(value) and value > 0.0):
        raise InvalidValueError(f"{what} is {_shown(value)}, expected a finite number above 0")
    return value


def check_name(name: str, what: str) -> str:
    """The name.

    Raises:
        InvalidValueError: it is empty, longer than 255 characters, the reserved word "world", or has odd characters.
    """
    if name == WORLD:
        raise InvalidValueError(f'{what} is named "world", which is the root of all frames')
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        raise InvalidValueError(f"{what} is named {_shown(name)!r}, expected 1 to 255 letters, digits or _.-/ :#()+")
    return name


class Named(Protocol):
    """A thing that carries its own name."""

    @property
    def name(self) -> str: ...


def check_keys(mapping: Mapping[str, Named], what: str) -> None:
    """Refuse a mapping of names whose things have other names.

    Raises:
        InvalidValueError: says which.
    """
    for key, thing in mapping.items():
        if key != thing.name:
            raise InvalidValueError(f"{what} {thing.name!r} is listed under the name {key!r}")


def with_item(mapping: Mapping[K, V], key: K, value: V) -> frozendict[K, V]:
    """A copy with one item set; the order of the others stays."""
    return frozendict({**mapping, key: value})


def without_item(mapping: Mapping[K, V], key: K) -> frozendict[K, V]:
    """A copy without one item."""
    return frozendict((k, v) for k, v in mapping.items() if k != key)
