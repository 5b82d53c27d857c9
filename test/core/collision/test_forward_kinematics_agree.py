"""Every implementation of forward kinematics is compared with Pinocchio, at random configurations of an arm."""

import numpy as np
import pinocchio as pin
import pytest
from collision_cells import working_cell

from robot_cell_planner.collision.certification._kernels import gradients, lanes
from robot_cell_planner.collision.certification._kernels.arrays import LANES, POSES, Packed, work_space
from robot_cell_planner.collision.certification.scene import MotionScene
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.geometry.placements import GeometryPlacements
from robot_cell_planner.kinematics._kernels.chain_kernels import position_and_quaternion
from robot_cell_planner.kinematics.forward import forward_batch, frame_matrix
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import quaternion_from_rotation

FRAMES = ("link1", "link3", "link6", "gripper", "gripper/left", "gripper/tcp", "part")
EXACT, SINGLE = 1e-12, 2e-6  # [m], tolerance of double and of single precision


@pytest.fixture(scope="module")
def cell_state():
    return working_cell()


@pytest.fixture(scope="module")
def samples(cell_state):
    """Configurations of the whole cell, and the poses of FRAMES that Pinocchio computes."""
    cell, state = cell_state
    model = cell_model(cell, state)
    configurations = np.random.default_rng(4).uniform(model.lower, model.upper, (LANES, model.size))
    data, poses = model.model.createData(), np.empty((LANES, len(FRAMES), 4, 4))
    for row, q in enumerate(configurations):
        pin.forwardKinematics(model.model, data, model.expand(q))
        for column, name in enumerate(FRAMES):
            joint, placement = model.frame(name)
            poses[row, column] = (data.oMi[joint] * placement).homogeneous
    return configurations, poses


def test_single_states(cell_state, samples):
    cell, state = cell_state
    model = cell_model(cell, state)
    for q, truth in zip(*samples, strict=True):
        moved = model.with_configuration(state, q)
        transforms, written = WorldTransforms(cell, moved), Placements(placements(cell, moved))
        for name, pose in zip(FRAMES, truth, strict=True):
            for found in (frame_matrix(cell, moved, name), transforms.matrix(name), written.world(name).matrix):
                np.testing.assert_allclose(found, pose, atol=EXACT)


def test_many_configurations(cell_state, samples):
    cell, state = cell_state
    model = cell_model(cell, state)
    configurations, truth = samples
    for column, name in enumerate(FRAMES):
        found = forward_batch(cell, state, name, model.variables, configurations)
        np.testing.assert_allclose(found, truth[:, column], atol=EXACT)
    frames = [model.frame(name) for name in FRAMES]
    joints = np.array([frame.joint for frame in frames], dtype=np.intp)
    placed = np.array([frame.placement.homogeneous for frame in frames])
    geometries = GeometryPlacements(model.mechanisms.pin_model, joints, placed)
    found = geometries.along(model.expand(configurations))[:, geometries.rows]
    np.testing.assert_allclose(found, truth, atol=EXACT)


def test_kernels_of_certificates(cell_state, samples):
    """The vectorised kernel and the scalar one beside it, on the same arrays in single precision."""
    cell, state = cell_state
    configurations, truth = samples
    checker = CollisionChecker(cell, state, cell_model(cell, state).variables)
    scene = MotionScene(checker)
    arrays = scene.arrays()
    work = work_space(arrays, len(checker.variables))
    packed, space = Packed(arrays), Packed(work)
    work.q[:] = configurations.T
    lanes.compute_joint_poses(packed.address, space.address)
    vectorised = space.arrays[POSES].reshape(-1, 4, 3, LANES)  # rows of the rotation, then the position
    scalar = np.empty((len(arrays.joints), 12))
    checked = 0
    for index in scene.moving_objects:
        name = scene.allowed_pairs.objects[index].name
        if name not in FRAMES:
            continue
        joint, placement = scene.placements[index].joint, scene.placements[index].placement
        for lane, q in enumerate(configurations):
            gradients.compute_poses(packed.address, q, scalar)
            columns = scalar[joint].reshape(4, 3)  # columns of the rotation, then the position
            one, other = np.eye(4), np.eye(4)
            one[:3, :3], one[:3, 3] = vectorised[joint, :3, :, lane], vectorised[joint, 3, :, lane] + scene.origin
            other[:3, :3], other[:3, 3] = columns[:3].T, columns[3] + scene.origin
            for found in (one, other):
                np.testing.assert_allclose(found @ placement, truth[lane, FRAMES.index(name)], atol=SINGLE)
        checked += 1
    assert checked >= 4


def test_quaternions(samples):
    _, truth = samples
    for pose in truth.reshape(-1, 4, 4):
        expected = quaternion_from_rotation(pose[:3, :3])
        np.testing.assert_allclose(position_and_quaternion(np.ascontiguousarray(pose))[3:], expected, atol=EXACT)
