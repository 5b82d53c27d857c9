"""Compiled manipulability of configurations in the constrained directions of a task."""

from __future__ import annotations

import math

import numpy as np

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled
from .chain_kernels import Array, fill_jacobian, forward_pass
from .pose_error_kernels import all_fixed, remove_free_rotations


@compiled
def manipulabilities(chain: Array, configurations: Array, rotation_weights: Array) -> Array:
    """Compute sqrt(det(J J^T)) for configurations (k, n), or sqrt(det(J^T J)) if n is less than the number of
    constrained directions: (k,). rotation_weights: (3,), 0 for free rotations about axes of the tip.
    """
    configurations = borrowed(configurations)
    count, n = configurations.shape
    directions = 3 + np.count_nonzero(rotation_weights)
    rows, size = chain.shape[0], n if n < directions else 6
    origins, axes, pose = np.empty((rows, 3)), np.empty((rows, 3)), np.empty((4, 4))
    jacobian, square, result = np.empty((6, n)), np.empty((size, size)), np.empty(count)
    is_free = not all_fixed(rotation_weights)
    for k in range(count):
        forward_pass(chain, configurations[k], origins, axes, pose)
        fill_jacobian(chain, origins, axes, pose, jacobian)
        if is_free:
            remove_free_rotations(pose, pose, rotation_weights, jacobian)
        for i in range(size):
            for j in range(size):
                square[i, j] = 0.0
                for m in range(6 if n < directions else n):
                    square[i, j] += (
                        jacobian[m, i] * jacobian[m, j] if n < directions else jacobian[i, m] * jacobian[j, m]
                    )
        for axis in range(3):
            if rotation_weights[axis] == 0.0 and n >= directions:
                # The free direction has no row: with an eigenvalue of 1, the product of the others remains.
                for i in range(3):
                    for j in range(3):
                        square[3 + i, 3 + j] += pose[i, axis] * pose[j, axis]
        result[k] = math.sqrt(max(determinant(square), 0.0))
    return result


@compiled
def determinant(matrix: Array) -> float:
    """Compute the determinant of a matrix (n, n), which is overwritten, by elimination with pivots."""
    n, found = matrix.shape[0], 1.0
    for column in range(n):
        pivot = column
        for row in range(column + 1, n):
            if abs(matrix[row, column]) > abs(matrix[pivot, column]):
                pivot = row
        if matrix[pivot, column] == 0.0:
            return 0.0
        if pivot != column:
            found = -found
            for j in range(column, n):
                matrix[column, j], matrix[pivot, j] = matrix[pivot, j], matrix[column, j]
        found *= matrix[column, column]
        for row in range(column + 1, n):
            factor = matrix[row, column] / matrix[column, column]
            for j in range(column + 1, n):
                matrix[row, j] -= factor * matrix[column, j]
    return found
