"""Motion bounds for links of joints that are not variables but change slightly between requests, such as fingers."""

from pathlib import Path

import numpy as np
import pytest

from robot_cell_planner.collision.certification.joint_tree import chain_bounds
from robot_cell_planner.collision.certification.scene import MotionScene
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.io.cell_file.cell_file import load_cell

CELL_FILE = Path(__file__).parents[3] / "config" / "demo" / "cell.yaml"


@pytest.mark.parametrize("value", [0.0, 0.0123456789, 0.042])
def test_bounds_are_those_of_a_pose_nearby_and_no_smaller_than_their_own(value):
    cell, state = load_cell(CELL_FILE)
    gripper = state.tools["gripper"].with_configuration({"finger_joint": value})
    scene = MotionScene(CollisionChecker(cell, state.with_tool("gripper", gripper)))
    moved = 0
    for obj, index in enumerate(scene.moving_objects):
        at = scene.placements[index]
        tree = scene.trees[obj]
        centres = np.concatenate((tree.root[None], tree.clusters, tree.leaves))[:, :3]
        own, distances = scene.tree.bounds(at.joint, centres)
        bounds, distance = scene._motion_bounds(obj)
        assert (bounds >= own).all()
        assert distance >= distances.max()
        assert (bounds - own).max() <= (3e-4 if at.varies else 0.0)
        assert not bounds[
            :, [j for j in range(len(scene.tree.joints)) if j not in scene.tree.ancestors(at.joint)]
        ].any()
        moved += at.varies
    assert moved == 2


def test_a_small_move_of_a_finger_computes_no_bounds_again():
    cell, state = load_cell(CELL_FILE)
    computed = []
    for value in (0.0420001, 0.0420004):
        gripper = state.tools["gripper"].with_configuration({"finger_joint": value})
        scene = MotionScene(CollisionChecker(cell, state.with_tool("gripper", gripper)))
        for obj in range(len(scene.moving_objects)):
            scene._motion_bounds(obj)
        computed.append(chain_bounds.cache_info().misses)
    assert computed[0] == computed[1]
