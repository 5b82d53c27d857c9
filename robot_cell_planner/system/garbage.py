"""Garbage collection of a process that must react in time.

A full collection goes through all objects of the interpreter, and nothing else runs meanwhile: 0.3 s with the objects
of a trajectory of 100,000 points. Collections of young objects take below a millisecond, and find most garbage.
"""

from __future__ import annotations

import gc

RARELY = 1000  # collections of middle-aged objects before a full one; by default 10
DUE = 10  # the same before `collect_if_due` collects


def postpone_full_collections() -> None:
    """Let full collections happen rarely by themselves, for the rest of the process: see `collect_if_due`."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, RARELY)


def collect_if_due() -> None:
    """Collect all garbage if a full collection is due; to be called often while a delay does not matter."""
    if gc.get_count()[2] >= DUE:
        gc.collect()
