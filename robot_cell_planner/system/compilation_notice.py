"""Notice of the compilation of kernels, for which the first uses after an installation wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_pending: list[Callable[[], object]] = []


@contextmanager
def on_compilation(notify: Callable[[], object]) -> Iterator[None]:
    """Call a function once if any kernel is compiled within the context, before the first one, in its thread.

    Kernels that are loaded from the cache on disk do not count. This module does not import the compiler.
    """
    _pending.append(notify)
    try:
        yield
    finally:
        if notify in _pending:
            _pending.remove(notify)


def compilation_begins() -> None:
    """Call the functions that wait for a compilation; called by `compiled` before each."""
    while _pending:
        _pending.pop()()
