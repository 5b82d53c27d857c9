"""Long work as a generator, whose caller can do other work between its steps."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


def returned(steps: Generator[None, None, T]) -> T:
    """Do all steps at once, and return what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
