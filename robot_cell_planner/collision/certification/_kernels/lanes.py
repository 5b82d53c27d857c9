"""Compiled kernels of forward kinematics and obstacle distances for LANES configurations at once.

Numbers are in single precision; the caller allows for rounding errors. `scene` and `work` are addresses of packed
`MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import (
    BITS,
    BOX,
    CAPSULE,
    CENTRES,
    CONE,
    CONVEX,
    EVALUATION,
    FRAMES,
    JOINTS,
    NODES,
    PLACED,
    PLANES,
    POSES,
    SEPARATING,
    SHAPES,
    SPHERES,
    STACK,
    TRIANGLES,
    Q,
)
from .fields import (
    BOUNDING_SPHERE,
    SHAPE_COLUMNS,
    SIZES,
    end_of_planes,
    first_plane,
    is_prismatic,
    kind_of,
    left_child,
    multiplier_of,
    node_radius,
    offset_of,
    parent_of,
    right_child,
    root_node,
    triangle_of,
    variable_of,
)
from .obstacles import DIVERSE_PLANES
from .simd import (
    ALL,
    absolute,
    below,
    broadcast,
    inlined,
    load,
    load_double,
    maximum,
    minimum,
    number,
    real,
    rows,
    set_number,
    square_root,
    store,
    to_single,
    vectorised,
    where_positive,
    whole,
)

Vector = Any  # of LANES numbers, only in compiled code
ZERO, ONE, TWO, FAR = np.float32(0.0), np.float32(1.0), np.float32(2.0), np.float32(1e30)
ABOVE = np.float32(1e-30)  # smallest height that counts as outside
TURN, PER_TURN = 2.0 * math.pi, 0.5 / math.pi
# Taylor series of sine and cosine; up to a quarter turn their error is below 6e-8.
S1, S2, S3, S4, S5 = (np.float32((-1.0) ** k / math.factorial(2 * k + 1)) for k in range(1, 6))
C1, C2, C3, C4, C5, C6 = (np.float32((-1.0) ** k / math.factorial(2 * k)) for k in range(1, 7))


@inlined
def cosine_and_sine(angle: Vector) -> tuple[Vector, Vector]:
    """Return cosine and sine of a double-precision vector, from the series of half the angle."""
    x = to_single((angle - whole(angle * PER_TURN) * TURN) * 0.5)
    y = x * x
    s = (((((y * S5 + S4) * y + S3) * y + S2) * y + S1) * y + ONE) * x
    c = (((((y * C6 + C5) * y + C4) * y + C3) * y + C2) * y + C1) * y + ONE
    return ONE - TWO * (s * s), TWO * (s * c)


@vectorised
def compute_joint_poses(scene: int, work: int) -> None:
    """Compute the poses of all joints for the configurations of the work space, and invalidate all sphere centres."""
    for j in range(rows(scene, JOINTS)):
        parent, prismatic = parent_of(scene, j), is_prismatic(scene, j)
        variable = load_double(work, Q, variable_of(scene, j))
        value = variable * multiplier_of(scene, j) + offset_of(scene, j)
        c, s = cosine_and_sine(value)
        way, f = to_single(value), 12 * j
        for row in range(3):
            if parent < 0:
                x, y = broadcast(real(scene, FRAMES, f + 3 * row)), broadcast(real(scene, FRAMES, f + 3 * row + 1))
                z, p = broadcast(real(scene, FRAMES, f + 3 * row + 2)), broadcast(real(scene, FRAMES, f + 9 + row))
            else:
                u = load(work, POSES, 12 * parent + 3 * row)
                v = load(work, POSES, 12 * parent + 3 * row + 1)
                w = load(work, POSES, 12 * parent + 3 * row + 2)
                x = u * real(scene, FRAMES, f) + v * real(scene, FRAMES, f + 3) + w * real(scene, FRAMES, f + 6)
                y = u * real(scene, FRAMES, f + 1) + v * real(scene, FRAMES, f + 4) + w * real(scene, FRAMES, f + 7)
                z = u * real(scene, FRAMES, f + 2) + v * real(scene, FRAMES, f + 5) + w * real(scene, FRAMES, f + 8)
                p = u * real(scene, FRAMES, f + 9) + v * real(scene, FRAMES, f + 10) + w * real(scene, FRAMES, f + 11)
                p = load(work, POSES, 12 * parent + 9 + row) + p
            if not prismatic:
                x, y = c * x + s * y, c * y - s * x
            else:
                p = p + way * z
            store(work, POSES, f + 3 * row, x)
            store(work, POSES, f + 3 * row + 1, y)
            store(work, POSES, f + 3 * row + 2, z)
            store(work, POSES, f + 9 + row, p)
    set_number(work, BITS, EVALUATION, number(work, BITS, EVALUATION) + 1)


@vectorised
def compute_centre(scene: int, work: int, n: int, joint: int) -> None:
    """Compute the centre of a sphere for all lanes."""
    now = number(work, BITS, EVALUATION)
    if number(work, PLACED, n) == now:
        return
    set_number(work, PLACED, n, now)
    x, y, z = real(scene, SPHERES, 4 * n), real(scene, SPHERES, 4 * n + 1), real(scene, SPHERES, 4 * n + 2)
    for row in range(3):
        f = 12 * joint + 3 * row
        at = load(work, POSES, f) * x + load(work, POSES, f + 1) * y + load(work, POSES, f + 2) * z
        store(work, CENTRES, 3 * n + row, at + load(work, POSES, 12 * joint + 9 + row))


@inlined
def centre_of(work: int, n: int) -> tuple[Vector, Vector, Vector]:
    """Return the coordinates of the centre of a sphere."""
    return load(work, CENTRES, 3 * n), load(work, CENTRES, 3 * n + 1), load(work, CENTRES, 3 * n + 2)


@inlined
def square_to(work: int, n: int, x: float, y: float, z: float) -> Vector:
    """Return the squared distances of the centre of a sphere from a point."""
    px, py, pz = centre_of(work, n)
    dx, dy, dz = px - x, py - y, pz - z
    return dx * dx + dy * dy + dz * dz


@inlined
def square_between(work: int, n: int, m: int) -> Vector:
    """Return the squared distances between the centres of two spheres."""
    px, py, pz = centre_of(work, n)
    x, y, z = centre_of(work, m)
    dx, dy, dz = px - x, py - y, pz - z
    return dx * dx + dy * dy + dz * dz


@inlined
def local(scene: int, f: int, row: int, px: Vector, py: Vector, pz: Vector) -> Vector:
    """Return one coordinate of a point in the frame of an obstacle whose numbers start at f."""
    i = f + 3 * row
    turned = px * real(scene, SHAPES, i) + py * real(scene, SHAPES, i + 1) + pz * real(scene, SHAPES, i + 2)
    return turned + real(scene, SHAPES, f + 9 + row)


@vectorised
def primitive_squares(scene: int, work: int, k: int, n: int) -> Vector:
    """Return squared lower bounds of the distances between the centre of a sphere and a primitive; 0 inside.

    A capsule is represented by its axis segment. The bounds are exact except for a cone, whose distance is bounded by
    those to the enclosing cylinder and to its side.
    """
    kind, f = kind_of(scene, k), SHAPE_COLUMNS * k
    px, py, pz = centre_of(work, n)
    x, y = local(scene, f, 0, px, py, pz), local(scene, f, 1, px, py, pz)
    z = local(scene, f, 2, px, py, pz)
    a, b, c = real(scene, SHAPES, f + SIZES), real(scene, SHAPES, f + SIZES + 1), real(scene, SHAPES, f + SIZES + 2)
    if kind == BOX:
        dx, dy = maximum(absolute(x) - a, ZERO), maximum(absolute(y) - b, ZERO)
        dz = maximum(absolute(z) - c, ZERO)
        return dx * dx + dy * dy + dz * dz
    beyond = maximum(absolute(z) - b, ZERO)
    if kind == CAPSULE:
        return x * x + y * y + beyond * beyond
    around = square_root(x * x + y * y)
    out = maximum(around - a, ZERO)
    square = out * out + beyond * beyond
    if kind == CONE:
        # The side is the line through (radius a, height -b) and (0, b).
        slope = ONE / np.float32(math.sqrt(a * a + np.float32(4.0) * b * b))
        side = maximum((around * (TWO * b) + (z - b) * a) * slope, ZERO)
        square = maximum(square, side * side)
    return square


@vectorised
def triangle_squares(scene: int, work: int, t: int, n: int) -> Vector:
    """Return the squared distances between the centre of a sphere and a triangle.

    Above the triangle this is the distance to its plane, elsewhere the distance to the nearest edge.
    """
    f = 33 * t
    px, py, pz = centre_of(work, n)
    nearest, inside = broadcast(FAR), broadcast(FAR)
    for edge in range(3):
        i = f + 3 * edge
        x, y = px - real(scene, TRIANGLES, i), py - real(scene, TRIANGLES, i + 1)
        z = pz - real(scene, TRIANGLES, i + 2)
        kx, ky, kz = real(scene, TRIANGLES, i + 18), real(scene, TRIANGLES, i + 19), real(scene, TRIANGLES, i + 20)
        inside = minimum(inside, x * kx + y * ky + z * kz)
        ux, uy, uz = real(scene, TRIANGLES, i + 9), real(scene, TRIANGLES, i + 10), real(scene, TRIANGLES, i + 11)
        share = minimum(maximum((x * ux + y * uy + z * uz) * real(scene, TRIANGLES, f + 30 + edge), ZERO), ONE)
        x, y, z = x - share * ux, y - share * uy, z - share * uz
        nearest = minimum(nearest, x * x + y * y + z * z)
    x, y = px - real(scene, TRIANGLES, f), py - real(scene, TRIANGLES, f + 1)
    z = pz - real(scene, TRIANGLES, f + 2)
    height = x * real(scene, TRIANGLES, f + 27) + y * real(scene, TRIANGLES, f + 28)
    height = height + z * real(scene, TRIANGLES, f + 29)
    return where_positive(inside, minimum(nearest, height * height), nearest)


@inlined
def height_above(scene: int, work: int, p: int, n: int) -> Vector:
    """Return the heights of the centre of a sphere above a plane."""
    px, py, pz = centre_of(work, n)
    height = px * real(scene, PLANES, 4 * p) + py * real(scene, PLANES, 4 * p + 1)
    return height + pz * real(scene, PLANES, 4 * p + 2) - real(scene, PLANES, 4 * p + 3)


@vectorised
def convex_squares(scene: int, work: int, k: int, n: int, reach: float, coarse: bool) -> Vector:
    """Return `obstacle_squares` of a convex mesh.

    A plane from which the centre is farther than `reach` in all lanes ends the search. It is tried first when the
    sphere is checked again. Triangles are searched for the lanes that planes do not decide.
    """
    first, end = first_plane(scene, k), end_of_planes(scene, k)
    separating = number(work, SEPARATING, n)
    if first <= separating < end and below(height_above(scene, work, separating, n), reach) == 0:
        return broadcast(FAR)
    highest, around = broadcast(-FAR), min(first + DIVERSE_PLANES, end)
    for p in range(first, around):
        height = height_above(scene, work, p, n)
        if below(height, reach) == 0:
            set_number(work, SEPARATING, n, p)
            return broadcast(FAR)
        highest = maximum(highest, height)
    if coarse or below(highest, reach) == 0:
        highest = maximum(highest, ZERO)
        return highest * highest
    squares = surface_squares(scene, work, k, n, reach, below(highest, reach))
    if below(highest, ABOVE) != 0:
        for p in range(around, end):
            highest = maximum(highest, height_above(scene, work, p, n))
        squares = where_positive(highest, squares, broadcast(ZERO))
    return squares


@vectorised
def surface_squares(scene: int, work: int, k: int, n: int, reach: float, requested: int) -> Vector:
    """Return the squared distances between the centre of a sphere and the triangles of a mesh.

    In the lanes whose bits are set in `requested` they are exact below the square of `reach`, elsewhere at least that
    square. In other lanes they are upper bounds.
    """
    squares = broadcast(FAR)
    set_number(work, STACK, 0, root_node(scene, k))
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = number(work, STACK, waiting)
        x, y, z = real(scene, NODES, 4 * node), real(scene, NODES, 4 * node + 1), real(scene, NODES, 4 * node + 2)
        wide = node_radius(scene, node) + reach
        if below(square_to(work, n, x, y, z), wide * wide) & requested != 0:
            if right_child(scene, node) < 0:
                squares = minimum(squares, triangle_squares(scene, work, triangle_of(scene, node), n))
            else:
                set_number(work, STACK, waiting, left_child(scene, node))
                set_number(work, STACK, waiting + 1, right_child(scene, node))
                waiting += 2
    return squares


@inlined
def may_be_near(scene: int, work: int, k: int, n: int, reach: float) -> bool:
    """Return whether an obstacle may be nearer than `reach` to the centre of a sphere, by its bounding sphere."""
    f = SHAPE_COLUMNS * k + BOUNDING_SPHERE
    wide = real(scene, SHAPES, f + 3) + reach
    x, y, z = real(scene, SHAPES, f), real(scene, SHAPES, f + 1), real(scene, SHAPES, f + 2)
    return bool(below(square_to(work, n, x, y, z), wide * wide) != 0)


@inlined
def obstacle_squares(scene: int, work: int, k: int, n: int, reach: float, coarse: bool) -> Vector:
    """Return squared lower bounds of the distances between the centre of a sphere and an obstacle; 0 inside.

    They are valid below the square of `reach`, elsewhere at least that square. With `coarse` the bounds may be lower,
    for candidates that are checked more precisely later.
    """
    squares = broadcast(FAR)
    if may_be_near(scene, work, k, n, reach):
        kind = kind_of(scene, k)
        if kind <= CONE:
            squares = primitive_squares(scene, work, k, n)
        elif kind == CONVEX:
            squares = convex_squares(scene, work, k, n, reach, coarse)
        else:
            squares = surface_squares(scene, work, k, n, reach, ALL)
    return squares
