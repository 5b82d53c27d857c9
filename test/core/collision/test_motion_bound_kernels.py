"""A cylinder in the frame of the parent joint contains the cylinder that it is computed for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_cell_planner.collision.certification._kernels.motion_bound_kernels import cylinders_in_parent
from robot_cell_planner.collision.certification.joint_tree import RING, SIDES

SAMPLES = 2000


@given(st.floats(0.0, 2.0), st.floats(-1.0, 1.0), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
def test_a_cylinder_about_the_parent_axis_contains_all_points_of_the_first(radius, low, height, seed):
    rng = np.random.default_rng(seed)
    placement = np.eye(4)
    placement[:3, :3], placement[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1.0, 1.0, 3)
    found = [np.array([value]) for value in (radius, low, low + height)]
    cylinders_in_parent(*found, placement, RING)
    outer, bottom, top = (float(values[0]) for values in found)
    angles, heights = rng.uniform(0.0, 2.0 * math.pi, SAMPLES), rng.choice((low, low + height), SAMPLES)
    points = np.column_stack((radius * np.cos(angles), radius * np.sin(angles), heights))
    moved = points @ placement[:3, :3].T + placement[:3, 3]
    reach = np.hypot(moved[:, 0], moved[:, 1])
    assert reach.max() <= outer + 1e-12
    assert bottom - 1e-12 <= moved[:, 2].min() <= moved[:, 2].max() <= top + 1e-12
    # The polygon exceeds the circle by this factor at its corners; the samples miss little.
    more = radius * (1.0 / math.cos(math.pi / SIDES) - 1.0) + 0.02 * radius + 1e-12
    assert outer - reach.max() <= more
    assert top - bottom <= np.ptp(moved[:, 2]) + 2.0 * more


@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_a_turn_about_the_common_axis_changes_nothing_but_the_polygon(turn):
    placement = np.eye(4)
    placement[:3, :3] = Rotation.from_rotvec((0.0, 0.0, turn)).as_matrix()
    radius, low, high = np.array([0.3]), np.array([-0.1]), np.array([0.2])
    cylinders_in_parent(radius, low, high, placement, RING)
    assert radius[0] == pytest.approx(0.3 / math.cos(math.pi / SIDES), rel=1e-12)
    assert (low[0], high[0]) == pytest.approx((-0.1, 0.2), rel=1e-12)
