"""Compiled kernels of distance maps: pairs of links that two joints move relative to each other, by joint value.

A map has lower bounds of the distance of two links in cells of both joint values, over a full turn of both. Blocks of
2^m cells along the inner joint and 2^n cells along the outer one have the minimum of their cells. The values that the
joints take within the displacements of the work space lie in at most four blocks that are as wide as they are. They are
free if the bounds of these blocks exceed the margin.

`scene` and `work` are addresses of packed `MotionArrays` and `WorkSpace`.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import DEPTHS, DISPLACEMENTS, LANES, MAP_BOUNDS, MAP_MARGINS, Double, Q
from .fields import inner_joint, multiplier_of, offset_of, outer_joint, row_bits, variable_of
from .simd import (
    double,
    greatest,
    inlined,
    least,
    load_double,
    real,
    rounded,
    set_real,
    to_single,
    vectorised,
)

BITS_OF_CELLS = 16  # of the number of cells, of which the inner joint has any share
SIZE = 4 << BITS_OF_CELLS  # bounds of a map, of all blocks: rows and columns of level n follow those of level n - 1
TURN = 2.0 * math.pi
SINGLE_ROUNDING = 1e-6  # relative, several times that of a number in single precision


@inlined
def rows_of_map(scene: int, index: int) -> int:
    """Return the number of cells of a map along the inner joint, a power of 2."""
    return 1 << row_bits(scene, index)


@inlined
def columns_of_map(scene: int, index: int) -> int:
    """Return the number of cells of a map along the outer joint, a power of 2."""
    return 1 << (BITS_OF_CELLS - row_bits(scene, index))


@inlined
def cell_of(scene: int, joint: int, value: float, cells: int) -> float:
    """Return the position of a joint among the cells of a turn, for a value of its variable."""
    return (value * multiplier_of(scene, joint) + offset_of(scene, joint)) * (cells / TURN)


@inlined
def level_of(cells: int, width: float) -> int:
    """Return the level whose blocks are at least as wide as `width` cells, or have all of them."""
    level = 0
    while float(1 << level) < width and 1 << level < cells:
        level += 1
    return level


@inlined
def bound_at(scene: int, index: int, m: int, row: int, n: int, column: int) -> float:
    """Return the lower bound of a map in a block of levels m and n [m]. Rows and columns repeat after a full turn."""
    rows, columns = rows_of_map(scene, index), columns_of_map(scene, index)
    r = 2 * rows - 2 * (rows >> m) + (row & ((rows >> m) - 1))
    c = 2 * columns - 2 * (columns >> n) + (column & ((columns >> n) - 1))
    return float(real(scene, MAP_BOUNDS, index * SIZE + r * 2 * columns + c))


@inlined
def least_bound(scene: int, index: int, m: int, first: float, last: float, n: int, begin: float, end: float) -> float:
    """Return the lower bound of a map at positions from `first` to `last` and from `begin` to `end` among its cells, by
    blocks of levels m and n, which are at least as wide [m]."""
    scale, other_scale = 1.0 / float(1 << m), 1.0 / float(1 << n)
    row, column = math.floor(first * scale), math.floor(begin * other_scale)
    last_row, last_column = math.floor(last * scale), math.floor(end * other_scale)
    bound = bound_at(scene, index, m, row, n, column)
    if last_row != row:
        bound = min(bound, bound_at(scene, index, m, last_row, n, column))
    if last_column != column:
        bound = min(bound, bound_at(scene, index, m, row, n, last_column))
        if last_row != row:
            bound = min(bound, bound_at(scene, index, m, last_row, n, last_column))
    return bound


@inlined
def range_of(scene: int, work: int, joint: int, cells: int) -> tuple[float, float]:
    """Return the range of positions of a joint among the cells of a turn in all lanes."""
    q = to_single(load_double(work, Q, variable_of(scene, joint)))
    low, high = float(least(q)), float(greatest(q))
    rounding = SINGLE_ROUNDING * (1.0 + abs(multiplier_of(scene, joint))) * max(abs(low), abs(high), 1.0)
    x, y = cell_of(scene, joint, low, cells), cell_of(scene, joint, high, cells)
    return min(x, y) - rounding * cells, max(x, y) + rounding * cells


@inlined
def is_far(scene: int, work: int, index: int, wide: float, long: float) -> bool:
    """Return whether a map proves all lanes free at once, within the displacements in cells."""
    rows, columns = rows_of_map(scene, index), columns_of_map(scene, index)
    first, last = range_of(scene, work, inner_joint(scene, index), rows)
    begin, end = range_of(scene, work, outer_joint(scene, index), columns)
    m = level_of(rows, last - first + 2.0 * wide)
    n = level_of(columns, end - begin + 2.0 * long)
    bound = least_bound(scene, index, m, first - wide, last + wide, n, begin - long, end + long)
    return bound > real(scene, MAP_MARGINS, index)


@vectorised
def lanes_of_map(scene: int, work: int, index: int) -> tuple[int, int]:
    """Return the bits of the lanes that a map does not prove free within the displacements, and of those that it does
    not prove free at the configuration itself, which count as hit."""
    a, b = inner_joint(scene, index), outer_joint(scene, index)
    u, v = LANES * variable_of(scene, a), LANES * variable_of(scene, b)
    rows, columns = rows_of_map(scene, index), columns_of_map(scene, index)
    wide = float(real(work, DISPLACEMENTS, a)) * (rows / TURN)
    long = float(real(work, DISPLACEMENTS, b)) * (columns / TURN)
    if is_far(scene, work, index, wide, long):
        return 0, 0
    m, n = level_of(rows, 2.0 * wide), level_of(columns, 2.0 * long)
    margin = real(scene, MAP_MARGINS, index)
    found, hits = 0, 0
    for lane in range(LANES):
        x = cell_of(scene, a, double(work, Q, u + lane), rows)
        y = cell_of(scene, b, double(work, Q, v + lane), columns)
        if least_bound(scene, index, m, x - wide, x + wide, n, y - long, y + long) <= margin:
            found |= 1 << lane
            if bound_at(scene, index, 0, math.floor(x), 0, math.floor(y)) <= margin:
                hits |= 1 << lane
    return found, hits


@vectorised
def store_map_depths(scene: int, work: int, index: int) -> None:
    """Write the lower bounds of the distance of a map's pair in all lanes [m] to the depths of the work space."""
    a, b = inner_joint(scene, index), outer_joint(scene, index)
    rows, columns = rows_of_map(scene, index), columns_of_map(scene, index)
    for lane in range(LANES):
        x = cell_of(scene, a, double(work, Q, LANES * variable_of(scene, a) + lane), rows)
        y = cell_of(scene, b, double(work, Q, LANES * variable_of(scene, b) + lane), columns)
        set_real(work, DEPTHS, lane, np.float32(bound_at(scene, index, 0, math.floor(x), 0, math.floor(y))))


@rounded
def map_gradient(scene: int, index: int, q: Double, gradient: Double) -> float:
    """Return the lower bound of the distance of a map's pair at a configuration (variables,), minus the margin [m], and
    add its slopes to a gradient (variables,) [m per rad]."""
    a, b = inner_joint(scene, index), outer_joint(scene, index)
    rows, columns = rows_of_map(scene, index), columns_of_map(scene, index)
    row = math.floor(cell_of(scene, a, q[variable_of(scene, a)], rows))
    column = math.floor(cell_of(scene, b, q[variable_of(scene, b)], columns))
    slope = bound_at(scene, index, 0, row + 1, 0, column) - bound_at(scene, index, 0, row - 1, 0, column)
    other = bound_at(scene, index, 0, row, 0, column + 1) - bound_at(scene, index, 0, row, 0, column - 1)
    gradient[variable_of(scene, a)] += slope * (0.5 * rows / TURN) * multiplier_of(scene, a)
    gradient[variable_of(scene, b)] += other * (0.5 * columns / TURN) * multiplier_of(scene, b)
    return bound_at(scene, index, 0, row, 0, column) - float(real(scene, MAP_MARGINS, index))
