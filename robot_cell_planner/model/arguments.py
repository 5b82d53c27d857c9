"""Runtime type checks of the public API, based on annotations. The error names the argument.

`public` checks the arguments of a function, `checked_fields` the fields of a dataclass, and `check_fields` those of a
msgspec struct from its `__post_init__`. All three read the annotations, so that documented and checked types are the
same. Values are passed unchanged, except for lossless conversions: a list to the annotated tuple, a dict to the
frozendict, numbers in lists to the array, a scalar of numpy to the Python number.

Only types are checked here; ranges are checked by the callee. A class can say which value means "none" of a field that
must not be None, in a mapping `MEANING_NONE` from its fields to texts, such as "0 for none".
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import numbers
import sys
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple, ParamSpec, SupportsFloat, TypeVar

import msgspec
import numpy as np
from frozendict import frozendict

from ..errors import InvalidValueError
from .shown_values import TEXTS, show

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)
Check = Callable[[str, Any], Any]
SMALLEST, BEYOND = -(2**63), 2**64  # of integers


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function to check its arguments at each call.

    Raises:
        InvalidValueError: The type of an argument does not match its annotation.
    """
    signature = inspect.signature(function)
    order: list[tuple[str, Entry]] = []  # of positional parameters
    entries: dict[str, Entry] = {}

    def prepare() -> None:
        entries.update(_entries_of_function(function, signature))
        names = (name for name, parameter in signature.parameters.items() if parameter.kind in POSITIONAL)
        order.extend((name, entries.get(name, ANYTHING)) for name in names)

    def closely(args: Any, kwargs: Any) -> R:
        checked_args = [entry.check(name, value) for value, (name, entry) in zip(args, order)]  # noqa: B905
        checked_kwargs = {name: entries.get(name, ANYTHING).check(name, value) for name, value in kwargs.items()}
        return function(*checked_args, *args[len(order) :], **checked_kwargs)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not order:
            prepare()
        # Most arguments match by exact type; the full check runs only if one does not.
        for value, (_, entry) in zip(args, order):  # noqa: B905 - too many arguments are refused by the call
            if type(value) not in entry.types and entry is not ANYTHING:
                return closely(args, kwargs)
        for name, value in kwargs.items():
            if name in entries and type(value) not in entries[name].types:
                return closely(args, kwargs)
        return function(*args, **kwargs)

    return checked


def checked_fields(kind: C) -> C:
    """Decorate a dataclass to check its fields before its own `__post_init__`.

    Raises:
        InvalidValueError: The type of a field does not match its annotation.
    """
    following = getattr(kind, "__post_init__", None)

    def __post_init__(self: Any) -> None:
        check_fields(self)
        if following is not None:
            following(self)

    setattr(kind, "__post_init__", __post_init__)  # noqa: B010 - mypy knows no such attribute of a type
    if following is None:  # the generated constructor does not call __post_init__
        made = kind.__init__  # type: ignore[misc]

        @functools.wraps(made)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            made(self, *args, **kwargs)
            __post_init__(self)

        setattr(kind, "__init__", __init__)  # noqa: B010
    return kind


def check_fields(value: Any) -> None:
    """Check that the fields of a dataclass or msgspec struct match their annotations.

    Raises:
        InvalidValueError: A field does not match; the message names it.
    """
    kind: Any = type(value)
    for name, entry in _entries_of_class(kind).items():
        given = getattr(value, name)
        if type(given) in entry.types or given is NO_TUPLE:
            continue
        if given is None and (none := getattr(kind, "MEANING_NONE", {}).get(name)):
            raise _refused(name, given, none)
        found = entry.check(name, given)
        if found is not given:
            if isinstance(value, msgspec.Struct):
                msgspec.structs.force_setattr(value, name, found)
            else:
                object.__setattr__(value, name, found)


class Entry(NamedTuple):
    """Check of one argument. `types`: exact types of values that always pass."""

    types: frozenset[type]
    check: Check


def _entry(annotation: Any) -> Entry:
    check = _check_of(annotation)
    return ANYTHING if check is _anything else Entry(QUICK.get(check, NONE), check)


def _entries_of_function(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Entry]:
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = [p for p in signature.parameters.values() if p.kind in plain and p.name not in ("self", "cls")]
    module = sys.modules[function.__module__]
    found = {p.name: _entry(resolved(p.annotation, module, {})) for p in parameters}
    return {name: entry for name, entry in found.items() if entry is not ANYTHING}


@functools.lru_cache(maxsize=1024)
def _entries_of_class(kind: type) -> dict[str, Entry]:
    names: list[str] | tuple[str, ...]
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind) if field.init]
    else:
        names = typing.cast("type[msgspec.Struct]", kind).__struct_fields__
    entries: dict[str, Entry] = {}
    for owner in reversed(kind.__mro__):
        module, local = sys.modules.get(owner.__module__), vars(owner)
        for name, annotation in inspect.get_annotations(owner).items():
            if name in names and module is not None:
                entries[name] = _entry(resolved(annotation, module, dict(local)))
    return {name: entry for name, entry in entries.items() if entry is not ANYTHING}


def resolved(annotation: Any, module: types.ModuleType, local: dict[str, Any]) -> Any:
    """Evaluate an annotation; return Any for names imported for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, vars(module), local)
    except (NameError, AttributeError, TypeError):
        return Any


@functools.lru_cache(maxsize=4096)
def _check_of(annotation: Any) -> Check:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union(tuple(_check_of(part) for part in inner), _words(annotation))
    if origin is typing.Annotated:
        return _check_of(inner[0])
    if origin is typing.Literal:
        return _member_of(inner)
    if origin is np.ndarray or annotation is np.ndarray:
        return _array
    if origin is tuple:
        return _tuple(inner)
    kind: Any = origin or annotation
    if kind is type(None) or annotation is None:
        return _none
    if not isinstance(kind, type) or kind is type or kind is object or getattr(kind, "_is_protocol", False):
        return _callable if kind is collections.abc.Callable else _anything
    return _of_class(kind, inner)


def _of_class(kind: Any, inner: tuple[Any, ...]) -> Check:
    if kind in SCALARS:
        return SCALARS[kind]
    if issubclass(kind, Enum):
        return _quick(functools.partial(_enumeration, kind), kind)
    if kind is collections.abc.Callable:
        return _callable
    if issubclass(kind, Mapping):
        key, value = (_check_of(part) for part in inner) if len(inner) == 2 else (_anything, _anything)
        return functools.partial(_mapping, kind, key, value)
    if kind.__module__ == "collections.abc" or kind in (list, set, frozenset):
        return functools.partial(_items, kind, _check_of(inner[0]) if inner else _anything)
    return _quick(functools.partial(_instance, kind), kind)


def _quick(check: Check, *kinds: type) -> Check:
    QUICK[check] = frozenset(kinds)
    return check


def _refused(name: str, value: object, expected: str) -> InvalidValueError:
    return InvalidValueError(f"{name} is {show(value)}, expected {expected}", subjects=(name,))


def _anything(name: str, value: Any) -> Any:
    return value


def _none(name: str, value: Any) -> Any:
    if value is not None:
        raise _refused(name, value, "None")
    return value


def _without_numpy(value: Any) -> Any:
    """Return a scalar of numpy as the Python number, which encoders and bindings take."""
    return value.item() if isinstance(value, np.generic) else value


def _number(name: str, value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise _refused(name, value, "a number")
    try:
        return float(value)  # integers too, since equal values have equal digests
    except OverflowError:
        raise _refused(name, value, "a number of usual size") from None


def _integer(name: str, value: Any) -> Any:
    if type(value) is int and SMALLEST <= value < BEYOND:
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise _refused(name, value, "an integer")
    if not SMALLEST <= int(value) < BEYOND:
        raise InvalidValueError(f"{name} is an integer of {int(value).bit_length()} bits, expected at most 64")
    return _without_numpy(value)


def _flag(name: str, value: Any) -> Any:
    if not isinstance(value, (bool, np.bool_)):
        raise _refused(name, value, "True or False")
    return _without_numpy(value)


def _text(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise _refused(name, value, "a text")
    return value


SCALARS: dict[type, Check] = {float: _number, int: _integer, bool: _flag, str: _text}
# Exact types whose values always pass a check.
QUICK: dict[Check, frozenset[type]] = {check: frozenset((kind,)) for kind, check in SCALARS.items() if kind is not int}
QUICK[_none] = frozenset((type(None),))
NONE: frozenset[type] = frozenset()
NO_TUPLE: tuple[()] = ()
ANYTHING = Entry(NONE, _anything)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _enumeration(kind: type[Enum], name: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise _refused(name, value, f"one of {kind.__name__}: {', '.join(member.name for member in kind)}")
    return value


def _instance(kind: type, name: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise _refused(name, value, f"a {kind.__name__}")
    return value


def _callable(name: str, value: Any) -> Any:
    if not callable(value):
        raise _refused(name, value, "a function")
    return value


def _member_of(choices: tuple[Any, ...]) -> Check:
    def check(name: str, value: Any) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            raise _refused(name, value, f"one of {', '.join(map(repr, choices))}")
        return value

    return check


def _array(name: str, value: Any) -> Any:
    if isinstance(value, TEXTS) or not isinstance(value, (np.ndarray, collections.abc.Sequence, numbers.Real)):
        raise _refused(name, value, "an array of numbers")
    try:
        found = np.asarray(value)  # with a type, texts would become numbers, and None would become NaN
        if found is not value and found.dtype.kind == "O" and all(isinstance(x, SupportsFloat) for x in found.flat):
            found = found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _refused(name, value, "an array of numbers") from None
    if found.dtype.kind not in "fiub":
        raise _refused(name, value, "an array of numbers")
    return found if found is value else found.astype(np.float64, copy=False)


def _tuple(inner: tuple[Any, ...]) -> Check:
    checks = [_check_of(part) for part in inner if part is not Ellipsis]

    def check(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, (tuple, list)):
            raise _refused(name, value, "a tuple")
        if Ellipsis in inner:
            return tuple(_entries(checks[0], name, value))
        if len(value) != len(checks):
            raise _refused(name, value, f"a tuple of {len(checks)}")
        if type(value) is tuple and all(type(item) in QUICK.get(each, ()) for each, item in zip(checks, value)):  # noqa: B905
            return value
        return tuple(each(f"{name}[{i}]", item) for i, (each, item) in enumerate(zip(checks, value, strict=True)))

    return check


def _entries(item: Check, name: str, values: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    """Return the values, checked one by one unless all have an exact type that always passes."""
    if set(map(type, values)) <= QUICK.get(item, NONE):
        return values
    return [item(f"{name}[{index}]", entry) for index, entry in enumerate(values)]


def _mapping(kind: type, key: Check, item: Check, name: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _refused(name, value, "a mapping")
    if not set(map(type, value)) <= QUICK.get(key, NONE):
        for inner in value:
            key(f"a key of {name}", inner)
    if not set(map(type, value.values())) <= QUICK.get(item, NONE):
        checked = {inner: item(f"{name}[{show(inner)}]", entry) for inner, entry in value.items()}
        if any(checked[inner] is not entry for inner, entry in value.items()):
            value = frozendict(checked) if isinstance(value, frozendict) else checked
    return frozendict(value) if kind is frozendict and not isinstance(value, frozendict) else value


def _items(kind: type, item: Check, name: str, value: Any) -> Any:
    """Check the items of an abstract collection, if it can be iterated more than once."""
    if isinstance(value, np.ndarray) and value.ndim and kind in ARRAY_KINDS:  # arrays are accepted as sequences
        return _array(name, value) if item in (_number, _integer, _anything) else _entries(item, name, value.tolist())
    if isinstance(value, TEXTS) or not isinstance(value, kind):
        raise _refused(name, value, f"a {kind.__name__.lower()}")
    if isinstance(value, (list, tuple)):
        found = _entries(item, name, value)
        return value if found is value else type(value)(found) if type(value) in (list, tuple) else value
    if isinstance(value, collections.abc.Sequence):
        for index, entry in enumerate(value):
            item(f"{name}[{index}]", entry)
    return value


ARRAY_KINDS = (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)


def _union(checks: tuple[Check, ...], words: str) -> Check:
    def check(name: str, value: Any) -> Any:
        nested: InvalidValueError | None = None
        for each in checks:
            try:
                return each(name, value)
            except InvalidValueError as error:
                # An error about an item is more specific than an error about the whole collection.
                if error.subjects != (name,):
                    nested = error
        raise nested or _refused(name, value, words)

    return _quick(check, *(kind for each in checks for kind in QUICK.get(each, NONE)))


def _words(annotation: Any) -> str:
    parts = [getattr(part, "__name__", str(part)) for part in typing.get_args(annotation)]
    return " or ".join("None" if part == "NoneType" else part for part in parts)
