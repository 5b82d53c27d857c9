"""Evaluation of xacro expressions `${...}` with a restricted syntax.

xacro uses Python's `eval`, which gives access to arbitrary objects. Here an expression is parsed by Python and its
syntax tree is evaluated node by node: literals, names defined by the file, arithmetic, comparisons, conditions,
subscripts, comprehensions, and calls of xacro's own functions and of listed methods of strings, lists and mappings.
Attributes are keys of namespaces and of YAML mappings, never attributes of Python objects. Numbers, strings, lists and
the number of evaluation steps are bounded.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

from xacro import NameSpace, YamlDictWrapper

MAX_STEPS = 1_000_000  # nodes evaluated per expression
MAX_LENGTH = 1_000_000  # of a string or list
MAX_BITS = 16_384  # of an integer
MAX_DIGITS = 10_000  # requested by a format, a width or rounding
MAX_SOURCE = 65_536

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
}  # fmt: skip
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
METHODS: dict[type, frozenset[str]] = {
    str: frozenset((
        "capitalize", "casefold", "center", "count", "endswith", "find", "format", "index", "isalnum", "isalpha",
        "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "join", "ljust", "lower",
        "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition",
        "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill",
    )),
    list: frozenset(("append", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort")),
    dict: frozenset(("copy", "get", "items", "keys", "pop", "setdefault", "update", "values")),
    tuple: frozenset(("count", "index")),
    set: frozenset(("difference", "intersection", "issubset", "issuperset", "symmetric_difference", "union")),
    frozenset: frozenset(("difference", "intersection", "issubset", "issuperset", "symmetric_difference", "union")),
    int: frozenset(("bit_length",)),
    float: frozenset(("is_integer",)),
    complex: frozenset(("conjugate",)),
}  # fmt: skip
WIDE_FORMAT = re.compile(r"\d{5,}|\*")


class RefusedExpression(Exception):
    """An expression uses a syntax, name or amount that is not allowed."""


def evaluate(source: str, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression.

    names: Names that the expression may use; callables among them may be called with any arguments.

    Raises:
        RefusedExpression: The expression uses something that is not allowed.
        Exception: Any Python error caused by the expression (NameError, SyntaxError, ZeroDivisionError, ...).
    """
    if len(source) > MAX_SOURCE:
        raise RefusedExpression(f"an expression has {len(source)} characters, expected at most {MAX_SOURCE}")
    try:
        tree = ast.parse(source.strip(), "<expression>", mode="eval")
    except (RecursionError, MemoryError) as error:
        raise RefusedExpression("an expression is nested too deep") from error
    return _Evaluation(names).value(tree.body, {})


class _Evaluation:
    """Evaluation of one expression. Methods are named after the classes of syntax tree nodes."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        self.steps = 0

    def value(self, node: ast.AST, scope: dict[str, Any]) -> Any:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise RefusedExpression(f"an expression takes more than {MAX_STEPS} steps")
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise RefusedExpression(f"{type(node).__name__} is not allowed in an expression")
        return _bounded(method(node, scope))

    def _Constant(self, node: ast.Constant, scope: dict[str, Any]) -> Any:
        return node.value

    def _Name(self, node: ast.Name, scope: dict[str, Any]) -> Any:
        _check_word(node.id)
        if node.id in scope:
            return scope[node.id]
        try:
            return self.names[node.id]
        except KeyError:
            raise NameError(f"name {node.id!r} is not defined") from None

    def _List(self, node: ast.List, scope: dict[str, Any]) -> Any:
        return self._items(node.elts, scope)

    def _Tuple(self, node: ast.Tuple, scope: dict[str, Any]) -> Any:
        return tuple(self._items(node.elts, scope))

    def _Set(self, node: ast.Set, scope: dict[str, Any]) -> Any:
        return set(self._items(node.elts, scope))

    def _Dict(self, node: ast.Dict, scope: dict[str, Any]) -> Any:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self.value(value, scope))
            else:
                result[self.value(key, scope)] = self.value(value, scope)
        return result

    def _items(self, nodes: Iterable[ast.expr], scope: dict[str, Any]) -> list[Any]:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items += self._each(self.value(node.value, scope))
            else:
                items.append(self.value(node, scope))
        return items

    def _each(self, values: Iterable[Any]) -> Iterable[Any]:
        """Yield the values, counting each as an evaluation step."""
        for value in values:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise RefusedExpression(f"an expression takes more than {MAX_STEPS} steps")
            yield value

    def _BinOp(self, node: ast.BinOp, scope: dict[str, Any]) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        operation = BINARY.get(type(node.op))
        if operation is None:
            raise RefusedExpression(f"{type(node.op).__name__} is not allowed in an expression")
        _check_operands(type(node.op), left, right)
        return operation(left, right)

    def _UnaryOp(self, node: ast.UnaryOp, scope: dict[str, Any]) -> Any:
        return UNARY[type(node.op)](self.value(node.operand, scope))

    def _BoolOp(self, node: ast.BoolOp, scope: dict[str, Any]) -> Any:
        ends_with = isinstance(node.op, ast.Or)
        result: Any = None
        for part in node.values:
            result = self.value(part, scope)
            if bool(result) is ends_with:
                break
        return result

    def _Compare(self, node: ast.Compare, scope: dict[str, Any]) -> Any:
        left = self.value(node.left, scope)
        result: Any = True
        for kind, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part, scope)
            result = COMPARISONS[type(kind)](left, right)
            if not result:
                break
            left = right
        return result

    def _IfExp(self, node: ast.IfExp, scope: dict[str, Any]) -> Any:
        return self.value(node.body if self.value(node.test, scope) else node.orelse, scope)

    def _Subscript(self, node: ast.Subscript, scope: dict[str, Any]) -> Any:
        target = self.value(node.value, scope)
        if callable(target):
            raise RefusedExpression("a function has no items")
        return target[self.value(node.slice, scope)]

    def _Slice(self, node: ast.Slice, scope: dict[str, Any]) -> Any:
        return slice(*(part and self.value(part, scope) for part in (node.lower, node.upper, node.step)))

    def _Attribute(self, node: ast.Attribute, scope: dict[str, Any]) -> Any:
        _check_word(node.attr)
        return attribute(self.value(node.value, scope), node.attr)

    def _Call(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        function = self.value(node.func, scope)
        if not callable(function):
            raise TypeError(f"{type(function).__name__!r} object is not callable")
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.value(keyword.value, scope))
            else:
                named[keyword.arg] = self.value(keyword.value, scope)
        return function(*self._items(node.args, scope), **named)

    def _Lambda(self, node: ast.Lambda, scope: dict[str, Any]) -> Any:
        given = node.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or given.defaults:
            raise RefusedExpression("a lambda may have plain parameters only")
        parameters = [parameter.arg for parameter in given.args]

        def function(*values: Any) -> Any:
            return self.value(node.body, {**scope, **dict(zip(parameters, values, strict=True))})

        return function

    def _ListComp(self, node: ast.ListComp, scope: dict[str, Any]) -> Any:
        return [self.value(node.elt, inner) for inner in self._loops(node.generators, scope)]

    # A list instead of a generator, which could be evaluated after the bounds of its expression ended.
    _GeneratorExp = _ListComp

    def _SetComp(self, node: ast.SetComp, scope: dict[str, Any]) -> Any:
        return {self.value(node.elt, inner) for inner in self._loops(node.generators, scope)}

    def _DictComp(self, node: ast.DictComp, scope: dict[str, Any]) -> Any:
        inners = self._loops(node.generators, scope)
        return {self.value(node.key, inner): self.value(node.value, inner) for inner in inners}

    def _loops(self, loops: list[ast.comprehension], scope: dict[str, Any]) -> Iterable[dict[str, Any]]:
        if not loops:
            yield scope
            return
        for item in self._each(self.value(loops[0].iter, scope)):
            inner = {**scope, **_assigned(loops[0].target, item)}
            if all(self.value(condition, inner) for condition in loops[0].ifs):
                yield from self._loops(loops[1:], inner)


def attribute(target: Any, name: str) -> Any:
    """Return a key of a namespace or YAML mapping, or a listed method of a string, list or mapping.

    Raises:
        RefusedExpression: Any other attribute.
    """
    if isinstance(target, NameSpace):
        try:
            return target[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined") from None
    kind = next((kind for kind in METHODS if isinstance(target, kind)), None)
    if isinstance(target, YamlDictWrapper) and name not in METHODS[dict]:
        return target[name]
    if kind is None or callable(target) or name not in METHODS[kind]:
        what = "a function" if callable(target) else f"a value of type {type(target).__name__}"
        raise RefusedExpression(f"attribute {name!r} of {what} is not allowed in an expression")
    if kind is str and name == "format":
        return lambda *values, **named: _formatted(target, values, named)
    if kind is str:
        return lambda *values, **named: _text_method(target, name, values, named)
    return getattr(target, name)


def _text_method(text: str, name: str, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if name in ("center", "ljust", "rjust", "zfill"):
        _check_width(values)
    return getattr(text, name)(*values, **named)


def _formatted(template: str, values: tuple[Any, ...], named: dict[str, Any]) -> str:
    """`str.format` without fields that access attributes or items, and without large widths."""
    for _, field, spec, _ in string.Formatter().parse(template):
        if field and not field.isidentifier() and not field.isdigit():
            raise RefusedExpression(f"the field {field!r} of a format is not allowed in an expression")
        if spec and ("{" in spec or WIDE_FORMAT.search(spec)):
            raise RefusedExpression(f"the format {spec[:80]!r} is not allowed in an expression")
    return template.format(*values, **named)


def _check_word(name: str) -> None:
    if name.startswith("__"):
        raise RefusedExpression(f"the name {name!r} is not allowed in an expression")


def _check_width(values: tuple[Any, ...]) -> None:
    if any(isinstance(value, int) and abs(value) > MAX_DIGITS for value in values):
        raise RefusedExpression(f"a width of more than {MAX_DIGITS} is not allowed in an expression")


def _check_operands(operation: type, left: Any, right: Any) -> None:
    """Refuse operations that would need much time or memory, before they are evaluated."""
    too_large = False
    if operation is ast.Mod and isinstance(left, (str, bytes)):
        too_large = bool(WIDE_FORMAT.search(str(left)))
    elif operation is ast.Mult:
        for many, count in ((left, right), (right, left)):
            if isinstance(count, int) and isinstance(many, Sized):
                too_large |= len(many) * max(count, 0) > MAX_LENGTH
    elif isinstance(left, int) and isinstance(right, int):
        if operation is ast.Pow:
            too_large = left.bit_length() * abs(right) > MAX_BITS
        elif operation is ast.LShift:
            too_large = left.bit_length() + right > MAX_BITS
    if too_large:
        raise RefusedExpression(f"{operation.__name__} has a result that is too large")


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise RefusedExpression(f"a number has {value.bit_length()} bits, expected at most {MAX_BITS}")
    if isinstance(value, (str, list, tuple, set, frozenset, dict)) and len(value) > MAX_LENGTH:
        raise RefusedExpression(f"a value has length {len(value)}, expected at most {MAX_LENGTH}")
    return value


def _assigned(target: ast.expr, item: Any) -> dict[str, Any]:
    """Return the names that the loop variable, or tuple of loop variables, assigns to an item."""
    if isinstance(target, ast.Name):
        _check_word(target.id)
        return {target.id: item}
    if isinstance(target, (ast.Tuple, ast.List)):
        values = list(item)
        if len(values) != len(target.elts):
            raise ValueError(f"cannot give {len(target.elts)} names to {len(values)} values")
        names: dict[str, Any] = {}
        for part, value in zip(target.elts, values, strict=True):
            names.update(_assigned(part, value))
        return names
    raise RefusedExpression(f"{type(target).__name__} is not allowed as the variable of a loop")


def one_type(*values: Any) -> type:
    """`type` of a single value that is not a function or type; the other forms would create new types."""
    if len(values) != 1 or callable(values[0]):
        raise RefusedExpression("type() is allowed for one value in an expression, not for a function or type")
    return type(values[0])


def bounded_round(value: Any, digits: int | None = None) -> Any:
    if digits is not None:
        _check_width((digits,))
    return round(value, digits)


def _small_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*values: int) -> Any:
        if any(abs(value) > 1000 for value in values):
            raise RefusedExpression(f"{function.__name__} of more than 1000 is not allowed in an expression")
        return function(*values)

    return checked


REPLACED: dict[str, Any] = {
    "round": bounded_round,
    "type": one_type,
    "factorial": _small_arguments(math.factorial),
    "comb": _small_arguments(math.comb),
    "perm": _small_arguments(math.perm),
}
REMOVED = frozenset(("vars",))


def allowed_names(table: dict[str, Any]) -> None:
    """Remove disallowed names from a table of xacro's global names, and replace unbounded functions by bounded ones."""
    for name in list(table):
        if name in REMOVED or name.startswith("__"):
            dict.pop(table, name)
        elif name in REPLACED:
            dict.__setitem__(table, name, REPLACED[name])
        elif isinstance(table[name], NameSpace):
            allowed_names(table[name])
