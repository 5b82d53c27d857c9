"""Compilation of numeric kernels by numba, kept on disk so that only the first process ever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function as machine code, compiled at its first call; it releases the interpreter lock.

    Arrays given to it must be C contiguous, writable float64 (other kinds would be compiled for anew). Kernels that
    call one another belong in one file, because the copy on disk is renewed by the date of the caller's file alone.
    """
    try:
        return cast(F, numba.njit(function, cache=True, nogil=True, error_model="numpy"))
    except RuntimeError:  # no folder that numba may keep its copy in
        return cast(F, numba.njit(function, nogil=True, error_model="numpy"))
