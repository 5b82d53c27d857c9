"""A rail under the arm and a positioner beside it: their joints are ordinary variables of the cell."""

import numpy as np
import pytest
from rail_cells import rail_cell

from robot_cell_planner.kinematics.forward import forward_kinematics_to_frame
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.model.frames import FrameTree
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, SetJoints


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(*rail_cell(tmp_path_factory.mktemp("rail")))


def matrix(scene, frame):
    return WorldTransforms(scene.cell, scene.state).matrix(frame)


def test_external_axes_are_variables_and_belong_to_groups(scene):
    assert cell_model(scene.cell, scene.state).variables == (
        "rail_joint",
        *(f"joint_{number}" for number in range(1, 7)),
        "tilt",
    )
    assert scene.cell.group("arm_and_rail").variables == ("rail_joint", *scene.cell.group("arm").variables)


def test_the_rail_carries_the_whole_arm(scene):
    moved = apply_changes(scene, [SetJoints({"rail_joint": 0.7})], world_pose)
    for link in ("carriage", "link_3", "flange"):
        shifted = matrix(scene, link)
        shifted[1, 3] += 0.7
        np.testing.assert_allclose(matrix(moved, link), shifted, atol=1e-12)


def test_the_positioner_carries_the_part_and_its_frames(scene):
    tilted = apply_changes(scene, [SetJoints({"tilt": 0.5})], world_pose)
    for frame in ("part", "seam"):
        before = np.linalg.inv(matrix(scene, "table")) @ matrix(scene, frame)
        np.testing.assert_allclose(np.linalg.inv(matrix(tilted, "table")) @ matrix(tilted, frame), before, atol=1e-12)
        assert FrameTree(scene.cell, scene.state).is_moving(frame)
    assert np.abs(matrix(tilted, "seam") - matrix(scene, "seam")).max() > 0.1


def test_a_pose_that_only_the_rail_brings_within_reach(scene):
    """The pose is beside the tilted part, further along the rail than the arm alone reaches."""
    state = apply_changes(scene, [SetJoints({"tilt": 0.3, "joint_2": 0.3, "joint_3": 1.0})], world_pose).state
    pose = forward_kinematics_to_frame(scene.cell, state, "flange")
    x, y, z = pose.position
    target = FrameTarget(type(pose)((x, y + 1.5, z), pose.quaternion), mode=TargetMode.ROBOT)
    found = inverse_kinematics(scene.cell, state, target, "arm_and_rail")
    names = scene.cell.group("arm_and_rail").variables
    reached = state.with_configuration(dict(zip(names, found.solutions[0].tolist(), strict=True)))
    distance, angle = forward_kinematics_to_frame(scene.cell, reached, "flange").distance_to(target.pose)
    assert distance < 1e-5
    assert angle < 1e-5
    assert reached.configuration["tilt"] == 0.3


def test_a_part_gripped_on_the_positioner_no_longer_follows_it(scene):
    gripped = apply_changes(scene, [SetJoints({"tilt": 0.4}), Attach("part", "flange")], world_pose)
    turned_back = apply_changes(gripped, [SetJoints({"tilt": 0.0})], world_pose)
    np.testing.assert_allclose(matrix(turned_back, "part"), matrix(gripped, "part"), atol=1e-12)
