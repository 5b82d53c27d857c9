"""Vectors of LANES numbers for compiled kernels, and array access: each operation becomes vector instructions.

By default the compiler unrolls loops over so few lanes and then does not vectorize them, so vectors are a type of their
own. `+ - *` work on vectors and on scalars of the same precision. Comparisons return bits, lane 0 the lowest. Arrays
are read and written by the address of a `Packed` table, the index of the array in it, and an element index.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import extending
from numba.core.typing import templates

from ....system.compiled import cached
from .arrays import LANES

# Numba's annotations do not fit the types of compiled code.
njit: Any = numba.njit
types: Any = numba.types
signature: Any = templates.signature
intrinsic: Any = extending.intrinsic
register_model: Any = extending.register_model
lower_builtin: Any = extending.lower_builtin
infer_global: Any = templates.infer_global
PrimitiveModel: Any = extending.models.PrimitiveModel
ConcreteTemplate: Any = templates.ConcreteTemplate

F = TypeVar("F", bound=Callable[..., Any])
# Sums may be reordered and fused, which only changes rounding; no operation is replaced by an approximation.
RELAXED = ("contract", "reassoc", "nsz", "nnan", "ninf")
ALL = (1 << LANES) - 1  # bits of all lanes


def vectorised(function: F) -> F:
    """Compile a function like `kinematics.compiled.compiled`, with sums in any order.

    Use it for bounds, which hold for any rounding. The compiled copy on disk is renewed when any kernel of this
    package, the function's own file, or a file of its folder whose name ends in `kernels` changes, since it contains
    the code of all functions that it calls, and the layout of arrays.
    """
    return _kernel(function, {"fastmath": set(RELAXED)})


def rounded(function: F) -> F:
    """Compile a function as `vectorised`, with every operation rounded as written.

    Use it for results that become part of a plan, whose bits must not depend on where and when it was compiled.
    """
    return _kernel(function, {})


def _kernel(function: F, arithmetic: dict[str, Any]) -> F:
    own = Path(function.__code__.co_filename)
    files = (own, *sorted(own.parent.glob("*kernels.py")), *sorted(Path(__file__).parent.glob("*.py")))
    return cached(function, files, **arithmetic)


def inlined(function: F) -> F:
    """Compile a function as `vectorised` and inline it in its callers, for inner loops."""
    options = {"nogil": True, "error_model": "numpy", "fastmath": set(RELAXED), "forceinline": True}
    return cast(F, njit(function, **options))


class Lanes(types.Type):  # type: ignore[misc]
    """Numba type of a vector, of single or double precision."""

    def __init__(self, double: bool) -> None:
        self.double = double
        super().__init__(name=f"Lanes({'double' if double else 'single'})")


SINGLE, DOUBLE = Lanes(False), Lanes(True)


def _vector_type(kind: Lanes) -> Any:
    return ir.VectorType(ir.DoubleType() if kind.double else ir.FloatType(), LANES)


@register_model(Lanes)
class LanesModel(PrimitiveModel):  # type: ignore[misc]
    """Data model: a vector is a value, not a memory location."""

    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, _vector_type(kind))


def _spread(builder: Any, scalar: Any) -> Any:
    """Copy a scalar to all lanes."""
    empty = ir.Constant(ir.VectorType(scalar.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, zeros)


def _as_vector(builder: Any, kind: Any, value: Any) -> Any:
    return value if isinstance(kind, Lanes) else _spread(builder, value)


def _cases(result: Any = None) -> list[Any]:
    pairs = ((SINGLE, types.float32), (DOUBLE, types.float64))
    return [
        signature(result or lanes, *arguments)
        for lanes, scalar in pairs
        for arguments in ((lanes, lanes), (lanes, scalar), (scalar, lanes))
    ]


def _define(symbol: Callable[..., Any], instruction: str) -> None:
    """Define a Python operator for vectors."""
    template = type(f"Lanes_{instruction}", (ConcreteTemplate,), {"cases": _cases()})
    infer_global(symbol)(template)

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        left, right = (_as_vector(builder, kind, value) for kind, value in zip(kinds.args, values, strict=True))
        return getattr(builder, instruction)(left, right, flags=RELAXED)

    for arguments in ((Lanes, Lanes), (Lanes, types.Float), (types.Float, Lanes)):
        lower_builtin(symbol, *arguments)(lower)


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")


def _scalar_of(kind: Lanes) -> Any:
    return types.float64 if kind.double else types.float32


def _pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Return the types to which two arguments, of which at least one is a vector, are converted."""
    lanes = first if isinstance(first, Lanes) else second
    one, other = (kind if isinstance(kind, Lanes) else _scalar_of(lanes) for kind in (first, second))
    return one, other


def _pointer(builder: Any, element: Any, packed: Any, field: Any, index: Any) -> Any:
    """Return a pointer to an element of an array of a `Packed` table, whose rows are address and length."""
    word = ir.IntType(64)
    table = builder.inttoptr(packed, word.as_pointer())
    address = builder.load(builder.gep(table, [builder.mul(field, ir.Constant(word, 2))]))
    return builder.gep(builder.inttoptr(address, element.as_pointer()), [index])


def _reader(result: Any, element: Any, align: int) -> Callable[..., Any]:
    def read(typing: Any, packed: Any, field: Any, index: Any) -> Any:
        def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            return builder.load(_pointer(builder, element, *values), align=align)

        return result(types.int64, types.int64, types.int64), code

    return read


def _writer(kind: Any, element: Any, align: int) -> Callable[..., Any]:
    def write(typing: Any, packed: Any, field: Any, index: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            builder.store(values[3], _pointer(builder, element, *values[:3]), align=align)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, kind), code

    return write


# Element of an array of a packed table by its flat index, or a row of LANES.
number: Callable[[int, int, int], int] = intrinsic(_reader(types.int64, ir.IntType(64), 8))
real: Callable[[int, int, int], float] = intrinsic(_reader(types.float32, ir.FloatType(), 4))
double: Callable[[int, int, int], float] = intrinsic(_reader(types.float64, ir.DoubleType(), 8))
load = intrinsic(_reader(SINGLE, _vector_type(SINGLE), 4))
load_double = intrinsic(_reader(DOUBLE, _vector_type(DOUBLE), 8))
set_number = intrinsic(_writer(types.int64, ir.IntType(64), 8))
set_real = intrinsic(_writer(types.float32, ir.FloatType(), 4))
set_double = intrinsic(_writer(types.float64, ir.DoubleType(), 8))
store = intrinsic(_writer(SINGLE, _vector_type(SINGLE), 4))
store_double = intrinsic(_writer(DOUBLE, _vector_type(DOUBLE), 8))


@intrinsic  # type: ignore[untyped-decorator]
def rows(typing: Any, packed: Any, field: Any) -> Any:
    """Return the number of rows of an array of a packed table."""

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        word = ir.IntType(64)
        table = builder.inttoptr(values[0], word.as_pointer())
        place = builder.add(builder.mul(values[1], ir.Constant(word, 2)), ir.Constant(word, 1))
        return builder.load(builder.gep(table, [place]))

    return types.int64(types.int64, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def broadcast(typing: Any, value: Any) -> Any:
    """Copy a single-precision scalar to all lanes."""
    return SINGLE(types.float32), lambda context, builder, kinds, values: _spread(builder, values[0])


@intrinsic  # type: ignore[untyped-decorator]
def below(typing: Any, first: Any, second: Any) -> Any:
    """Return the bits of the lanes in which the first vector is below the second."""
    one, other = _pair(first, second)

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        left, right = (_as_vector(builder, kind, value) for kind, value in zip(kinds.args, values, strict=True))
        bits = builder.fcmp_ordered("<", left, right)
        return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), ir.IntType(64))

    return types.int64(one, other), code


def _chooser(comparison: str) -> Callable[..., Any]:
    def choose(typing: Any, first: Any, second: Any) -> Any:
        one, other = _pair(first, second)

        def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            left, right = (_as_vector(builder, kind, value) for kind, value in zip(kinds.args, values, strict=True))
            return builder.select(builder.fcmp_ordered(comparison, left, right), left, right)

        return (one if isinstance(one, Lanes) else other)(one, other), code

    return choose


minimum = intrinsic(_chooser("<"))  # minimum of two vectors, lane by lane
maximum = intrinsic(_chooser(">"))


@intrinsic  # type: ignore[untyped-decorator]
def where_positive(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Select, lane by lane, the second argument where the first is positive, else the third."""

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        zero = ir.Constant(values[0].type, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", values[0], zero), values[1], values[2])

    return yes(condition, yes, no), code


def _unary(name: str) -> Callable[..., Any]:
    def make(typing: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            kind = values[0].type
            full_name = f"llvm.{name}.v{LANES}f{64 if value.double else 32}"
            function = builder.module.declare_intrinsic(full_name, (), ir.FunctionType(kind, (kind,)))
            return builder.call(function, values)

        return value(value), code

    return make


@intrinsic  # type: ignore[untyped-decorator]
def total(typing: Any, value: Any) -> Any:
    """Return the sum of all lanes of a single-precision vector, in any order."""

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        kind, single = values[0].type, ir.FloatType()
        function = builder.module.declare_intrinsic(
            f"llvm.vector.reduce.fadd.v{LANES}f32", (), ir.FunctionType(single, (single, kind))
        )
        return builder.call(function, (ir.Constant(single, 0.0), values[0]), fastmath=("reassoc",))

    return types.float32(value), code


def _reducer(name: str) -> Callable[..., Any]:
    def reduce(typing: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            kind, single = values[0].type, ir.FloatType()
            function = builder.module.declare_intrinsic(
                f"llvm.vector.reduce.{name}.v{LANES}f32", (), ir.FunctionType(single, (kind,))
            )
            return builder.call(function, values, fastmath=("nnan",))

        return types.float32(value), code

    return reduce


least = intrinsic(_reducer("fmin"))  # minimum over the lanes of a single-precision vector
greatest = intrinsic(_reducer("fmax"))  # maximum over the lanes


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typing: Any, bits: Any) -> Any:
    """Return the index of the lowest bit that is set; undefined for 0."""

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        word = ir.IntType(64)
        function = builder.module.declare_intrinsic("llvm.cttz.i64", (), ir.FunctionType(word, (word, ir.IntType(1))))
        return builder.call(function, (values[0], ir.Constant(ir.IntType(1), 1)))

    return types.int64(types.int64), code


square_root = intrinsic(_unary("sqrt"))
absolute = intrinsic(_unary("fabs"))
whole = intrinsic(_unary("rint"))  # nearest integer


@intrinsic  # type: ignore[untyped-decorator]
def to_single(typing: Any, value: Any) -> Any:
    """Convert a double-precision vector to single precision."""

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return builder.fptrunc(values[0], _vector_type(SINGLE))

    return SINGLE(value), code
