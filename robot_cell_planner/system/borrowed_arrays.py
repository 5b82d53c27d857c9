"""Arrays in compiled kernels whose references are not counted."""

from __future__ import annotations

from typing import Any

import numba
from numba import extending
from numba.core import cgutils
from numba.np import arrayobj

# Numba's annotations do not fit the types of compiled code.
types: Any = numba.types
intrinsic: Any = extending.intrinsic
make_array: Any = arrayobj.make_array
null_value: Any = cgutils.get_null_value


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(typing: Any, value: Any) -> Any:
    """Return an array, or a tuple of arrays and numbers, without counting references to the memory of the arrays.

    Kernels count references, atomically, at most slices and calls of other kernels, which takes a fifth of a search.
    The caller of a kernel keeps its arguments alive; for arrays that the kernel itself allocates, see `keep`. Neither
    borrowed arrays nor slices of them are returned to Python.
    """

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return _without_owner(context, builder, kinds.args[0], values[0])

    return value(value), code


@intrinsic  # type: ignore[untyped-decorator]
def keep(typing: Any, value: Any) -> Any:
    """Keep the arrays of a kernel, or of a tuple, until here: to be called after the last use of borrowed ones."""

    def code(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return context.get_dummy_value()

    return types.void(value), code


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        array.meminfo, array.parent = (null_value(owner.type) for owner in (array.meminfo, array.parent))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = enumerate(kind.types)
        values = [_without_owner(context, builder, part, builder.extract_value(value, i)) for i, part in parts]
        return context.make_tuple(builder, kind, values)
    return value
