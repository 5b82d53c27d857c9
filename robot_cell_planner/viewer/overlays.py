"""Overlays on the shapes of a cell: colliding pairs, closest pairs, safety margins and frames.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which people with any colour vision can tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..collision.pairs.pair_settings import Margins
from ..collision.report import Clearance, CollisionPair, CollisionReport
from ..model.cell import RobotCell
from ..model.value import Vector3

Colour = tuple[int, int, int]
COLLIDING: Colour = (213, 54, 0)  # vermilion, darker than the original for a stronger red
CLOSE: Colour = (0, 114, 178)  # blue
CERTIFIED: Colour = (0, 158, 115)  # bluish green
UNCERTIFIED: Colour = (230, 159, 0)  # orange
GHOST: Colour = (86, 180, 233)  # sky blue
MARGIN: Colour = (240, 228, 66)  # yellow
SPHERES: Colour = (204, 121, 167)  # reddish purple
# Speeds from 0 to the maximum. Source: viridis (Smith and van der Walt, 2015), at equal steps.
SPEED_SCALE: tuple[Colour, ...] = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


@dataclass(frozen=True)
class PairMark:
    """A colliding or close pair.

    Attributes:
        first, second: Names of both objects.
        label: Names and depth or distance, for people.
        segments: Points on both objects in the world [m], one pair of points for each contact.
        colliding: Whether the pair collides.
    """

    first: str
    second: str
    label: str
    segments: tuple[tuple[Vector3, Vector3], ...]
    colliding: bool


def collision_marks(report: CollisionReport) -> tuple[PairMark, ...]:
    """Return a mark for each colliding pair of a report."""
    return tuple(
        PairMark(
            pair.first,
            pair.second,
            f"{pair.first} \N{EN DASH} {pair.second}: {collision_text(pair)}",
            tuple((contact.point_first, contact.point_second) for contact in pair.contacts),
            colliding=True,
        )
        for pair in report.pairs
    )


def collision_text(pair: CollisionPair) -> str:
    """Return by how much a pair collides, such as "2.3 mm deep"."""
    if pair.distance <= 0.0:
        return f"{millimetres(pair.depth)} deep"
    return f"{millimetres(pair.distance)} apart, margin {millimetres(pair.margin)}"


def closest_mark(clearance: Clearance) -> PairMark | None:
    """Return a mark for the closest pair; None if no pair is within the search distance."""
    if not math.isfinite(clearance.distance):
        return None
    label = f"{clearance.first} \N{EN DASH} {clearance.second}: {millimetres(clearance.distance)}"
    points = ((clearance.point_first, clearance.point_second),)
    return PairMark(clearance.first, clearance.second, label, points, colliding=clearance.slack < 0.0)


def partners(name: str, marks: Iterable[PairMark]) -> tuple[str, ...]:
    """Return what an object collides with, according to marks."""
    found = (
        (mark.second if mark.first == name else mark.first)
        for mark in marks
        if mark.colliding and name in (mark.first, mark.second)
    )
    return tuple(dict.fromkeys(found))


def millimetres(metres: float) -> str:
    """Return a length for people, such as "12.3 mm"."""
    return f"{1e3 * metres:.1f} mm"


def margin_of(cell: RobotCell, frame: str, model: str) -> float:
    """Return the safety margin [m] of a link or body of a robot, tool or body; those of its partners are added."""
    return Margins(cell).of_names(frame, model)


def speed_colours(speeds: NDArray[np.float64], maximum: float = 0.0) -> NDArray[np.uint8]:
    """Return colours (n, 3) of speeds (n,) [m/s] on SPEED_SCALE. maximum: Of the scale [m/s]; 0: the largest speed."""
    top = maximum or float(speeds.max(initial=0.0))
    places = np.linspace(0.0, 1.0, len(SPEED_SCALE))
    fractions = np.clip(speeds / top, 0.0, 1.0) if top > 0.0 else np.zeros(len(speeds))
    scale = np.array(SPEED_SCALE, dtype=np.float64)
    return np.stack([np.interp(fractions, places, scale[:, channel]) for channel in range(3)], axis=1).astype(np.uint8)
