"""Fitted pieces of a decomposition are within the hull of the mesh and still contain their part of the mesh."""

import numpy as np
import pytest
import trimesh

from robot_cell_planner.io.mesh.decomposition import _joined, _split, convex_pieces
from robot_cell_planner.io.mesh.loading import MeshData, convex_hull
from robot_cell_planner.io.mesh.piece_fitting import fitted_pieces
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


def fork():
    """A U of two prongs on a bar of 0.05 m; the gap is 0.1 m wide and 0.15 m deep, all parts are 0.1 m thick."""
    outline = [(-0.1, 0), (0.1, 0), (0.1, 0.2), (0.05, 0.2), (0.05, 0.05), (-0.05, 0.05), (-0.05, 0.2), (-0.1, 0.2)]
    faces = [(0, 1, 5), (1, 4, 5), (1, 2, 4), (2, 3, 4), (0, 5, 7), (5, 6, 7)]
    return trimesh.creation.extrude_triangulation(np.array(outline), np.array(faces), 0.1)


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
    """The intersection of the mesh (a closed formula) and a random box is in the fitted piece, which is in the box."""
    generator = np.random.default_rng(1)
    if shape == "sphere":
        mesh = trimesh.creation.icosphere(subdivisions=4, radius=1.0)
    else:
        mesh = trimesh.creation.torus(1.0, 0.4, major_sections=96, minor_sections=48)
    for _ in range(25):
        box = trimesh.creation.box(generator.uniform(0.2, 1.5, 3))
        box.apply_transform(trimesh.transformations.random_rotation_matrix(generator.random(3)))
        box.apply_translation(generator.uniform(-1.0, 1.0, 3))
        piece = data_of(box)
        found = fitted_pieces((piece,), data_of(mesh))
        points = generator.dirichlet(np.ones(8), 3000) @ box.vertices
        radial = np.linalg.norm(points[:, :2], axis=1) - 1.0
        depths = 1.0 - np.linalg.norm(points, axis=1) if shape == "sphere" else 0.4 - np.hypot(radial, points[:, 2])
        solid = points[depths > 0.01]  # of the facets of the mesh
        if found == (piece,):
            continue  # nothing of the mesh is in it
        assert beyond(found[0].vertices, piece).max() < 1e-8
        assert not len(solid) or beyond(solid, found[0]).max() < 1e-8


def test_a_piece_without_any_of_the_mesh_is_left_out_and_a_flat_part_stays_thick():
    sheet = trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    thick, away = trimesh.creation.box((2.0, 2.0, 0.1)), trimesh.creation.box((1.0, 1.0, 1.0))
    away.apply_translation((5.0, 0.0, 0.0))
    pieces = (data_of(thick), data_of(away))
    assert fitted_pieces(pieces, data_of(sheet)) == pieces[:1]
    assert fitted_pieces(pieces[1:], data_of(sheet)) == pieces[1:]  # instead of no piece


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
