"""Compiled kernels that find hits early, since most motions of a search are blocked.

Recent hits are checked first, then the largest sphere of each cluster against obstacles. The order of the checks does
not change the verdict.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

from typing import Any

from .arrays import (
    BITS,
    CANDIDATES,
    CHILDREN,
    CORES,
    HIT,
    HITS,
    LISTED,
    MARGINS,
    MAX_CANDIDATES,
    NEAR,
    NEARBY,
    OBSTACLES,
    PAIR_MARGINS,
    PAIRS,
    PARENT_JOINTS,
    RECENT,
    ROUNDING,
    SHAPES,
    SPHERES,
    UNCERTAIN,
)
from .lanes import compute_centre, obstacle_squares, square_between
from .simd import below, inlined, number, real, rows, set_number, vectorised

AN_OBSTACLE, A_PAIR = 1, 2  # kinds of remembered hits


@inlined
def contact_distance(scene: int, obj: int, sphere: int, k: int) -> Any:
    """Return the distance below which the centre of an object's sphere hits an obstacle."""
    margin = real(scene, MARGINS, number(scene, OBSTACLES, 5 * k + 1) * rows(scene, PARENT_JOINTS) + obj)
    return real(scene, SPHERES, 4 * sphere + 3) + margin + real(scene, SHAPES, 20 * k + 19)


@inlined
def pair_contact_distance(scene: int, pair: int, n: int, m: int) -> Any:
    """Return the distance of centres below which two spheres hit each other."""
    margin = real(scene, PAIR_MARGINS, pair) + real(scene, ROUNDING, 0)
    return real(scene, SPHERES, 4 * n + 3) + real(scene, SPHERES, 4 * m + 3) + margin


@vectorised
def mark_lanes(work: int, compute_poses: int, bits: int) -> None:
    """Add lanes to one of the lane sets in the bits of the work space."""
    set_number(work, BITS, compute_poses, number(work, BITS, compute_poses) | bits)


@vectorised
def list_candidate(work: int, kind: int, which: int, n: int, m: int) -> None:
    """Add a candidate to the list; on overflow the count exceeds the capacity and the list is not used."""
    compute_poses = number(work, BITS, LISTED)
    if compute_poses < MAX_CANDIDATES:
        set_number(work, CANDIDATES, 5 * compute_poses, kind)
        set_number(work, CANDIDATES, 5 * compute_poses + 1, which)
        set_number(work, CANDIDATES, 5 * compute_poses + 2, n)
        set_number(work, CANDIDATES, 5 * compute_poses + 3, m)
        set_number(work, CANDIDATES, 5 * compute_poses + 4, 0)
    set_number(work, BITS, LISTED, min(compute_poses, MAX_CANDIDATES) + 1)


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
def move_up(work: int, compute_poses: int) -> None:
    """Move a remembered hit to the front."""
    for part in range(4):
        value = number(work, HITS, 4 * compute_poses + part)
        for i in range(compute_poses, 0, -1):
            set_number(work, HITS, 4 * i + part, number(work, HITS, 4 * (i - 1) + part))
        set_number(work, HITS, part, value)


@vectorised
def hit_again(scene: int, work: int) -> bool:
    """Return whether a remembered hit is hit again; the first such hit is noted and moved to the front."""
    for compute_poses in range(RECENT):
        kind, which = number(work, HITS, 4 * compute_poses), number(work, HITS, 4 * compute_poses + 1)
        n, m, found = number(work, HITS, 4 * compute_poses + 2), number(work, HITS, 4 * compute_poses + 3), 0
        if kind == AN_OBSTACLE:
            compute_centre(scene, work, n, number(scene, PARENT_JOINTS, which))
            contact = contact_distance(scene, which, n, m)
            found = below(obstacle_squares(scene, work, m, n, contact, False), contact * contact)
        elif kind == A_PAIR:
            compute_centre(scene, work, n, number(scene, PARENT_JOINTS, number(scene, PAIRS, 2 * which)))
            compute_centre(scene, work, m, number(scene, PARENT_JOINTS, number(scene, PAIRS, 2 * which + 1)))
            contact = pair_contact_distance(scene, which, n, m)
            found = below(square_between(work, n, m), contact * contact)
        if found != 0:
            mark_lanes(work, UNCERTAIN, found)
            mark_lanes(work, HIT, found)
            move_up(work, compute_poses)
            return True
    return False


@vectorised
def core_hits(scene: int, work: int, obj: int) -> bool:
    """Return whether the largest sphere of a cluster hits an obstacle near the object; if so, the hit is noted."""
    joint, count, obstacles = number(scene, PARENT_JOINTS, obj), number(work, NEARBY, obj), rows(scene, OBSTACLES)
    if count == 0:
        return False
    for cluster in range(number(scene, CHILDREN, 2 * obj), number(scene, CHILDREN, 2 * obj + 1)):
        core = number(scene, CORES, cluster)
        compute_centre(scene, work, core, joint)
        for compute_poses in range(count):
            k = number(work, NEAR, obj * obstacles + compute_poses)
            contact = contact_distance(scene, obj, core, k)
            found = below(obstacle_squares(scene, work, k, core, contact, False), contact * contact)
            if found != 0:
                mark_lanes(work, UNCERTAIN, found)
                mark_lanes(work, HIT, found)
                remember(work, AN_OBSTACLE, obj, core, k)
                return True
    return False
