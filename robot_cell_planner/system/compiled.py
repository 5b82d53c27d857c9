"""Compilation of numeric kernels by numba, kept on disk so that only the first process ever waits for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function as machine code, compiled at its first call; it releases the interpreter lock.

    Arrays given to it must be C contiguous, writable float64 (other kinds would be compiled for anew). It may call
    kernels of its own file, and of those files in its folder whose names end in `kernels`: when any of these changes
    its copy on disk is renewed, since it holds the code of all that it calls.
    """
    file = Path(function.__code__.co_filename)
    return kept(function, (file, *sorted(file.parent.glob("*kernels.py"))))


def kept(function: F, files: Iterable[Path], **options: Any) -> F:
    """The function as machine code, whose copy on disk is renewed when one of some files changes. options: of
    `numba.njit`."""
    options = {"nogil": True, "error_model": "numpy", **options}
    # Numba keeps copies by the folder: one for the package, whichever link it was found through.
    code = function.__code__
    function.__code__ = code.replace(co_filename=os.path.realpath(code.co_filename))
    try:
        dispatcher = numba.njit(function, cache=True, **options)
    except RuntimeError:  # no folder that numba may keep its copy in
        return cast(F, numba.njit(function, **options))
    # Left to itself numba goes by the date of the function's own file.
    dispatcher._cache._cache_file._source_stamp = _stamp(tuple(files))
    return cast(F, dispatcher)


@cache
def _stamp(files: tuple[Path, ...]) -> str:
    """Digest of files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
