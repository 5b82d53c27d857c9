"""Warnings about a state that is in collision, with how often the pairs collide elsewhere, or inside a surface."""

from __future__ import annotations

from ..model.cell import RobotCell
from ..model.name_suggestions import listed
from ..model.random_configurations import random_configurations
from ..model.state import RobotCellState
from .checker import CollisionChecker
from .enclosed_objects import enclosed_objects

SAMPLES = 64
SEED = 1
MAX_PAIRS = 10


def collision_warnings(cell: RobotCell, state: RobotCellState, what: str = "the state") -> tuple[str, ...]:
    """Return the lines of `overlap_warnings` and `enclosure_warnings` about a state; arguments and errors as there."""
    return (*overlap_warnings(cell, state, what), *enclosure_warnings(cell, state))


def enclosure_warnings(cell: RobotCell, state: RobotCellState) -> tuple[str, ...]:
    """Return a line for each surface of triangles that objects lie inside of without touching it, which counts as free.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    checker = CollisionChecker(cell, state)
    found, inside = list(enclosed_objects(cell, state, checker.allowed_pairs)), dict[str, list[str]]()
    touching = {frozenset((pair.first, pair.second)) for pair in checker.report().pairs} if found else ()
    for inner, outer in found:
        if frozenset((inner, outer)) not in touching:
            inside.setdefault(outer, []).append(inner)
    return tuple(
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} inside {outer}, whose triangles (use: exact) "
        "are a surface without interior: what is inside counts as free; use its hull or convex pieces, or correct its "
        "size or pose"
        for outer, names in inside.items()
    )


def overlap_warnings(cell: RobotCell, state: RobotCellState, what: str = "the state") -> tuple[str, ...]:
    """Return a line for each pair that collides at a state, with what to do about it.

    Each pair is also checked at 64 random configurations of all joints: a pair that collides at all of them has to be
    allowed or moved apart, one that collides at none of them needs other joint values.

    Args:
        cell: Models of robots, tools and bodies.
        state: State to check.
        what: Subject of the text.

    Raises:
        GeometryError: A collision shape cannot be built.
    """
    checker = CollisionChecker(cell, state)
    report = checker.report()
    if not report.pairs:
        return ()
    pairs = [(pair.first, pair.second) for pair in report.pairs]
    counts = dict.fromkeys(pairs, 0)
    variables = [cell.variables[name] for name in checker.variables]
    samples = random_configurations(variables, SAMPLES if variables else 0, SEED)
    for q in samples:
        for pair in checker.report(q).pairs:
            if (pair.first, pair.second) in counts:
                counts[pair.first, pair.second] += 1
    texts = [
        f"{what} is in collision: {pair.first} and {pair.second} overlap by {1e3 * -(pair.distance - pair.margin):.3g} "
        f"mm; {_remedy(counts[pair.first, pair.second], len(samples))}"
        for pair in report.pairs[:MAX_PAIRS]
    ]
    more = len(pairs) - MAX_PAIRS
    return (*texts, f"{what} has {more} more pairs in collision") if more > 0 else tuple(texts)


def _remedy(count: int, samples: int) -> str:
    if not samples:
        return "nothing moves them apart"
    if count == samples:
        return f"they overlap at all of {samples} random states: allow the pair if it is meant to touch"
    if count == 0:
        return f"they overlap at none of {samples} random states: choose other joint values"
    return f"they overlap at {count} of {samples} random states"
