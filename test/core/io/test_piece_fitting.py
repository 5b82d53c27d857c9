"""Fitted pieces of a decomposition are within the hull of the mesh and contain its surface."""

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull

from robot_cell_planner.io.mesh import planar_faces
from robot_cell_planner.io.mesh.decomposition import _joined, _split, convex_pieces
from robot_cell_planner.io.mesh.loading import MeshData, convex_hull
from robot_cell_planner.io.mesh.piece_fitting import fitted_pieces
from robot_cell_planner.io.mesh.triangle_clipping import triangles_outside, triangles_within
from robot_cell_planner.model.geometry import MeshUse, Triangles


def data_of(mesh):
    return MeshData(np.array(mesh.vertices, float), np.array(mesh.faces, np.int32))


def triangles_of(mesh):
    return Triangles(
        tuple(map(tuple, mesh.vertices.tolist())), tuple(map(tuple, mesh.faces.tolist())), MeshUse.DECOMPOSITION
    )


def beyond(points, piece):
    """Distance of points (n, 3) beyond the face planes of a convex piece (n,); negative inside."""
    mesh = trimesh.Trimesh(piece.vertices, piece.faces, process=False)
    return ((points[:, None] - mesh.triangles[None, :, 0]) * mesh.face_normals).sum(axis=2).max(axis=1)


def beyond_hulls(points, pieces):
    """Distance of points (n, 3) beyond the planes of the nearest of several convex pieces, by scipy's hulls (n,)."""
    planes = [ConvexHull(piece.vertices).equations for piece in pieces]
    return np.min([(points @ plane[:, :3].T + plane[:, 3]).max(axis=1) for plane in planes], axis=0)


def surface_points(mesh):
    return np.vstack([mesh.vertices, mesh.sample(20_000, seed=1)])


def fork():
    """A U of two prongs on a bar of 0.05 m; the gap is 0.1 m wide and 0.15 m deep, all parts are 0.1 m thick."""
    outline = [(-0.1, 0), (0.1, 0), (0.1, 0.2), (0.05, 0.2), (0.05, 0.05), (-0.05, 0.05), (-0.05, 0.2), (-0.1, 0.2)]
    faces = [(0, 1, 5), (1, 4, 5), (1, 2, 4), (2, 3, 4), (0, 5, 7), (5, 6, 7)]
    return trimesh.creation.extrude_triangulation(np.array(outline), np.array(faces), 0.1)


def sphere_on_a_rod():
    sphere = trimesh.creation.icosphere(subdivisions=3, radius=0.08).apply_translation((0.0, 0.1, 0.1))
    return trimesh.util.concatenate([trimesh.creation.cylinder(0.05, 0.3, sections=48), sphere])


def pin_on_a_plate():
    pin = trimesh.creation.cylinder(0.003, 0.2, sections=16).apply_translation((0.1, 0.1, 0.1))
    return trimesh.util.concatenate([trimesh.creation.box((0.3, 0.3, 0.05)), pin])


def open_pipe():
    pipe = trimesh.creation.cylinder(0.05, 0.3, sections=32)
    pipe.update_faces(np.abs(pipe.face_normals[:, 2]) < 0.5)
    pipe.remove_unreferenced_vertices()
    return pipe


SURFACES = {
    "fork": fork,
    "ring": lambda: trimesh.creation.torus(0.1, 0.03),
    "tube": lambda: trimesh.creation.annulus(0.06, 0.1, 0.15, sections=64),
    "sphere on a rod": sphere_on_a_rod,
    "pin on a plate": pin_on_a_plate,
    "open pipe": open_pipe,
}


@pytest.mark.parametrize("shape", SURFACES)
def test_pieces_contain_the_surface_of_the_mesh(shape):
    """V-HACD leaves up to 1.2 mm of these outside: a motion would be free through a part of the mesh."""
    mesh = SURFACES[shape]()
    mesh.apply_transform(trimesh.transformations.euler_matrix(0.3, 0.5, 0.7))
    pieces = convex_pieces(triangles_of(mesh))
    assert len(pieces) > 1
    assert beyond_hulls(surface_points(mesh), pieces).max() < 1e-6


def test_surface_that_no_piece_contains_is_added_to_the_nearest_one():
    """Two boxes along the legs of a bracket, which lack 20 and 30 mm of their tips."""
    outline = np.array([(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.3), (0, 0.3)])
    bracket = trimesh.creation.extrude_triangulation(outline, [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)], 0.1)
    ends = ((0.28, 0.1, 0.2), (0.1, 0.27, 0.2))
    boxes = [data_of(trimesh.creation.box(bounds=((-0.1, -0.1, -0.2), end))) for end in ends]
    assert beyond_hulls(surface_points(bracket), boxes).max() == pytest.approx(0.03)
    first, second = fitted_pieces(tuple(boxes), data_of(bracket))
    assert beyond_hulls(surface_points(bracket), (first, second)).max() < 1e-9
    assert np.allclose([first.vertices.min(axis=0), first.vertices.max(axis=0)], [(0, 0, 0), (0.3, 0.1, 0.1)])
    assert np.allclose([second.vertices.min(axis=0), second.vertices.max(axis=0)], [(0, 0, 0), (0.1, 0.3, 0.1)])


@pytest.mark.parametrize("seed", range(10))
def test_triangles_are_cut_by_a_convex_mesh_into_the_parts_within_and_outside(seed):
    generator = np.random.default_rng(seed)
    piece = convex_hull(generator.normal(0.0, 0.5, (12, 3)), "piece")
    triangles = generator.normal(0.0, 0.7, (40, 3, 3))
    within, outside = triangles_within(triangles, piece, 0.0), triangles_outside(triangles, piece, 0.0)

    def area(parts):
        return np.linalg.norm(np.cross(parts[:, 1] - parts[:, 0], parts[:, 2] - parts[:, 0]), axis=1).sum() / 2

    assert area(within) + area(outside) == pytest.approx(area(triangles))
    assert beyond_hulls(within.reshape(-1, 3), [piece]).max() < 1e-12
    assert beyond_hulls(outside.mean(axis=1), [piece]).min() > -1e-12
    assert len(within)


def test_distances_beyond_a_convex_mesh_are_those_of_its_planes(monkeypatch):
    generator = np.random.default_rng(3)
    piece, points = convex_hull(generator.normal(size=(30, 3)), "piece"), generator.normal(size=(500, 3))
    expected = beyond_hulls(points, [piece])
    for at_once in (planar_faces.MAX_VALUES, 20):
        monkeypatch.setattr(planar_faces, "MAX_VALUES", at_once)
        assert planar_faces.distances_beyond(points, piece.vertices[piece.faces]) == pytest.approx(expected)


@pytest.mark.parametrize("shape", ["box", "sphere", "ring"])
def test_pieces_do_not_extend_beyond_the_hull_of_the_mesh(shape):
    mesh = {
        "box": lambda: trimesh.creation.box((0.3, 0.2, 0.1)),
        "sphere": lambda: trimesh.creation.icosphere(subdivisions=3, radius=0.1),
        "ring": lambda: trimesh.creation.torus(0.1, 0.03),
    }[shape]()
    mesh.apply_transform(trimesh.transformations.euler_matrix(0.3, 0.5, 0.7))
    whole = convex_hull(np.array(mesh.vertices), "mesh")
    pieces = convex_pieces(triangles_of(mesh))
    assert max(beyond(piece.vertices, whole).max() for piece in pieces) < 1e-8


def test_the_gap_of_a_fork_is_free_down_to_its_bottom():
    pieces = convex_pieces(triangles_of(fork()))
    grid = np.stack(np.meshgrid(np.linspace(-0.045, 0.045, 9), [0.0501, 0.1, 0.2], np.linspace(0.0, 0.1, 9)), axis=-1)
    assert min(beyond(grid.reshape(-1, 3), piece).min() for piece in pieces) > 0.0
    solid = np.array([(0.0, 0.0499, 0.05), (0.0501, 0.19, 0.05), (-0.0501, 0.19, 0.05)])
    assert np.min([beyond(solid, piece) for piece in pieces], axis=0).max() < 0.0


@pytest.mark.parametrize("shape", ["sphere", "ring"])
def test_a_fitted_piece_contains_the_part_of_the_mesh_in_the_piece(shape):
    """The intersection of the mesh (a closed formula) and a random box is in the fitted piece, which is in the box.

    Another piece contains the whole mesh, so that no surface is left to be added to the box.
    """
    generator = np.random.default_rng(1)
    if shape == "sphere":
        mesh = trimesh.creation.icosphere(subdivisions=4, radius=1.0)
    else:
        mesh = trimesh.creation.torus(1.0, 0.4, major_sections=96, minor_sections=48)
    whole = data_of(trimesh.creation.box((3.0, 3.0, 3.0)))
    for _ in range(25):
        box = trimesh.creation.box(generator.uniform(0.2, 1.5, 3))
        box.apply_transform(trimesh.transformations.random_rotation_matrix(generator.random(3)))
        box.apply_translation(generator.uniform(-1.0, 1.0, 3))
        piece = data_of(box)
        *found, _ = fitted_pieces((piece, whole), data_of(mesh))
        points = generator.dirichlet(np.ones(8), 3000) @ box.vertices
        radial = np.linalg.norm(points[:, :2], axis=1) - 1.0
        depths = 1.0 - np.linalg.norm(points, axis=1) if shape == "sphere" else 0.4 - np.hypot(radial, points[:, 2])
        solid = points[depths > 0.01]  # of the facets of the mesh
        if not found:
            assert not len(solid)
            continue  # nothing of the mesh is in it
        assert beyond(found[0].vertices, piece).max() < 1e-8
        assert not len(solid) or beyond(solid, found[0]).max() < 1e-8


def test_a_piece_without_any_of_the_mesh_is_left_out_and_a_flat_part_stays_thick():
    sheet = trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    thick, away = trimesh.creation.box((2.0, 2.0, 0.1)), trimesh.creation.box((1.0, 1.0, 1.0))
    away.apply_translation((5.0, 0.0, 0.0))
    pieces = (data_of(thick), data_of(away))
    assert fitted_pieces(pieces, data_of(sheet)) == pieces[:1]
    (extended,) = fitted_pieces(pieces[1:], data_of(sheet))  # instead of no piece
    assert beyond_hulls(np.vstack([sheet.vertices, away.vertices]), [extended]).max() < 1e-9


def test_joined_pieces_are_split_again_in_any_order_of_faces():
    generator = np.random.default_rng(2)
    pieces = []
    for _ in range(20):
        piece = convex_hull(generator.random((30, 3)), "piece")
        pieces.append(MeshData(piece.vertices, generator.permutation(piece.faces)))
    again = _split(*_joined(tuple(pieces)))
    assert len(again) == len(pieces)
    for one, two in zip(pieces, again, strict=True):
        assert np.array_equal(one.vertices, two.vertices)
        assert np.array_equal(one.faces, two.faces)


@pytest.mark.parametrize("scale", [0.8, 0.98, 1.001])
@pytest.mark.parametrize("sections", [300, 600])
def test_a_tip_where_more_edges_meet_than_coal_supports_is_divided(scale, sections):
    """A fine cone that extends beyond its piece, a coarse one: the mesh was refused for its hull of too many edges."""
    cone = trimesh.creation.cone(0.1, 0.3, sections=sections)
    cone.apply_transform(trimesh.transformations.euler_matrix(0.3, 0.5, 0.7))
    coarse = trimesh.creation.cone(0.1, 0.3, sections=20)
    coarse.apply_transform(trimesh.transformations.euler_matrix(0.3, 0.5, 0.7))
    coarse.vertices = (coarse.vertices - cone.center_mass) * scale + cone.center_mass
    pieces = fitted_pieces((data_of(coarse),), data_of(cone))
    assert len(pieces) > 1
    assert max(planar_faces.max_neighbours(piece.faces) for piece in pieces) <= planar_faces.MAX_NEIGHBOURS
    generator = np.random.default_rng(2)
    inner = np.einsum("ki,kij->kj", generator.dirichlet(np.ones(4), 2_000), generator.choice(cone.vertices, (2_000, 4)))
    assert beyond_hulls(np.vstack([surface_points(cone), inner]), pieces).max() < 1e-6
    whole = ConvexHull(np.vstack([cone.vertices, coarse.vertices]))
    assert sum(ConvexHull(piece.vertices).volume for piece in pieces) == pytest.approx(whole.volume, rel=1e-3)


def test_a_vertex_that_no_face_uses_does_not_change_the_pieces():
    """It would set the size of the mesh, which points are merged by: here those within 0.1 m."""
    ring, piece = trimesh.creation.torus(0.1, 0.03), data_of(trimesh.creation.box((0.3, 0.3, 0.1)))
    stray = MeshData(np.vstack([ring.vertices, [(1e5, 0.0, 0.0)]]), np.array(ring.faces, dtype=np.int32))
    (expected,), (found,) = fitted_pieces((piece,), data_of(ring)), fitted_pieces((piece,), stray)
    np.testing.assert_array_equal(found.vertices, expected.vertices)


def test_a_vertex_that_no_face_uses_does_not_change_a_decomposition():
    """V-HACD crashes with one that is 3 km away."""
    ring = trimesh.creation.torus(0.1, 0.03, major_sections=16, minor_sections=8)
    faces = tuple(tuple(map(int, face)) for face in ring.faces)
    vertices = tuple(tuple(map(float, vertex)) for vertex in ring.vertices)
    expected, found = (convex_pieces(Triangles(points, faces)) for points in (vertices, (*vertices, (3e3, 0.0, 0.0))))
    assert len(expected) > 1
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one.vertices, other.vertices)
