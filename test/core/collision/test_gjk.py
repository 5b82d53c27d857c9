"""Distances by support functions are compared with closed formulas, and with coal at random placements."""

import itertools

import coal
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from test_separating_planes import SHAPES

from robot_cell_planner.collision.engines.coal_shapes import coal_geometry
from robot_cell_planner.collision.geometry.collision_geometry import Surface, collision_geometries
from robot_cell_planner.collision.geometry.gjk_kernels import ACCURACY, NORMAL, WORK_ROWS, separate
from robot_cell_planner.collision.geometry.plane_kernels import room_for_extents
from robot_cell_planner.collision.geometry.separating_planes import SeparatingPlanes
from robot_cell_planner.model.geometry import Box, Capsule, Sphere

GEOMETRIES = [geometry for shape in SHAPES for geometry in collision_geometries(shape)]
CONVEX = [geometry for geometry in GEOMETRIES if not isinstance(geometry, Surface)]
COAL = 1e-5  # [m], of the distances of coal for round geometries
OFFSETS = st.tuples(*[st.floats(-2.0, 2.0)] * 3)


def found(first, second, pose, other):
    """The bounds of the distance, and the direction from the second geometry to the first."""
    planes = SeparatingPlanes((first, second), np.stack((pose, other)), np.empty(0, dtype=np.intp))
    work = np.full((WORK_ROWS, 4), np.nan)
    bounds = separate(planes.shapes, 0, 1, pose, other, work, room_for_extents(planes.shapes.spans))
    return *bounds, work[NORMAL, :3]


def placed(rotation, position):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.as_matrix(), position
    return pose


def check(first, second, pose, other, expected):
    lower, upper, _ = found(first, second, pose, other)
    assert lower <= expected + 1e-9
    if expected > 1e-6:
        assert expected - 1e-9 <= upper <= lower + ACCURACY
    elif expected < 0.0:
        assert upper == np.inf


@given(OFFSETS, st.integers(0, 1000))
def test_boxes_of_one_orientation(offset, seed):
    sizes = np.array(((0.4, 0.2, 0.6), (0.3, 0.5, 0.1)))
    rotation = Rotation.random(random_state=seed)
    place = np.array((0.1, 0.2, 0.3))
    pose, other = placed(rotation, place), placed(rotation, place + rotation.apply(offset))
    apart = np.abs(offset) - sizes.sum(axis=0) / 2.0
    expected = np.linalg.norm(np.maximum(apart, 0.0)) if (apart > 0.0).any() else apart.max()
    check(Box(tuple(sizes[0])), Box(tuple(sizes[1])), pose, other, expected)


@given(OFFSETS, st.integers(0, 1000))
def test_a_sphere_and_a_box(offset, seed):
    half, radius = np.array((0.2, 0.1, 0.3)), 0.15
    rotation = Rotation.random(random_state=seed)
    outside = np.linalg.norm(np.maximum(np.abs(offset) - half, 0.0))
    inside = (np.abs(offset) - half).max()
    expected = (outside if outside > 0.0 else inside) - radius
    pose, other = placed(rotation, rotation.apply(offset)), placed(rotation, (0.0, 0.0, 0.0))
    lower, upper, _ = found(Sphere(radius), Box(tuple(2.0 * half)), pose, other)
    assert lower <= expected + 1e-9
    if outside > 1e-6:  # of the centre of the sphere, which the search is about
        assert expected - 1e-9 <= upper <= lower + ACCURACY


@given(OFFSETS, st.floats(0.0, np.pi))
def test_capsules_in_parallel_planes(offset, angle):
    """They cross seen along the normal of the planes, or a cap is the closest part of one."""
    length, radii = 1.0, (0.05, 0.1)
    pose = placed(Rotation.identity(), (0.0, 0.0, 0.0))
    other = placed(Rotation.from_euler("x", angle), offset)
    along = np.linspace(-length / 2.0, length / 2.0, 4001)
    points = np.asarray(offset) + along[:, None] * other[:3, 2]
    points[:, 2] -= np.clip(points[:, 2], -length / 2.0, length / 2.0)
    expected = np.linalg.norm(points, axis=1).min() - sum(radii)
    lower, upper, _ = found(Capsule(radii[0], length), Capsule(radii[1], length), pose, other)
    step = length / 4000
    assert lower <= expected + 1e-9
    if expected + sum(radii) > 1e-3:
        assert expected - step <= upper <= lower + ACCURACY


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_coal(seed):
    random, apart = np.random.default_rng(seed), 0
    for first, second in itertools.product(CONVEX, repeat=2):
        pose, other = (placed(Rotation.random(random_state=random), random.uniform(-0.3, 0.3, 3)) for _ in range(2))
        transforms = [coal.Transform3s(each[:3, :3], each[:3, 3]) for each in (pose, other)]
        shapes = coal_geometry(first), coal_geometry(second)
        expected = coal.distance(shapes[0], transforms[0], shapes[1], transforms[1], coal.DistanceRequest(),
                                 coal.DistanceResult())  # fmt: skip
        lower, upper, _ = found(first, second, pose, other)
        assert lower <= max(expected, 0.0) + COAL
        if expected > COAL:
            assert abs(upper - expected) <= COAL
            assert upper - lower <= ACCURACY
            apart += 1
    assert apart > 10


def test_the_gap_along_the_direction_is_the_lower_bound():
    random = np.random.default_rng(0)
    hulls = [geometry for geometry in CONVEX if hasattr(geometry, "mesh")]
    assert len(hulls) > 1
    for first, second in itertools.product(hulls, repeat=2):
        pose, other = (placed(Rotation.random(random_state=random), random.uniform(-0.5, 0.5, 3)) for _ in range(2))
        lower, _, direction = found(first, second, pose, other)
        corners = [mesh.vertices @ at[:3, :3].T + at[:3, 3] for mesh, at in ((first.mesh, pose), (second.mesh, other))]
        gap = (corners[0] @ direction).min() - (corners[1] @ direction).max()
        assert np.linalg.norm(direction) == pytest.approx(1.0)
        assert gap == pytest.approx(lower, abs=1e-9)


@pytest.mark.parametrize("geometry", CONVEX, ids=lambda geometry: type(geometry).__name__)
def test_geometries_in_one_place_overlap(geometry):
    pose = placed(Rotation.random(random_state=1), (0.3, -0.2, 0.1))
    lower, upper, _ = found(geometry, geometry, pose, pose)
    assert lower < 0.0
    assert upper == np.inf or upper < 0.0
