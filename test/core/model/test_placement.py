"""Poses by plain multiplication agree with the kinematics layer, which uses Pinocchio, for random mechanisms."""

import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from robots import MANIPULATORS
from strategies import mechanisms, poses

from robot_cell_planner.errors import FrameCycleError, UnknownNameError
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.placement import Placements, placements, plane_axes
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.robot import Robot


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(mechanisms(), poses, st.data())
def test_links_of_all_kinds_of_joints(mechanism, base, data):
    cell = RobotCell(robots=frozendict(robot=Robot("robot", mechanism)))
    values = {name: data.draw(st.floats(-3.0, 3.0)) for name in cell.variables}
    state = cell.default_state().with_configuration(values)
    state = type(state)(frozendict(robot=base), state.configuration)
    plain, fast = Placements(placements(cell, state)), WorldTransforms(cell, state)
    for link in mechanism.links:
        expected = fast.matrix(link)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(plain.world(link).matrix / scale, expected / scale, atol=1e-9)


@pytest.mark.parametrize("name", MANIPULATORS)
def test_real_robots(name):
    robot = load_robot("robot", MANIPULATORS[name])
    cell = RobotCell(robots=frozendict(robot=robot))
    state = cell.default_state()
    plain, fast = Placements(placements(cell, state)), WorldTransforms(cell, state)
    for link in robot.mechanism.links:
        np.testing.assert_allclose(plain.world(link).matrix, fast.matrix(link), atol=1e-9)


@pytest.mark.parametrize(
    "normal", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.6, 0.0, -0.8), (0.0, -1.0, 0.0)]
)
def test_plane_axes_are_right_handed(normal):
    x, y = plane_axes(normal)
    np.testing.assert_allclose(np.stack([x, y, normal]) @ np.stack([x, y, normal]).T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(x, y), normal, atol=1e-12)


def test_unknown_frames_and_loops():
    where = Placements({"a": ("b", IDENTITY), "b": ("a", Pose((1.0, 0.0, 0.0))), "c": ("none", IDENTITY)})
    with pytest.raises(FrameCycleError, match="a -> b -> a"):
        where.world("a")
    with pytest.raises(UnknownNameError, match="none"):
        where.world("c")
    with pytest.raises(UnknownNameError, match="missing"):
        where.between("world", "missing")
