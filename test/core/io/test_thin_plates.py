"""Thin plates are decomposed under a map that scales their thickness, for which V-HACD ends soon."""

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull

from robot_cell_planner.io.mesh.concavity import concavity
from robot_cell_planner.io.mesh.decomposition import convex_pieces
from robot_cell_planner.io.mesh.thin_plates import plate_scaling
from robot_cell_planner.model.geometry import Triangles

TURN = trimesh.transformations.rotation_matrix(0.7, (1.0, 2.0, 0.5))[:3, :3]


def ring(height, turn):
    mesh = trimesh.creation.annulus(0.03, 0.05, height, sections=24)
    return Triangles(tuple(map(tuple, (mesh.vertices @ turn.T).tolist())), tuple(map(tuple, mesh.faces.tolist())))


@pytest.mark.parametrize("turn", [np.eye(3), TURN])
@pytest.mark.parametrize("height", [0.01, 1e-3])
def test_a_thin_ring_is_decomposed_and_keeps_its_hole(height, turn):
    mesh = ring(height, turn)
    pieces = convex_pieces(mesh)
    assert len(pieces) > 1
    points = np.vstack([piece.vertices for piece in pieces]) @ turn
    assert np.abs(points[:, 2]).max() == pytest.approx(height / 2, rel=1e-6)
    assert np.linalg.norm(points[:, :2], axis=1).max() == pytest.approx(0.05, rel=1e-6)
    assert concavity(mesh).filled > 0.1
    planes = [ConvexHull(piece.vertices).equations for piece in pieces]
    corners = np.array(mesh.vertices)
    assert np.min([(corners @ p[:, :3].T + p[:, 3]).max(axis=1) for p in planes], axis=0).max() < 1e-6


@pytest.mark.parametrize("height", [0.01, 0.02])
def test_the_pieces_of_a_plate_do_not_depend_on_its_thickness(height):
    thin, thick = convex_pieces(ring(1e-3, np.eye(3))), convex_pieces(ring(height, np.eye(3)))
    for piece, other in zip(thin, thick, strict=True):
        assert other.vertices == pytest.approx(piece.vertices * (1.0, 1.0, height / 1e-3), abs=1e-8)


@pytest.mark.parametrize("turn", [np.eye(3), TURN])
def test_a_plate_becomes_as_thick_as_wide(turn):
    vertices = np.array(ring(1e-3, turn).vertices)
    scaling = plate_scaling(vertices)
    assert np.allclose(scaling, scaling.T)
    assert np.linalg.eigvalsh(scaling)[:2] == pytest.approx([1.0, 1.0])
    variances = np.linalg.eigvalsh(np.cov((vertices @ scaling).T))
    assert variances[0] == pytest.approx(variances[1])


@pytest.mark.parametrize("size", [(1.0, 1.0, 1.0), (0.05, 0.05, 1.0), (0.6, 1.0, 1.0)])
def test_blocks_and_rods_are_not_stretched(size):
    corners = np.array(trimesh.creation.box(size).vertices)
    assert plate_scaling(corners) is None
