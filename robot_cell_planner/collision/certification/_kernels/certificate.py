"""Compiled kernels of the sphere test: which of LANES configurations prove the motion interval around them free.

A configuration is evaluated with joint displacements e; the result holds for all configurations that differ from it by
at most e_j in each joint j. The centre of sphere s moves by at most v_s = sum_j e_j reach_sj, joint after joint. So the
interval is free if every obstacle keeps more than r_s + margin + v_s from every centre, and every pair of spheres more
than r_a + r_b + margin + v_ab, where v_ab counts only joints between the two. A sphere that contains others has the
maximum of their motion bounds and a radius that contains theirs, so its result holds for all of them.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import (
    BITS,
    CARRIERS,
    CHILDREN,
    HIT,
    JOINTS,
    LANES,
    LISTED,
    MARGINS,
    NEAR,
    NEARBY,
    OBSTACLES,
    PAIRS,
    REACH,
    SIDES,
    SPEEDS,
    TOO_NEAR,
    UNCERTAIN,
)
from .hits import A_PAIR, AN_OBSTACLE, core_hits, hit_again, list_near, note, remember, touch_between, touch_of
from .lanes import obstacle_squares, place_ball, place_joints, square_between
from .simd import below, inlined, load, number, real, rows, set_number, spread, total, vectorised

LEAF = -1  # list number of a leaf, whose result is a set of lanes
NIL = np.float32(0.0)


@vectorised
def look(scene: int, work: int, stop_at_hit: bool) -> None:
    """Evaluate the configurations and joint displacements of the work space.

    The bits of the work space then have the lanes that are not proven free, and the lanes that are hit, where spheres
    overlap regardless of the displacements. With stop_at_hit the evaluation ends at the first hit and first checks
    candidates that are likely to hit.
    """
    place_joints(scene, work)
    set_number(work, BITS, UNCERTAIN, 0)
    set_number(work, BITS, HIT, 0)
    if stop_at_hit and hit_again(scene, work):
        return
    # Objects farthest from the base move most.
    owners = rows(scene, CARRIERS)
    for owner in range(owners - 1, -1, -1):
        place_ball(scene, work, owner, number(scene, CARRIERS, owner))
        list_obstacles(scene, work, owner)
        if stop_at_hit and core_hits(scene, work, owner):
            return
    for owner in range(owners - 1, -1, -1):
        look_at_obstacles(scene, work, owner, stop_at_hit)
        if stop_at_hit and number(work, BITS, HIT) != 0:
            return
    for pair in range(rows(scene, PAIRS)):
        look_at_pair(scene, work, pair, stop_at_hit)
        if stop_at_hit and number(work, BITS, HIT) != 0:
            return


@vectorised
def look_closer(scene: int, work: int) -> None:
    """Evaluate only the listed candidates, for lanes in intervals in which nothing else can be hit.

    Results are as in `look`. Candidates that may still be hit are marked in the list.
    """
    place_joints(scene, work)
    set_number(work, BITS, UNCERTAIN, 0)
    set_number(work, BITS, HIT, 0)
    for place in range(number(work, BITS, LISTED)):
        kind, which = number(work, TOO_NEAR, 5 * place), number(work, TOO_NEAR, 5 * place + 1)
        n, m = number(work, TOO_NEAR, 5 * place + 2), number(work, TOO_NEAR, 5 * place + 3)
        if kind == AN_OBSTACLE:
            place_ball(scene, work, n, number(scene, CARRIERS, which))
            touch = touch_of(scene, which, n, m)
            reach = touch + sway(scene, work, n)
            squares = obstacle_squares(scene, work, m, n, reach, False)
        else:
            place_ball(scene, work, n, number(scene, CARRIERS, number(scene, PAIRS, 2 * which)))
            place_ball(scene, work, m, number(scene, CARRIERS, number(scene, PAIRS, 2 * which + 1)))
            touch = touch_between(scene, which, n, m)
            reach = touch + sway_between(scene, work, which, n, m)
            squares = square_between(work, n, m)
        found = below(squares, reach * reach)
        if found != 0:
            set_number(work, TOO_NEAR, 5 * place + 4, 1)
            note(work, UNCERTAIN, found)
            hits = below(squares, touch * touch)
            if hits != 0:
                note(work, HIT, hits)
                remember(work, kind, which, n, m)


@vectorised
def keep_marked(work: int) -> None:
    """Keep the marked candidates of the list, and clear the marks."""
    kept = 0
    for place in range(number(work, BITS, LISTED)):
        if number(work, TOO_NEAR, 5 * place + 4) != 0:
            for part in range(4):
                set_number(work, TOO_NEAR, 5 * kept + part, number(work, TOO_NEAR, 5 * place + part))
            set_number(work, TOO_NEAR, 5 * kept + 4, 0)
            kept += 1
    set_number(work, BITS, LISTED, kept)


@inlined
def sway(scene: int, work: int, n: int) -> Any:
    """Return the displacement bound of the centres below a sphere."""
    ways, parts = spread(NIL), vectors(scene)
    for part in range(parts):
        ways = ways + load(work, SPEEDS, part) * load(scene, REACH, n * parts + part)
    return total(ways)


@inlined
def vectors(scene: int) -> int:
    """Return the number of vectors with one number per joint."""
    return int(max(-(-rows(scene, JOINTS) // LANES), 1))


@vectorised
def list_obstacles(scene: int, work: int, owner: int) -> None:
    """List the obstacles near the bounding sphere of a moving object, among those it is checked against."""
    owners, obstacles, count = rows(scene, CARRIERS), rows(scene, OBSTACLES), 0
    for k in range(obstacles):
        if real(scene, MARGINS, number(scene, OBSTACLES, 5 * k + 1) * owners + owner) >= NIL:
            set_number(work, NEAR, owners * obstacles + count, k)
            count += 1
    set_number(work, NEARBY, owner, hold_ball(scene, work, owner, owner, owners, owner, count))


@vectorised
def look_at_obstacles(scene: int, work: int, owner: int, stop_at_hit: bool) -> None:
    """Check the spheres of a moving object against nearby obstacles, from the root of its tree to the leaves.

    Obstacles near a sphere are passed on to the spheres that it contains.
    """
    joint, owners, count = number(scene, CARRIERS, owner), rows(scene, CARRIERS), number(work, NEARBY, owner)
    if count == 0:
        return
    for cluster in range(number(scene, CHILDREN, 2 * owner), number(scene, CHILDREN, 2 * owner + 1)):
        place_ball(scene, work, cluster, joint)
        nearer = hold_ball(scene, work, owner, cluster, owner, owners + 1, count)
        if nearer > 0:
            for leaf in range(number(scene, CHILDREN, 2 * cluster), number(scene, CHILDREN, 2 * cluster + 1)):
                place_ball(scene, work, leaf, joint)
                hold_ball(scene, work, owner, leaf, owners + 1, LEAF, nearer)
                if stop_at_hit and number(work, BITS, HIT) != 0:
                    return


@vectorised
def hold_ball(scene: int, work: int, owner: int, ball: int, listed: int, result: int, count: int) -> int:
    """Check a sphere against the first `count` obstacles of a list, and return the number of near ones.

    The near obstacles are written to list `result`. If `result` is LEAF, the lanes are noted instead.
    """
    drift, obstacles, nearer = sway(scene, work, ball), rows(scene, OBSTACLES), 0
    for place in range(count):
        k = number(work, NEAR, listed * obstacles + place)
        touch = touch_of(scene, owner, ball, k)
        reach = touch + drift
        squares = obstacle_squares(scene, work, k, ball, reach, result != LEAF)
        found = below(squares, reach * reach)
        if found != 0:
            if result == LEAF:
                note(work, UNCERTAIN, found)
                list_near(work, AN_OBSTACLE, owner, ball, k)
                hits = below(squares, touch * touch)
                if hits != 0:
                    note(work, HIT, hits)
                    remember(work, AN_OBSTACLE, owner, ball, k)
            else:
                set_number(work, NEAR, result * obstacles + nearer, k)
            nearer += 1
    return nearer


@inlined
def sway_between(scene: int, work: int, pair: int, n: int, m: int) -> Any:
    """Return the bound on the relative displacement of the centres below two spheres."""
    ways, parts = spread(NIL), vectors(scene)
    for part in range(parts):
        first = load(scene, SIDES, 2 * pair * parts + part) * load(scene, REACH, n * parts + part)
        second = load(scene, SIDES, (2 * pair + 1) * parts + part) * load(scene, REACH, m * parts + part)
        ways = ways + load(work, SPEEDS, part) * (first + second)
    return total(ways)


@vectorised
def near_lanes(scene: int, work: int, pair: int, n: int, m: int) -> Any:
    """Return the bits of the lanes in which two spheres may touch."""
    reach = touch_between(scene, pair, n, m) + sway_between(scene, work, pair, n, m)
    return below(square_between(work, n, m), reach * reach)


@vectorised
def look_at_pair(scene: int, work: int, pair: int, stop_at_hit: bool) -> None:
    """Check the sphere trees of two moving objects against each other."""
    a, b = number(scene, PAIRS, 2 * pair), number(scene, PAIRS, 2 * pair + 1)
    if near_lanes(scene, work, pair, a, b) == 0:
        return
    for first in range(number(scene, CHILDREN, 2 * a), number(scene, CHILDREN, 2 * a + 1)):
        place_ball(scene, work, first, number(scene, CARRIERS, a))
        if near_lanes(scene, work, pair, first, b) != 0:
            for second in range(number(scene, CHILDREN, 2 * b), number(scene, CHILDREN, 2 * b + 1)):
                place_ball(scene, work, second, number(scene, CARRIERS, b))
                if near_lanes(scene, work, pair, first, second) != 0:
                    look_at_leaves(scene, work, pair, first, second)
                    if stop_at_hit and number(work, BITS, HIT) != 0:
                        return


@vectorised
def look_at_leaves(scene: int, work: int, pair: int, first: int, second: int) -> None:
    """Check the leaves of two clusters against each other."""
    joint_a = number(scene, CARRIERS, number(scene, PAIRS, 2 * pair))
    joint_b = number(scene, CARRIERS, number(scene, PAIRS, 2 * pair + 1))
    for n in range(number(scene, CHILDREN, 2 * first), number(scene, CHILDREN, 2 * first + 1)):
        place_ball(scene, work, n, joint_a)
        if near_lanes(scene, work, pair, n, second) == 0:
            continue
        for m in range(number(scene, CHILDREN, 2 * second), number(scene, CHILDREN, 2 * second + 1)):
            place_ball(scene, work, m, joint_b)
            found = near_lanes(scene, work, pair, n, m)
            if found != 0:
                touch = touch_between(scene, pair, n, m)
                hits = below(square_between(work, n, m), touch * touch)
                note(work, UNCERTAIN, found)
                list_near(work, A_PAIR, pair, n, m)
                if hits != 0:
                    note(work, HIT, hits)
                    remember(work, A_PAIR, pair, n, m)
