"""Compiled kernels of the sphere test: which of LANES configurations prove the motion interval around them free.

A configuration is evaluated with joint displacements e; the result holds for all configurations that differ from it by
at most e_j in each joint j. The centre of sphere s moves by at most v_s = sum_j e_j reach_sj, joint after joint. So the
interval is free if every obstacle keeps more than r_s + margin + v_s from every centre, and every pair of spheres more
than r_a + r_b + margin + v_ab, where v_ab counts only joints between the two. A sphere that contains others has the
maximum of their motion bounds and a radius that contains theirs, so its result holds for all of them. On straight
motions `velocities` prove more.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import (
    BITS,
    BOX_CHILDREN,
    BOXES,
    CONE,
    DISPLACEMENTS,
    FEW_CANDIDATES,
    HIT,
    LANES,
    LISTED,
    MARGINS,
    MAX_CANDIDATES,
    MOTION_BOUNDS,
    NEAR,
    NEAR_LANES,
    NEARBY,
    OBSTACLES,
    PAIR_GROUPS,
    PARENT_JOINTS,
    SIDES,
    STACK,
    UNCERTAIN,
    UNLISTED,
    WIDEST_MARGINS,
    WIDTHS,
)
from .fields import (
    end_of_children,
    end_of_pairs,
    first_child,
    first_object,
    first_pair,
    first_sphere,
    joint_of,
    kind_of,
    margin_row,
    radius_of,
    second_object,
    second_sphere,
)
from .hits import (
    A_PAIR,
    AN_OBSTACLE,
    check_maps,
    contact_distance,
    core_hits,
    list_candidate,
    mark_lanes,
    pair_contact_distance,
    pair_margin,
    remember_spheres,
)
from .lanes import (
    centre_of,
    compute_centre,
    compute_joint_poses,
    may_be_near,
    obstacle_squares,
    square_between,
)
from .simd import (
    below,
    broadcast,
    greatest,
    inlined,
    least,
    load,
    lowest_bit,
    number,
    real,
    rows,
    set_number,
    set_real,
    total,
    vectorised,
)
from .velocities import near_pair, travel, vectors

LEAF = -1  # list number of a leaf, whose result is a set of lanes
ZERO, ONE, BOX_SLACK = np.float32(0.0), np.float32(1.0), np.float32(1e-5)


@vectorised
def begin(scene: int, work: int) -> None:
    """Place the joints at the configurations of the work space; no lane is undecided or hit yet."""
    compute_joint_poses(scene, work)
    set_number(work, BITS, UNCERTAIN, 0)
    set_number(work, BITS, HIT, 0)


@vectorised
def evaluate(scene: int, work: int, stop_at_hit: bool) -> None:
    """Evaluate the configurations, after `begin`, and joint displacements of the work space.

    The bits of the work space then have the lanes that are not proven free, and the lanes that are hit, where spheres
    overlap regardless of the displacements. With stop_at_hit the evaluation ends at the first hit.
    """
    if check_maps(scene, work, stop_at_hit):
        return
    # Objects farthest from the base move most.
    objects = rows(scene, PARENT_JOINTS)
    for obj in range(objects - 1, -1, -1):
        compute_centre(scene, work, obj, joint_of(scene, obj))
        list_obstacles(scene, work, obj)
        if stop_at_hit and core_hits(scene, work, obj):
            return
    for obj in range(objects - 1, -1, -1):
        check_obstacles(scene, work, obj, stop_at_hit)
        if stop_at_hit and number(work, BITS, HIT) != 0:
            return
    for group in range(rows(scene, PAIR_GROUPS)):
        if not may_touch(scene, work, group):
            continue
        for pair in range(first_pair(scene, group), end_of_pairs(scene, group)):
            check_pair(scene, work, pair, stop_at_hit)
            if stop_at_hit and number(work, BITS, HIT) != 0:
                return


@inlined
def displacement_bound(scene: int, work: int, n: int) -> Any:
    """Return the displacement bound of the centres below a sphere."""
    parts = vectors(scene)
    bound = load(work, DISPLACEMENTS, 0) * load(scene, MOTION_BOUNDS, n * parts)
    for part in range(1, parts):  # mostly none
        bound = bound + load(work, DISPLACEMENTS, part) * load(scene, MOTION_BOUNDS, n * parts + part)
    return total(bound)


@vectorised
def list_obstacles(scene: int, work: int, obj: int) -> None:
    """List the obstacles near the bounding sphere of a moving object, among those it is checked against."""
    objects = rows(scene, PARENT_JOINTS)
    count = list_boxes(scene, work, obj) if real(scene, WIDEST_MARGINS, obj) >= ZERO else 0
    set_number(work, NEARBY, obj, check_sphere(scene, work, obj, obj, objects, obj, count))


@vectorised
def list_boxes(scene: int, work: int, obj: int) -> int:
    """List the obstacles, ascending, that an object is checked against and whose boxes overlap the box around its
    bounding sphere in all lanes; return their number."""
    objects, obstacles, count = rows(scene, PARENT_JOINTS), rows(scene, OBSTACLES), 0
    px, py, pz = centre_of(work, obj)
    reach = radius_of(scene, obj) + real(scene, WIDEST_MARGINS, obj) + displacement_bound(scene, work, obj)
    reach = reach * (ONE + BOX_SLACK) + BOX_SLACK
    x, y, z = least(px) - reach, least(py) - reach, least(pz) - reach
    u, v, w = greatest(px) + reach, greatest(py) + reach, greatest(pz) + reach
    set_number(work, STACK, 0, rows(scene, BOX_CHILDREN) - 1)
    waiting = 1
    while waiting > 0:
        waiting -= 1
        boxes = number(work, STACK, waiting)
        f = 6 * boxes
        found = below(load(scene, BOXES, f), u) & below(load(scene, BOXES, f + 1), v)
        found &= below(load(scene, BOXES, f + 2), w) & below(x, load(scene, BOXES, f + 3))
        found &= below(y, load(scene, BOXES, f + 4)) & below(z, load(scene, BOXES, f + 5))
        first = number(scene, BOX_CHILDREN, boxes)
        if first < 0:
            while found != 0:
                k = lowest_bit(found) - 1 - first
                found &= found - 1
                if real(scene, MARGINS, margin_row(scene, k) * objects + obj) >= ZERO:
                    set_number(work, NEAR, objects * obstacles + count, k)
                    count += 1
        else:
            # The last one is evaluated first, so the order of the obstacles stays ascending.
            for lane in range(LANES - 1, -1, -1):
                if found >> lane & 1 != 0:
                    set_number(work, STACK, waiting, first + lane)
                    waiting += 1
    return count


@vectorised
def check_obstacles(scene: int, work: int, obj: int, stop_at_hit: bool) -> None:
    """Check the spheres of a moving object against nearby obstacles, from the root of its tree to the leaves.

    Obstacles near a sphere are passed on to the spheres that it contains.
    """
    joint, objects, count = joint_of(scene, obj), rows(scene, PARENT_JOINTS), number(work, NEARBY, obj)
    if count == 0:
        return
    for cluster in range(first_child(scene, obj), end_of_children(scene, obj)):
        compute_centre(scene, work, cluster, joint)
        nearer = check_sphere(scene, work, obj, cluster, obj, objects + 1, count)
        if nearer > 0:
            lanes = number(work, BITS, NEAR_LANES)
            for leaf in range(first_child(scene, cluster), end_of_children(scene, cluster)):
                if left_open(work, lanes):
                    break
                compute_centre(scene, work, leaf, joint)
                check_sphere(scene, work, obj, leaf, objects + 1, LEAF, nearer)
                if stop_at_hit and number(work, BITS, HIT) != 0:
                    return


@vectorised
def check_sphere(scene: int, work: int, obj: int, sphere: int, listed: int, result: int, count: int) -> int:
    """Check a sphere against the first `count` obstacles of a list, and return the number of near ones.

    The near obstacles are written to list `result`. If `result` is LEAF, the lanes are noted instead.
    """
    reach, obstacles, nearer, lanes = displacement_bound(scene, work, sphere), rows(scene, OBSTACLES), 0, 0
    moves, with_velocity = broadcast(reach), False
    for index in range(count):
        k = number(work, NEAR, listed * obstacles + index)
        contact = contact_distance(scene, obj, sphere, k)
        # The velocity is computed first if the obstacle is a mesh, whose distance takes longer.
        if not with_velocity and kind_of(scene, k) > CONE and may_be_near(scene, work, k, sphere, contact + reach):
            moves, with_velocity = travel(scene, work, sphere, joint_of(scene, obj), reach), True
            reach = greatest(moves)
        squares = obstacle_squares(scene, work, k, sphere, contact + reach, result != LEAF)
        threshold = moves + contact
        found = below(squares, threshold * threshold)
        if found != 0 and not with_velocity:
            moves, with_velocity = travel(scene, work, sphere, joint_of(scene, obj), reach), True
            reach = greatest(moves)
            threshold = moves + contact
            found = below(squares, threshold * threshold)
        if found != 0:
            lanes |= found
            if result == LEAF:
                mark_lanes(work, UNCERTAIN, found)
                list_candidate(work, AN_OBSTACLE, obj, sphere, k)
                hits = below(squares, contact * contact)
                if hits != 0:
                    remember_spheres(work, AN_OBSTACLE, obj, sphere, k, squares, hits)
            else:
                set_number(work, NEAR, result * obstacles + nearer, k)
            nearer += 1
    set_number(work, BITS, NEAR_LANES, lanes)
    return nearer


@vectorised
def left_open(work: int, lanes: int) -> bool:
    """Return whether candidates that are near in these lanes need not be searched.

    The lanes are undecided already, and intervals around them will be bisected. The list of candidates, which is then
    not complete, is not used. Otherwise a motion close to an object would list hundreds of candidates, most of which
    its halves exclude. Where nobody uses the list, nothing more is to be found out about lanes that are hit.
    """
    if number(work, BITS, UNLISTED) != 0 and lanes & ~number(work, BITS, HIT) == 0:
        return True
    if number(work, BITS, LISTED) < FEW_CANDIDATES or lanes & ~number(work, BITS, UNCERTAIN) != 0:
        return False
    set_number(work, BITS, LISTED, MAX_CANDIDATES + 1)
    return True


@inlined
def width(scene: int, work: int, pair: int, side: int, n: int) -> Any:
    """Return the radius of a sphere plus the displacement of the centres below it relative to the other object of a
    pair, of which the sphere belongs to the first (side 0) or second object (1): that by the joints which move only
    its own object.
    """
    parts, row = vectors(scene), 2 * pair + side
    bound = load(work, DISPLACEMENTS, 0) * (load(scene, SIDES, row * parts) * load(scene, MOTION_BOUNDS, n * parts))
    for part in range(1, parts):
        own = load(scene, SIDES, row * parts + part) * load(scene, MOTION_BOUNDS, n * parts + part)
        bound = bound + load(work, DISPLACEMENTS, part) * own
    return radius_of(scene, n) + total(bound)


@inlined
def lanes_within(scene: int, work: int, pair: int, n: int, m: int, reach: float) -> int:
    """Return the bits of the lanes with centres nearer than `reach` whose velocities do not keep them apart."""
    found = int(below(square_between(work, n, m), reach * reach))
    return near_pair(scene, work, pair, n, m, found) if found != 0 else 0


@vectorised
def may_touch(scene: int, work: int, group: int) -> bool:
    """Return whether the spheres around the objects of both joints of a group of pairs may touch in any lane."""
    pair = first_pair(scene, group)
    if end_of_pairs(scene, group) == pair + 1:
        return True
    n, m = first_sphere(scene, group), second_sphere(scene, group)
    compute_centre(scene, work, n, joint_of(scene, first_object(scene, pair)))
    compute_centre(scene, work, m, joint_of(scene, second_object(scene, pair)))
    reach = pair_margin(scene, pair) + width(scene, work, pair, 0, n) + width(scene, work, pair, 1, m)
    return bool(lanes_within(scene, work, pair, n, m, reach) != 0)


@vectorised
def check_pair(scene: int, work: int, pair: int, stop_at_hit: bool) -> None:
    """Check the sphere trees of two moving objects against each other."""
    a, b, margin = first_object(scene, pair), second_object(scene, pair), pair_margin(scene, pair)
    wide_b = width(scene, work, pair, 1, b)
    lanes = lanes_within(scene, work, pair, a, b, margin + width(scene, work, pair, 0, a) + wide_b)
    if lanes == 0 or left_open(work, lanes):
        return
    # Widths of spheres of the second object are needed once for each near sphere of the first.
    for second in range(first_child(scene, b), end_of_children(scene, b)):
        set_real(work, WIDTHS, second, width(scene, work, pair, 1, second))
    for first in range(first_child(scene, a), end_of_children(scene, a)):
        compute_centre(scene, work, first, joint_of(scene, a))
        wide = margin + width(scene, work, pair, 0, first)
        lanes = lanes_within(scene, work, pair, first, b, wide + wide_b)
        if lanes == 0 or left_open(work, lanes):
            continue
        for second in range(first_child(scene, b), end_of_children(scene, b)):
            compute_centre(scene, work, second, joint_of(scene, b))
            lanes = lanes_within(scene, work, pair, first, second, wide + real(work, WIDTHS, second))
            if lanes != 0 and not left_open(work, lanes):
                check_leaves(scene, work, pair, first, second, lanes)
                if stop_at_hit and number(work, BITS, HIT) != 0:
                    return


@vectorised
def check_leaves(scene: int, work: int, pair: int, first: int, second: int, lanes: int) -> None:
    """Check the leaves of two clusters, which are near each other in some lanes, against each other."""
    joint_a = joint_of(scene, first_object(scene, pair))
    joint_b = joint_of(scene, second_object(scene, pair))
    margin, wide_second, with_widths = pair_margin(scene, pair), real(work, WIDTHS, second), False
    for n in range(first_child(scene, first), end_of_children(scene, first)):
        if left_open(work, lanes):
            return
        compute_centre(scene, work, n, joint_a)
        wide = margin + width(scene, work, pair, 0, n)
        if lanes_within(scene, work, pair, n, second, wide + wide_second) == 0:
            continue
        for m in range(first_child(scene, second), end_of_children(scene, second)):
            if not with_widths:
                set_real(work, WIDTHS, m, width(scene, work, pair, 1, m))
            compute_centre(scene, work, m, joint_b)
            found = lanes_within(scene, work, pair, n, m, wide + real(work, WIDTHS, m))
            if found != 0:
                contact = pair_contact_distance(scene, pair, n, m)
                squares = square_between(work, n, m)
                hits = below(squares, contact * contact)
                mark_lanes(work, UNCERTAIN, found)
                list_candidate(work, A_PAIR, pair, n, m)
                if hits != 0:
                    remember_spheres(work, A_PAIR, pair, n, m, squares, hits)
        with_widths = True
