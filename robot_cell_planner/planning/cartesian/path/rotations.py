"""Rotation matrices and rotation vectors, by SciPy.

SciPy's rotations take 0.3 s to import. Workers import them in advance; a node that only passes requests on to them does
not need them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....trajectory.limits import Array


def rotation_vectors(rotations: Array) -> Array:
    """Return the rotation vectors (..., 3) [rad] of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(rotations).as_rotvec())


def rotation_angles(rotations: Array) -> Array:
    """Return the angles (k,) [rad, 0 to pi] of rotation matrices (k, 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(rotations).magnitude())


def rotations_by_vectors(vectors: Array) -> Array:
    """Return the rotation matrices (k, 3, 3) of rotation vectors (k, 3) [rad]."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(vectors).as_matrix())


def rotations_by_quaternions(quaternions: Sequence[Sequence[float]]) -> Array:
    """Return the rotation matrices (k, 3, 3) of quaternions (k, 4) (x, y, z, w)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(quaternions).as_matrix())
