"""Masses and inertias of shapes equal coal's closed forms and those of fine meshes of the same shapes."""

import math

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from strategies import poses, sizes

from robot_cell_planner.errors import GeometryError
from robot_cell_planner.io.mesh.inertia import uniform_inertial
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.pose import Pose

SOLIDS = [
    (Box((0.1, 0.2, 0.4)), coal.Box(0.1, 0.2, 0.4)),
    (Sphere(0.3), coal.Sphere(0.3)),
    (Cylinder(0.2, 0.7), coal.Cylinder(0.2, 0.7)),
    (Capsule(0.2, 0.5), coal.Capsule(0.2, 0.5)),
    (Cone(0.3, 0.8), coal.Cone(0.3, 0.8)),
]


def matrix(inertial):
    xx, xy, xz, yy, yz, zz = inertial.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize(("ours", "theirs"), SOLIDS, ids=lambda value: type(value).__name__)
def test_primitives_are_those_of_coal(ours, theirs):
    inertial = uniform_inertial([Shape(ours)], density=1.0)
    assert inertial.mass == pytest.approx(theirs.computeVolume(), rel=1e-12)
    np.testing.assert_allclose(inertial.pose.position, theirs.computeCOM(), atol=1e-12)
    expected = theirs.computeMomentofInertiaRelatedToCOM()
    np.testing.assert_allclose(matrix(inertial), expected, rtol=1e-9, atol=1e-15)


def tessellated(radius, length, tip, sides=400):
    """A cone or cylinder as triangles, from -length/2 to length/2; tip: radius at the upper end."""
    angles = np.linspace(0.0, 2.0 * math.pi, sides, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(sides)], axis=1)
    half = np.array([0.0, 0.0, length / 2.0])
    vertices = np.concatenate([radius * ring - half, tip * ring + half, [-half, half]])
    faces = []
    for i in range(sides):
        j = (i + 1) % sides
        faces += [(i, j, sides + j), (i, sides + j, sides + i)]
        faces += [(2 * sides, j, i), (2 * sides + 1, sides + i, sides + j)]
    return Triangles(tuple(map(tuple, vertices.tolist())), tuple(faces), MeshUse.EXACT)


@pytest.mark.parametrize(("solid", "tip"), [(Cylinder(0.2, 0.7), 0.2), (Cone(0.3, 0.8), 1e-9)])
def test_fine_meshes_have_nearly_the_inertia_of_their_shapes(solid, tip):
    exact = uniform_inertial([Shape(solid)], density=1000.0)
    mesh = uniform_inertial([Shape(tessellated(solid.radius, solid.length, tip))], density=1000.0)
    assert mesh.mass == pytest.approx(exact.mass, rel=1e-3)
    np.testing.assert_allclose(mesh.pose.position, exact.pose.position, atol=1e-6)
    np.testing.assert_allclose(matrix(mesh), matrix(exact), rtol=1e-3, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(poses, sizes)
def test_a_pose_moves_the_centre_and_turns_the_inertia(pose, mass):
    solid = Box((0.1, 0.2, 0.4))
    plain, placed = (uniform_inertial([Shape(solid, p)], mass=mass) for p in (Pose(), pose))
    rotation = pose.matrix[:3, :3]
    assert placed.mass == mass
    np.testing.assert_allclose(placed.pose.position, pose.position, atol=1e-9)
    scale = max(plain.inertia)
    np.testing.assert_allclose(matrix(placed) / scale, rotation @ matrix(plain) @ rotation.T / scale, atol=1e-9)


def test_a_box_is_the_sum_of_its_halves():
    halves = [Shape(Box((0.1, 0.2, 0.4)), Pose((x, 0.0, 0.0))) for x in (-0.05, 0.05)]
    whole = uniform_inertial([Shape(Box((0.2, 0.2, 0.4)))], density=500.0)
    parts = uniform_inertial(halves, density=500.0)
    assert parts.mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(matrix(parts), matrix(whole), rtol=1e-12, atol=1e-15)


def test_an_open_mesh_counts_as_its_hull():
    closed = tessellated(0.2, 0.7, 0.2, sides=16)
    opened = Triangles(closed.vertices, closed.faces[:-3], MeshUse.EXACT)
    a, b = (uniform_inertial([Shape(mesh)], density=1.0) for mesh in (closed, opened))
    assert a.mass == pytest.approx(b.mass)


def test_a_mesh_turned_inside_out_is_refused():
    mesh = tessellated(0.2, 0.7, 0.2, sides=16)
    turned = Triangles(mesh.vertices, tuple(face[::-1] for face in mesh.faces), MeshUse.EXACT)
    with pytest.raises(GeometryError, match="inwards"):
        uniform_inertial([Shape(turned)], density=1.0)


@pytest.mark.parametrize(
    "numbers",
    [{}, {"mass": 1.0, "density": 1.0}, {"mass": 0.0}, {"mass": -1.0}, {"density": math.nan}, {"density": math.inf}],
)
def test_invalid_numbers_are_refused(numbers):
    with pytest.raises(ValueError, match=r"mass|density"):
        uniform_inertial([Shape(Sphere(1.0))], **numbers)


def test_mass_needs_shapes():
    with pytest.raises(ValueError, match="shapes"):
        uniform_inertial([], mass=1.0)
