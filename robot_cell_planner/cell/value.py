"""What all values of the cell share: immutable structs, read-only mappings, checks of numbers and names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from frozendict import frozendict

K = TypeVar("K")
V = TypeVar("V")

Vector3 = tuple[float, float, float]
NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-/ :#()+]{0,254}")
WORLD = "world"


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
        ValueError: one of them is not a finite number; says which.
    """
    result = tuple(float(value) for value in values)
    for index, value in enumerate(result):
        if not math.isfinite(value):
            raise ValueError(f"{what}[{index}] is {value}, expected a finite number")
    return result


def vector3(values: Iterable[float], what: str) -> Vector3:
    """Three finite floats.

    Raises:
        ValueError: not three, or not finite.
    """
    result = finite(values, what)
    if len(result) != 3:
        raise ValueError(f"{what} has {len(result)} numbers, expected 3")
    return result[0], result[1], result[2]


def positive(value: float, what: str) -> float:
    """The value.

    Raises:
        ValueError: it is not finite or not above zero.
    """
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{what} is {value}, expected a finite number above 0")
    return value


def check_name(name: str, what: str) -> str:
    """The name.

    Raises:
        ValueError: it is empty, longer than 255 characters, the reserved word "world", or has odd characters.
    """
    if name == WORLD:
        raise ValueError(f'{what} is named "world", which is the root of all frames')
    if not NAME_PATTERN.fullmatch(name):
        raise ValueError(f"{what} is named {name[:80]!r}, expected 1 to 255 letters, digits or _.-/ :#()+")
    return name


class Named(Protocol):
    """A thing that carries its own name."""

    @property
    def name(self) -> str: ...


def check_keys(mapping: Mapping[str, Named], what: str) -> None:
    """Refuse a mapping of names whose things have other names.

    Raises:
        ValueError: says which.
    """
    for key, thing in mapping.items():
        if key != thing.name:
            raise ValueError(f"{what} {thing.name!r} is listed under the name {key!r}")


def with_item(mapping: Mapping[K, V], key: K, value: V) -> frozendict[K, V]:
    """A copy with one item set; the order of the others stays."""
    return frozendict({**mapping, key: value})


def without_item(mapping: Mapping[K, V], key: K) -> frozendict[K, V]:
    """A copy without one item."""
    return frozendict((k, v) for k, v in mapping.items() if k != key)
