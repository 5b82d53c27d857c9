"""Objects inside a closed surface, which the engines do not report, are a warning."""

import math

import msgspec
import numpy as np
import pytest
import trimesh
from planning_cells import gantry

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.enclosed_objects import enclosed_objects, winding_number
from robot_cell_planner.collision.state_warnings import collision_warnings, enclosure_warnings
from robot_cell_planner.io.mesh.loading import load_mesh
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import MeshUse, Shape, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.setup_assistant.check import check_cell

TURN = Pose.from_rpy((0.1, -0.2, 0.3), (0.4, 0.5, 0.6))


def triangles(mesh, use=MeshUse.EXACT):
    return Triangles(tuple(map(tuple, mesh.vertices.tolist())), tuple(map(tuple, mesh.faces.tolist())), use=use)


def box(size=8.0):
    return trimesh.creation.box((size, size, size))


def room():
    """A box with walls, whose inner faces are turned into the hollow."""
    inner = box(7.5)
    inner.invert()
    return trimesh.util.concatenate((box(8.0), inner))


def without_a_face():
    mesh = box()
    mesh.update_faces(np.arange(len(mesh.faces)) != 3)
    return mesh


def scene_with(mesh, use=MeshUse.EXACT, pose=TURN, touch_links=()):
    cell, state = gantry()
    body = RigidBody("machine", collisions=(Shape(triangles(mesh, use), pose=pose),))
    cell = msgspec.structs.replace(cell, bodies=cell.bodies.set("machine", body))
    return cell, state.with_body("machine", BodyState(touch_links=touch_links))


def test_a_robot_inside_a_solid_of_triangles_is_a_warning():
    """As of a part whose size is in mm: nothing collides with its surface."""
    cell, state = scene_with(box())
    assert not CollisionChecker(cell, state).report().in_collision
    (text,) = enclosure_warnings(cell, state)
    assert " inside machine, whose triangles " in text
    assert collision_warnings(cell, state) == (text,)
    (finding,) = [found for found in check_cell(cell, state) if found.text == text]
    assert finding.level == "warning"


@pytest.mark.parametrize(
    ("mesh", "fields"),
    [
        (room(), {}),
        (box(), {"pose": Pose((50.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))}),
        (without_a_face(), {}),
        (box(), {"use": MeshUse.HULL}),
    ],
    ids=["room", "elsewhere", "open", "hull"],
)
def test_no_other_mesh_is(mesh, fields):
    assert enclosure_warnings(*scene_with(mesh, **fields)) == ()


def test_what_also_touches_the_surface_collides_with_it_and_does_not_count_as_free():
    cell, state = scene_with(box(0.7))
    pairs = CollisionChecker(cell, state).allowed_pairs
    assert list(enclosed_objects(cell, state, pairs)) == [("cube", "machine")]
    (text,) = collision_warnings(cell, state)
    assert "cube and machine overlap" in text


def test_links_that_may_touch_it_do_not_count():
    links = [link for robot in gantry()[0].robots.values() for link in robot.mechanism.links]
    assert enclosure_warnings(*scene_with(box(), touch_links=tuple(links))) == ()


def test_winding_numbers_are_those_of_rays():
    """A torus: points inside, in its hole and outside, against the crossings of a ray."""
    mesh = trimesh.creation.torus(1.0, 0.3)
    points = np.random.default_rng(1).uniform(-1.4, 1.4, (200, 3)) * (1.0, 1.0, 0.3)
    radial = np.hypot(points[:, 0], points[:, 1]) - 1.0
    distance = np.hypot(radial, points[:, 2])
    clear = np.abs(distance - 0.3) > 0.02  # of its facets
    found = np.array([winding_number(load_mesh(triangles(mesh)), point) for point in points])
    assert found[clear] == pytest.approx((distance < 0.3).astype(float)[clear], abs=1e-9)
    assert 20 < np.count_nonzero(distance < 0.3) < 180
    assert math.isclose(winding_number(load_mesh(triangles(room())), np.zeros(3)), 0.0, abs_tol=1e-9)
