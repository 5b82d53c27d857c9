"""Speed bounds of a robot do not depend on where its base is, so that they need not be computed again when it moves."""

from pathlib import Path

import msgspec
import numpy as np
from frozendict import frozendict
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner import CollisionChecker, load_cell
from robot_cell_planner.collision.certification import joint_tree
from robot_cell_planner.collision.certification.motion_bounds import motion_model
from robot_cell_planner.collision.certification.scene import motion_scene
from robot_cell_planner.kinematics.forward import frame_matrix
from robot_cell_planner.model.pose import Pose

CELL, STATE = load_cell(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")
VARIABLES = CELL.group().variables
coordinates = st.floats(-3.0, 3.0)
poses = st.builds(
    lambda position, quaternion: Pose(position, tuple(np.divide(quaternion, np.linalg.norm(quaternion)).tolist())),
    st.tuples(coordinates, coordinates, coordinates),
    st.tuples(*4 * [st.floats(0.1, 1.0)]),
)


def checker_at(pose):
    robot = next(iter(STATE.base_poses))
    state = msgspec.structs.replace(STATE, base_poses=frozendict({**STATE.base_poses, robot: pose}))
    return CollisionChecker(CELL, state, VARIABLES)


@given(pose=poses, seed=st.integers(0, 1000))
def test_no_speed_bound_depends_on_the_base_pose(pose, seed):
    here, there = (motion_model(CollisionChecker(CELL, STATE, VARIABLES)), motion_model(checker_at(pose)))
    np.testing.assert_array_equal(there.speed_bounds, here.speed_bounds)
    assert there.approach_bounds.tobytes() == here.approach_bounds.tobytes()
    points = np.random.default_rng(seed).uniform(-0.3, 0.3, (5, 3))
    for joint in range(len(here.tree.joints)):
        np.testing.assert_array_equal(there.tree.bounds(joint, points)[0], here.tree.bounds(joint, points)[0])


@given(pose=poses, seed=st.integers(0, 1000))
def test_no_sphere_is_farther_from_the_world_origin_than_its_bound(pose, seed):
    checker = checker_at(pose)
    scene = motion_scene(checker)
    rng = np.random.default_rng(seed)
    limits = [(CELL.variables[name].limits.lower, CELL.variables[name].limits.upper) for name in VARIABLES]
    q = rng.uniform(*np.array(limits).T)
    state = checker.state.with_configuration(dict(zip(VARIABLES, q.tolist(), strict=True)))
    for index, tree in zip(scene.moving_objects, scene.trees, strict=True):
        at = scene.placements[index]
        centres = tree.leaves[:, :3]
        in_object = np.linalg.solve(at.placement, np.column_stack((centres, np.ones(len(centres)))).T)
        placed = frame_matrix(CELL, state, checker.allowed_pairs.objects[index].name) @ in_object
        _, farthest = scene.tree.bounds(at.joint, centres)
        assert (np.linalg.norm(placed[:3], axis=0) <= farthest).all()


def test_a_moved_base_computes_no_chain_of_joints_again():
    motion_scene(CollisionChecker(CELL, STATE, VARIABLES)).packed()
    before = joint_tree.chain_bounds.cache_info().misses
    motion_scene(checker_at(Pose((0.7, -0.2, 0.1), (0.0, 0.0, 0.6, 0.8)))).packed()
    assert joint_tree.chain_bounds.cache_info().misses == before
