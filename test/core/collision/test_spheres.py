"""Sphere approximations: they contain the solid, protrude by no more than stated, and wrong ones are not proven."""

import hashlib

import msgspec
import numpy as np
import pytest
from collision_cells import bracket, working_cell
from frozendict import frozendict
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from robot_cell_planner.collision.certification.scene import MotionScene
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.geometry.collision_geometry import collision_geometries
from robot_cell_planner.collision.sphere_model import approximation
from robot_cell_planner.collision.sphere_model import approximation_kernels as kernels
from robot_cell_planner.collision.sphere_model.approximation import approximate, prove
from robot_cell_planner.collision.sphere_model.polytopes import polytope_around
from robot_cell_planner.collision.sphere_model.report import graspable, prepare_sphere_models
from robot_cell_planner.collision.sphere_model.tolerance import FINER, protrusions
from robot_cell_planner.io.mesh import cache as mesh_cache
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState

PROTRUSION = 0.01


def random_hull(seed, count=40):
    points = np.random.default_rng(seed).normal(size=(count, 3)) * (0.08, 0.05, 0.03)
    vertices = tuple(tuple(row) for row in points.tolist())
    return Triangles(vertices, tuple((i, i + 1, i + 2) for i in range(count - 2)), MeshUse.HULL)


SOLIDS = {
    "box": Box((0.3, 0.1, 0.04)),
    "sphere": Sphere(0.07),
    "cylinder": Cylinder(0.05, 0.2),
    "capsule": Capsule(0.04, 0.3),
    "cone": Cone(0.06, 0.15),
    "hull": collision_geometries(random_hull(1))[0],
    "sliver": collision_geometries(
        Triangles(((0, 0, 0), (0.4, 0, 0), (0, 0.003, 0), (0, 0, 0.003)), ((0, 1, 2), (0, 1, 3)))
    )[0],
    "surface": collision_geometries(bracket(0.06))[0],
}


def points_of(name, solid, rng, count=20_000):
    """Random points of a solid, many of them on its surface, by its definition and not by its polytope."""
    unit = rng.uniform(-1.0, 1.0, (count, 3))
    skin = rng.random((count, 1)) < 0.5
    if name == "box":
        axis = rng.integers(0, 3, count)
        rows = np.flatnonzero(skin[:, 0])
        unit[rows, axis[rows]] = np.sign(unit[rows, axis[rows]])
        return unit * 0.5 * np.array(solid.size)
    if name in ("sphere", "capsule"):
        directions = unit / np.linalg.norm(unit, axis=1)[:, None]
        lengths = solid.radius * np.where(skin, 1.0, rng.random((count, 1)))
        found = directions * lengths
        if name == "capsule":
            found[:, 2] += rng.choice((-0.5, 0.5, *rng.uniform(-0.5, 0.5, 20)), count) * solid.length
        return found
    if name in ("cylinder", "cone"):
        angle, along = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(-0.5, 0.5, count)
        reach = solid.radius * np.where(skin[:, 0], 1.0, np.sqrt(rng.random(count)))
        if name == "cone":
            reach *= 0.5 - along
        return np.column_stack((reach * np.cos(angle), reach * np.sin(angle), along * solid.length))
    weights = rng.dirichlet(np.full(3, 0.5), count)
    faces = solid.mesh.vertices[solid.mesh.faces[rng.integers(0, len(solid.mesh.faces), count)]]
    found = np.einsum("ij,ijk->ik", weights, faces)
    if name == "surface":
        return found
    middle = solid.mesh.vertices.mean(axis=0)
    return middle + (found - middle) * np.where(skin, 1.0, rng.random((count, 1)))


@pytest.mark.parametrize("name", SOLIDS)
def test_every_point_lies_in_a_sphere(name):
    found = approximate(SOLIDS[name], PROTRUSION)
    points = points_of(name, SOLIDS[name], np.random.default_rng(2))
    nearest = np.full(len(points), np.inf)
    for sphere in found.spheres:
        nearest = np.minimum(nearest, np.linalg.norm(points - sphere[:3], axis=1) - sphere[3])
    assert nearest.max() <= 1e-12
    assert found.protrusion <= PROTRUSION


@pytest.mark.parametrize("name", ["box", "cylinder", "cone", "hull", "sliver"])
def test_no_sphere_protrudes_further_than_stated(name):
    """A sphere protrudes from a convex solid by its radius less the distance of its centre from the nearest face."""
    polytope = polytope_around(SOLIDS[name])
    for sphere in approximate(SOLIDS[name], PROTRUSION).spheres:
        depth = (polytope.planes[:, 3] - polytope.planes[:, :3] @ sphere[:3]).min()
        assert depth >= 0.0
        assert sphere[3] - depth <= PROTRUSION + 1e-8


@pytest.mark.parametrize("name", ["box", "cylinder", "cone", "hull", "surface"])
def test_spheres_that_are_too_small_are_not_proven(name):
    polytope = polytope_around(SOLIDS[name])
    spheres = approximate(SOLIDS[name], PROTRUSION).spheres
    assert prove(polytope, spheres, PROTRUSION) is not None
    assert prove(polytope, spheres * (1.0, 1.0, 1.0, 0.95), PROTRUSION) is None
    assert prove(polytope, spheres * (1.0, 1.0, 1.0, 1.05), 0.0) is None
    assert prove(polytope, spheres[: len(spheres) // 2], PROTRUSION) is None
    assert prove(polytope, spheres * np.nan, PROTRUSION) is None


def test_round_geometries_lie_within_their_polytopes():
    for name in ("cylinder", "cone"):
        polytope = polytope_around(SOLIDS[name])
        points = points_of(name, SOLIDS[name], np.random.default_rng(3))
        assert (points @ polytope.planes[:, :3].T <= polytope.planes[:, 3] + 1e-12).all()


@pytest.mark.parametrize("solid", [Box((0.3, 0.1, 0.04)), Cylinder(0.05, 0.2), Cone(0.06, 0.15)])
def test_polytopes_are_the_hulls_of_their_corners(solid):
    """Volume and planes equal those of Qhull."""
    found = polytope_around(solid)
    hull = ConvexHull(found.corners)
    edges = found.simplices[:, 1:] - found.simplices[:, :1]
    assert np.abs(np.linalg.det(edges)).sum() / 6.0 == pytest.approx(hull.volume, rel=1e-12)
    # Qhull's offsets have the opposite sign.
    expected = np.unique(np.round(hull.equations * (1.0, 1.0, 1.0, -1.0), 9) + 0.0, axis=0)
    assert np.unique(np.round(found.planes, 9) + 0.0, axis=0) == pytest.approx(expected, abs=2e-9)


def test_a_finer_approximation_has_more_spheres():
    coarse, fine = approximate(SOLIDS["box"], 0.02), approximate(SOLIDS["box"], PROTRUSION)
    assert len(coarse.spheres) < len(fine.spheres)


@pytest.mark.parametrize("protrusion", [0.0, -0.01, float("nan"), 2.0])
def test_a_protrusion_out_of_range_is_refused(protrusion):
    with pytest.raises(ValueError, match="protrusion"):
        approximate(SOLIDS["box"], protrusion)


class TestCache:
    SOLID = Box((0.11, 0.07, 0.05))

    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv(mesh_cache.ENVIRONMENT, str(tmp_path))
        approximate.cache_clear()
        yield tmp_path / "meshes"
        approximate.cache_clear()

    def fresh(self):
        approximate.cache_clear()
        return approximate(self.SOLID, PROTRUSION).spheres

    def test_it_is_read_back_to_the_last_bit(self, folder, monkeypatch):
        made = self.fresh()
        assert len(list(folder.iterdir())) == 1
        monkeypatch.setattr(approximation, "compute_spheres", None)
        assert np.array_equal(self.fresh(), made)

    @pytest.mark.parametrize("damage", [lambda data: data[:-8], lambda data: b"", lambda data: data[:-1] + b"\x7f"])
    def test_a_damaged_file_is_recomputed(self, folder, damage):
        made = self.fresh()
        (entry,) = folder.iterdir()
        entry.write_bytes(damage(entry.read_bytes()))
        assert np.array_equal(self.fresh(), made)

    def test_a_file_with_smaller_spheres_is_refused(self, folder):
        """Its checksum is correct, but its spheres do not contain the solid."""
        made = self.fresh()
        (entry,) = folder.iterdir()
        rows = approximation._packed(made * (1.0, 1.0, 1.0, 0.9))
        mesh_cache.write_cached(entry.stem, approximation.KIND, rows, np.empty((0, 3), dtype=np.int32))
        assert np.array_equal(self.fresh(), made)

    def test_equal_geometries_have_equal_bytes(self, folder, monkeypatch):
        made = hashlib.sha256(self.fresh().tobytes()).hexdigest()
        monkeypatch.setenv(mesh_cache.ENVIRONMENT, "")
        assert hashlib.sha256(self.fresh().tobytes()).hexdigest() == made


def test_all_objects_of_a_cell_are_covered():
    cell, _ = working_cell()
    report = prepare_sphere_models(cell)
    assert {"base", "link6", "gripper/palm", "part"} <= {obj.name for obj in report.objects}
    assert all(obj.spheres for obj in report.objects)
    assert report.spheres == sum(obj.spheres for obj in report.objects)
    assert 0.0 < report.protrusion <= PROTRUSION


def test_spheres_are_finer_near_the_tip():
    """Links that few joints move have the requested protrusion; the wrist, tools and bodies have a smaller one."""
    cell, _ = working_cell()
    found = protrusions(cell, 0.01)
    assert {found["base"], found["link2"], found["link3"]} == {0.01}
    assert {found["link4"], found["link6"], found["gripper/palm"], found["part"]} == {0.01 * FINER}
    assert set(found) >= {obj.name for obj in prepare_sphere_models(cell).objects}
    report = {obj.name: obj.protrusion for obj in prepare_sphere_models(cell).objects}
    assert report["link6"] <= 0.01 * FINER < report["base"]


def test_prepared_spheres_are_those_that_motions_need():
    cell, state = working_cell()
    prepare_sphere_models(cell)
    made = approximation.approximate.cache_info().misses
    scene = MotionScene(CollisionChecker(cell, state))
    assert scene.sphere_count > 0
    assert approximation.approximate.cache_info().misses == made


def test_small_and_attached_bodies_are_graspable():
    cell, state = working_cell()
    shapes = {"small": Box((0.2, 0.2, 0.2)), "plank": Box((1.0, 0.1, 0.1))}
    bodies = {name: RigidBody(name, (Shape(shape),)) for name, shape in shapes.items()}
    cell = msgspec.structs.replace(cell, bodies=frozendict({**cell.bodies, **bodies}))
    state = state.with_body("small", BodyState(Pose())).with_body("plank", BodyState(Pose()))
    found = graspable(cell, state)
    assert "small" in found
    assert "plank" not in found
    assert "plank" in graspable(cell, state.with_body("plank", BodyState(Pose(), attached_to=cell.group().name)))
    names = {obj.name for obj in prepare_sphere_models(cell, bodies=found).objects}
    assert "small" in names
    assert "plank" not in names


@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.floats(0.0, 0.1))
def test_the_container_of_a_simplex_is_the_first_sphere_with_all_its_corners(seed, count, slack):
    """Spheres that contain no point of a grid of the simplex may be left out."""
    rng = np.random.default_rng(seed)
    simplex = rng.uniform(-0.5, 0.5, (4, 3)) * rng.uniform(0.1, 1.0)
    spheres = np.column_stack((rng.uniform(-1.0, 1.0, (40, 3)), rng.uniform(0.0, 1.5, 40)))
    candidates = rng.permutation(40)[:count].astype(np.int32)
    near = np.empty(40, dtype=np.int32)
    found, retained = kernels.find_container(simplex, spheres, slack, candidates, count, near, np.empty(4))
    gaps = np.linalg.norm(simplex[None] - spheres[candidates, None, :3], axis=2)
    containing = candidates[(gaps <= spheres[candidates, None, 3] - slack).all(axis=1)]
    assert found == (containing[0] if len(containing) else -1)
    if found < 0:
        weights = rng.dirichlet(np.ones(4), 200)
        away = np.linalg.norm((weights @ simplex)[None] - spheres[candidates, None, :3], axis=2)
        meeting = candidates[(away <= spheres[candidates, None, 3]).any(axis=1)]
        assert set(meeting) <= set(near[:retained]) <= set(candidates)
        assert [index for index in candidates if index in near[:retained]] == near[:retained].tolist()
