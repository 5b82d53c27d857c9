"""Compiled kernels that find hits early, since most motions of a search are blocked.

Recent hits are checked first, then the largest sphere of each cluster against obstacles. The order of the checks does
not change the verdict.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

from typing import Any

from .arrays import (
    BITS,
    CORES,
    DEPTHS,
    HIT,
    LISTED,
    MAP_JOINTS,
    MARGINS,
    MAX_CANDIDATES,
    NEAR,
    NEARBY,
    OBSTACLES,
    PAIR_MARGINS,
    PARENT_JOINTS,
    RECENT,
    ROUNDING,
    UNCERTAIN,
)
from .distance_maps import lanes_of_map
from .fields import (
    allowance_of,
    end_of_children,
    first_child,
    first_object,
    hit_at,
    joint_of,
    margin_row,
    radius_of,
    second_object,
    set_candidate,
    set_hit,
)
from .lanes import compute_centre, obstacle_squares, square_between
from .simd import below, inlined, number, real, rows, set_number, store, vectorised

NO_HIT, AN_OBSTACLE, A_PAIR, A_MAP = 0, 1, 2, 3  # kinds of remembered hits; those without follow the others


@inlined
def contact_distance(scene: int, obj: int, sphere: int, k: int) -> Any:
    """Return the distance below which the centre of an object's sphere hits an obstacle."""
    margin = real(scene, MARGINS, margin_row(scene, k) * rows(scene, PARENT_JOINTS) + obj)
    return radius_of(scene, sphere) + margin + allowance_of(scene, k)


@inlined
def pair_contact_distance(scene: int, pair: int, n: int, m: int) -> Any:
    """Return the distance of centres below which two spheres hit each other."""
    return radius_of(scene, n) + radius_of(scene, m) + pair_margin(scene, pair)


@inlined
def pair_margin(scene: int, pair: int) -> Any:
    """Return the margin of a pair of objects, with the allowance for rounding."""
    return real(scene, PAIR_MARGINS, pair) + real(scene, ROUNDING, 0)


@vectorised
def mark_lanes(work: int, index: int, bits: int) -> None:
    """Add lanes to one of the lane sets in the bits of the work space."""
    set_number(work, BITS, index, number(work, BITS, index) | bits)


@vectorised
def list_candidate(work: int, kind: int, which: int, n: int, m: int) -> None:
    """Add a candidate to the list; on overflow the count exceeds the capacity and the list is not used."""
    index = number(work, BITS, LISTED)
    if index < MAX_CANDIDATES:
        set_candidate(work, index, kind, which, n, m)
    set_number(work, BITS, LISTED, min(index, MAX_CANDIDATES) + 1)


@vectorised
def forget_hits(work: int) -> None:
    """Forget all remembered hits. They decide which of several objects deflects a motion, so that equal searches have
    to begin without any.
    """
    for index in range(RECENT):
        set_hit(work, index, NO_HIT, 0, 0, 0)


@vectorised
def remember(work: int, kind: int, which: int, n: int, m: int) -> None:
    """Remember a hit, replacing the oldest."""
    set_hit(work, RECENT - 1, kind, which, n, m)
    move_up(work, RECENT - 1)


@inlined
def remember_spheres(work: int, kind: int, which: int, n: int, m: int, squares: Any, hits: int) -> None:
    """Mark the lanes in which a sphere hits an obstacle or another sphere; remember the hit and its squared distances.

    See `gradients.deepest`.
    """
    mark_lanes(work, HIT, hits)
    remember(work, kind, which, n, m)
    store(work, DEPTHS, 0, squares)


@vectorised
def move_up(work: int, index: int) -> None:
    """Move a remembered hit to the front."""
    kind, which, n, m = hit_at(work, index)
    for i in range(index, 0, -1):
        before = hit_at(work, i - 1)
        set_hit(work, i, before[0], before[1], before[2], before[3])
    set_hit(work, 0, kind, which, n, m)


@vectorised
def hit_again(scene: int, work: int) -> bool:
    """Return whether a remembered hit is hit again; the first such hit is noted and moved to the front."""
    for index in range(RECENT):
        kind, which, n, m = hit_at(work, index)
        if kind == NO_HIT:
            return False
        if kind == A_MAP:
            found = lanes_of_map(scene, work, which)[1]
        else:
            compute_centre(scene, work, n, first_joint(scene, kind, which))
            if kind == AN_OBSTACLE:
                contact = contact_distance(scene, which, n, m)
                squares = obstacle_squares(scene, work, m, n, contact, False)
            else:
                compute_centre(scene, work, m, joint_of(scene, second_object(scene, which)))
                contact = pair_contact_distance(scene, which, n, m)
                squares = square_between(work, n, m)
            found = below(squares, contact * contact)
            if found != 0:
                store(work, DEPTHS, 0, squares)
        if found != 0:
            mark_lanes(work, UNCERTAIN, found)
            mark_lanes(work, HIT, found)
            move_up(work, index)
            return True
    return False


@inlined
def first_joint(scene: int, kind: int, which: int) -> int:
    """Return the joint of the object of a hit of an obstacle, or of the first object of a pair."""
    return joint_of(scene, which if kind == AN_OBSTACLE else first_object(scene, which))


@vectorised
def core_hits(scene: int, work: int, obj: int) -> bool:
    """Return whether the largest sphere of a cluster hits an obstacle near the object; if so, the hit is noted."""
    joint, count, obstacles = joint_of(scene, obj), number(work, NEARBY, obj), rows(scene, OBSTACLES)
    if count == 0:
        return False
    for cluster in range(first_child(scene, obj), end_of_children(scene, obj)):
        core = number(scene, CORES, cluster)
        compute_centre(scene, work, core, joint)
        for index in range(count):
            k = number(work, NEAR, obj * obstacles + index)
            contact = contact_distance(scene, obj, core, k)
            squares = obstacle_squares(scene, work, k, core, contact, False)
            found = below(squares, contact * contact)
            if found != 0:
                mark_lanes(work, UNCERTAIN, found)
                remember_spheres(work, AN_OBSTACLE, obj, core, k, squares, found)
                return True
    return False


@vectorised
def check_maps(scene: int, work: int, stop_at_hit: bool) -> bool:
    """Check the pairs of all distance maps, and list those with lanes that are not proven free. Return whether the
    evaluation ends here, at a hit."""
    for index in range(rows(scene, MAP_JOINTS)):
        if check_map(scene, work, index):
            list_candidate(work, A_MAP, index, 0, 0)
            if stop_at_hit and number(work, BITS, HIT) != 0:
                return True
    return False


@vectorised
def check_map(scene: int, work: int, index: int) -> bool:
    """Check the pair of a distance map; return whether a lane is not proven free."""
    found, hits = lanes_of_map(scene, work, index)
    if found == 0:
        return False
    mark_lanes(work, UNCERTAIN, found)
    if hits != 0:
        mark_lanes(work, HIT, hits)
        remember(work, A_MAP, index, 0, 0)
    return True
