"""Compiled kernels of the native planner: RRT-Connect (Kuffner and LaValle, 2000) on certified motions.

Trees grow in the coordinates of a subspace, q = origin + basis z. Every motion that is used is proven free by balls;
what these cannot prove counts as blocked. `scene` and `work` are addresses as `collision.motions` makes them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....collision.certification._kernels.gradients import deepest, hit_gradient
from ....collision.certification._kernels.schedule import BLOCKED, FREE, certify_straight
from ....collision.certification._kernels.simd import rounded

Array = NDArray[np.float64]
Single = NDArray[np.float32]

CAPACITY = 40_000  # configurations in a tree, a multiple of:
PADDING = 32
FOUND, GOING_ON, FULL = 1, 0, 2
STOPPED, STRAIGHT, AROUND = 0, 1, 2  # how a tree was extended
# A configuration from which a motion failed tries shorter ones, down to a share of the longest; where one succeeds the
# next may be longer again.
SHORTER, LONGER, SHORTEST = 0.7, 2.0, 0.4
# Towards samples beyond its domain, so many times the length that it tries, it is left alone (dynamic domains; Yershova
# and others, 2005), unless so many samples in a row were given up for that: together they take as long as a motion.
DOMAIN, PATIENCE = 4.0, 8
# A motion that hits something is bent around it, so often, where that needs no more than a share of its length: at the
# place that was hit it is to come no nearer than this [m].
BENDS, BENT, AWAY = 2, 1.0, 0.02
PRIMES = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0, 41.0, 43.0, 47.0, 53.0)
ROOTS = np.sqrt(np.array(PRIMES))
# Places in the counts of a search: nodes of both trees, samples drawn, and the node of each at which they met.
START_SIZE, GOAL_SIZE, SAMPLES, START_MEETING, GOAL_MEETING = 0, 1, 2, 3, 4


@rounded
def motion_verdict(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    first: Array,
    second: Array,
    resolution: float,
    facts: Array,
    ends: Array,
) -> int:
    """The verdict on the straight motion between two points of the subspace, whose ends go to `ends` (2, dof)."""
    for i in range(basis.shape[0]):
        ends[0, i] = ends[1, i] = origin[i]
        for k in range(basis.shape[1]):
            ends[0, i] += basis[i, k] * first[k]
            ends[1, i] += basis[i, k] * second[k]
    return int(certify_straight(scene, work, ends[0], ends[1], resolution, facts))


@rounded
def motion_free(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    first: Array,
    second: Array,
    resolution: float,
    facts: Array,
    ends: Array,
) -> bool:
    """Whether the straight motion between two points of the subspace is proven free. ends: (2, dof) to work in."""
    return bool(motion_verdict(scene, work, origin, basis, first, second, resolution, facts, ends) == FREE)


@rounded
def extended(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    limits: Array,
    root: Array,
    new: Array,
    resolution: float,
    facts: Array,
    ends: Array,
) -> int:
    """Extend a tree from one point to another: STRAIGHT if the motion is proven free; AROUND if one to a point beside
    it is, which then is in its place; STOPPED otherwise.

    Where something is hit, the end is moved so that the place which was hit gets away from there, as far as distances
    change in proportion: by the shortest step that does it. Thus trees grow along what bounds free space.
    """
    verdict = motion_verdict(scene, work, origin, basis, root, new, resolution, facts, ends)
    if verdict == FREE:
        return STRAIGHT
    slopes, slope = np.empty(basis.shape[0]), np.empty(basis.shape[1])
    for _ in range(BENDS):
        if verdict != BLOCKED:
            break
        share, square, length = deepest(scene, work), 0.0, 0.0
        for i in range(basis.shape[0]):
            ends[0, i] += share * (ends[1, i] - ends[0, i])
        gap = hit_gradient(scene, work, ends[0], slopes)
        facts[0] += 1.0
        for k in range(basis.shape[1]):
            slope[k] = 0.0
            for i in range(basis.shape[0]):
                slope[k] += basis[i, k] * slopes[i]
            square += slope[k] * slope[k]
            length += (new[k] - root[k]) ** 2
        if math.isinf(gap) or (AWAY - gap) ** 2 > (share * BENT) ** 2 * square * length:
            return STOPPED
        for k in range(basis.shape[1]):
            new[k] += (AWAY - gap) / (share * square) * slope[k]
        if not within(origin, basis, limits, new):
            return STOPPED
        verdict = motion_verdict(scene, work, origin, basis, root, new, resolution, facts, ends)
    return AROUND if verdict == FREE else STOPPED


@rounded
def random_share(seed: int, count: int) -> float:
    """A number from 0 to 1 for a seed and a count, the same everywhere (SplitMix64; Steele and others, 2014)."""
    z = np.uint64(seed) + np.uint64(count + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@rounded
def sample(seed: int, number: int, lower: Array, upper: Array, result: Array) -> None:
    """Point number `number` of a sequence that fills the bounds evenly, multiples of square roots of primes less their
    whole parts (Richtmyer, 1951), shifted by the seed; joints beyond the sixteenth are random."""
    for k in range(result.shape[0]):
        if k < ROOTS.shape[0]:
            value = (number + 1) * ROOTS[k] + random_share(seed, k)
            value -= math.floor(value)
        else:
            value = random_share(seed + k, number)
        result[k] = lower[k] + value * (upper[k] - lower[k])


@rounded
def nearest(rough: Single, nodes: Array, count: int, point: Array, squares: Single) -> tuple[int, float]:
    """The nearest of the first nodes, columns of (k, capacity), to a point, and its distance. rough: the nodes in
    single precision, in which they are compared, as that takes half the time. squares: (capacity,) to work in."""
    # Whole vectors, also of what lies behind the last node, which is not looked at.
    padded = (count + PADDING - 1) // PADDING * PADDING
    squares[:padded] = np.float32(0.0)
    for k in range(point.shape[0]):
        value = np.float32(point[k])
        for i in range(padded):
            apart = rough[k, i] - value
            squares[i] += apart * apart
    # Numbers that are not negative are ordered as their bits are, whose least is found several at a time.
    bits = squares[:count].view(np.int32)
    least = bits[0]
    for i in range(count):
        least = min(least, bits[i])
    best = 0
    while bits[best] != least:
        best += 1
    square = 0.0
    for k in range(point.shape[0]):
        square += (nodes[k, best] - point[k]) ** 2
    return best, math.sqrt(square)


@rounded
def towards(start: Array, target: Array, distance: float, longest: float, result: Array) -> bool:
    """The point towards a target, at most `longest` away, into result; True if it is the target."""
    if distance <= longest:
        result[:] = target
        return True
    for k in range(result.shape[0]):
        result[k] = start[k] + longest / distance * (target[k] - start[k])
    return False


@rounded
def within(origin: Array, basis: Array, limits: Array, point: Array) -> bool:
    """Whether a point of the subspace is within the limits (2, dof)."""
    for i in range(basis.shape[0]):
        value = origin[i]
        for k in range(basis.shape[1]):
            value += basis[i, k] * point[k]
        if value < limits[0, i] or value > limits[1, i]:
            return False
    return True


@rounded
def grow(
    scene: int,
    work: int,
    origin: Array,
    basis: Array,
    limits: Array,
    bounds: Array,
    nodes: Array,
    rough: Single,
    parents: NDArray[np.int64],
    strides: Array,
    squares: Single,
    counts: NDArray[np.int64],
    seed: int,
    longest: float,
    resolution: float,
    states: int,
    facts: Array,
) -> int:
    """Grow both trees until they meet, are full, or facts[0] reaches `states`; called again it goes on.

    nodes: (2, k, capacity) of the trees from start and goals; rough: the same in single precision. parents, strides:
    (2, capacity) of each node, the latter how far it tries to grow. squares: (capacity,) to work in. counts: (5,).
    bounds: (2 b, k) of samples, which are taken from b boxes in turn.
    """
    size = basis.shape[1]
    point, new, step, root = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    ends = np.empty((2, basis.shape[0]))
    refused = 0
    while facts[0] < states:
        tree = 0 if counts[START_SIZE] <= counts[GOAL_SIZE] else 1
        other = 1 - tree
        if counts[tree] + 1 >= nodes.shape[2] or counts[other] + 1 >= nodes.shape[2]:
            return FULL
        box = 2 * (counts[SAMPLES] % (bounds.shape[0] // 2))
        sample(seed, counts[SAMPLES], bounds[box], bounds[box + 1], point)
        counts[SAMPLES] += 1
        facts[0] += 1e-3  # so that samples alone come to an end
        at, distance = nearest(rough[tree], nodes[tree], counts[tree], point, squares)
        # A sample of the whole space is within its bounds, which are those of the joints.
        if distance == 0.0 or (size < basis.shape[0] and not within(origin, basis, limits, point)):
            continue
        stride = strides[tree, at]
        if stride < longest and distance > DOMAIN * stride and refused < PATIENCE:
            refused += 1
            continue
        refused = 0
        root[:] = nodes[tree, :, at]
        towards(root, point, distance, stride, new)
        outcome = extended(scene, work, origin, basis, limits, root, new, resolution, facts, ends)
        if outcome == STOPPED:
            strides[tree, at] = max(SHORTER * stride, SHORTEST * longest)
            continue
        if outcome == STRAIGHT:
            stride = strides[tree, at] = min(LONGER * stride, longest)
        tip = add_node(nodes[tree], rough[tree], parents[tree], strides[tree], counts, tree, new, at, stride)
        near, distance = nearest(rough[other], nodes[other], counts[other], new, squares)
        root[:] = new
        parts = max(math.ceil(distance / longest), 1)
        for part in range(1, parts + 1):
            for k in range(size):
                step[k] = new[k] + part / parts * (nodes[other, k, near] - new[k])
            if not motion_free(scene, work, origin, basis, root, step, resolution, facts, ends):
                break
            if part == parts:
                counts[START_MEETING + tree], counts[START_MEETING + other] = tip, near
                return FOUND
            if counts[tree] + 1 >= nodes.shape[2]:
                return FULL
            tip = add_node(nodes[tree], rough[tree], parents[tree], strides[tree], counts, tree, step, tip, longest)
            root[:] = step
    return GOING_ON


@rounded
def add_node(
    nodes: Array,
    rough: Single,
    parents: NDArray[np.int64],
    strides: Array,
    counts: NDArray[np.int64],
    tree: int,
    point: Array,
    parent: int,
    stride: float,
) -> int:
    """Add a point to a tree; returns its number."""
    number = counts[tree]
    for k in range(point.shape[0]):
        nodes[k, number] = point[k]
        rough[k, number] = np.float32(point[k])
    parents[number] = parent
    strides[number] = stride
    counts[tree] = number + 1
    return int(number)


@rounded
def branch(nodes: Array, parents: NDArray[np.int64], at: int, weights: Array) -> tuple[Array, int]:
    """Points (n, k) of a tree from a node to its root, without weights (k,), and the number of the root."""
    root, node, length = at, at, 0
    while node >= 0:
        root = node
        node = parents[node]
        length += 1
    points = np.empty((length, weights.shape[0]))
    for row in range(length):
        for k in range(weights.shape[0]):
            points[row, k] = nodes[k, at] / weights[k]
        at = parents[at]
    return points, root
