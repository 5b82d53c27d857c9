"""Rotations of Cartesian paths are compared with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_cell_planner.planning.cartesian.path.curves import deviations
from robot_cell_planner.planning.cartesian.path.rotations import (
    rotation_angles,
    rotation_vectors,
    rotations_by_quaternions,
    rotations_by_vectors,
)

ANGLES = (0.0, 1e-12, 1e-8, 9e-5, 1.1e-4, 1e-3, 0.1, 1.0, 2.0, 3.0, np.pi - 1e-6, np.pi - 1e-10)


@pytest.mark.parametrize("angle", ANGLES)
def test_rotation_vectors_are_those_of_scipy_at_all_angles(angle: float) -> None:
    axes = np.random.default_rng(0).normal(size=(200, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    axes[:3] = np.eye(3)
    rotations = Rotation.from_rotvec(angle * axes)
    matrices = rotations_by_vectors(angle * axes)
    np.testing.assert_allclose(matrices, rotations.as_matrix(), atol=1e-15)
    np.testing.assert_allclose(rotation_angles(matrices), angle, atol=4e-15)
    # Rounding of the matrix moves the axis of half a turn to its opposite at most.
    np.testing.assert_allclose(rotation_vectors(matrices), angle * axes, atol=2e-15 if angle < 3.0 else 1e-9)


def test_quaternions_of_any_length_give_rotations() -> None:
    quaternions = np.random.default_rng(1).normal(size=(50, 4))
    expected = Rotation.from_quat(quaternions).as_matrix()
    np.testing.assert_allclose(rotations_by_quaternions(quaternions.tolist()), expected, atol=1e-15)


def test_one_rotation_and_stacks_of_rotations_are_accepted() -> None:
    matrices = Rotation.random(6, random_state=2).as_matrix().reshape(2, 3, 3, 3)
    stacked = rotation_vectors(matrices)
    assert stacked.shape == (2, 3, 3)
    np.testing.assert_array_equal(rotation_vectors(matrices[1, 2]), stacked[1, 2])
    np.testing.assert_array_equal(rotation_vectors(np.swapaxes(matrices, 2, 3)), -stacked)


def test_deviations_leave_out_the_direction_of_the_path_and_the_free_rotation() -> None:
    turned = Rotation.from_rotvec((0.0, 0.0, 0.3)).as_matrix()
    reference, poses = np.eye(4)[None], np.eye(4)[None].copy()
    poses[0, :3, :3] = turned @ Rotation.from_rotvec((0.2, 0.0, 0.0)).as_matrix()
    poses[0, :3, 3] = 0.5, 0.03, 0.04
    along_x = np.array([[1.0, 0.0, 0.0]])
    distances, angles = deviations(reference, along_x, poses, (2,))
    np.testing.assert_allclose((distances[0], angles[0]), (0.05, 0.2), atol=1e-15)
    distances, angles = deviations(reference, 0.0 * along_x, poses)
    whole = 2.0 * np.arccos(np.cos(0.15) * np.cos(0.1))
    np.testing.assert_allclose((distances[0], angles[0]), (np.sqrt(0.2525), whole), atol=1e-15)
