"""Bounding-sphere trees contain the spheres that they are built from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_cell_planner.collision.certification._kernels.sphere_tree_kernels import (
    LLOYD_STEPS,
    STEPS,
    bounding_sphere,
    clusters_of,
)
from robot_cell_planner.collision.certification.sphere_tree import sphere_tree

SPHERES = arrays(np.float64, st.tuples(st.integers(1, 60), st.just(4)), elements=st.floats(0.0, 2.0, width=32))


def excess(outer, spheres):
    """Largest distance by which spheres (n, 4) protrude from a sphere (4,) [m]."""
    return float((np.linalg.norm(spheres[:, :3] - outer[:3], axis=1) + spheres[:, 3]).max() - outer[3])


@given(SPHERES)
def test_an_enclosing_sphere_contains_all_spheres_and_is_within_its_bound(spheres):
    found = bounding_sphere(spheres)
    assert excess(found, spheres) <= 1e-12
    # Jung's theorem, for all points of all spheres, and the error of the algorithm after its number of steps.
    apart = np.linalg.norm(spheres[:, None, :3] - spheres[None, :, :3], axis=2) + spheres[:, 3] + spheres[None, :, 3].T
    widest = max(float(apart.max()), 2.0 * float(spheres[:, 3].max()))
    assert found[3] <= (1.0 + 1.0 / math.sqrt(STEPS)) * math.sqrt(3.0 / 8.0) * widest + 1e-12


@pytest.mark.parametrize("radius", [0.0, 0.1, 1.0])
def test_it_is_the_smallest_in_known_cases(radius):
    """Spheres whose centres are on a sphere, among them the ends of three diameters."""
    rng = np.random.default_rng(7)
    directions = rng.normal(size=(30, 3))
    directions = np.concatenate((directions, np.eye(3), -np.eye(3)))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    middle = np.array((0.3, -2.0, 1.0))
    spheres = np.column_stack((middle + 0.7 * directions, np.full(len(directions), radius)))
    found = bounding_sphere(spheres)
    assert np.abs(found[:3] - middle).max() <= 0.01
    assert found[3] == pytest.approx(0.7 + radius, rel=0.01)


@given(SPHERES)
def test_a_tree_has_each_sphere_once_and_contains_it_at_every_level(spheres):
    tree = sphere_tree(spheres)
    assert sorted(map(tuple, tree.leaves.tolist())) == sorted(map(tuple, spheres.tolist()))
    assert excess(tree.root, spheres) <= 1e-12
    for number, cluster in enumerate(tree.clusters):
        first, end = tree.starts[number : number + 2]
        assert end > first
        assert excess(cluster, tree.leaves[first:end]) <= 1e-12
    assert tree.starts[-1] == len(spheres)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_it_is_the_smallest_around_two_spheres_of_any_size(one, other):
    found = bounding_sphere(np.array(((0.0, 0.0, 0.0, one), (3.0, 0.0, 0.0, other))))
    assert found[3] == pytest.approx(0.5 * (3.0 + one + other), rel=0.01)


@given(SPHERES, st.integers(1, 8))
def test_points_are_in_clusters_around_the_nearest_mean(spheres, count):
    """After the last iteration of Lloyd's algorithm, each point is in the cluster whose mean, of the members before, is
    nearest; here with plain numpy."""
    points = np.ascontiguousarray(spheres[:, :3])
    gaps, starts = np.full(len(points), np.inf), [0]
    for _ in range(1, count):
        gaps = np.minimum(gaps, np.linalg.norm(points - points[starts[-1]], axis=1))
        starts.append(int(np.argmax(gaps)))
    middles = points[starts]
    for _ in range(LLOYD_STEPS):
        nearest = np.argmin(np.linalg.norm(points[:, None] - middles, axis=2), axis=1)
        middles = np.array([points[nearest == i].mean(axis=0) if i in nearest else middles[i] for i in range(count)])
    found, away = clusters_of(points, count), np.linalg.norm(points[:, None] - middles, axis=2)
    assert away[np.arange(len(points)), found] == pytest.approx(away.min(axis=1), abs=1e-9)
