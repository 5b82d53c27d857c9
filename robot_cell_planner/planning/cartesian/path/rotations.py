"""Rotation matrices and rotation vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....kinematics.ik.seeds import rotation_matrices
from ....trajectory.limits import Array
from . import path_kernels


def rotation_vectors(rotations: Array) -> Array:
    """Return the rotation vectors (..., 3) [rad] of rotation matrices (..., 3, 3)."""
    rows = np.ascontiguousarray(rotations).reshape(-1, 3, 3)
    return path_kernels.rotation_vectors(rows).reshape(rotations.shape[:-1])


def rotation_angles(rotations: Array) -> Array:
    """Return the angles (k,) [rad, 0 to pi] of rotation matrices (k, 3, 3)."""
    return np.asarray(np.linalg.norm(rotation_vectors(rotations), axis=-1))


def rotations_by_vectors(vectors: Array) -> Array:
    """Return the rotation matrices (k, 3, 3) of rotation vectors (k, 3) [rad]."""
    return path_kernels.rotations_by_vectors(np.ascontiguousarray(vectors))


def rotations_by_quaternions(quaternions: Sequence[Sequence[float]]) -> Array:
    """Return the rotation matrices (k, 3, 3) of quaternions (k, 4) (x, y, z, w)."""
    rows = np.asarray(quaternions, dtype=np.float64)
    return rotation_matrices(rows / np.linalg.norm(rows, axis=1, keepdims=True))
