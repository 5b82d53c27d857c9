"""Compiled kernels of certified RRT-Connect (Kuffner and LaValle, 2000).

Trees grow in the coordinates of a subspace; distances are weighted by coordinate. Sphere tests prove every motion free;
motions that they do not prove count as blocked.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....collision.certification._kernels.arrays import EVALUATED
from ....collision.certification._kernels.gradients import deepest, hit_gradient
from ....collision.certification._kernels.schedule import BLOCKED, FREE
from ....collision.certification._kernels.simd import rounded
from .motion_kernels import Array, MotionSpace, motion_free, motion_verdict

CAPACITY = 40_000  # max configurations in a tree, a multiple of PADDING
PADDING = 32
FOUND, NOT_FINISHED, FULL = 1, 0, 2
TRAPPED, DIRECT, DEFLECTED = 0, 1, 2  # outcome of an extension
# Factors on the extension range of a node after failure and success, and its min as a fraction of the max range.
RANGE_DECREASE, RANGE_INCREASE, MIN_RANGE = 0.7, 2.0, 0.4
# Samples farther than DOMAIN_FACTOR times the extension range are rejected (dynamic domains; Yershova and
# others, 2005), at most MAX_REJECTED in a row, which together take as long as a few motions.
DOMAIN_FACTOR, MAX_REJECTED = 4.0, 32
# A colliding motion is deflected at most MAX_DEFLECTIONS times, by at most MAX_DEFLECTION times its length, to
# DEFLECTION_DISTANCE [m] from the object at the collision; after LONG_SEARCH states, every other one is deflected to
# NARROW_DISTANCE, since narrow passages leave no room for more.
MAX_DEFLECTIONS, MAX_DEFLECTION = 2, 1.0
DEFLECTION_DISTANCE, NARROW_DISTANCE, LONG_SEARCH = 0.03, 0.01, 20_000
ROUNDING = 1e-9  # [rad or m] tolerance of limits
PRIMES = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0, 41.0, 43.0, 47.0, 53.0)
ROOTS = np.sqrt(np.array(PRIMES))
# Sampling regions, used in turn: at first those near start and goals and that of one turn; later that of one turn every
# other time, because a path that was not found near start and goals mostly leads far around objects.
FIRST_REGIONS, LATER_REGIONS, FIRST_SAMPLES = (0, 1, 2), (0, 2, 1, 2, 3, 2), 100
# Indices into the counts of a search: nodes of both trees, samples drawn, and connected node of each tree.
START_SIZE, GOAL_SIZE, SAMPLES, START_MEETING, GOAL_MEETING = 0, 1, 2, 3, 4


class Trees(NamedTuple):
    """The trees from the start (0) and from the goals (1).

    Attributes:
        nodes: Nodes (2, k, capacity).
        single: The same in single precision, multiplied by the weights.
        weights: Weights (k,) of the coordinates in distances.
        parents: Parents (2, capacity) of nodes, -1 for roots.
        ranges: Extension ranges (2, capacity) of nodes.
        squares: Work space (capacity,).
        points: Work space (5, k).
        counts: Counts (5,), by START_SIZE, GOAL_SIZE, SAMPLES, START_MEETING and GOAL_MEETING.
    """

    nodes: Array
    single: NDArray[np.float32]
    weights: Array
    parents: NDArray[np.int64]
    ranges: Array
    squares: NDArray[np.float32]
    points: Array
    counts: NDArray[np.int64]


@rounded
def extend(
    space: MotionSpace, limits: Array, weights: Array, start: Array, new: Array, gap: float, reduced_gradient: Array
) -> int:
    """Extend a tree from `start` to `new`.

    A colliding end is moved by the shortest step that separates the colliding pair to first order, so that trees grow
    along obstacles.

    Args:
        limits: Joint limits (2, dof).
        weights: Weights (k,) of the coordinates in distances.
        gap: Distance [m] from the object to which a colliding motion is deflected.
        reduced_gradient: Work space (k,).

    Returns:
        DIRECT if the motion is proven free; DEFLECTED if the motion to a displaced point is, which replaces `new`;
            otherwise TRAPPED.
    """
    verdict = motion_verdict(space, start, new)
    if verdict == FREE:
        return DIRECT
    basis, ends, gradient = space.basis, space.ends, space.gradients.gradient
    for _ in range(MAX_DEFLECTIONS):
        if verdict != BLOCKED:
            break
        parameter, square, length = deepest(space.scene, space.work), 0.0, 0.0
        for i in range(basis.shape[0]):
            ends[0, i] += parameter * (ends[1, i] - ends[0, i])
        distance = hit_gradient(space.scene, space.work, ends[0], space.gradients)
        space.counters[EVALUATED] += 1.0
        for k in range(basis.shape[1]):
            reduced_gradient[k] = gradient[k] if space.whole else 0.0
            for i in range(0 if space.whole else basis.shape[0]):
                reduced_gradient[k] += basis[i, k] * gradient[i]
            reduced_gradient[k] /= weights[k]
            square += reduced_gradient[k] * reduced_gradient[k]
            length += (weights[k] * (new[k] - start[k])) ** 2
        if math.isinf(distance) or (gap - distance) ** 2 > (parameter * MAX_DEFLECTION) ** 2 * square * length:
            return TRAPPED
        for k in range(basis.shape[1]):
            new[k] += (gap - distance) / (parameter * square) * reduced_gradient[k] / weights[k]
        if not within(space, limits, new):
            return TRAPPED
        verdict = motion_verdict(space, start, new)
    return DEFLECTED if verdict == FREE else TRAPPED


@rounded
def random_fraction(seed: int, count: int) -> float:
    """Return a number from 0 to 1 for a seed and a count, identical on all platforms (SplitMix64; Steele and others,
    2014).
    """
    z = np.uint64(seed) + np.uint64(count + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@rounded
def region(number: int) -> int:
    """Return the index of the sampling region of a sample."""
    if number < FIRST_SAMPLES:
        return FIRST_REGIONS[number % len(FIRST_REGIONS)]
    return LATER_REGIONS[number % len(LATER_REGIONS)]


@rounded
def sample(seed: int, number: int, lower: Array, upper: Array, result: Array) -> None:
    """Write point `number` of a low-discrepancy sequence in the bounds to `result`.

    The sequence consists of multiples of square roots of primes modulo 1 (Richtmyer, 1951), shifted by the seed. Joints
    after the sixteenth are random.
    """
    for k in range(result.shape[0]):
        if k < ROOTS.shape[0]:
            value = (number + 1) * ROOTS[k] + random_fraction(seed, k)
            value -= math.floor(value)
        else:
            value = random_fraction(seed + k, number)
        result[k] = lower[k] + value * (upper[k] - lower[k])


@rounded
def nearest(trees: Trees, tree: int, point: Array) -> tuple[int, float]:
    """Return the node of a tree nearest to a point (k,), and its distance.

    Nodes are compared in single precision, which takes half the time.
    """
    nodes, single, squares, count = trees.nodes[tree], trees.single[tree], trees.squares, trees.counts[tree]
    weights = trees.weights
    # Whole SIMD vectors; entries behind the last node are not used.
    padded = (count + PADDING - 1) // PADDING * PADDING
    squares[:padded] = np.float32(0.0)
    for k in range(point.shape[0]):
        value = np.float32(weights[k] * point[k])
        for i in range(padded):
            difference = single[k, i] - value
            squares[i] += difference * difference
    # Non-negative floats are ordered like their bits, whose minimum is vectorised.
    bits = squares[:count].view(np.int32)
    smallest = bits[0]
    for i in range(count):
        smallest = min(smallest, bits[i])
    best = 0
    while bits[best] != smallest:
        best += 1
    square = 0.0
    for k in range(point.shape[0]):
        square += (weights[k] * (nodes[k, best] - point[k])) ** 2
    return best, math.sqrt(square)


@rounded
def towards(start: Array, target: Array, distance: float, longest: float, result: Array) -> bool:
    """Write the point towards a target, at most `longest` away, to `result`; return True if it is the target."""
    if distance <= longest:
        result[:] = target
        return True
    for k in range(result.shape[0]):
        result[k] = start[k] + longest / distance * (target[k] - start[k])
    return False


@rounded
def within(space: MotionSpace, limits: Array, point: Array) -> bool:
    """Return whether a point of the subspace is within joint limits (2, dof)."""
    basis = space.basis
    for i in range(basis.shape[0]):
        value = point[i] if space.whole else space.origin[i]
        for k in range(0 if space.whole else basis.shape[1]):
            value += basis[i, k] * point[k]
        if value < limits[0, i] - ROUNDING or value > limits[1, i] + ROUNDING:
            return False
    return True


@rounded
def grow(
    space: MotionSpace, limits: Array, trees: Trees, bounds: Array, seed: int, longest: float, max_evaluated: int
) -> int:
    """Grow both trees until they are connected, one is full, or the number of configurations evaluated reaches
    `max_evaluated`. Another call continues.

    Args:
        limits: Joint limits (2, dof).
        bounds: Sampling regions (8, k), lower and upper bounds of four boxes.
        longest: Max extension range.

    Returns:
        FOUND, NOT_FINISHED, or FULL.
    """
    counts, counters = trees.counts, space.counters
    size = space.basis.shape[1]
    points = trees.points
    point, new, step, start, gradient = points[0], points[1], points[2], points[3], points[4]
    rejected = 0
    while counters[EVALUATED] < max_evaluated:
        tree = 0 if counts[START_SIZE] <= counts[GOAL_SIZE] else 1
        other = 1 - tree
        if is_full(trees, tree) or is_full(trees, other):
            return FULL
        box = 2 * region(counts[SAMPLES])
        sample(seed, counts[SAMPLES], bounds[box], bounds[box + 1], point)
        counts[SAMPLES] += 1
        counters[EVALUATED] += 1e-3  # so that rejected samples terminate, too
        node, distance = nearest(trees, tree, point)
        # Samples of the whole joint space are always within joint limits.
        if distance == 0.0 or (size < space.basis.shape[0] and not within(space, limits, point)):
            continue
        extension = trees.ranges[tree, node]
        if extension < longest and distance > DOMAIN_FACTOR * extension and rejected < MAX_REJECTED:
            rejected += 1
            continue
        rejected = 0
        start[:] = trees.nodes[tree, :, node]
        towards(start, point, distance, extension, new)
        is_narrow = counters[EVALUATED] > LONG_SEARCH and counts[SAMPLES] % 2 == 0
        gap = NARROW_DISTANCE if is_narrow else DEFLECTION_DISTANCE
        outcome = extend(space, limits, trees.weights, start, new, gap, gradient)
        if outcome == TRAPPED:
            trees.ranges[tree, node] = max(RANGE_DECREASE * extension, MIN_RANGE * longest)
            continue
        if outcome == DIRECT:
            extension = trees.ranges[tree, node] = min(RANGE_INCREASE * extension, longest)
        last = add_node(trees, tree, new, node, extension)
        nearest_node, distance = nearest(trees, other, new)
        start[:] = new
        count = max(math.ceil(distance / longest), 1)
        for number in range(1, count + 1):
            for k in range(size):
                step[k] = new[k] + number / count * (trees.nodes[other, k, nearest_node] - new[k])
            if not motion_free(space, start, step):
                break
            if number == count:
                counts[START_MEETING + tree], counts[START_MEETING + other] = last, nearest_node
                return FOUND
            if is_full(trees, tree):
                return FULL
            last = add_node(trees, tree, step, last, longest)
            start[:] = step
    return NOT_FINISHED


@rounded
def is_full(trees: Trees, tree: int) -> bool:
    """Return whether a tree has no room for two more nodes."""
    return bool(trees.counts[tree] + 1 >= trees.nodes.shape[2])


@rounded
def add_node(trees: Trees, tree: int, point: Array, parent: int, extension: float) -> int:
    """Add a point (k,) to a tree; return its index. extension: its extension range."""
    number = trees.counts[tree]
    for k in range(point.shape[0]):
        trees.nodes[tree, k, number] = point[k]
        trees.single[tree, k, number] = np.float32(trees.weights[k] * point[k])
    trees.parents[tree, number] = parent
    trees.ranges[tree, number] = extension
    trees.counts[tree] = number + 1
    return int(number)


@rounded
def branch_length(trees: Trees, tree: int, leaf: int) -> int:
    """Return the number of nodes from a node to its root."""
    length = 0
    while leaf >= 0:
        leaf = trees.parents[tree, leaf]
        length += 1
    return length


@rounded
def connected_path(trees: Trees) -> tuple[Array, int, int]:
    """Return the points (n, k) from root to root through the connection of the trees, and the roots of both trees."""
    start, goal = trees.counts[START_MEETING], trees.counts[GOAL_MEETING]
    middle = branch_length(trees, 0, start)
    points = np.empty((middle + branch_length(trees, 1, goal), trees.weights.shape[0]))
    row = middle
    start_root, goal_root = start, goal
    while start >= 0:
        row -= 1
        points[row] = trees.nodes[0, :, start]
        start_root, start = start, trees.parents[0, start]
    row = middle
    while goal >= 0:
        points[row] = trees.nodes[1, :, goal]
        goal_root, goal = goal, trees.parents[1, goal]
        row += 1
    return points, start_root, goal_root
