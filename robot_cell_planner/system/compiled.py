"""Compilation of numeric kernels by numba, cached on disk for later processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from .compilation_notice import compilation_begins
from .stored_kernels import is_supported, rebuilt

F = TypeVar("F", bound=Callable[..., Any])
OF_ALL = (Path(__file__).with_name("borrowed_arrays.py"),)  # files whose code any kernel may contain


def compiled(function: F) -> F:
    """Decorate a function to be compiled to machine code on its first call. It releases the interpreter lock.

    Arrays passed to it must be C-contiguous, writable float64; other types cause another compilation. It may call
    kernels of its own file, and of files in its folder whose names end in `kernels`. A change of any of these files
    invalidates the cached code, which includes all called functions.
    """
    file = Path(function.__code__.co_filename)
    return cached(function, (file, *sorted(file.parent.glob("*kernels.py"))))


def cached(function: F, files: Iterable[Path], **options: Any) -> F:
    """Return a function compiled on its first call; a change of any of the files invalidates the cached code.

    options: Options of `numba.njit`.
    """
    options = {"nogil": True, "error_model": "numpy", **options}
    # Numba caches by folder: use one cache folder for the package, regardless of symbolic links to it.
    code = function.__code__
    function.__code__ = code.replace(co_filename=os.path.realpath(code.co_filename))
    try:
        dispatcher = numba.njit(function, cache=True, **options)
    except RuntimeError:  # no folder that numba can cache in
        return cast(F, numba.njit(function, **options))
    # By default numba only checks the modification time of the function's own file.
    dispatcher._cache._cache_file._source_stamp = _stamp((*files, *OF_ALL))
    if is_supported():
        dispatcher._cache._impl.rebuild = rebuilt
    return cast(F, dispatcher)


class _Compilations(event.Listener):
    """Reports that the compiler begins with a function."""

    def on_start(self, event: event.Event) -> None:
        compilation_begins()

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]


@cache
def _stamp(files: tuple[Path, ...]) -> str:
    """Return the digest of files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
