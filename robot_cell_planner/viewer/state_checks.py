"""Collisions and the closest pair of a state, as marks to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

from ..collision.checker import CollisionChecker
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from .overlays import PairMark, closest_mark, collision_marks

MAX_PAIRS = 100
SEARCH_DISTANCE = 1.0  # [m] up to which the closest pair is searched


@dataclass(frozen=True)
class StateChecks:
    """Checks of a state.

    Attributes:
        collisions: Colliding pairs, at most MAX_PAIRS.
        closest: Closest pair; None if no pair is within SEARCH_DISTANCE.
        pairs_checked: Number of pairs that were checked.
    """

    collisions: tuple[PairMark, ...]
    closest: PairMark | None
    pairs_checked: int

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of everything that collides."""
        return tuple(dict.fromkeys(name for mark in self.collisions for name in (mark.first, mark.second)))


def check_state(cell: RobotCell, state: RobotCellState) -> StateChecks:
    """Return what collides in a state, and which pair is the closest.

    Raises:
        GeometryError: A collision shape cannot be built.
        StateError, UnknownNameError: The state does not match the cell.
    """
    checker = CollisionChecker(cell, state)
    report = checker.report(max_pairs=MAX_PAIRS)
    closest = checker.distance(max_distance=SEARCH_DISTANCE)
    return StateChecks(collision_marks(report), closest_mark(closest), report.pairs_checked)


def near_objects(cell: RobotCell, state: RobotCellState, name: str, count: int = 5) -> tuple[PairMark, ...]:
    """Return the closest pairs of one object, closest first, those that collide among them.

    Raises:
        GeometryError: A collision shape cannot be built.
        UnknownNameError: The cell has no such object.
    """
    found = CollisionChecker(cell, state).clearances(count=count, names=(name,), max_distance=SEARCH_DISTANCE)
    marks = (closest_mark(clearance) for clearance in found)
    return tuple(mark for mark in marks if mark is not None)
