"""Compiled kernels of a closer test of straight motions, by the velocities of sphere centres.

In an interval of a straight motion a sphere centre is at p + s u + e for s from -1 to 1: p is its position and u its
velocity at the middle, per half interval. Joint i moves the velocity that joint j adds, of at most reach_sj, only if i
is revolute and not behind j. So |e| is at most c_s = sum_j w_j reach_sj with w_j = e_j (e_j / 2 + sum of e_i over the
revolute joints i before j), without e_j / 2 for a prismatic joint. Of a pair of spheres only the joints between both
count: their common motion keeps the distance.

- An obstacle farther than r_s + margin + |u| + c_s from p is never hit.
- The squared distance of two spheres is at least d^2 - 2 |d u| after the first order, for the vector d between their
  centres and the difference u of their velocities.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import (
    BITS,
    CHANGE_WEIGHTS,
    DIRECTIONS,
    DISPLACEMENTS,
    EVALUATION,
    JOINTS,
    LANES,
    MOTION_BOUNDS,
    MOVED,
    POSES,
    ROUNDING,
    SIDES,
    SLACK,
    TURNS,
    TWISTED,
    TWISTS,
    UNBOUNDED,
    VELOCITIES,
    Double,
)
from .fields import (
    common_joint,
    first_object,
    is_prismatic,
    joint_of,
    multiplier_of,
    parent_of,
    second_object,
    variable_of,
)
from .hits import pair_contact_distance
from .lanes import centre_of
from .simd import (
    absolute,
    below,
    broadcast,
    inlined,
    load,
    minimum,
    number,
    real,
    rows,
    set_number,
    set_real,
    square_root,
    store,
    total,
    vectorised,
)

ZERO = np.float32(0.0)
MORE, LESS, TWICE = np.float32(1.0 + 4e-6), np.float32(1.0 - 4e-6), np.float32(2.0 + 8e-6)
NO_DIRECTION = np.float32(UNBOUNDED)


@inlined
def vectors(scene: int) -> int:
    """Return the number of vectors with one number per joint."""
    return int(max(-(-rows(scene, JOINTS) // LANES), 1))


@vectorised
def set_interval(scene: int, work: int, start: Double, end: Double, half: float) -> None:
    """Set the displacements of all joints in an interval of half length `half`, as a fraction of a straight motion.

    They are slightly enlarged against rounding errors.
    """
    longest = 0.0
    for j in range(rows(scene, JOINTS)):
        variable, parent = variable_of(scene, j), parent_of(scene, j)
        direction = multiplier_of(scene, j) * (end[variable] - start[variable]) * half
        displacement = abs(direction) * (1.0 + 1e-6) + 1e-9
        before = float(real(work, TURNS, parent)) if parent >= 0 else 0.0
        turn = 0.0 if is_prismatic(scene, j) else displacement
        set_real(work, DISPLACEMENTS, j, np.float32(displacement))
        set_real(work, DIRECTIONS, j, np.float32(direction))
        set_real(work, CHANGE_WEIGHTS, j, np.float32(displacement * (0.5 * turn + before) * (1.0 + 1e-5)))
        set_real(work, TURNS, j, np.float32(before + turn))
        longest += displacement
    set_real(work, SLACK, 0, np.float32(2.0 * longest) * real(scene, ROUNDING, 0))


@vectorised
def set_box(work: int) -> None:
    """Disable the test for intervals that are no parts of a straight motion."""
    set_real(work, SLACK, 0, NO_DIRECTION)


@vectorised
def compute_twists(scene: int, work: int) -> None:
    """Compute the twists of all joints: angular velocity, and velocity of the point of the joint's link at the
    origin."""
    set_number(work, BITS, TWISTED, number(work, BITS, EVALUATION))
    for j in range(rows(scene, JOINTS)):
        parent, rate, f = parent_of(scene, j), real(work, DIRECTIONS, j), 12 * j
        x = load(work, POSES, f + 2) * rate
        y = load(work, POSES, f + 5) * rate
        z = load(work, POSES, f + 8) * rate
        if is_prismatic(scene, j):
            u, v, w = x, y, z
            x = y = z = broadcast(ZERO)
        else:
            px, py, pz = load(work, POSES, f + 9), load(work, POSES, f + 10), load(work, POSES, f + 11)
            u, v, w = py * z - pz * y, pz * x - px * z, px * y - py * x
        if parent >= 0:
            x, y = x + load(work, TWISTS, 6 * parent), y + load(work, TWISTS, 6 * parent + 1)
            z, u = z + load(work, TWISTS, 6 * parent + 2), u + load(work, TWISTS, 6 * parent + 3)
            v, w = v + load(work, TWISTS, 6 * parent + 4), w + load(work, TWISTS, 6 * parent + 5)
        store(work, TWISTS, 6 * j, x)
        store(work, TWISTS, 6 * j + 1, y)
        store(work, TWISTS, 6 * j + 2, z)
        store(work, TWISTS, 6 * j + 3, u)
        store(work, TWISTS, 6 * j + 4, v)
        store(work, TWISTS, 6 * j + 5, w)


@vectorised
def compute_velocity(scene: int, work: int, n: int, joint: int) -> None:
    """Compute the velocity of the centre of a sphere, which has been computed, for all lanes."""
    now = number(work, BITS, EVALUATION)
    if number(work, MOVED, n) == now:
        return
    set_number(work, MOVED, n, now)
    if number(work, BITS, TWISTED) != now:
        compute_twists(scene, work)
    f = 6 * joint
    px, py, pz = centre_of(work, n)
    x, y, z = load(work, TWISTS, f), load(work, TWISTS, f + 1), load(work, TWISTS, f + 2)
    store(work, VELOCITIES, 3 * n, y * pz - z * py + load(work, TWISTS, f + 3))
    store(work, VELOCITIES, 3 * n + 1, z * px - x * pz + load(work, TWISTS, f + 4))
    store(work, VELOCITIES, 3 * n + 2, x * py - y * px + load(work, TWISTS, f + 5))


@inlined
def velocity_of(work: int, n: int) -> Any:
    """Return the coordinates of the velocity of the centre of a sphere."""
    return load(work, VELOCITIES, 3 * n), load(work, VELOCITIES, 3 * n + 1), load(work, VELOCITIES, 3 * n + 2)


@inlined
def change_bound(scene: int, work: int, n: int) -> Any:
    """Return the maximum distance of the centre of a sphere from its position at constant velocity."""
    parts = vectors(scene)
    bound = load(work, CHANGE_WEIGHTS, 0) * load(scene, MOTION_BOUNDS, n * parts)
    for part in range(1, parts):
        bound = bound + load(work, CHANGE_WEIGHTS, part) * load(scene, MOTION_BOUNDS, n * parts + part)
    return total(bound)


@inlined
def relative_change_bound(scene: int, work: int, pair: int, side: int, n: int, turned: Any) -> Any:
    """Return `change_bound` of a sphere of one object of a pair relative to the other object. turned: sum of the
    displacements of the revolute joints that move both."""
    parts, row = vectors(scene), 2 * pair + side
    bound = broadcast(ZERO)
    for part in range(parts):
        weights = load(work, CHANGE_WEIGHTS, part) - load(work, DISPLACEMENTS, part) * turned
        bound = bound + weights * load(scene, SIDES, row * parts + part) * load(scene, MOTION_BOUNDS, n * parts + part)
    return total(bound)


@vectorised
def travel(scene: int, work: int, n: int, joint: int, displacement: float) -> Any:
    """Return how far the centre of a sphere moves at most from its position at the middle, lane by lane.

    displacement: bound without velocities.
    """
    slack, most = real(work, SLACK, 0), broadcast(displacement)
    if slack < NO_DIRECTION:
        compute_velocity(scene, work, n, joint)
        x, y, z = velocity_of(work, n)
        most = minimum(square_root(x * x + y * y + z * z) * MORE + (slack + change_bound(scene, work, n)), most)
    return most


@vectorised
def near_pair(scene: int, work: int, pair: int, n: int, m: int, found: int) -> int:
    """Return the bits of those lanes of `found` in which two spheres of a pair of objects may touch."""
    slack, common = real(work, SLACK, 0), common_joint(scene, pair)
    if slack >= NO_DIRECTION:
        return found
    compute_velocity(scene, work, n, joint_of(scene, first_object(scene, pair)))
    compute_velocity(scene, work, m, joint_of(scene, second_object(scene, pair)))
    px, py, pz = centre_of(work, n)
    x, y, z = centre_of(work, m)
    u, v, w = velocity_of(work, n)
    a, b, c = velocity_of(work, m)
    x, y, z = px - x, py - y, pz - z
    approach = absolute(x * (u - a) + y * (v - b) + z * (w - c))
    turned = real(work, TURNS, common) if common >= 0 else ZERO
    reach = pair_contact_distance(scene, pair, n, m) + slack
    reach += relative_change_bound(scene, work, pair, 0, n, turned)
    reach += relative_change_bound(scene, work, pair, 1, m, turned)
    return int(found & below((x * x + y * y + z * z) * LESS - approach * TWICE, reach * reach))
