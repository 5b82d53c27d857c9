"""Manipulability in the constrained directions of a task, from the singular values of the constrained rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinematic_cells import arm

from robot_cell_planner.kinematics._kernels.manipulability_kernels import determinant, manipulabilities
from robot_cell_planner.kinematics.forward import chain_to

NAMES = ("ur5", "panda")


@given(st.integers(1, 6), st.integers(0, 10_000), st.booleans())
def test_determinants_are_those_of_linear_algebra(size, seed, singular):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((size, size)) < 0.3, 0.0, rng.normal(size=(size, size)))
    if singular:
        matrix[-1] = matrix[0] if size > 1 else 0.0
    assert determinant(matrix.copy()) == pytest.approx(np.linalg.det(matrix), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("free", ["", "x", "z", "yz", "xyz"])
@pytest.mark.parametrize("joints", [3, 4, 5, 7])
def test_it_is_the_product_of_the_singular_values_of_the_constrained_rows(name, free, joints):
    cell = arm(name)
    state = cell.default_state()
    variables = cell.group().variables[:joints]
    chain = chain_to(cell, state, cell.tip_link(), variables)
    weights = np.array([0.0 if axis in free else 1.0 for axis in "xyz"])
    configurations = np.random.default_rng(joints).uniform(-2.0, 2.0, (20, len(variables)))
    found = manipulabilities(chain.table, configurations, weights)
    for q, value in zip(configurations, found.tolist(), strict=True):
        jacobian, rotation = chain.jacobian(q.copy()), chain.forward(q.copy())[:3, :3]
        in_tip = np.vstack((jacobian[:3], rotation.T @ jacobian[3:]))
        rows = in_tip[[True, True, True, *(weights > 0.0)]]
        assert value == pytest.approx(
            np.linalg.svd(rows, compute_uv=False).prod(), rel=1e-6, abs=1e-7
        )  # the root of a rounding error
