"""Fields of the rows of packed arrays by name, see `arrays.MotionArrays` and `arrays.WorkSpace`; inlined in kernels."""

from __future__ import annotations

from .arrays import (
    CANDIDATES,
    CHILDREN,
    COUPLINGS,
    HITS,
    JOINTS,
    LINKS,
    MAP_JOINTS,
    NODES,
    OBSTACLES,
    PAIR_GROUPS,
    PAIRS,
    PARENT_JOINTS,
    SHAPES,
    SPHERES,
)
from .simd import double, inlined, number, real, set_number

SHAPE_COLUMNS, SIZES, BOUNDING_SPHERE, ALLOWANCE = 20, 12, 15, 19
HIT_COLUMNS, CANDIDATE_COLUMNS, MARK = 4, 5, 4  # a candidate is a hit followed by a mark


@inlined
def parent_of(scene: int, j: int) -> int:
    """Return the parent of a joint; -1: the world."""
    return number(scene, JOINTS, 3 * j)


@inlined
def is_prismatic(scene: int, j: int) -> bool:
    """Return whether a joint is prismatic."""
    return number(scene, JOINTS, 3 * j + 1) != 0


@inlined
def variable_of(scene: int, j: int) -> int:
    """Return the variable that a joint follows."""
    return number(scene, JOINTS, 3 * j + 2)


@inlined
def multiplier_of(scene: int, j: int) -> float:
    """Return the factor from the variable to the value of a joint."""
    return double(scene, COUPLINGS, 2 * j)


@inlined
def offset_of(scene: int, j: int) -> float:
    """Return the value of a joint at the value 0 of its variable [rad or m]."""
    return double(scene, COUPLINGS, 2 * j + 1)


@inlined
def radius_of(scene: int, n: int) -> float:
    """Return the radius of a sphere [m]."""
    return real(scene, SPHERES, 4 * n + 3)


@inlined
def first_child(scene: int, n: int) -> int:
    """Return the first sphere that a sphere contains."""
    return number(scene, CHILDREN, 2 * n)


@inlined
def end_of_children(scene: int, n: int) -> int:
    """Return the index after the last sphere that a sphere contains."""
    return number(scene, CHILDREN, 2 * n + 1)


@inlined
def first_object(scene: int, pair: int) -> int:
    """Return the first moving object of a pair."""
    return number(scene, PAIRS, 3 * pair)


@inlined
def second_object(scene: int, pair: int) -> int:
    """Return the second moving object of a pair."""
    return number(scene, PAIRS, 3 * pair + 1)


@inlined
def common_joint(scene: int, pair: int) -> int:
    """Return the last joint that moves both objects of a pair; -1: none."""
    return number(scene, PAIRS, 3 * pair + 2)


@inlined
def first_sphere(scene: int, group: int) -> int:
    """Return the sphere around all objects of the first joint of a group of pairs."""
    return number(scene, PAIR_GROUPS, 4 * group)


@inlined
def second_sphere(scene: int, group: int) -> int:
    """Return the sphere around all objects of the second joint of a group of pairs."""
    return number(scene, PAIR_GROUPS, 4 * group + 1)


@inlined
def first_pair(scene: int, group: int) -> int:
    """Return the first pair of a group."""
    return number(scene, PAIR_GROUPS, 4 * group + 2)


@inlined
def end_of_pairs(scene: int, group: int) -> int:
    """Return the index after the last pair of a group."""
    return number(scene, PAIR_GROUPS, 4 * group + 3)


@inlined
def inner_joint(scene: int, index: int) -> int:
    """Return the joint of a distance map that is farther from the base."""
    return number(scene, MAP_JOINTS, 3 * index)


@inlined
def outer_joint(scene: int, index: int) -> int:
    """Return the other joint of a distance map."""
    return number(scene, MAP_JOINTS, 3 * index + 1)


@inlined
def row_bits(scene: int, index: int) -> int:
    """Return the bits of the number of cells of a distance map along the inner joint."""
    return number(scene, MAP_JOINTS, 3 * index + 2)


@inlined
def joint_of(scene: int, obj: int) -> int:
    """Return the joint that a moving object is fixed to."""
    return number(scene, PARENT_JOINTS, obj)


@inlined
def kind_of(scene: int, k: int) -> int:
    """Return the kind of an obstacle."""
    return number(scene, OBSTACLES, 5 * k)


@inlined
def margin_row(scene: int, k: int) -> int:
    """Return the row of the margins of an obstacle."""
    return number(scene, OBSTACLES, 5 * k + 1)


@inlined
def root_node(scene: int, k: int) -> int:
    """Return the root of the tree of an obstacle that is a mesh."""
    return number(scene, OBSTACLES, 5 * k + 2)


@inlined
def first_plane(scene: int, k: int) -> int:
    """Return the first plane of an obstacle that is a convex mesh."""
    return number(scene, OBSTACLES, 5 * k + 3)


@inlined
def end_of_planes(scene: int, k: int) -> int:
    """Return the index after the last plane of an obstacle that is a convex mesh."""
    return number(scene, OBSTACLES, 5 * k + 4)


@inlined
def allowance_of(scene: int, k: int) -> float:
    """Return the allowance for rounding of an obstacle, with the radius of a capsule [m]."""
    return real(scene, SHAPES, SHAPE_COLUMNS * k + ALLOWANCE)


@inlined
def left_child(scene: int, node: int) -> int:
    """Return the left child of a node of a mesh."""
    return number(scene, LINKS, 3 * node)


@inlined
def right_child(scene: int, node: int) -> int:
    """Return the right child of a node of a mesh; -1: the node is a leaf."""
    return number(scene, LINKS, 3 * node + 1)


@inlined
def triangle_of(scene: int, node: int) -> int:
    """Return the triangle of a leaf of a mesh."""
    return number(scene, LINKS, 3 * node + 2)


@inlined
def node_radius(scene: int, node: int) -> float:
    """Return the radius of the bounding sphere of a node [m]."""
    return real(scene, NODES, 4 * node + 3)


@inlined
def hit_at(work: int, index: int) -> tuple[int, int, int, int]:
    """Return a recent hit: kind, object or pair, sphere, and obstacle or second sphere."""
    f = HIT_COLUMNS * index
    return number(work, HITS, f), number(work, HITS, f + 1), number(work, HITS, f + 2), number(work, HITS, f + 3)


@inlined
def set_hit(work: int, index: int, kind: int, which: int, n: int, m: int) -> None:
    """Set a recent hit; arguments as in `hit_at`."""
    f = HIT_COLUMNS * index
    set_number(work, HITS, f, kind)
    set_number(work, HITS, f + 1, which)
    set_number(work, HITS, f + 2, n)
    set_number(work, HITS, f + 3, m)


@inlined
def candidate_at(work: int, index: int) -> tuple[int, int, int, int]:
    """Return a listed candidate; values as in `hit_at`."""
    f = CANDIDATE_COLUMNS * index
    kind, which = number(work, CANDIDATES, f), number(work, CANDIDATES, f + 1)
    return kind, which, number(work, CANDIDATES, f + 2), number(work, CANDIDATES, f + 3)


@inlined
def set_candidate(work: int, index: int, kind: int, which: int, n: int, m: int) -> None:
    """Set a listed candidate, without mark; arguments as in `hit_at`."""
    f = CANDIDATE_COLUMNS * index
    set_number(work, CANDIDATES, f, kind)
    set_number(work, CANDIDATES, f + 1, which)
    set_number(work, CANDIDATES, f + 2, n)
    set_number(work, CANDIDATES, f + 3, m)
    set_number(work, CANDIDATES, f + MARK, 0)


@inlined
def is_marked(work: int, index: int) -> bool:
    """Return whether a listed candidate is marked."""
    return number(work, CANDIDATES, CANDIDATE_COLUMNS * index + MARK) != 0


@inlined
def mark(work: int, index: int) -> None:
    """Mark a listed candidate."""
    set_number(work, CANDIDATES, CANDIDATE_COLUMNS * index + MARK, 1)
