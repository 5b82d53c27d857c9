"""Loads compiled kernels from disk without the code that only the compilation of other kernels needs.

Numba stores two forms of a kernel: machine code, and LLVM bitcode that is inlined in kernels which call it. It parses
both when it loads a kernel, and lists the functions of the bitcode one by one in Python: that is two thirds of the time
and most of the memory. Here the bitcode is parsed when a kernel is compiled that calls the loaded one.

Numba has no option for this: the module relies on private names of numba, and `is_supported` tells whether they exist.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary, JitEngine
from numba.core.compiler import CompileResult

NAMES = ("llvm_func_name", "llvm_cpython_wrapper_name", "llvm_cfunc_wrapper_name")  # functions that a caller looks up
NEEDED = (
    (JITCodeLibrary, "_get_module_for_linking"),
    (JitEngine, "_load_defined_symbols"),
    (JitEngine, "is_symbol_defined"),
    (CompileResult, "_rebuild"),
    (CompileResultCacheImpl, "rebuild"),
)


class StoredLibrary(JITCodeLibrary):
    """Library of a loaded kernel, whose bitcode is not parsed yet."""

    _bitcode: bytes | None

    def _get_module_for_linking(self) -> Any:
        if self._bitcode is not None:
            self._shared_module = binding.parse_bitcode(self._bitcode)
            cast("Any", self._codegen._engine)._load_defined_symbols(self._shared_module)
            self._bitcode = None
        return self._shared_module


def is_supported() -> bool:
    """Return whether numba has the private names that this module uses."""
    return all(hasattr(owner, name) for owner, name in NEEDED)


def rebuilt(target_context: Any, payload: tuple[Any, ...]) -> Any:
    """Return the compiled kernel of what numba has stored, as `CompileResultCacheImpl.rebuild`."""
    rebuild = cast("Any", CompileResult)._rebuild
    (name, kind, content), description, *others = payload
    if kind != "object":
        return rebuild(target_context, *payload)
    machine_code, bitcode = content
    engine = target_context.codegen()._engine
    engine._defined_symbols |= {getattr(description, each) for each in NAMES}
    result = rebuild(target_context, (name, kind, (machine_code, _no_bitcode())), description, *others)
    result.library.__class__ = StoredLibrary
    result.library._bitcode = bitcode
    return result


@cache
def _no_bitcode() -> bytes:
    return bytes(binding.parse_assembly("").as_bitcode())
