"""Offsets of planes around many points, which are compared in blocks, against products with all points."""

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.collision.sphere_model.support import FEW_POINTS, _offsets, offsets_of


@given(
    st.integers(1, 3 * FEW_POINTS),
    st.integers(0, 2**32 - 1),
    st.sampled_from((0.0, 1e-9, 1.0, 1e6)),
    st.sampled_from((1e-6, 1.0)),
)
def test_offsets_are_the_largest_products_with_all_points(count, seed, far, flat):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(count, 3)) * (1.0, 1.0, flat) + far * generator.normal(size=3)
    normals = generator.normal(size=(20, 3))
    normals = np.vstack([normals / np.linalg.norm(normals, axis=1)[:, None], np.eye(3), -np.eye(3)])
    found = offsets_of(normals, points)
    np.testing.assert_array_equal(found, _offsets(normals, points))
    np.testing.assert_allclose(found, (normals @ points.T).max(axis=1), rtol=0.0, atol=1e-12 * max(far, 10.0))


@pytest.mark.parametrize("points", [FEW_POINTS + 1, 10 * FEW_POINTS])
def test_equal_points_have_one_offset(points):
    normals = trimesh.creation.icosphere(subdivisions=1).vertices
    found = offsets_of(np.ascontiguousarray(normals), np.full((points, 3), 0.5))
    np.testing.assert_allclose(found, normals.sum(axis=1) / 2.0, atol=1e-12)
