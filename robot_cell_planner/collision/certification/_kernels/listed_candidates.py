"""Compiled kernels that check only the candidates which a coarser interval left undecided.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

from .arrays import BITS, LISTED, UNCERTAIN
from .certificate import displacement_bound, width
from .fields import (
    candidate_at,
    first_object,
    is_marked,
    joint_of,
    mark,
    second_object,
    set_candidate,
)
from .hits import (
    A_MAP,
    AN_OBSTACLE,
    check_map,
    contact_distance,
    mark_lanes,
    pair_contact_distance,
    pair_margin,
    remember_spheres,
)
from .lanes import compute_centre, obstacle_squares, square_between
from .simd import below, greatest, number, set_number, vectorised
from .velocities import near_pair, travel


@vectorised
def evaluate_listed(scene: int, work: int) -> None:
    """Evaluate only the listed candidates, after `begin`, for lanes in intervals in which nothing else can be hit.

    Results are as in `evaluate`. Candidates that may still be hit are marked in the list.
    """
    for index in range(number(work, BITS, LISTED)):
        kind, which, n, m = candidate_at(work, index)
        if kind == A_MAP:
            if check_map(scene, work, which):
                mark(work, index)
            continue
        if kind == AN_OBSTACLE:
            compute_centre(scene, work, n, joint_of(scene, which))
            contact = contact_distance(scene, which, n, m)
            threshold = travel(scene, work, n, joint_of(scene, which), displacement_bound(scene, work, n)) + contact
            squares = obstacle_squares(scene, work, m, n, greatest(threshold), False)
            found = below(squares, threshold * threshold)
        else:
            compute_centre(scene, work, n, joint_of(scene, first_object(scene, which)))
            compute_centre(scene, work, m, joint_of(scene, second_object(scene, which)))
            contact = pair_contact_distance(scene, which, n, m)
            threshold = pair_margin(scene, which)
            threshold = threshold + width(scene, work, which, 0, n) + width(scene, work, which, 1, m)
            squares = square_between(work, n, m)
            found = below(squares, threshold * threshold)
            if found != 0:
                found = near_pair(scene, work, which, n, m, found)
        if found != 0:
            mark(work, index)
            mark_lanes(work, UNCERTAIN, found)
            hits = below(squares, contact * contact)
            if hits != 0:
                remember_spheres(work, kind, which, n, m, squares, hits)


@vectorised
def retain_marked(work: int) -> None:
    """Keep the marked candidates of the list, and clear the marks."""
    count = 0
    for index in range(number(work, BITS, LISTED)):
        if is_marked(work, index):
            kind, which, n, m = candidate_at(work, index)
            set_candidate(work, count, kind, which, n, m)
            count += 1
    set_number(work, BITS, LISTED, count)
