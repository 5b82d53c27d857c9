"""Null spaces of Jacobians are compared with the singular value decomposition."""

import numpy as np
import pytest

from robot_cell_planner.planning.cartesian.redundancy.self_motion_kernels import find_null_spaces


def bases_of(jacobians, redundancy):
    found = np.empty((len(jacobians), jacobians.shape[2], redundancy))
    find_null_spaces(jacobians, found)
    return found


@pytest.mark.parametrize(("rows", "joints"), [(5, 6), (6, 7), (5, 7), (3, 6), (6, 9)])
@pytest.mark.parametrize("free", [0, 1])
def test_bases_are_orthonormal_and_span_the_null_space(rows, joints, free):
    """Also with rows of zeros, as for the free axes of a task."""
    jacobians = np.random.default_rng(rows * joints).normal(size=(50, rows, joints))
    jacobians[:, :free] = 0.0
    redundancy = joints - rows + free
    bases = bases_of(jacobians, redundancy)
    np.testing.assert_allclose(jacobians @ bases, 0.0, atol=1e-12)
    identity = np.broadcast_to(np.eye(redundancy), (50, redundancy, redundancy))
    np.testing.assert_allclose(np.swapaxes(bases, 1, 2) @ bases, identity, atol=1e-12)
    truth = np.swapaxes(np.linalg.svd(jacobians)[2][:, -redundancy:], 1, 2)
    np.testing.assert_allclose(bases @ np.swapaxes(bases, 1, 2), truth @ np.swapaxes(truth, 1, 2), atol=1e-10)


def test_at_a_singularity_the_basis_is_in_the_larger_null_space():
    random = np.random.default_rng(1)
    jacobians = random.normal(size=(50, 6, 4)) @ random.normal(size=(50, 4, 7))
    bases = bases_of(jacobians, 1)
    np.testing.assert_allclose(jacobians @ bases, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(bases, axis=1), 1.0, atol=1e-12)


def test_nothing_moves_the_task():
    assert bases_of(np.zeros((1, 6, 7)), 1)[0, :, 0].tolist() == [0.0] * 6 + [1.0]
