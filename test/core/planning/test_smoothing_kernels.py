"""Steps of smoothing are least-squares solutions; its cost is the sum of squared steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.planning.cartesian.redundancy.self_motion_kernels import smoothing_cost, smoothing_step


@given(st.integers(2, 12), st.integers(1, 3), st.floats(1e-6, 10.0), st.integers(0, 2**32 - 1))
def test_a_step_in_the_null_spaces_minimizes_the_cost(count, size, damping, seed):
    """The step equals numpy's least-squares solution for all joint steps and damped coordinates."""
    rng, n = np.random.default_rng(seed), 7
    path, stiffness = rng.normal(size=(count, n)), rng.uniform(0.1, 2.0, count - 1)
    bases = np.ascontiguousarray(np.linalg.qr(rng.normal(size=(count, n, size)))[0])
    bases[rng.random(count) < 0.2] = 0.0  # such points do not move
    rows, right = [], []
    for k, weight in enumerate(np.sqrt(stiffness)):
        row = np.zeros((n, count, size))
        row[:, k + 1], row[:, k] = weight * bases[k + 1], -weight * bases[k]
        rows.append(row.reshape(n, -1))
        right.append(-weight * (path[k + 1] - path[k]))
    rows.append(np.sqrt(damping) * np.eye(count * size))
    right.append(np.zeros(count * size))
    solved = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0].reshape(count, size)
    expected = np.einsum("kns,ks->kn", bases, solved)
    assert smoothing_step(path, bases, stiffness, damping) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_the_cost_is_the_weighted_sum_of_squared_joint_steps(steps, seed):
    rng = np.random.default_rng(seed)
    path, stiffness = rng.normal(size=(steps + 1, 6)), rng.uniform(0.1, 2.0, steps)
    expected = float(stiffness @ (np.diff(path, axis=0) ** 2).sum(axis=1))
    assert smoothing_cost(path, stiffness) == pytest.approx(expected, rel=1e-12)
