"""Every kind of shape rests at its height, and has contacts at its surface."""

import math

import numpy as np
import pytest
from simulation_cells import body, box, cell_of_bodies

from robot_cell_planner.collision.geometry.collision_geometry import collision_geometries
from robot_cell_planner.errors import GeometryError
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.simulation.engines.names import BULLET
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py


@pytest.fixture
def shapes_of_bullet():
    return pytest.importorskip("robot_cell_planner.simulation.engines.bullet_shapes", exc_type=ImportError)


CORNERS = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.04, 0.04) for z in (-0.03, 0.03)])
FACES = (
    (0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7), (0, 5, 1), (0, 4, 5),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
)  # fmt: skip
ROUGH = 2e-3  # [m]; convex pieces follow a mesh to a few hundredths of its size
FLAT = Pose.from_rpy((0.0, 0.0, 0.0), (math.pi / 2, 0.0, 0.0))


def block(use):
    return Triangles(tuple(map(tuple, CORNERS.tolist())), FACES, use)


def rest_height(shape, table, start):
    """Height of a body of one shape after it has come to rest on a table, dropped from 2 mm above it."""
    part = body("part", [shape], 0.5)
    cell, state = cell_of_bodies(part, table, part=Pose((0.0, 0.0, start + 0.002)))
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.0)) as simulated:
        simulated.step(0.4)
        return simulated.body_pose("part").position[2]


FLAT_TABLE = body("table", [box(1.0, 1.0, 0.1, Pose((0.0, 0.0, -0.05)))])


@pytest.mark.parametrize(
    ("shape", "height", "tolerance"),
    [
        (Shape(Box((0.1, 0.08, 0.06))), 0.03, 1e-4),
        (Shape(Sphere(0.05)), 0.05, 1e-4),
        (Shape(Cylinder(0.05, 0.12)), 0.06, 1e-4),
        (Shape(Capsule(0.03, 0.1), FLAT), 0.03, 1e-4),
        (Shape(Cone(0.05, 0.08)), 0.04, 1e-4),
        (Shape(block(MeshUse.HULL)), 0.03, 1e-4),
        (Shape(block(MeshUse.EXACT)), 0.03, ROUGH),
    ],
    ids=["box", "sphere", "cylinder", "capsule", "cone", "hull", "moving triangles"],
)
def test_objects_rest_at_their_height(shape, height, tolerance):
    assert rest_height(shape, FLAT_TABLE, height) == pytest.approx(height, abs=tolerance)


@pytest.mark.parametrize(
    ("use", "tolerance"), [(MeshUse.HULL, 1e-4), (MeshUse.EXACT, 1e-4), (MeshUse.DECOMPOSITION, ROUGH)]
)
def test_meshes_have_contacts_at_their_surface(engine, use, tolerance):
    if engine == "mujoco" and use is MeshUse.EXACT:
        tolerance = ROUGH  # in this engine, triangles are decomposed also if they do not move
    table = body("table", [Shape(block(use), Pose((0.0, 0.0, -0.03)))])
    assert rest_height(Shape(Box((0.04, 0.04, 0.04))), table, 0.02) == pytest.approx(0.02, abs=tolerance)


def test_a_static_concave_mesh_is_hollow(engine):
    """A sphere falls into an open box made of triangles, but not into the hull of the same box."""
    floor = np.array([[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.2, 0.2)])
    rim = np.array([[x, y, 0.1] for x in (-0.2, 0.2) for y in (-0.2, 0.2)])
    vertices = tuple(map(tuple, np.vstack([floor, rim]).tolist()))
    sides = ((0, 1, 5), (0, 5, 4), (1, 3, 7), (1, 7, 5), (3, 2, 6), (3, 6, 7), (2, 0, 4), (2, 4, 6))
    for use, height in ((MeshUse.EXACT, -0.05), (MeshUse.HULL, 0.15)):
        bowl = body("bowl", [Shape(Triangles(vertices, ((0, 1, 3), (0, 3, 2), *sides), use))])
        sphere = body("sphere", [Shape(Sphere(0.05))], 0.2)
        cell, state = cell_of_bodies(sphere, bowl, sphere=Pose((0.0, 0.0, height + 0.01)))
        with SimulatedCell(cell, state, SimulationOptions(settle_time=0.0)) as simulated:
            simulated.step(0.4)
            assert simulated.body_pose("sphere").position[2] == pytest.approx(
                height, abs=ROUGH if engine == "mujoco" else 2e-4
            )


def test_shrinking_moves_every_face_by_the_margin(shapes_of_bullet):
    points = shapes_of_bullet.shrunk(CORNERS, 0.002)
    np.testing.assert_allclose(points.max(axis=0), CORNERS.max(axis=0) - 0.002, atol=1e-9)
    np.testing.assert_allclose(points.min(axis=0), CORNERS.min(axis=0) + 0.002, atol=1e-9)
    assert len(points) == 8


def test_a_shrunk_hull_is_computed_once(shapes_of_bullet, monkeypatch, tmp_path):
    monkeypatch.setenv("ROBOT_CELL_PLANNER_CACHE", str(tmp_path))
    expected = shapes_of_bullet.shrunk(CORNERS, shapes_of_bullet.MARGIN)
    np.testing.assert_array_equal(shapes_of_bullet.cached_shrunk(CORNERS), expected)
    monkeypatch.setattr(shapes_of_bullet, "shrunk", None)
    np.testing.assert_array_equal(shapes_of_bullet.cached_shrunk(CORNERS), expected)
    with pytest.raises(TypeError):
        shapes_of_bullet.cached_shrunk(CORNERS + 1e-9)


def test_shapes_too_thin_to_shrink_are_unchanged(shapes_of_bullet):
    thin = CORNERS * np.array([1.0, 1.0, 0.05])
    assert shapes_of_bullet.shrunk(thin, 0.002) is thin
    assert shapes_of_bullet.shrunk(CORNERS[:3], 0.002) is not None


def test_a_flat_mesh_has_contacts_at_its_surface(engine):
    """A sphere rests on a sheet of triangles that are exactly in a plane."""
    corners = tuple((x, y, 0.0) for x in (-0.3, 0.3) for y in (-0.3, 0.3))
    sheet = body("sheet", [Shape(Triangles(corners, ((0, 2, 3), (0, 3, 1)), MeshUse.EXACT))])
    cell, state = cell_of_bodies(body("sphere", [Shape(Sphere(0.05))], 0.2), sheet, sphere=Pose((0.0, 0.0, 0.06)))
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.0)) as simulated:
        simulated.step(0.4)
        assert simulated.body_pose("sphere").position[2] == pytest.approx(0.05, abs=2e-4)


@pytest.mark.parametrize("use", [MeshUse.HULL, MeshUse.DECOMPOSITION])
def test_a_flat_mesh_has_no_volume_to_fill(use):
    corners = tuple((x, y, 0.2 * x) for x in (-0.3, 0.3) for y in (-0.3, 0.3))
    with pytest.raises(GeometryError, match=r"flat.*use its triangles"):
        collision_geometries(Triangles(corners, ((0, 2, 3), (0, 3, 1)), use))


def test_a_mesh_of_more_triangles_than_bullet_takes_is_refused_with_its_numbers(engine, monkeypatch):
    monkeypatch.setattr("robot_cell_planner.system.physics.MAX_FACES", 11)
    cell, state = cell_of_bodies(body("scan", [Shape(block(MeshUse.EXACT))]))
    text = r"a mesh of triangles has 8 vertices and 12 faces, more than PyBullet takes \(131072 and 11\)"
    if engine == BULLET:
        with pytest.raises(GeometryError, match=text) as refused:
            SimulatedCell(cell, state, SimulationOptions())
        assert "fewer faces" in refused.value.remedy
    else:  # MuJoCo decomposes triangle meshes
        SimulatedCell(cell, state, SimulationOptions()).close()
