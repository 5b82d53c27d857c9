"""Collision geometries and convex decompositions; invalid geometry is refused with the name of its object."""

import numpy as np
import pytest
import trimesh
from collision_cells import arm, body, box, bracket, gripper, make_cell, mechanism
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.geometry.collision_geometry import (
    ConvexGeometry,
    Surface,
    collision_geometries,
    local_bounds,
    prepare_geometry,
)
from robot_cell_planner.errors import GeometryError, InvalidValueError
from robot_cell_planner.io.mesh import decomposition
from robot_cell_planner.io.mesh.decomposition import convex_pieces
from robot_cell_planner.model.bodies import rigid_tool
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.robot import PlanningGroup, Robot

FLAT = Triangles(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ((0, 1, 2),))


@pytest.mark.parametrize(
    ("solid", "half"),
    [
        (Box((0.2, 0.4, 0.6)), (0.1, 0.2, 0.3)),
        (Sphere(0.3), (0.3, 0.3, 0.3)),
        (Cylinder(0.1, 0.6), (0.1, 0.1, 0.3)),
        (Cone(0.1, 0.6), (0.1, 0.1, 0.3)),
        (Capsule(0.1, 0.6), (0.1, 0.1, 0.4)),
    ],
)
def test_primitives_remain_primitives(solid, half):
    assert collision_geometries(solid) == (solid,)
    low, high = local_bounds(solid)
    assert high == pytest.approx(half)
    assert low == pytest.approx(np.negative(half))


def test_the_collision_geometry_of_a_mesh_follows_its_use():
    (hull,) = collision_geometries(bracket(use=MeshUse.HULL))
    (surface,) = collision_geometries(bracket(use=MeshUse.EXACT))
    pieces = collision_geometries(bracket(use=MeshUse.DECOMPOSITION))
    assert isinstance(hull, ConvexGeometry)
    assert isinstance(surface, Surface)
    assert len(pieces) > 1
    assert all(isinstance(piece, ConvexGeometry) for piece in pieces)
    for solid in (hull, surface):
        low, high = local_bounds(solid)
        assert low == pytest.approx((-0.17, -0.15, -0.02))
        assert high == pytest.approx((0.15, 0.15, 0.3))


def test_pieces_are_convex_and_follow_the_mesh():
    mesh = bracket()
    pieces = [trimesh.Trimesh(p.vertices, p.faces, process=False) for p in convex_pieces(mesh)]
    assert all(piece.is_convex and piece.is_watertight for piece in pieces)
    assert all(piece.volume > 0.0 for piece in pieces)
    # Every corner of the mesh lies within a few hundredths of its size of a piece, and its hollow is free.
    corners = [min(outside(piece, corner) for piece in pieces) for corner in np.array(mesh.vertices)]
    assert np.abs(corners).max() < 0.02
    for hollow in ((0.05, 0.0, 0.15), (0.1, 0.1, 0.1)):
        assert min(outside(piece, np.array(hollow)) for piece in pieces) > 0.02


def outside(piece, point):
    """A lower bound of the distance of a point from a convex mesh, by its face planes; negative inside."""
    return float(((point - piece.triangles[:, 0]) * piece.face_normals).sum(axis=1).max())


def test_a_decomposition_is_reproducible_and_cached(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBOT_CELL_PLANNER_CACHE", str(tmp_path))
    mesh = bracket(0.25)
    first = convex_pieces.__wrapped__(mesh)
    monkeypatch.setattr(decomposition, "_decompose", None)  # from here on nothing is computed
    kept = convex_pieces.__wrapped__(mesh)
    monkeypatch.undo()
    monkeypatch.setenv("ROBOT_CELL_PLANNER_CACHE", "")
    again = convex_pieces.__wrapped__(mesh)
    for other in (kept, again):
        assert len(other) == len(first)
        for one, two in zip(first, other, strict=True):
            assert np.array_equal(one.vertices, two.vertices)
            assert np.array_equal(one.faces, two.faces)


def test_too_many_faces_are_refused(monkeypatch):
    monkeypatch.setattr(decomposition, "MAX_FACES", 3)
    with pytest.raises(GeometryError, match="24 faces, expected at most 3"):
        convex_pieces.__wrapped__(bracket(0.26))


def test_a_decomposition_that_fails_is_an_error(monkeypatch):
    monkeypatch.setattr(decomposition, "WORKER", "robot_cell_planner.no_such_worker")
    with pytest.raises(GeometryError, match=r"V-HACD failed with status 1.*No module named"):
        convex_pieces.__wrapped__(bracket(0.27))


@pytest.mark.parametrize("name", ["table", "sheet_metal/body", "plate"])
def test_bad_geometry_is_refused_by_its_name(name):
    bodies = [body("table", box(1.0, 1.0, 0.1), *([Shape(FLAT)] if name == "table" else []))]
    tools = [rigid_tool("sheet_metal", (Shape(FLAT),))] if name == "sheet_metal/body" else [gripper()]
    links = {"plate": [Shape(FLAT)] if name == "plate" else []}
    group = PlanningGroup("none", (), base_link="plate", tip_link="plate")
    extra = Robot("extra", mechanism("extra", links, []), frozendict({"none": group}))
    with pytest.raises(GeometryError, match=rf"^convex hull: {name}: .* is flat") as caught:
        prepare_geometry(make_cell((arm(), extra), tools, bodies))
    assert caught.value.subjects[0] == name


def triangles(mesh, faces, use):
    return Triangles(tuple(map(tuple, mesh.vertices.tolist())), tuple(map(tuple, faces.tolist())), use)


@pytest.mark.parametrize("use", [MeshUse.EXACT, MeshUse.DECOMPOSITION])
def test_degenerate_triangles_are_refused_with_the_name_of_their_object(use):
    cube = trimesh.creation.box((0.1, 0.2, 0.3))
    inwards, thin = cube.faces[:, ::-1], np.column_stack((cube.faces[:, 0], cube.faces[:, :2]))
    for faces, message in ((inwards, "point inwards"), (thin, "has an area")):
        cell = make_cell((arm(),), (), (body("crate", Shape(triangles(cube, faces, use))),))
        for use_of_cell in (prepare_geometry, lambda cell: CollisionChecker(cell, cell.default_state())):
            with pytest.raises(GeometryError, match=rf"^triangles: crate: .*{message}") as caught:
                use_of_cell(cell)
            assert caught.value.subjects[0] == "crate"


@pytest.mark.parametrize("use", [MeshUse.EXACT, MeshUse.DECOMPOSITION])
def test_an_open_mesh_has_no_side_that_its_faces_must_point_to(use):
    cube = trimesh.creation.box((0.1, 0.2, 0.3))
    cell = make_cell((arm(),), (), (body("crate", Shape(triangles(cube, cube.faces[1:, ::-1], use))),))
    prepare_geometry(cell)


def test_the_orientation_of_triangles_does_not_matter_to_their_hull():
    cube = trimesh.creation.box((0.1, 0.2, 0.3))
    (one,), (other,) = (
        collision_geometries(triangles(cube, faces, MeshUse.HULL)) for faces in (cube.faces, cube.faces[:, ::-1])
    )
    assert local_bounds(one)[0].tolist() == local_bounds(other)[0].tolist()


def test_an_open_surface_is_accepted():
    cube = trimesh.creation.box((0.1, 0.2, 0.3))
    (found,) = collision_geometries(triangles(cube, cube.faces[:-2, ::-1], MeshUse.EXACT))
    assert isinstance(found, Surface)


def test_good_geometry_passes():
    prepare_geometry(make_cell((arm(),), (gripper(),), (body("bracket", Shape(bracket())),)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box((0.1, -0.1, 0.1)),
        lambda: Box((0.1, 0.0, 0.1)),
        lambda: Sphere(float("nan")),
        lambda: Sphere(float("inf")),
        lambda: Cylinder(0.1, 1e9),
        lambda: Capsule(-0.1, 0.2),
        lambda: Cone(0.0, 0.1),
        lambda: Triangles(((0.0, 0.0, 0.0),), ((0, 0, 0),)),
        lambda: Triangles(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, float("nan"), 0.0)), ((0, 1, 2),)),
        lambda: Triangles(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ((0, 1, 3),)),
    ],
)
def test_invalid_sizes_and_meshes_never_become_a_geometry(make):
    with pytest.raises(ValueError, match="expected"):
        make()


def test_the_index_of_a_vertex_is_no_boolean():
    with pytest.raises(InvalidValueError, match="face 0 is"):
        Triangles(FLAT.vertices, ((0, True, 2),))
