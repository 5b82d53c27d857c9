"""Placements of collision geometries are compared with Pinocchio's kinematics."""

import numpy as np
import pinocchio as pin
import pytest

from robot_cell_planner.collision.geometry.placements import GeometryPlacements


def random_model(seed):
    """A tree of joints that turn about and slide along any axis."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    for index in range(9):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        kinds = (pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned)
        joint = (pin.JointModelRX(), pin.JointModelPY(), kinds[0](*axis), kinds[1](*axis))[index % 4]
        model.addJoint(int(rng.integers(0, index + 1)), joint, pin.SE3.Random(), f"joint{index}")
    return model


@pytest.mark.parametrize("seed", range(5))
def test_geometries_are_where_pinocchio_has_their_joints(seed):
    pin.seed(seed)
    model = random_model(seed)
    rng = np.random.default_rng(seed)
    joints = rng.integers(0, model.njoints, 40)
    few = [pin.SE3.Random() for _ in range(3)]  # parts of one mesh have the same placement
    placements = [few[index] for index in rng.integers(0, 3, 40)]
    poses = GeometryPlacements(model, joints, np.array([placement.homogeneous for placement in placements]))
    data = model.createData()
    for q in rng.uniform(-4.0, 4.0, (20, model.nq)):
        pin.forwardKinematics(model, data, q)
        truth = [(data.oMi[int(joint)] * at).homogeneous for joint, at in zip(joints, placements, strict=True)]
        np.testing.assert_allclose(poses.at(q), truth, atol=1e-12)


def test_a_cell_without_anything_that_moves():
    model = pin.Model()
    assert GeometryPlacements(model, np.empty(0, dtype=np.intp), np.empty((0, 4, 4))).at(np.empty(0)).shape == (0, 4, 4)
