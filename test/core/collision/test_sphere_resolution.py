"""Spheres of large objects are coarser: their number is bounded, they contain the object, and a warning is given."""

import threading

import numpy as np
import pytest
from collision_cells import at, body, box, make_cell, working_cell

from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.geometry.collision_geometry import collision_geometries
from robot_cell_planner.collision.sphere_model import resolution
from robot_cell_planner.collision.sphere_model.approximation import prove
from robot_cell_planner.collision.sphere_model.polytopes import polytope_around
from robot_cell_planner.collision.sphere_model.report import prepare_sphere_models
from robot_cell_planner.collision.sphere_model.resolution import (
    MAX_PROTRUSION,
    estimated_spheres,
    object_spheres,
    spheres_of_objects,
)
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.geometry import Box, Cone, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.state import BodyState

FINE = 0.007
LIMIT = 1_016  # spheres of an object of one solid, as stated in docs/certified_motions.md
SHEET, PANEL = (0.4, 0.4, 0.002), (2.5, 1.25, 0.005)


def mesh(size, use):
    """The triangles of a box."""
    signs = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    vertices = tuple(tuple(s * length for s, length in zip(row, size, strict=True)) for row in signs)
    return Triangles(vertices, tuple(faces), use)


GEOMETRIES = {
    "sheet": Box(SHEET),
    "sheet as a hull": mesh(SHEET, MeshUse.HULL),
    "sheet as triangles": mesh(SHEET, MeshUse.EXACT),
    "panel": Box(PANEL),
    "panel as a hull": mesh(PANEL, MeshUse.HULL),
    "panel as triangles": mesh(PANEL, MeshUse.EXACT),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_panel_is_covered_by_few_spheres(name):
    (solid,) = collision_geometries(GEOMETRIES[name])
    found = object_spheres((Shape(GEOMETRIES[name]),), FINE)
    assert estimated_spheres((solid,), FINE) > 2 * LIMIT
    assert 1 < len(found.spheres) <= LIMIT
    assert FINE < found.protrusion <= MAX_PROTRUSION
    assert prove(polytope_around(solid), found.spheres, found.protrusion) is not None
    warning = found.warning("panel")
    assert "panel" in warning
    assert f"{1000.0 * found.protrusion:.0f} mm" in warning


SHAPES = {
    "cube": Box((0.3, 0.3, 0.3)),
    "bar": Box((0.5, 0.04, 0.04)),
    "plate": Box((0.2, 0.2, 0.02)),
    "sheet": Box((0.2, 0.2, 0.002)),
    "cylinder": Cylinder(0.06, 0.4),
    "cone": Cone(0.06, 0.15),
}


@pytest.mark.parametrize("name", SHAPES)
def test_objects_of_usual_size_have_the_requested_resolution_and_a_safe_estimate(name):
    found = object_spheres((Shape(SHAPES[name]),), FINE)
    assert not found.is_coarser
    assert found.warning(name) == ""
    assert len(found.spheres) <= found.estimated <= LIMIT


def test_an_object_that_is_too_large_has_one_sphere():
    shapes = (Shape(Box((10.0, 8.0, 0.01)), at(1.0, rpy=(0.3, 0.2, 0.1))), Shape(Sphere(2.0), at(-4.0)))
    found = object_spheres(shapes, FINE)
    assert found.enclosed
    ((x, y, z, radius),) = found.spheres
    corners = 0.5 * np.array([(a * 10.0, b * 8.0, c * 0.01) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    placed = corners @ shapes[0].pose.matrix[:3, :3].T + shapes[0].pose.matrix[:3, 3]
    assert np.linalg.norm(placed - (x, y, z), axis=1).max() <= radius
    assert np.linalg.norm(np.array((-4.0, 0.0, 0.0)) - (x, y, z)) + 2.0 <= radius
    assert "one sphere" in found.warning("roof")


def test_a_shape_that_needs_more_spheres_than_estimated_has_coarser_ones(monkeypatch):
    """The bound on the number of spheres of each solid holds independently of the estimate."""
    monkeypatch.setattr(resolution, "estimated_spheres", lambda parts, protrusion: 1)
    monkeypatch.setattr("robot_cell_planner.collision.sphere_model.approximation.MAX_SPHERES", 60)
    found = object_spheres((Shape(Box((0.21, 0.2, 0.1))),), 0.0071)
    assert found.is_coarser
    assert len(found.spheres) <= 60


def test_the_report_of_a_cell_names_coarser_objects():
    cell = make_cell(bodies=(body("plank", box(2.0, 1.0, 0.02)), body("brick", box(0.2, 0.1, 0.1))))
    (warning,) = prepare_sphere_models(cell).warnings
    assert "plank" in warning


@pytest.mark.parametrize(("size", "one"), [((3.0, 2.0, 0.01), False), ((12.0, 9.0, 0.01), True)])
def test_gaps_below_the_sphere_resolution_are_decided_by_exact_distances(size, one):
    """A panel that the last joint of an arm turns by little, 20 mm beside another one and within it."""
    panel, roof = body("panel", box(*size)), body("roof", box(0.5, 0.5, 0.01))
    cell, state = working_cell((panel, roof))
    links = tuple(cell.robots["arm"].mechanism.links)
    state = state.with_body("panel", BodyState(at(0.0, 0.0, 3.0), attached_to="link6", touch_links=links))
    panel_pose = world_pose(cell, state, "panel")
    for height, verdict in ((0.03, Verdict.FREE), (0.005, Verdict.COLLIDING)):
        where = state.with_body("roof", BodyState(panel_pose @ at(0.2, 0.1, height)))
        certifier = MotionCertifier(CollisionChecker(cell, where, ("joint6",)))
        start = certifier.checker.default
        end = start + 0.002
        assert not certifier.quickly_free(start, end)
        found = certifier.certify(start, end)
        assert found.verdict is verdict, found
        assert found.exact_states > 0
        assert any("panel" in warning for warning in found.warnings)
        assert any("one sphere" in warning for warning in found.warnings) is one


def test_spheres_of_several_objects_are_made_at_the_same_time(monkeypatch):
    """Each waits for the other, so that one after the other would not end."""
    together = threading.Barrier(2, timeout=60.0)
    approximate = resolution.approximate

    def waiting(geometry, protrusion):
        together.wait()
        return approximate(geometry, protrusion)

    monkeypatch.setattr(resolution, "approximate", waiting)
    monkeypatch.setattr(resolution.os, "sched_getaffinity", lambda process: {0, 1})
    objects = [((Shape(Box((0.031, 0.02, length))),), FINE) for length in (0.047, 0.053, 0.047)]
    found = spheres_of_objects(objects)
    assert found[0] is found[2]
    assert spheres_of_objects(objects) == [object_spheres(*each) for each in objects] == found
