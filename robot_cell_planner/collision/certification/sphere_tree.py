"""Sphere trees of three levels: one bounding sphere of the object, clusters, and the spheres of its approximation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..sphere_model.resolution import moved_spheres
from ._kernels.sphere_tree_kernels import bounding_sphere, clusters_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SphereTree:
    """Centres and radii of the root (4,), clusters (c, 4) and leaves (n, 4); cluster i has leaves starts[i] to
    starts[i+1], the largest of which is cores[i]."""

    root: Floats
    clusters: Floats
    leaves: Floats
    starts: tuple[int, ...]
    cores: tuple[int, ...]


def sphere_tree(spheres: Floats) -> SphereTree:
    """Return the sphere tree of spheres (n, 4), with about sqrt(n) clusters."""
    return _made(np.ascontiguousarray(spheres, dtype=np.float64).tobytes())


@lru_cache(maxsize=1024)
def _made(content: bytes) -> SphereTree:
    spheres = np.frombuffer(content).reshape(-1, 4).copy()
    groups = _clusters(spheres, max(1, round(math.sqrt(len(spheres)))))
    leaves = np.concatenate([spheres[group] for group in groups])
    starts = tuple(np.concatenate(([0], np.cumsum([len(group) for group in groups]))).tolist())
    cores = tuple(first + int(np.argmax(leaves[first:end, 3])) for first, end in pairwise(starts))
    clusters = np.array([bounding_sphere(spheres[group]) for group in groups])
    return SphereTree(bounding_sphere(spheres), clusters, leaves, starts, cores)


@lru_cache(maxsize=1024)
def moved_tree(tree: SphereTree, pose: bytes) -> SphereTree:
    """Return a tree in another frame. pose: frame of the result from that of the tree, bytes of float64 (4, 4).

    Clusters do not depend on the frame: to find them takes a hundred times as long as to move them.
    """
    matrix = np.frombuffer(pose).reshape(4, 4)
    root, clusters, leaves = (
        moved_spheres(spheres, matrix) for spheres in (tree.root[None], tree.clusters, tree.leaves)
    )
    return SphereTree(root[0], clusters, leaves, tree.starts, tree.cores)


def _clusters(spheres: Floats, count: int) -> list[NDArray[np.intp]]:
    """Return the sphere indices of at most `count` clusters."""
    nearest = clusters_of(np.ascontiguousarray(spheres[:, :3]), count)
    return [np.flatnonzero(nearest == number) for number in np.unique(nearest)]
