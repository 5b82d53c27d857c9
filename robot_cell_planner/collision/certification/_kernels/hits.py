"""Compiled kernels that find hits early, since most motions of a search are blocked.

Recent hits are checked first, then the largest sphere of each cluster against obstacles. The order of the checks does
not change the verdict.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

from typing import Any

from .arrays import (
    BALLS,
    BITS,
    CARRIERS,
    CHILDREN,
    CORES,
    HIT,
    HITS,
    LISTED,
    MARGINS,
    MOST_NEAR,
    NEAR,
    NEARBY,
    OBSTACLES,
    PAIR_MARGINS,
    PAIRS,
    RECENT,
    ROUNDING,
    SHAPES,
    TOO_NEAR,
    UNCERTAIN,
)
from .lanes import obstacle_squares, place_ball, square_between
from .simd import below, inlined, number, real, rows, set_number, vectorised

AN_OBSTACLE, A_PAIR = 1, 2  # kinds of remembered hits


@inlined
def touch_of(scene: int, owner: int, ball: int, k: int) -> Any:
    """Return the distance below which the centre of an object's sphere hits an obstacle."""
    margin = real(scene, MARGINS, number(scene, OBSTACLES, 5 * k + 1) * rows(scene, CARRIERS) + owner)
    return real(scene, BALLS, 4 * ball + 3) + margin + real(scene, SHAPES, 20 * k + 19)


@inlined
def touch_between(scene: int, pair: int, n: int, m: int) -> Any:
    """Return the distance of centres below which two spheres hit each other."""
    margin = real(scene, PAIR_MARGINS, pair) + real(scene, ROUNDING, 0)
    return real(scene, BALLS, 4 * n + 3) + real(scene, BALLS, 4 * m + 3) + margin


@vectorised
def note(work: int, place: int, bits: int) -> None:
    """Add lanes to one of the lane sets in the bits of the work space."""
    set_number(work, BITS, place, number(work, BITS, place) | bits)


@vectorised
def list_near(work: int, kind: int, which: int, n: int, m: int) -> None:
    """Add a candidate to the list; on overflow the count exceeds the capacity and the list is not used."""
    place = number(work, BITS, LISTED)
    if place < MOST_NEAR:
        set_number(work, TOO_NEAR, 5 * place, kind)
        set_number(work, TOO_NEAR, 5 * place + 1, which)
        set_number(work, TOO_NEAR, 5 * place + 2, n)
        set_number(work, TOO_NEAR, 5 * place + 3, m)
        set_number(work, TOO_NEAR, 5 * place + 4, 0)
    set_number(work, BITS, LISTED, min(place, MOST_NEAR) + 1)


@vectorised
def remember(work: int, kind: int, which: int, n: int, m: int) -> None:
    """Remember a hit, replacing the oldest."""
    first = 4 * (RECENT - 1)
    set_number(work, HITS, first, kind)
    set_number(work, HITS, first + 1, which)
    set_number(work, HITS, first + 2, n)
    set_number(work, HITS, first + 3, m)
    move_up(work, RECENT - 1)


@vectorised
def move_up(work: int, place: int) -> None:
    """Move a remembered hit to the front."""
    for part in range(4):
        value = number(work, HITS, 4 * place + part)
        for i in range(place, 0, -1):
            set_number(work, HITS, 4 * i + part, number(work, HITS, 4 * (i - 1) + part))
        set_number(work, HITS, part, value)


@vectorised
def hit_again(scene: int, work: int) -> bool:
    """Return whether a remembered hit is hit again; the first such hit is noted and moved to the front."""
    for place in range(RECENT):
        kind, which = number(work, HITS, 4 * place), number(work, HITS, 4 * place + 1)
        n, m, found = number(work, HITS, 4 * place + 2), number(work, HITS, 4 * place + 3), 0
        if kind == AN_OBSTACLE:
            place_ball(scene, work, n, number(scene, CARRIERS, which))
            touch = touch_of(scene, which, n, m)
            found = below(obstacle_squares(scene, work, m, n, touch, False), touch * touch)
        elif kind == A_PAIR:
            place_ball(scene, work, n, number(scene, CARRIERS, number(scene, PAIRS, 2 * which)))
            place_ball(scene, work, m, number(scene, CARRIERS, number(scene, PAIRS, 2 * which + 1)))
            touch = touch_between(scene, which, n, m)
            found = below(square_between(work, n, m), touch * touch)
        if found != 0:
            note(work, UNCERTAIN, found)
            note(work, HIT, found)
            move_up(work, place)
            return True
    return False


@vectorised
def core_hits(scene: int, work: int, owner: int) -> bool:
    """Return whether the largest sphere of a cluster hits an obstacle near the object; if so, the hit is noted."""
    joint, count, obstacles = number(scene, CARRIERS, owner), number(work, NEARBY, owner), rows(scene, OBSTACLES)
    if count == 0:
        return False
    for cluster in range(number(scene, CHILDREN, 2 * owner), number(scene, CHILDREN, 2 * owner + 1)):
        core = number(scene, CORES, cluster)
        place_ball(scene, work, core, joint)
        for place in range(count):
            k = number(work, NEAR, owner * obstacles + place)
            touch = touch_of(scene, owner, core, k)
            found = below(obstacle_squares(scene, work, k, core, touch, False), touch * touch)
            if found != 0:
                note(work, UNCERTAIN, found)
                note(work, HIT, found)
                remember(work, AN_OBSTACLE, owner, core, k)
                return True
    return False
