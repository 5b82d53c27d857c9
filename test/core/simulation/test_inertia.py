"""The inertia of parts that are fixed to each other does not depend on their division."""

import numpy as np
import pytest
from simulation_cells import box, point_mass, solid

from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.simulation.multibody.inertia import SMALLEST_RADIUS, combined

TILTED = Pose.from_rpy((0.3, -0.2, 0.5), (0.4, -0.7, 1.1))


def tensor(properties, at):
    """Inertia about a point, along the axes of the part."""
    axes = properties.frame.matrix[:3, :3]
    arm = np.array(properties.frame.position) - at
    spread = arm @ arm * np.eye(3) - np.outer(arm, arm)
    return axes @ np.diag(properties.moments) @ axes.T + properties.mass * spread


def test_a_box_cut_in_two_has_the_same_inertia():
    whole = combined([(TILTED, solid([box(0.2, 0.3, 0.4)], 2.4))])
    half = solid([box(0.1, 0.3, 0.4)], 1.2)
    parts = combined([(TILTED @ Pose((0.05, 0.0, 0.0)), half), (TILTED @ Pose((-0.05, 0.0, 0.0)), half)])
    assert parts.mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(parts.frame.position, whole.frame.position, atol=1e-12)
    np.testing.assert_allclose(sorted(parts.moments), sorted(whole.moments), rtol=1e-9)
    np.testing.assert_allclose(tensor(parts, np.zeros(3)), tensor(whole, np.zeros(3)), rtol=1e-9)


def test_moments_are_those_of_the_textbook():
    moments = combined([(IDENTITY, solid([box(0.2, 0.3, 0.4)], 12.0))]).moments
    np.testing.assert_allclose(sorted(moments), sorted((0.3**2 + 0.4**2, 0.2**2 + 0.4**2, 0.2**2 + 0.3**2)), rtol=1e-9)


def test_axes_are_right_handed():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        pieces = [(Pose(tuple(generator.uniform(-1, 1, 3))), point_mass(1.0, (0.0, 0.0, 0.0))) for _ in range(4)]
        rotation = combined(pieces).frame.matrix[:3, :3]
        assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_a_point_mass_has_a_small_inertia():
    assert combined([(IDENTITY, point_mass(2.0, (1.0, 0.0, 0.0)))]).moments == (2.0 * SMALLEST_RADIUS**2,) * 3


def test_an_empty_object_has_no_mass():
    assert combined([]).mass == 0.0
